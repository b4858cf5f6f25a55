"""The batched BabyAI engine beside minigrid: exactness, speed, resets, memory, checks in batch, the first call.

sdg bench engine [--json]          the table (about two minutes)
sdg bench exactness --jobs 2       lockstep on all ids: 100,000 steps and 200 endings a level
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.bench.engine.checks import measure_checks
from sdg.experiments.bench.engine.exactness import all_equal
from sdg.experiments.bench.engine.first_call import first_calls
from sdg.experiments.bench.engine.lockstep import compare
from sdg.experiments.bench.engine.speed import curve, measure
from sdg.experiments.table.rows import Instructions

SIZES = (1, 8, 64, 256, 1024, 4096, 8192)
SHORT_STEPS, SHORT_ENDINGS = 6_000, 20


def rows(*, seed: options.Seed = 0, levels: options.Levels = PAPER_LEVELS) -> Iterator[dict[str, Any]]:
    """Speed and a short lockstep of each level, the curves over N, checks in batch, first calls; see each `table`."""
    yield from all_equal(_rows(Instructions.of(levels, 1, seed=seed).levels, seed))


def _rows(levels: tuple[str, ...], seed: int) -> Iterator[dict[str, Any]]:
    for level in levels:
        seen = compare(level, steps=SHORT_STEPS, endings=SHORT_ENDINGS, seed=seed)
        exact = {"mismatches": seen.mismatches.total(), "compared_steps": seen.steps}
        yield {"table": "level", **asdict(measure(level, seed=seed)), **exact}
    for level in (levels[0], levels[-1]):
        for row in curve(level, SIZES, seed=seed):
            yield {"table": "curve", "level": level, **row}
    for row in measure_checks(levels[-1], seed=seed):
        yield {"table": "check", **row}
    yield {"table": "first call", **first_calls()}
