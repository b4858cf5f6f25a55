"""Who is working in a run folder: one process at a time, and a dead one doesn't count."""

import contextlib
import fcntl
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from sdg.envs.files import read_file
from sdg.skills.strict_json import decode, loads
from sdg.storage.files import RunFolderError, atomic_write, explaining, line

MAX_BYTES = 1 << 16
"""Largest lock file that is trusted."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process on a machine. `birth` tells it from a later process with the same number."""

    pid: int
    host: str
    since: str
    birth: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


def birth(pid: int) -> str:
    """Boot and clock tick at which a process started; "" where the system doesn't tell, or there is no such process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name, field 2, is in brackets and may hold spaces and brackets itself; the start time is field 22.
        return f"{boot}/{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return ""


def ourselves() -> Holder:
    """This process as a holder."""
    return Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S%z"), birth(os.getpid()))


def is_alive(holder: Holder) -> bool:
    """Whether the holder may still be working; processes on other machines always may."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # Someone else's process: it lives.
        pass
    return not holder.birth or holder.birth == birth(holder.pid)


class Lock:
    """`run.lock`, which says who holds a folder. It is taken over from a dead holder, whom `taken_from` names."""

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises `RunFolderError` when a live process holds it, `RunError` when it can't be written."""
        self.path, self._me = path, ourselves()
        with explaining(path.parent):
            folder = os.open(path.parent, os.O_RDONLY)
        try:
            # So no two processes examine a stale lock at once; the kernel drops this lock with its process. On network
            # file systems that don't lock, a small window remains.
            with contextlib.suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_EX)
            self.taken_from = read_holder(path)
            if self.taken_from is not None and is_alive(self.taken_from):
                raise RunFolderError(
                    f"{path.parent} is in use by {self.taken_from}. Wait until that run ends or stop it; "
                    f"if that machine is gone for good, delete {path}."
                )
            atomic_write(path, line(self._me) + "\n")
        finally:
            os.close(folder)

    def release(self) -> None:
        """Release the folder, if it is still ours."""
        if read_holder(self.path) == self._me:
            self.path.unlink(missing_ok=True)


def read_holder(path: Path) -> Holder | None:
    """The holder that a lock file names; None without one, and for an unreadable one (its writer was cut off)."""
    try:
        return decode(Holder, loads(read_file(path, most=MAX_BYTES)))
    except (OSError, ValueError):
        return None
