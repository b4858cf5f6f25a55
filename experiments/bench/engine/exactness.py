"""Lockstep of engine and minigrid over many levels: a row a level, kept in a journal, so that a long run can go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sdg.envs.babyai.engine import engine
from sdg.envs.babyai.levels import all_levels
from sdg.envs.kernels import stamp
from sdg.experiments.bench.engine.lockstep import compare
from sdg.run import Journal

LONG_STEPS, LONG_ENDINGS = 100_000, 200
_COUNTS = ("compared_steps", "successes", "failures", "timeouts", "mismatches")


def exactness(
    *,
    steps: int = LONG_STEPS,
    endings: int = LONG_ENDINGS,
    seed: int = 0,
    levels: Sequence[str] | None = None,
    jobs: int = 1,
    journal: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """A row for each level, made by `jobs` processes, then a summary.

    With a `journal`, a level that is in it is not compared again, unless it was made by another engine, seed or count.
    """
    kept = Journal(journal) if journal is not None else None
    names = {level: _unit(level, steps=steps, endings=endings, seed=seed) for level in levels or all_levels()}
    rows: list[dict[str, Any]] = [kept[unit] for unit in names.values() if kept is not None and unit in kept]
    yield from rows
    done = {row["unit"] for row in rows}
    work = partial(_compare_long, steps=steps, endings=endings, seed=seed)
    for row in _each(work, [level for level, unit in names.items() if unit not in done], jobs):
        named = {"unit": names[row["level"]], **row}
        rows.append(kept.append(named) if kept is not None else named)
        yield rows[-1]
    yield {"table": "exactness of all", "levels": len(rows), **{name: sum(r[name] for r in rows) for name in _COUNTS}}


def _unit(level: str, *, steps: int, endings: int, seed: int) -> str:
    return f"{level} {steps} {endings} {seed} {stamp(Path(engine.__file__).resolve())[:12]}"


def _each(work: partial[dict[str, Any]], levels: Iterable[str], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from map(work, levels)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, levels)


def _compare_long(level: str, *, steps: int, endings: int, seed: int) -> dict[str, Any]:
    """A third of the steps has a time limit of 64, for more endings."""
    plain = compare(level, steps=steps - steps // 3, seed=seed)
    hurried = compare(level, steps=steps // 3, endings=endings - plain.endings, max_steps=64, seed=seed + 1)
    return {
        "table": "exactness",
        "level": level,
        "compared_steps": plain.steps + hurried.steps,
        "successes": plain.successes + hurried.successes,
        "failures": plain.failures + hurried.failures,
        "timeouts": plain.timeouts + hurried.timeouts,
        "mismatches": plain.mismatches.total() + hurried.mismatches.total(),
        "first": plain.first or hurried.first,
    }
