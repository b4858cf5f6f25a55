"""Lockstep of engine and minigrid over many levels: every observation, reward, ending and carried object is equal.

sdg bench exactness [--jobs 2] [--journal FILE]     an hour of one core; the same FILE goes on where it stopped
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.envs.babyai.engine import engine
from sdg.envs.babyai.levels import all_levels
from sdg.envs.kernels import stamp
from sdg.experiments.bench import options
from sdg.experiments.bench.engine.lockstep import compare
from sdg.experiments.cli.errors import CheckFailed
from sdg.experiments.table.rows import Instructions
from sdg.run import Journal

LONG_STEPS, LONG_ENDINGS = 100_000, 200
_COUNTS = ("compared_steps", "successes", "failures", "timeouts", "mismatches")


def rows(
    *,
    steps: Annotated[int, typer.Option(min=1, help="compared steps a level")] = LONG_STEPS,
    endings: Annotated[int, typer.Option(min=0, help="episode endings a level")] = LONG_ENDINGS,
    seed: options.Seed = 0,
    levels: options.Levels = (),
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = 1,
    journal: Annotated[Path | None, typer.Option(metavar="FILE", help="keeps its rows, to go on from")] = None,
) -> Iterator[dict[str, Any]]:
    """A row for each level (all without `levels`), then a summary. Raises CheckFailed at the end for a mismatch.

    With a `journal`, a level that is in it is not compared again, unless it was made by another engine, seed or count.
    """
    kept = Journal(journal) if journal is not None else None
    chosen = Instructions.of(levels or all_levels(), 1, seed=seed).levels
    names = {level: _unit(level, steps=steps, endings=endings, seed=seed) for level in chosen}
    yield from all_equal(_rows(names, kept, partial(_compare_long, steps=steps, endings=endings, seed=seed), jobs))


def _rows(
    names: Mapping[str, str], kept: Journal | None, work: partial[dict[str, Any]], jobs: int
) -> Iterator[dict[str, Any]]:
    found: list[dict[str, Any]] = [kept[unit] for unit in names.values() if kept is not None and unit in kept]
    yield from found
    done = {row["unit"] for row in found}
    for row in _each(work, [level for level, unit in names.items() if unit not in done], jobs):
        named = {"unit": names[row["level"]], **row}
        found.append(kept.append(named) if kept is not None else named)
        yield found[-1]
    yield {"table": "exactness of all", "levels": len(found), **{name: sum(r[name] for r in found) for name in _COUNTS}}


def all_equal(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows as they are. Raises CheckFailed behind the last one where any has mismatches."""
    wrong = False
    for row in found:
        wrong |= bool(row.get("mismatches"))
        yield row
    if wrong:
        raise CheckFailed("engine and minigrid differ: see the rows with mismatches")


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
