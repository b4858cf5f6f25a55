"""Where results come from: versions, source revision and machine, as they are recorded beside every result."""

import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

MISSING = "not installed"


def versions() -> dict[str, str]:
    """Version of Python and of each package that this one requires, for they may change a result."""
    by_package = {"python": platform.python_version()}
    for name in ("sdg", *_requirements()):
        try:
            by_package[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            by_package[name] = MISSING
    return by_package


def _requirements() -> list[str]:
    """Names of the packages that this one requires, extras aside; none where it runs without being installed."""
    try:
        requirements = metadata.requires("sdg") or []
    except metadata.PackageNotFoundError:
        return []
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements if "extra ==" not in text]


def revision(folder: Path) -> str | None:
    """Git hash of the source in `folder`, with "-dirty" when tracked files differ from it; None without git."""
    hash_ = _git(folder, "rev-parse", "HEAD")
    return hash_ and hash_ + ("-dirty" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        return subprocess.check_output(
            ["git", "-C", str(folder), *arguments],
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return None
