"""Kernels are compiled before anything runs generated code: workers may read the compiled ones but store none.

An unconfined process plays the smallest run, which compiles the kernels of runs (some 25 seconds), once for every
change of our source, numba or the machine. Each worker compiles for itself what that run missed.
"""

import contextlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from sdg.envs.files import atomic_write, read_file
from sdg.envs.kernels import cache_folder, count_files, fingerprint
from sdg.sandbox.process.pool import clean_environment

_SMALLEST = "sdg.experiments.run.smallest"
"""The module that plays the smallest run."""
_VARIABLE = "SDG_COMPILING"
"""Set in the process that compiles, which calls its jobs as functions."""


def in_this_process() -> bool:
    """Whether this is the process that compiles, whose jobs need no workers."""
    return _VARIABLE in os.environ


@cache
def ensure() -> None:
    """Compile the kernels unless that was done. A failure costs time later but is no error."""
    if are_there():
        return
    environment = {name: text for name, text in clean_environment().items() if name != "SDG_READ_ONLY"}
    process = subprocess.run(
        [sys.executable, "-m", _SMALLEST],
        env=environment | {_VARIABLE: "1", "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if process.returncode == 0:
        with contextlib.suppress(OSError):  # If the cache can't be written to, each command compiles again.
            atomic_write(_marker(), str(count_files()))


def are_there() -> bool:
    """Whether kernels were compiled, and none of them was deleted since."""
    try:
        return count_files() >= int(read_file(_marker(), most=20))
    except (OSError, ValueError):
        return False


@cache
def _marker() -> Path:
    return cache_folder() / "compiled" / fingerprint()
