"""Workers: what they are asked, what they cannot do, and what becomes of those that hang or crash."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdg.skills.sandbox.guard import Refused
from sdg.skills.sandbox.process.bans import Bans, ask_supervised, digest
from sdg.skills.sandbox.process.supervisor import Limits, Worker, WorkerCrashed, WorkerError, WorkerHung

TARGET = "tests.shared.worker_target:do"
BOX = Limits(memory_bytes=512 << 20)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(TARGET, limits=BOX) as started:
        yield started


def test_it_answers_json(worker: Worker) -> None:
    for value in (1, "text", [1, {"a": None}], True):
        assert worker.ask({"do": "echo", "value": value}, timeout_seconds=10) == value


def test_its_report_names_every_wall(worker: Worker) -> None:
    worker.start()
    assert set(worker.report) >= {"limits", "no network (namespace)", "no writing (seccomp)"}
    assert worker.report["limits"] == "on"


@pytest.mark.parametrize("action", ["socket", "write", "run", "fork", "signal"])
def test_walls_stand(worker: Worker, action: str) -> None:
    worker.start()
    if worker.report["no sockets, programs or processes (seccomp)"] != "on":
        pytest.skip("this kernel allows no filter of system calls")
    with pytest.raises(WorkerError, match="PermissionError"):
        worker.ask({"do": action}, timeout_seconds=10)


def test_memory_is_limited(worker: Worker) -> None:
    with pytest.raises(WorkerError, match="MemoryError"):
        worker.ask({"do": "memory"}, timeout_seconds=20)


def test_its_environment_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("HTTPS_PROXY", "http://canary")
    with Worker(TARGET, limits=BOX) as fresh:
        assert "canary" not in json.dumps(fresh.ask({"do": "environment"}, timeout_seconds=10))


def test_errors_inside_do_not_end_it(worker: Worker) -> None:
    worker.start()
    pid = worker.pid
    with pytest.raises(WorkerError, match="ValueError: on purpose"):
        worker.ask({"do": "raise"}, timeout_seconds=10)
    assert worker.pid == pid


def test_answers_that_are_too_long_or_not_json_are_errors(worker: Worker) -> None:
    for action in ("long", "not json"):
        with pytest.raises(WorkerError, match="the answer"):
            worker.ask({"do": action}, timeout_seconds=10)
    with pytest.raises(ValueError, match="bytes"):
        worker.ask("x" * 2_000_000, timeout_seconds=10)


@pytest.mark.parametrize(
    ("action", "kind"), [("sleep", WorkerHung), ("spin", WorkerHung), ("abort", WorkerCrashed), ("exit", WorkerCrashed)]
)
def test_a_lost_worker_is_killed_and_replaced(action: str, kind: type[Exception]) -> None:
    with Worker(TARGET, limits=BOX) as fresh:
        fresh.start()
        pid = fresh.pid
        began = time.monotonic()
        with pytest.raises(kind):
            fresh.ask({"do": action}, timeout_seconds=0.5)
        assert time.monotonic() - began < 5
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert fresh.ask({"do": "echo", "value": 2}, timeout_seconds=10) == 2
        assert fresh.starts == 2


def test_silence_is_noticed_before_the_deadline() -> None:
    with Worker(TARGET, limits=BOX) as fresh:
        fresh.start()
        began = time.monotonic()
        with pytest.raises(WorkerHung, match="silent"):
            fresh.ask({"do": "hold the lock"}, timeout_seconds=60, silence_seconds=1.0)
        assert time.monotonic() - began < 10


def test_a_source_that_loses_the_worker_is_banned_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "bans.json"
    bans = Bans(path)
    done: dict[str, Any] = {}
    with Worker(TARGET, limits=BOX) as fresh:
        for source, action in (("a", "echo"), ("b", "sleep"), ("c", "abort"), ("d", "echo"), ("b", "sleep")):
            try:
                done[source] = ask_supervised(
                    fresh, {"do": action, "value": source}, source=source, bans=bans, timeout_seconds=0.5
                )
            except (WorkerHung, WorkerCrashed, Refused) as error:
                done[source] = type(error).__name__
    assert done == {"a": "a", "b": "Refused", "c": "WorkerCrashed", "d": "d"}
    again = Bans(path)
    assert set(again.report()) == {digest("b"), digest("c")}
    assert "b" in again
    with pytest.raises(Refused, match="banned"):
        again.check("c")


def test_a_damaged_list_of_bans_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bans.json"
    path.write_text('{"schema": 99, "banned": {}}', encoding="utf-8")
    with pytest.raises(ValueError, match="schema"):
        Bans(path)
