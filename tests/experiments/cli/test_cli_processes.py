"""The `sdg` command as a process of its own: interrupts, a second run, a reader that leaves, imports."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sdg.storage import read_journal

ROOT = Path(__file__).resolve().parents[3]

FAKE_RUNS = """
import time
def run(config, folder, *, until, progress):
    journal = folder.journal("episodes")
    print("Sampling rejected")
    with progress.stage(until, total=200, unit="episodes", done=len(journal)) as stage:
        for n in range(200):
            if f"u{n}" not in journal:
                time.sleep(0.01)
                journal.append({"unit": f"u{n}", "level": config.levels[0], "value": n * n})
            stage.advance(steps=5)
    yield {"level": "Open", "agent": "sdg", "success_rate": 0.5, "low": 0.25, "high": 0.75}
"""


def shell(*arguments: str, folder: Path, **more: Any) -> subprocess.Popen[str]:
    """`sdg` as a process of its own, with the fake runs above."""
    code = (
        "import sys, types\nmodule = types.ModuleType('sdg.experiments.run.runs')\n"
        f"exec({FAKE_RUNS!r}, vars(module))\nsys.modules['sdg.experiments.run.runs'] = module\n"
        "import sdg.experiments.run\nsdg.experiments.run.runs = module\n"
        "from sdg.experiments.cli.main import main\nsys.exit(main())\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen_to_interrupts,
        **more,
    )


def _listen_to_interrupts() -> None:
    """A shell starts background jobs deaf to SIGINT, and children inherit that; the tests may be one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists() and path.stat().st_size > 200:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} wasn't written")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path: Path, number: int, code: int) -> None:
    process = shell("run", "-c", "fast", "--json", folder=tmp_path)
    wait_for(tmp_path / "runs/fast/episodes.jsonl")
    process.send_signal(number)
    out, error = process.communicate(timeout=30)
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert out == ""
    is_locked = (tmp_path / "runs/fast/run.lock").exists()
    assert is_locked == (number == signal.SIGKILL)
    before = read_journal(tmp_path / "runs/fast/episodes.jsonl")
    assert 0 < len(before) < 200
    again = shell("run", "-c", "fast", "--json", folder=tmp_path)
    out, error = again.communicate(timeout=60)
    assert again.returncode == 0, error
    assert [json.loads(line)["success_rate"] for line in out.splitlines()] == [0.5]
    assert ("took over from process" in error) == is_locked
    rows = read_journal(tmp_path / "runs/fast/episodes.jsonl")
    assert rows == [{"unit": f"u{n}", "level": "GoToLocal", "value": n * n} for n in range(200)]
    assert rows[: len(before)] == before


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    first = shell("run", "-c", "fast", folder=tmp_path)
    wait_for(tmp_path / "runs/fast/episodes.jsonl")
    second = shell("run", "-c", "fast", folder=tmp_path)
    _, error = second.communicate(timeout=30)
    assert second.returncode == 2
    assert f"in use by process {first.pid}" in error
    out, _ = first.communicate(timeout=60)
    assert first.returncode == 0
    assert "50.0 [25.0, 75.0]" in out


def test_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    process = shell("show", "GoToLocal", "--count", "50", "--json", folder=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 0, error
    assert error == ""


def test_help_is_instant_and_imports_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "numba", "pydantic", "rich", "sklearn", "pandas", "matplotlib", "gymnasium", "yaml")
    code = (
        "import sys\nfrom sdg.experiments.cli.main import main\nassert main(['--help']) == 0\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\n"
    )
    best = 9.0
    for _ in range(3):
        begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun)
        assert done.stderr == "[]\n"
        assert "hypothesize" in done.stdout
    assert best < 0.5


OWN = '''
from typing import Annotated
import typer
def rows(*, count: Annotated[int, typer.Option(min=1, help="how many")] = 2):
    """Counts."""
    for number in range(count):
        yield {"number": number}
'''


def test_a_benchmark_of_ones_own_is_named_by_its_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)

    def sdg_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sdg", "bench", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = sdg_bench("mine:rows", "--count", "3", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"number": n} for n in range(3)], done.stderr
    assert "how many" in sdg_bench("mine:rows", "--help").stdout
    wrong = sdg_bench("mine:lines")
    assert wrong.returncode == 2
    assert "mine has no 'lines'; it has" in wrong.stderr
