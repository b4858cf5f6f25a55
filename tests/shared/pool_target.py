"""Jobs for the workers of a pool, most of them harmful. It imports little: every fresh worker imports it."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.sandbox.guard import Guard, Signature
from sdg.sandbox.process import line

SOURCE = "def check():\n    return wait() == 1\n"
CRASHING = "def check():\n    return wait() == 2\n"


class Bomb:
    """Unpickling it runs a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch pwned",)


def do(job: str) -> Any:
    """One harmful or harmless thing by name; what follows a colon is a folder."""
    action, _, folder = job.partition(":")
    if action == "die once" and not (Path(folder) / "died").exists():
        (Path(folder) / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return ACTIONS[action](folder) if action in ACTIONS else f"did {action}"


def spin() -> int:
    while True:
        pass


def run_generated(source: str, *, spin: Any) -> Any:
    """Generated code behind the guard; its function acts like a hole in the guard or in C."""
    guard = Guard({"wait": Signature("wait")}, returns=bool)
    return guard.load(source)({"wait": spin})


def in_generated_code(folder: str) -> Any:
    return run_generated(SOURCE, spin=spin)


def break_promise(folder: str) -> Any:
    return run_generated("def check():\n    return wait() == 1\n", spin=object)


def crash_later(folder: str) -> None:
    """The process dies of something else after an innocent check has answered."""
    run_generated(SOURCE, spin=lambda: 1)
    os.abort()


def read_proc(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


def pids() -> list[int]:
    """Processes of this user."""
    pids_of_user = []
    for place in Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
            if place.name.isdigit() and place.stat().st_uid == os.getuid():
                pids_of_user.append(int(place.name))
    return pids_of_user


def environment(pid: int) -> bytes:
    try:
        return read_proc(pid, "environ")
    except FileNotFoundError:
        return b""


def say(message: bytes) -> None:
    """What a worker that was taken over may write to its parent: anything."""
    channel = line._ask.__self__  # type: ignore[union-attr]
    while message:
        message = message[os.write(channel._outgoing, message) :]
    time.sleep(60)


def fill(folder: str) -> int:
    return len([bytearray(64 << 20) for _ in range(200)])


ACTIONS: Mapping[str, Any] = {
    "sleep": lambda folder: time.sleep(60),
    "hold the lock": lambda folder: ctypes.PyDLL(None).sleep(60),
    "hang": in_generated_code,
    "die": lambda folder: os.kill(os.getpid(), signal.SIGKILL),
    "abort": lambda folder: os.abort(),
    "fill": fill,
    "raise": lambda folder: int("seven"),
    "break promise": break_promise,
    "bomb": lambda folder: Bomb(),
    "function": lambda folder: os.system,
    "environment": lambda folder: dict(os.environ),
    "torch cache": lambda folder: Path(
        importlib.import_module("torch._inductor.runtime.cache_dir_utils").cache_dir()
    ).is_dir(),
    "socket": lambda folder: socket.socket(),
    "program": lambda folder: subprocess.run(["true"], check=True),
    "write": lambda folder: Path(folder, "written").write_text("x"),
    "fork": lambda folder: os.fork(),
    "signal": lambda folder: os.kill(os.getppid(), 0),
    "ask": lambda folder: line.ask({"n": [1, 2]}),
    "parent": lambda folder: read_proc(os.getppid(), "environ"),
    "others": lambda folder: [len(environment(pid)) for pid in pids() if pid != os.getpid()],
    "memory of the parent": lambda folder: read_proc(os.getppid(), "maps"),
    "crash": lambda folder: run_generated(CRASHING, spin=os.abort),
    "crash later": crash_later,
    "say": lambda folder: say(bytes.fromhex(folder)),
}


@dataclass(frozen=True)
class Numbered:
    """A job that hangs in its generated code when it is the seventh; so would the ninth."""

    unit: str

    @property
    def sources(self) -> tuple[str, ...]:
        return (SOURCE,) if self.unit in ("7", "9") else ()

    def on_lost(self, reason: str) -> str:
        return f"lost: {reason}"


def hang_at_seven(job: Numbered) -> str:
    return str(do("hang")) if job.unit == "7" else f"did {job.unit}"
