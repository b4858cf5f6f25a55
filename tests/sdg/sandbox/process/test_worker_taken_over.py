"""A worker that somebody took over can't end, change or hold up its parent: it falsifies its own result alone."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sdg.sandbox.process.job as worker
from sdg.sandbox.process.board import SIZE, Board
from sdg.sandbox.process.pool import POOL_LIMITS, LostJob, Patience, Pool

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="walls need Linux")
SECCOMP = "no sockets, programs or processes (seccomp)"
HASTE = Patience(silence=20.0, job=4.0)


def shorten_the_board() -> None:
    for descriptor in range(3, 32):
        if descriptor in _open() and os.fstat(descriptor).st_size == SIZE:
            os.ftruncate(descriptor, 0)


def _open() -> set[int]:
    descriptors = set()
    for descriptor in range(3, 32):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        descriptors.add(descriptor)
    return descriptors


def limit_the_parent() -> None:
    resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))


def signal_by_a_pipe() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(reading, 10, signal.SIGURG)  # F_SETSIG, with one that does no harm
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def slow_the_parent() -> None:
    os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)


def call_by_another_number() -> None:
    if ctypes.CDLL(None, use_errno=True).syscall(0x40000000 + 41, 2, 1, 0) < 0:  # socket, for x32
        raise PermissionError


def call_what_no_list_forbids(victim: str) -> dict[str, int]:
    """Calls that act on a file which is only opened for reading, or that kernels got later: what each answers."""
    call, path, here = ctypes.CDLL(None, use_errno=True).syscall, ctypes.c_char_p(victim.encode()), -100
    opened, zeros = os.open(victim, os.O_RDONLY), ctypes.create_string_buffer(64)
    machine = platform.machine() == "x86_64"
    return {
        "fchmodat2": call(452, here, path, 0o777, 0),
        "utimes": call(261, here, path, zeros) if machine else call(88, here, path, zeros, 0),
        "removexattr": call(197 if machine else 14, path, b"user.mark"),
        "set flags": call(16 if machine else 29, opened, 0x40086602, zeros),
        "flock": call(73 if machine else 32, opened, fcntl.LOCK_EX | fcntl.LOCK_NB),
        "lease": call(72 if machine else 25, opened, 1024, fcntl.F_RDLCK),
        "outlive the parent": call(157 if machine else 167, 1, 0, 0, 0, 0),
        "any other": call(4000, 0),
    }


DEEDS = {deed.__name__: deed for deed in (
    shorten_the_board, limit_the_parent, signal_by_a_pipe, slow_the_parent, call_by_another_number,
)}  # fmt: skip


def do(job: Any) -> Any:
    """What a worker does once it was taken over."""
    if isinstance(job, Path):
        return call_what_no_list_forbids(str(job))
    if job in DEEDS:
        DEEDS[job]()
    elif job == "read no more":
        worker.read = lambda stream: time.sleep(1000)  # type: ignore[assignment]
    elif job == "begin again":
        import gc

        channel = next(candidate for candidate in gc.get_objects() if type(candidate) is worker._Channel)
        for _ in range(20):
            channel.send({"began": 0})
            time.sleep(0.2)
    return "did it"


@LINUX
@pytest.mark.parametrize("deed", DEEDS)
def test_a_worker_can_not_harm_its_parent(deed: str) -> None:
    with Pool(1) as pool:
        list(pool.run(do, ["nothing"]))
        if pool.reports[0][SECCOMP] != "on":
            pytest.skip(f"this kernel has no such wall: {pool.reports[0][SECCOMP]}")
        with pytest.raises(PermissionError):
            list(pool.run(do, [deed]))
        assert list(pool.run(do, ["nothing"])) == [(0, "did it")]


@LINUX
@pytest.mark.parametrize("may_write", [False, True])
def test_a_worker_can_not_mark_or_lock_a_file(may_write: bool, tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    victim.write_text("x")
    folder.mkdir()
    before = os.stat(victim)
    with Pool(1, limits=replace(POOL_LIMITS, writes_below=(str(folder),) if may_write else ())) as pool:
        list(pool.run(do, ["nothing"]))
        if pool.reports[0][SECCOMP] != "on":
            pytest.skip(f"this kernel has no such wall: {pool.reports[0][SECCOMP]}")
        ((_, answers),) = pool.run(do, [victim])
    assert [name for name, answer in answers.items() if answer >= 0] == []
    assert os.stat(victim) == before


@LINUX
def test_a_board_keeps_its_size() -> None:
    board = Board.new()
    with pytest.raises(PermissionError):
        os.ftruncate(board.descriptor, 0)
    assert board.depth == 0
    board.close()


def test_a_worker_that_reads_no_more_holds_nobody_up() -> None:
    began = time.monotonic()
    with Pool(1, patience=HASTE) as pool:
        results = dict(pool.run(do, ["read no more", "x" * 1_000_000]))
    assert results[0] == "did it"
    assert isinstance(results[1], LostJob)
    assert "it was not done after" in results[1].reason
    assert time.monotonic() - began < 60


def test_a_job_begins_once() -> None:
    with Pool(1, patience=replace(HASTE, job=60.0)) as pool:
        ((_, lost),) = pool.run(do, ["begin again"])
    assert isinstance(lost, LostJob)
    assert "began twice" in lost.reason
