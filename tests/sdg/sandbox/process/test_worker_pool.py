"""Workers of a run: faults are made for real, and the run goes on and says what it lost."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sdg.sandbox.process
from sdg.agents.agents import Task
from sdg.deduction.episode import WORKER_LOST
from sdg.envs.kernels import cache_folder
from sdg.experiments.play.episodes import EpisodeJob, run_jobs
from sdg.experiments.workers.workers import BANNED, ERRORS, JobLost, Workers
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.llm.model import ModelError
from sdg.pipeline.attempts import _Job
from sdg.sandbox.process.bans import Bans, BansError
from sdg.sandbox.process.board import digest
from sdg.sandbox.process.pool import POOL_LIMITS, LostJob, Patience, Pool, clean_environment
from sdg.skills.search.trial import RandomSearch
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.storage import Journal
from sdg.verification.verify import VerifySettings
from tests.shared.mortal_agent import Mortal
from tests.shared.pool_target import CRASHING, SOURCE, Numbered, do, hang_at_seven

GUILTY = {"hang": SOURCE, "crash": CRASHING}
"""Whose code is to blame for a loss: the innermost that runs; an innocent check that was asked before is not."""
HASTE = Patience(silence=2.0, code=0.7, job=2.0)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="walls need Linux")


def results(jobs: list[str], *, pool: Pool) -> dict[str, Any]:
    return {jobs[number]: result for number, result in pool.run(do, jobs)}


def test_a_pool_is_taken_from_the_call_until_its_last_worker_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool(2) as pool:
        run = pool.run(do, ["well", "sleep"])
        assert not pool.idle
        assert next(run) == (0, "did well")
        end, seen = pool._end, []

        def end_one(member: Any) -> None:
            seen.append(pool.idle)
            end(member)

        monkeypatch.setattr(pool, "_end", end_one)
        run.close()  # type: ignore[attr-defined]
        assert seen == [False]
        assert pool.idle


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("sleep", "it was not done after"),
        ("hold the lock", "no sign of life"),
        ("hang", "one call of generated code ran for"),
        ("die", "was ended by SIGKILL, 2 times"),
        ("abort", "was ended by SIGABRT, 2 times"),
        ("fill", "it ran out of memory, 2 times"),
        ("crash", "was ended by SIGABRT, 2 times"),
        ("crash later", "was ended by SIGABRT, 2 times"),
    ],
)
def test_a_lost_job_is_said_and_the_others_are_done(fault: str, reason: str) -> None:
    began = time.monotonic()
    limits = replace(POOL_LIMITS, memory_bytes=768 << 20)
    patience = HASTE if fault in ("sleep", "die", "abort") else replace(HASTE, job=30.0)
    with Pool(1, limits=limits, patience=patience) as pool:
        outcomes = results(["one", fault, "two"], pool=pool)
    assert (outcomes["one"], outcomes["two"]) == ("did one", "did two")
    assert isinstance(outcomes[fault], LostJob)
    assert reason in outcomes[fault].reason
    assert outcomes[fault].code == (digest(GUILTY[fault]) if fault in GUILTY else "")
    assert outcomes[fault].hung == (fault in ("sleep", "hold the lock", "hang"))
    assert time.monotonic() - began < 50


def test_a_machine_that_stood_still_is_no_fault_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + clock.stood, stood=0.0)
    monkeypatch.setattr("sdg.sandbox.process.pool.time", clock)

    def stand_still(job: str, request: Any) -> str:
        clock.stood += 3600.0
        return "an hour later"

    with Pool(1, patience=replace(HASTE, job=60.0)) as pool:
        assert list(pool.run(do, ["ask", "ask"], answer=stand_still)) == [(0, "an hour later"), (1, "an hour later")]


def test_a_worker_that_dies_once_is_no_fault_of_its_job(tmp_path: Path) -> None:
    with Pool(2, limits=replace(POOL_LIMITS, writes_below=(str(tmp_path),))) as pool:
        outcomes = results(["one", f"die once:{tmp_path}"], pool=pool)
    assert outcomes == {"one": "did one", f"die once:{tmp_path}": "did die once"}


def test_what_a_job_raises_ends_the_others_and_the_pool_goes_on() -> None:
    with Pool(1) as pool:
        with pytest.raises(ValueError, match="seven") as caught:
            results(["raise", "one"], pool=pool)
        assert caught.value.__notes__ == [" in job 0"]
        assert results(["one"], pool=pool) == {"one": "did one"}


@pytest.mark.parametrize("job", ["bomb", "function"])
def test_what_is_no_data_is_the_job_s_error(job: str) -> None:
    with Pool(1) as pool:
        with pytest.raises(RuntimeError, match="which is no data"):
            results([job], pool=pool)
        assert results(["one"], pool=pool) == {"one": "did one"}


WALLS = {
    "socket": "no sockets, programs or processes (seccomp)",
    "program": "no sockets, programs or processes (seccomp)",
    "fork": "no sockets, programs or processes (seccomp)",
    "signal": "no sockets, programs or processes (seccomp)",
    "parent": "writes below its folders, other processes hidden (landlock)",
    "memory of the parent": "writes below its folders, other processes hidden (landlock)",
    "others": "writes below its folders, other processes hidden (landlock)",
}


@LINUX
@pytest.mark.parametrize("job", WALLS)
def test_workers_have_walls(job: str) -> None:
    with Pool(1) as pool:
        results(["one"], pool=pool)
        (report,) = pool.reports
        if report[WALLS[job]] != "on":
            pytest.skip(f"this kernel has no such wall: {report[WALLS[job]]}")
        with pytest.raises(PermissionError):
            results([job], pool=pool)


@LINUX
def test_other_processes_can_not_read_a_parent_s_environment() -> None:
    """Not even processes of the same user can, where a kernel has no landlock."""
    code = (
        "import ctypes, subprocess, sys, os\n"
        "from sdg.sandbox.process.confine import hide_memory\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n"  # as a process is that was begun by this user
        "for hide in (int, hide_memory):\n"
        "    hide()\n"
        "    print(subprocess.run(['cat', f'/proc/{os.getpid()}/environ'], capture_output=True).returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"], done.stderr


def test_a_worker_s_environment_has_no_keys_and_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    assert clean_environment()["PYTHONHASHSEED"] == "0"  # the order of a set depends on it
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("HTTPS_PROXY", "http://canary")
    with Pool(1) as pool:
        assert "canary" not in json.dumps(results(["environment"], pool=pool))


def test_torch_looks_for_its_cache_where_a_worker_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where torch never ran: it makes the folder when the first optimizer is made, and a worker can't."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Pool(1) as pool:
        assert results(["torch cache"], pool=pool) == {"torch cache": True}
    assert list(tmp_path.iterdir()) == []


@LINUX
def test_workers_write_below_their_folders_and_nowhere_else(tmp_path: Path) -> None:
    """Not where another process finds what it runs or believes: compiled modules and kernels, banks, a run's folder."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    code = Path(sdg.sandbox.process.__file__).parent / "__pycache__"
    code.mkdir(exist_ok=True)
    places = [code, cache_folder(), Path(tempfile.gettempdir()), outside]
    with Pool(1, limits=replace(POOL_LIMITS, writes_below=(str(inside),))) as pool:
        assert results([f"write:{inside}"], pool=pool) == {f"write:{inside}": 1}
        if pool.reports[0]["writes below its folders, other processes hidden (landlock)"] == "on":
            for place in places:
                with pytest.raises(PermissionError):
                    results([f"write:{place}"], pool=pool)
    with Pool(1) as pool:
        results(["one"], pool=pool)
        if pool.reports[0]["no writing (seccomp)"] == "on":
            for place in (*places, inside):
                with pytest.raises(PermissionError):
                    results([f"write:{place}"], pool=pool)
    assert not [place for place in places if (place / "written").exists()]


def test_a_question_is_answered_by_the_parent() -> None:
    def answer(job: str, request: Any) -> Any:
        return {"asked": request, "by": job, "in": os.getpid()}

    with Pool(2) as pool:
        (reply,) = dict(pool.run(do, ["ask"], answer=answer)).values()
    assert reply == {"asked": {"n": [1, 2]}, "by": "ask", "in": os.getpid()}


def test_what_answering_raises_is_raised_in_the_job() -> None:
    def answer(job: str, request: Any) -> Any:
        raise ModelError("the server is gone")

    with Pool(1, results=ERRORS) as pool, pytest.raises(ModelError, match="the server is gone"):
        list(pool.run(do, ["ask"], answer=answer))


def test_a_hung_check_is_banned_for_the_rest_of_the_run(tmp_path: Path) -> None:
    workers = Workers(1, folder=tmp_path, patience=replace(HASTE, job=30.0))
    outcomes = {job.unit: result for job, result in workers(hang_at_seven, [Numbered(unit) for unit in "678"])}
    assert (outcomes["6"], outcomes["8"]) == ("did 6", "did 8")
    assert outcomes["7"].startswith("lost: one call of generated code ran for")
    assert list(Bans(tmp_path / BANNED).report()) == [digest(SOURCE)]
    again = {job.unit: result for job, result in workers(hang_at_seven, [Numbered("9"), Numbered("5")])}
    assert again["5"] == "did 5"
    assert again["9"].startswith("lost: its code is banned: one call")


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[" * 100_000, b'{"schema": 99, "banned": {}}', b'{"schema": 1, "banned": 3}', b"\xff", None],
)
def test_a_list_of_bans_from_anybody(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / BANNED
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    with pytest.raises(BansError, match="Delete it"):
        Bans(path)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text('{"schema": 1, "banned": {"a": "secret"}}')
    with pytest.raises(BansError, match="link"):
        Bans(path)


def test_bans_are_kept(tmp_path: Path) -> None:
    Bans(tmp_path / BANNED).add(digest("b"), reason="it hung")
    again = Bans(tmp_path / BANNED)
    assert again.report() == {digest("b"): "it hung"}
    assert again.reason(["a", "b"]) == "it hung"
    assert again.reason(["a"]) == ""


def test_a_job_without_a_word_for_it_ends_the_run_by_name(tmp_path: Path) -> None:
    with pytest.raises(JobLost, match="SIGKILL"):
        list(Workers(1, folder=tmp_path)(do, ["die"]))


def test_episodes_go_on_without_the_one_that_was_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "episodes.jsonl")
    jobs = [EpisodeJob(Mortal(dies_at=2), Task("GoToLocal", seed)) for seed in (1, 2, 3)]
    rows = run_jobs(jobs, journal=journal, processes=2)
    assert [row.cause == WORKER_LOST for row in rows] == [False, True, False]
    assert rows[1].success is False
    assert "SIGKILL" in rows[1].error
    assert run_jobs(jobs, journal=journal) == rows, "what was lost is not played again"
    assert len(Bans(tmp_path / BANNED).report()) == 1


def test_a_verification_that_was_lost_is_a_row_without_experience() -> None:
    goal = Subgoal("be there", CheckFunction("check", SOURCE))
    job = _Job("GoToLocal/1/0", Hypothesis("go", (goal,)), None, "GoToLocal", 1, VerifySettings(), RandomSearch(), 0)  # type: ignore[arg-type]
    assert job.sources == (SOURCE,)
    row, _ = job.on_lost("it hung")
    assert (row.verified, row.cause, row.subgoals) == (False, "worker lost: it hung", ())
    assert row.experiences() == []


def test_a_host_function_that_breaks_its_promise_is_an_error_of_the_job_and_no_loss() -> None:
    with Pool(1) as pool:
        for _ in range(2):
            with pytest.raises(
                RuntimeError, match=r"HostFault: wait\(\) returned what generated code may not hold: a object"
            ):
                list(pool.run(do, ["break promise"]))
        assert results(["well"], pool=pool) == {"well": "did well"}


def test_a_pool_that_couldn_t_begin_ends_without_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    with pytest.raises(TypeError):
        Pool(1, environment=5)  # type: ignore[arg-type]
    gc.collect()
    assert not raised
