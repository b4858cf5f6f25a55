"""Workers of a run: faults are made for real, and the run goes on and says what it lost."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sdg.agents.agents import Agent, RandomAgent, Task
from sdg.deduction.episode import WORKER_LOST, Episode
from sdg.experiments.play.episodes import Job, run_jobs
from sdg.experiments.run.workers import BANNED, JobLost, Workers
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.run import Journal, records
from sdg.skills.sandbox.process.bans import Bans, digest
from sdg.skills.sandbox.process.pool import POOL_LIMITS, Lost, Patience, Pool
from sdg.skills.search.search import RandomSearch
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.verification.attempts import _Job
from sdg.verification.verify import VerifySettings
from tests.shared.pool_target import SOURCE, Numbered, do, hang_at_seven

HASTE = Patience(silence=2.0, code=0.7, job=2.0)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="walls need Linux")


def results(jobs: list[str], *, pool: Pool) -> dict[str, Any]:
    return {jobs[number]: result for number, result in pool.run(do, jobs)}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("sleep", "it was not done after"),
        ("hold the lock", "no sign of life"),
        ("hang", "one call of generated code ran for"),
        ("die", "was ended by SIGKILL, 2 times"),
        ("abort", "was ended by SIGABRT, 2 times"),
        ("fill", "it ran out of memory, 2 times"),
        ("bomb", "which is no value"),
        ("function", "which is no value"),
    ],
)
def test_a_lost_job_is_said_and_the_others_are_done(fault: str, reason: str) -> None:
    began = time.monotonic()
    limits = replace(POOL_LIMITS, memory_bytes=768 << 20)
    patience = replace(HASTE, job=30.0) if fault in ("hang", "hold the lock", "fill") else HASTE
    with Pool(1, limits=limits, patience=patience) as pool:
        found = results(["one", fault, "two"], pool=pool)
    assert (found["one"], found["two"]) == ("did one", "did two")
    assert isinstance(found[fault], Lost)
    assert reason in found[fault].reason
    assert found[fault].source == (SOURCE if fault == "hang" else "")
    assert time.monotonic() - began < 50
    assert not Path("pwned").exists()


def test_a_worker_that_dies_once_is_no_fault_of_its_job(tmp_path: Path) -> None:
    with Pool(2) as pool:
        found = results(["one", f"die once:{tmp_path}"], pool=pool)
    assert found == {"one": "did one", f"die once:{tmp_path}": "did die once"}


def test_what_a_job_raises_ends_the_others_and_the_pool_goes_on() -> None:
    with Pool(1) as pool:
        with pytest.raises(ValueError, match="seven"):
            results(["raise", "one"], pool=pool)
        assert results(["one"], pool=pool) == {"one": "did one"}


@LINUX
def test_workers_have_walls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("HTTPS_PROXY", "http://canary")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    with Pool(1, limits=replace(POOL_LIMITS, writes_below=(str(inside),))) as pool:
        assert "canary" not in json.dumps(results(["environment"], pool=pool))
        assert results([f"write:{inside}"], pool=pool) == {f"write:{inside}": 1}
        (report,) = pool.reports
        for job, wall in (
            ("socket", "no sockets, programs or processes (seccomp)"),
            ("program", "no sockets, programs or processes (seccomp)"),
            (f"write:{outside}", "writes below its folders (landlock)"),
        ):
            if report[wall] == "on":
                with pytest.raises(PermissionError):
                    results([job], pool=pool)
    assert not list(outside.iterdir())


def test_a_hung_check_is_banned_for_the_rest_of_the_run(tmp_path: Path) -> None:
    workers = Workers(1, folder=tmp_path, patience=replace(HASTE, job=30.0))
    found = {job.unit: result for job, result in workers(hang_at_seven, [Numbered(unit) for unit in "678"])}
    assert (found["6"], found["8"]) == ("did 6", "did 8")
    assert found["7"].startswith("lost: one call of generated code ran for")
    assert list(Bans(tmp_path / BANNED).report()) == [digest(SOURCE)]
    again = {job.unit: result for job, result in workers(hang_at_seven, [Numbered("9"), Numbered("5")])}
    assert again["5"] == "did 5"
    assert again["9"].startswith("lost: its code is banned: one call")


def test_a_job_without_a_word_for_it_ends_the_run_by_name(tmp_path: Path) -> None:
    with pytest.raises(JobLost, match="SIGKILL"):
        list(Workers(1, folder=tmp_path)(do, ["die"]))


@dataclass(frozen=True, slots=True)
class Mortal:
    """The random agent, whose process dies at one seed."""

    dies_at: int
    agent: str = "mortal"

    def build(self) -> Agent:
        return _Mortal(self.dies_at)


@dataclass(frozen=True)
class _Mortal:
    dies_at: int
    name: str = "mortal"

    def play(self, world: Any, task: Task) -> Episode:
        if task.seed == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return RandomAgent("mortal").play(world, task)


def test_episodes_go_on_without_the_one_that_was_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "episodes.jsonl")
    jobs = [Job(Mortal(dies_at=2), Task("GoToLocal", seed)) for seed in (1, 2, 3)]
    rows = run_jobs(jobs, journal=journal, processes=2)
    assert [row["cause"] == WORKER_LOST for row in rows] == [False, True, False]
    assert rows[1]["success"] is False
    assert "SIGKILL" in rows[1]["error"]
    assert run_jobs(jobs, journal=journal) == rows, "what was lost is not played again"
    assert len(Bans(tmp_path / BANNED)) == 1


def test_a_verification_that_was_lost_is_a_row_without_experience() -> None:
    goal = Subgoal("be there", CheckFunction("check", SOURCE))
    job = _Job("GoToLocal/1/0", Hypothesis("go", (goal,)), None, "GoToLocal", 1, VerifySettings(), RandomSearch(), 0)  # type: ignore[arg-type]
    assert job.sources == (SOURCE,)
    row = records.verification_row(job.unit, job.lost("it hung"))
    assert (row.verified, row.cause, row.subgoals) == (False, "worker lost: it hung", ())
    assert row.experiences() == []
