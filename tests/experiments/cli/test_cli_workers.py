"""Worker processes give results in any order, say what failed, and end with a run that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sdg.envs.domains import domain
from sdg.experiments.workers import workers
from sdg.experiments.workers.workers import Workers
from sdg.sandbox.process.pool import Pool

ROOT = Path(__file__).resolve().parents[3]

SLEEPERS = """
import os, sys, time
from pathlib import Path
from sdg.experiments.workers.workers import Workers
def sleeper(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(60)
if __name__ == "__main__":
    list(Workers(2, writes=(Path(sys.argv[1]),))(sleeper, [sys.argv[1]] * 2))
"""


def half(job: int) -> float:
    if job == 7:
        raise ValueError("seven has no half")
    return job / 2


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_has_its_result(processes: int) -> None:
    assert dict(Workers(processes)(half, [1, 2, 3])) == {1: 0.5, 2: 1.0, 3: 1.5}


def mission(level: str) -> str:
    return domain(level.partition(":")[0]).layouts(level.partition(":")[2], [5]).mission(0)


@pytest.mark.parametrize("level", ["ant:Spots_UMaze", "table:Touch"])
def test_worlds_of_torques_open_where_no_program_may_be_started(level: str) -> None:
    pytest.importorskip("gymnasium_robotics", reason="the extra `mujoco` isn't installed")
    assert dict(Workers(1)(mission, [level])) == {level: mission(level)}


def who(job: int) -> int:
    return os.getpid()


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "zombie" not in Path(f"/proc/{pid}/status").read_text()


def test_one_run_s_workers_make_room_for_the_next_one_s(tmp_path: Path) -> None:
    """A sweep over training seeds has a run folder, and so workers of its own, for each."""
    first, second = (dict(Workers(1, folder=tmp_path / name)(who, [1, 2])) for name in "ab")
    assert first[1] == first[2]
    assert not is_there(first[1])
    assert is_there(second[1])


def test_workers_whose_results_are_waited_for_are_left_alone(tmp_path: Path) -> None:
    outer = Workers(1, folder=tmp_path / "a")(who, [1, 2, 3])
    began = next(outer)[1]
    assert dict(Workers(1, folder=tmp_path / "b")(half, [1])) == {1: 0.5}
    assert [pid for _, pid in outer] == [began, began]


class Dawdling(Pool):
    """While one thread asks whether it is idle, the others go on."""

    @property
    def idle(self) -> bool:
        idle = super().idle
        time.sleep(0.05)
        return idle


def test_runs_side_by_side_leave_one_another_s_workers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "Pool", Dawdling)

    def play(name: str) -> list[dict[int, float]]:
        return [dict(Workers(1, folder=tmp_path / name)(half, [1, 2])) for _ in range(2)]

    play("idle")
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(play, "abc")) == [[{1: 0.5, 2: 1.0}] * 2] * 3


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_job_raises_is_raised_here(processes: int) -> None:
    with pytest.raises(ValueError, match="seven has no half"):
        list(Workers(processes)(half, [7, 8]))


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie that nobody has buried yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_workers_end_with_a_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "sleepers.py").write_text(SLEEPERS)
    (tmp_path / "pids").mkdir()
    command = [sys.executable, str(tmp_path / "sleepers.py"), str(tmp_path / "pids")]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    give_up = time.monotonic() + 60
    while len(list((tmp_path / "pids").iterdir())) < 2 and time.monotonic() < give_up:
        time.sleep(0.05)
    pids = [int(path.name) for path in (tmp_path / "pids").iterdir()]
    assert len(pids) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(map(is_running, pids)) and time.monotonic() < give_up:
        time.sleep(0.1)
    assert not [pid for pid in pids if is_running(pid)]
