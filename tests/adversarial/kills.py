"""Is a run that is killed again and again equal to one that is left alone?

    python -m tests.adversarial.kills [--count 50] [--config fast] [--seed 0]

One run is left alone; another is killed with SIGKILL, workers and all, at random moments of all its stages and started
again each time. Both must end with the same units, weights and tables (times excepted), and no finished unit may be
done twice or change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sdg.storage import read_journal

JOURNALS = ("hypotheses", "verifications", "random_search", "skills", "rehearsals", "episodes")
TIMES = {"seconds", "cpu_seconds", "stages", "command", "git", "versions"}
Row = dict[str, Any]


def timeless(value: Any) -> Any:
    """A value without what a clock wrote into it."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def units(folder: Path) -> dict[str, str]:
    """Journal and unit -> the finished row as text; a torn last line is no row."""
    rows: dict[str, str] = {}
    for name in JOURNALS:
        for row in read_journal(folder / f"{name}.jsonl"):
            rows[f"{name}:{row['unit']}"] = json.dumps(timeless(row), sort_keys=True)
    return rows


def weights(folder: Path) -> dict[str, str]:
    """Digests of every file of weights and of the library."""
    files = [*folder.glob("skills/*.safetensors"), *folder.glob("library/*")]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def results(folder: Path) -> dict[str, str]:
    """results.json without what a clock wrote into it."""
    value = json.loads((folder / "results.json").read_text("utf-8"))
    return {"results": json.dumps(timeless(value), sort_keys=True)}


def differences(first: Path, second: Path) -> list[str]:
    """What is not the same in two finished run folders, times excepted."""
    different: list[str] = []
    for texts_of in (units, weights, results):
        left, right = texts_of(first), texts_of(second)
        different += [key for key in sorted(left.keys() | right.keys()) if left.get(key) != right.get(key)]
    return different


def start_run(config: str, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Begin or go on with a run in a process group of its own."""
    command = [sys.executable, "-m", "sdg", "run", "--config", config, "--out", str(folder), "--quiet"]
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the run and its workers: nobody gets to tidy up."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kills(config: str, folder: Path, *, count: int, total: int, seed: int, log: Path) -> Iterator[Row]:
    """Kill and go on `count` times, spread over the `total` units of the run; a row for each kill.

    Each kill waits until its share of the units is finished, and then a moment. Where the run is that far already it
    falls into the start or right after the next unit, and where it is further, into the start: else the run would
    be over before the last kill.
    """
    drawn, before = random.Random(seed), units(folder)
    for number in range(1, count + 1):
        process, began = start_run(config, folder, log), time.monotonic()
        wanted, behind = total * number // (count + 1), len(before)
        _wait(process, folder, finished=wanted, seconds=PATIENCE_SECONDS)
        longest = LINGER_SECONDS
        if behind >= wanted:
            longest = START_SECONDS if behind == wanted else IMPORT_SECONDS
        _wait(process, folder, finished=max(behind, wanted) + 1, seconds=drawn.uniform(0, longest))
        if process.poll() is not None:
            return
        kill(process)
        after = units(folder)
        yield {
            "kill": number,
            "stage": stage_of(after),
            "after_seconds": round(time.monotonic() - began, 2),
            "finished_units": len(after),
            "new_units": len(after) - len(before),
            "lost_or_changed": sum(after.get(key) != text for key, text in before.items()),
        }
        before = after


def _wait(process: subprocess.Popen[bytes], folder: Path, *, finished: int, seconds: float) -> None:
    """Wait until `finished` units are done, at most `seconds`, and no longer than the process runs."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and process.poll() is None and len(units(folder)) < finished:
        time.sleep(0.02)


PATIENCE_SECONDS = 300.0
LINGER_SECONDS = 0.3
"""Longest pause after the unit that a kill has waited for: it falls into the next one."""
START_SECONDS = 4.0
"""Longest pause of a kill that has nothing to wait for: it falls into the start, or into the first unit after it."""
IMPORT_SECONDS = 1.0
"""Longest pause of a kill that comes too early: nothing is finished so soon after the start."""


def stage_of(rows: Mapping[str, str]) -> str:
    """The last stage that has finished a unit, "hypothesize" where none has."""
    journals = {key.partition(":")[0] for key in rows}
    return next((stage for journal, stage in STAGES.items() if journal in journals), "hypothesize")


STAGES = {"episodes": "solve", "rehearsals": "induce", "skills": "induce", "verifications": "verify"}


def compare_runs(config: str, folder: Path, *, count: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """The rows of all kills in `folder`, then the one about the end."""
    log, alone, broken = folder / "log.txt", folder / "alone", folder / "broken"
    began = time.monotonic()
    if start_run(config, alone, log).wait():
        raise RuntimeError(f"the run that was left alone failed: {log.read_text('utf-8', 'replace')[-2000:]}")
    seconds = time.monotonic() - began
    done = []
    for row in kills(config, broken, count=count, total=len(units(alone)), seed=seed, log=log):
        done.append(row)
        yield row
    if start_run(config, broken, log).wait():
        raise RuntimeError(f"the run that was killed can't be finished: {log.read_text('utf-8', 'replace')[-2000:]}")
    different = differences(alone, broken)
    killed_in = Counter(row["stage"] for row in done)
    yield {
        "kills": len(done),
        **{stage: killed_in[stage] for stage in ("hypothesize", *reversed(STAGES.values()))},
        "lost_or_changed": sum(row["lost_or_changed"] for row in done),
        "different": len(different),
        "first": ", ".join(different[:3]),
        "units": len(units(alone)),
        "seconds_alone": round(seconds, 1),
    }


def main() -> int:
    """Print a row for each kill and one about the end; the exit status is 1 where the two runs differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial.kills")
    parser.add_argument("--count", type=int, default=50, help="how often the run is killed")
    parser.add_argument("--config", default="fast")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sdg-kills-") as name:
        for row in compare_runs(options.config, Path(name), count=options.count, seed=options.seed):
            print(json.dumps(row), flush=True)
    return int(bool(row["different"] or row["lost_or_changed"]))


if __name__ == "__main__":
    sys.exit(main())
