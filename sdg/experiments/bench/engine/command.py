"""The batched BabyAI engine beside minigrid: exactness, speed.

Resets and memory are measured too.

    sdg bench engine [--json]                                                  the table (about two minutes)
    sdg bench engine --levels all --steps 100000 --endings 200 --no-speed      lockstep alone, an hour of one core

In a level's row `mismatches` counts differences from minigrid in `compared_steps` steps side by side; `first` describes
the first of them. The exit status is 1 if there is any.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sdg.console import CheckFailed
from sdg.envs.babyai.levels import PAPER_LEVELS, all_levels, level_name
from sdg.experiments.bench import options
from sdg.experiments.bench.engine.lockstep import compare
from sdg.experiments.bench.engine.speed import curve, measure

SIZES = (1, 8, 64, 256, 1024, 4096, 8192)


def rows(
    *,
    seed: options.Seed = 0,
    levels: options.Levels = PAPER_LEVELS,
    steps: Annotated[int, typer.Option(min=1, help="steps a level that are compared with minigrid's")] = 6_000,
    endings: Annotated[int, typer.Option(min=0, help="episode endings a level that are compared")] = 20,
    speed: Annotated[bool, typer.Option(help="measure speed too")] = True,
) -> Iterator[dict[str, Any]]:
    """Speed and a lockstep comparison of each level, and the curves over N; see each `table`.

    Raises CheckFailed at the end if engine and minigrid differ, UserError for an unknown level.
    """
    level_names = tuple(map(level_name, all_levels() if tuple(levels) == ("all",) else levels))
    wrong = 0
    for level in level_names:
        comparison = compare(level, steps=steps, endings=endings, seed=seed)
        wrong += comparison.mismatches.total()
        yield {
            "table": "level",
            **(measure(level, seed=seed) if speed else {"level": level}),
            "mismatches": comparison.mismatches.total(),
            "compared_steps": comparison.steps,
            "compared_endings": comparison.endings,
            "first": comparison.first,
        }
    if speed:
        for level in (level_names[0], level_names[-1]):
            yield from ({"table": "curve", "level": level, **row} for row in curve(level, SIZES, seed=seed))
    if wrong:
        raise CheckFailed("engine and minigrid differ: see the rows with mismatches")
