"""Jobs in supervised local processes; what they lose is banned, told, and the run goes on."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sdg.skills.sandbox.process.bans import Bans
from sdg.skills.sandbox.process.pool import POOL_LIMITS, Lost, Patience, Pool, clean_environment

BANNED = "banned.json"
ROOT = Path(__file__).resolve().parents[2]


class JobLost(RuntimeError):
    """A job was given up, and nothing can stand for its result."""


@dataclass(frozen=True, slots=True)
class Workers:
    """`processes` jobs at a time, one thread each: more would spin-wait on shared cores.

    With a `folder` (a run's) lost jobs and their code are kept in its `banned.json`, and workers write nowhere else but
    into caches. `network` is for jobs that talk to a server: their workers have network and the environment's keys.
    """

    processes: int
    folder: Path | None = None
    network: bool = False
    patience: Patience = field(default_factory=Patience)

    def __call__(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """(job, result) as they finish. What a job raises ends the others and is raised here.

        A job that lost its worker, or that holds banned code, has the result of its `lost(reason)`. Raises `JobLost`
        for one without that method.
        """
        bans = Bans(self.folder / BANNED if self.folder else None)
        allowed = []
        for job in jobs:
            reason = bans.reason(getattr(job, "sources", ()))
            if reason:
                yield job, _lost(job, f"its code is banned: {reason}")
            else:
                allowed.append(job)
        if not allowed:
            return
        pool = _pool(self.processes, self.folder, self.network, self.patience)
        for number, result in pool.run(function, allowed):
            job = allowed[number]
            if isinstance(result, Lost):
                bans.add(result.source or f"job {getattr(job, 'unit', job)!r:.200}", reason=result.reason)
                result = _lost(job, result.reason)
            yield job, result


def _lost(job: Any, reason: str) -> Any:
    make = getattr(job, "lost", None)
    if make is None:
        raise JobLost(f"a job was given up: {reason}")
    return make(reason)


def _pool(processes: int, folder: Path | None, network: bool, patience: Patience) -> Pool:
    """Workers are kept for the next stage: what they imported and compiled is worth seconds.

    Those of another run are ended, half a gigabyte each, unless somebody waits for their results.
    """
    key = (processes, folder, network, patience)
    if key not in _kept:
        for other in [other for other, pool in _kept.items() if pool.idle]:
            _kept.pop(other).close()
        limits = replace(POOL_LIMITS, network=network, writes_below=_places(folder) if folder else ())
        environment = dict(os.environ) if network else clean_environment()
        _kept[key] = Pool(processes, limits=limits, patience=patience, environment=environment)
    return _kept[key]


_kept: dict[tuple[int, Path | None, bool, Patience], Pool] = {}


@atexit.register
def _close() -> None:
    while _kept:
        _kept.popitem()[1].close()


def _places(folder: Path) -> tuple[str, ...]:
    """Where a run's workers may write: its folder, caches, and the folder for what is temporary."""
    home = Path("~").expanduser()
    caches = [os.environ.get(name, "") for name in ("SDG_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")]
    compiled = [path for floor in ("envs", "skills", "sdg") for path in (ROOT / floor).rglob("__pycache__")]
    places = [folder.resolve(), home / ".cache", tempfile.gettempdir(), *compiled, *(c for c in caches if c)]
    return tuple(str(place) for place in places)
