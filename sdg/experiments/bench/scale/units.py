"""Units of work for measuring engines; few imports, because every fresh worker imports this."""

import os
import signal
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nap:
    """A unit that sleeps and computes nothing, or, where `fatal`, kills its worker."""

    number: int
    seconds: float = 0.0
    fatal: bool = False

    @property
    def unit(self) -> str:
        """Its name."""
        return f"nap/{self.number}"

    def on_lost(self, reason: str) -> str:
        """Its result when its worker is lost."""
        return f"lost: {reason}"


def sleep(job: Nap) -> int:
    """Sleep; returns the number."""
    if job.fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(job.seconds)
    return job.number


def read_environment(job: Nap) -> list[str]:
    """All environments that a worker can read: its own, and those of all processes that the system shows it."""
    environments = [f"{name}={text}" for name, text in os.environ.items()]
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                environments += file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
    return environments
