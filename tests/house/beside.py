"""Today's code beside an earlier commit's: `python -m tests.house.beside COMMIT [--repeats 3] [--measures a,b]`.

Each measure is a short program that prints one line of JSON with its cost and what it found; both versions run it in
turn, each in a process of its own, so that what else the machine does falls on both. A ratio is today's median cost
over the earlier one's. The earlier tree is a temporary worktree of git.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMER = """
import json, sys, time
def cost(act):
    began = time.process_time(); found = act(); return time.process_time() - began, found
"""
MEASURES = {
    "practice": """
import sdg
facing = "def facing(thing):\\n    return get_facing() in find_objects(thing)\\n"
sdg.train("GoToLocal", facing, name="go_to", layouts=50, timesteps=1, seed=0)
seconds, skill = cost(lambda: [str(sdg.train("GoToLocal", facing, name="go_to", seed=seed)) for seed in (0, 1)])
print(json.dumps({"cost": seconds, "found": skill}))
""",
    "engine": """
from sdg.experiments.bench.engine.speed import measure
rates = [measure("BossLevel").steps_per_second for _ in range(3)]
print(json.dumps({"cost": 1e6 / sorted(rates)[1], "found": ""}))
""",
    "guarded call": """
from pathlib import Path
from sdg.envs.domains import domain
from sdg.skills.checks import check as checks
from sdg.skills.subgoal import CheckFunction
compiled = getattr(checks, "compile_check", None) or checks.compiled
world = domain().open("BossLevel"); world.reset(3); seen = world.perception()
bodies = [body for group in json.loads(Path("tests/data/checks.json").read_text()).values() for body in group]
loaded = []
for body in bodies:
    source = "def check():\\n" + "".join("    " + line + "\\n" for line in body.splitlines())
    try:
        check = compiled(CheckFunction("check", source), domain()); check(seen); loaded.append(check)
    except Exception: pass
def median():
    seconds = []
    for check in loaded:
        began = time.perf_counter()
        for _ in range(200): check(seen)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)[len(seconds) // 2] / 200
print(json.dumps({"cost": 1e6 * min(median() for _ in range(5)), "found": len(loaded)}))
""",
    "table 1": """
import subprocess, tempfile, os
def play():
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "sdg", "bench", "table1", "--levels", "SynthSeq,BossLevel", "--agents", "sdg",
                   "--instructions", "30", "--repeats", "1", "--seed", "0", "--processes", "1", "--json", "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line)["success_rate"] for line in done.splitlines()]
before = os.times(); found = play(); after = os.times()
print(json.dumps({"cost": after.children_user + after.children_system - before.children_user - before.children_system,
                  "found": found}))
""",
    "make run": """
import subprocess, tempfile, os
before = os.times()
with tempfile.TemporaryDirectory() as out:
    subprocess.run([sys.executable, "-m", "sdg", "run", "--out", out, "--quiet"], capture_output=True, check=True)
    found = [row for row in Path(out, "table.md").read_text().splitlines()] if Path(out, "table.md").exists() else ""
after = os.times()
print(json.dumps({"cost": after.children_user + after.children_system - before.children_user - before.children_system,
                  "found": found}))
""".replace("import subprocess", "from pathlib import Path\nimport subprocess", 1),
}
"""Name -> program; its cost is in seconds of processor time, in nanoseconds a step or in microseconds a call."""


def run_measure(tree: Path, program: str) -> dict[str, Any]:
    """What a measure prints, run over a tree."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **one_thread, "PYTHONPATH": str(tree), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", TIMER + program], cwd=tree, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def compare_trees(earlier: Path, names: list[str], repeats: int) -> list[dict[str, Any]]:
    """A row for each measure: both medians, their ratio, and whether both found the same."""
    rows = []
    for name in names:
        results: dict[Path, list[dict[str, Any]]] = {earlier: [], ROOT: []}
        for repeat in range(repeats):
            for tree in (earlier, ROOT) if repeat % 2 else (ROOT, earlier):
                results[tree].append(run_measure(tree, MEASURES[name]))
        before, now = (statistics.median(result["cost"] for result in results[tree]) for tree in (earlier, ROOT))
        found = [results[tree][0]["found"] for tree in (earlier, ROOT)]
        row = {"measure": name, "before": before, "now": now, "ratio": now / before, "equal": found[0] == found[1]}
        rows.append({**row, "found before": found[0], "found now": found[1], "repeats": repeats})
    return rows


def main() -> None:
    """Make the earlier tree, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measures", default=",".join(name for name in MEASURES if name != "make run"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder, "earlier")
        subprocess.run(["git", "worktree", "add", "--detach", "-q", earlier, options.commit], cwd=ROOT, check=True)
        try:
            for row in compare_trees(earlier, options.measures.split(","), options.repeats):
                line = "{measure}: {before:.3g} -> {now:.3g}, {ratio:.2f} times, equal results: {equal}"
                print(json.dumps(row) if options.json else line.format(**row), flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", earlier], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
