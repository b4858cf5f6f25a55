"""Where results come from: versions, source revision and machine, as they are recorded beside every result."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "sdg",
    "gymnasium",
    "minigrid",
    "numba",
    "numpy",
    "openai",
    "pydantic",
    "safetensors",
    "scikit-learn",
    "stable-baselines3",
    "torch",
)
"""Packages whose version may change a result."""


def versions() -> dict[str, str]:
    """Version of Python and of each package that may change a result ("not installed" included)."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, str | int]:
    """What the run ran on, as far as it bears on times."""
    return {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count() or 0}


def revision(folder: Path) -> str | None:
    """Git hash of the source in `folder`, with "-dirty" when tracked files differ from it; None without git."""
    hash_ = _git(folder, "rev-parse", "HEAD")
    if hash_ is None:
        return None
    return hash_ + ("-dirty" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
