"""Is this machine ready? Each check is a row: its name, the state, the finding, and advice."""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path

from sdg.envs.kernels import cache_folder
from sdg.storage import MISSING, versions

ROOT = Path(__file__).resolve().parents[3]
GOOD, NOTE, BAD = "ok", "note", "bad"
MIN_FREE_GB = 1.0
INSTALL = "pip install --constraint constraints.txt --editable ."


def checks(*, runs: Path) -> Iterator[dict[str, str]]:
    """Every check in turn; a check that itself fails is bad and says why."""
    acts: list[tuple[str, Callable[[], tuple[str, str, str]]]] = [
        ("python", lambda: (GOOD, platform.python_version(), "")),
        ("packages", _packages),
        ("cores", _cores),
        ("levels", _levels),
        ("torch", _torch),
        ("kernel cache", _kernel_cache),
        ("cache folder", lambda: _writable(cache_folder(), "set SDG_CACHE_DIR to a folder that can be written")),
        ("runs folder", lambda: _writable(runs, "run from a folder that can be written, or give --out")),
        ("disk", lambda: _disk(runs)),
        ("chromium", _chromium),
        ("model key", _key),
    ]
    for name, act in acts:
        try:
            status, finding, advice = act()
        except Exception as error:
            status, finding, advice = BAD, f"{type(error).__name__}: {error}", "see the message; SDG_DEBUG=1 shows more"
        yield {"check": name, "status": status, "found": finding, "advice": "" if status == GOOD else advice}


def pins(path: Path = ROOT / "constraints.txt") -> dict[str, str]:
    """Package -> pinned version; empty without a constraints file (an installed copy)."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def _packages() -> tuple[str, str, str]:
    pinned = {key.lower().replace("_", "-"): value for key, value in pins().items()}
    installed = {name: version.split("+")[0] for name, version in versions().items() if name not in ("python", "sdg")}
    if missing := [name for name, version in installed.items() if version == MISSING]:
        return BAD, f"missing: {', '.join(missing)}", INSTALL
    pairs = [(name, version, pinned.get(name.lower(), version)) for name, version in installed.items()]
    deviations = [f"{name} {version} (pinned: {pin})" for name, version, pin in pairs if version != pin]
    return (
        NOTE if deviations else GOOD,
        ", ".join(deviations) or f"{len(installed)} as pinned",
        "figures were measured with the pinned versions (constraints.txt)",
    )


def _cores() -> tuple[str, str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return GOOD, f"{os.cpu_count()} cores, {memory / 2**30:.1f} GiB of memory", ""


def _levels() -> tuple[str, str, str]:
    from sdg.envs.babyai.levels import PAPER_LEVELS, all_levels
    from sdg.envs.babyai.world import BabyAIWorld

    start = time.perf_counter()
    for level in PAPER_LEVELS:
        BabyAIWorld(level).reset(0)
    return GOOD, f"{len(all_levels())} levels; the paper's six reset in {time.perf_counter() - start:.1f} s", ""


def _torch() -> tuple[str, str, str]:
    # Only looks whether torch can be imported, because only the learner may import it.
    if util.find_spec("torch") is None or util.find_spec("stable_baselines3") is None:
        return BAD, "no", INSTALL
    versions = (f"{name} {metadata.version(name.replace('-', '_'))}" for name in ("torch", "stable-baselines3"))
    return GOOD, ", ".join(versions), ""


def _kernel_cache() -> tuple[str, str, str]:
    folder, chosen = ROOT / "sdg" / "envs" / "babyai", os.environ.get("NUMBA_CACHE_DIR")
    if chosen or os.access(folder, os.W_OK):
        return GOOD, str(chosen or folder / "__pycache__"), ""
    return (
        NOTE,
        f"{folder} can't be written",
        "set NUMBA_CACHE_DIR to a folder of your own, so that kernels compile once",
    )


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest folder above it that exists."""
    return next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())


def _writable(folder: Path, advice: str) -> tuple[str, str, str]:
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)):
            return GOOD, str(folder), ""
    except OSError as error:
        return BAD, f"{folder}: {error.strerror}", advice


def _disk(folder: Path) -> tuple[str, str, str]:
    free = shutil.disk_usage(_nearest(folder)).free / 2**30
    return GOOD if free >= MIN_FREE_GB else NOTE, f"{free:.1f} GiB free", "a run needs a few hundred MB"


def _chromium() -> tuple[str, str, str]:
    from sdg.envs.ui.browser import chromium, what_is_missing

    missing = what_is_missing()
    finding = f"not ready; missing {missing}" if missing else str(chromium())
    return NOTE if missing else GOOD, finding, "only needed for pages, screens and phones"


def _key() -> tuple[str, str, str]:
    is_set = bool(os.environ.get("OPENAI_API_KEY"))
    finding = "OPENAI_API_KEY is set" if is_set else "OPENAI_API_KEY isn't set"
    return GOOD if is_set else NOTE, finding, "only needed for --llm openai with a server that asks for one"
