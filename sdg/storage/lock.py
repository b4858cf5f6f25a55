"""Who works in a folder: one process at a time, known by its lock file."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sdg.envs.files import read_file
from sdg.skills.strict_json import decode, loads
from sdg.storage.files import RunFolderError, atomic_write, explaining, line

MAX_LOCK_BYTES = 1 << 16
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


@contextlib.contextmanager
def hold(path: Path) -> Iterator[Holder | None]:
    """Hold the kernel's lock on the folder of the lock file `path` meanwhile, making the folder if it is missing; gives
    the dead holder that the file names.

    The kernel drops its lock with its process, and knows who lives in other containers. Network file systems that don't
    lock have the file alone. Raises `RunFolderError` where a live process holds the folder.
    """
    with explaining(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        is_held = False
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            is_held = isinstance(error, BlockingIOError)
        holder = read_holder(path)
        if is_held or (holder is not None and is_alive(holder)):
            raise RunFolderError(
                f"{path.parent} is in use by {holder or 'another process'}. Wait until that run ends or stop it; "
                f"if that machine is gone for good, delete {path}."
            )
        yield holder
    finally:
        os.close(folder)


@contextlib.contextmanager
def claim(path: Path) -> Iterator[Holder | None]:
    """Hold a folder meanwhile as `hold` does, with this process named in its lock file.

    Raises `RunFolderError` when a live process holds it, `RunError` when the file can't be written.
    """
    me = ourselves()
    with hold(path) as dead:
        atomic_write(path, line(me) + "\n")
        try:
            yield dead
        finally:
            if read_holder(path) == me:
                path.unlink(missing_ok=True)


def read_holder(path: Path) -> Holder | None:
    """The holder that a lock file names; None without one, and for an unreadable one (its writer was cut off)."""
    try:
        return decode(Holder, loads(read_file(path, most=MAX_LOCK_BYTES)))
    except (OSError, ValueError):
        return None
