"""Success of each skill from the states in which planners ask for it, on layouts that no stage has seen.

    sdg bench skills --instructions 200 --seed 0 [--library DIR] [--json]

The planner plays the levels' instructions first (a folder of Table 1 that is there already serves: `--out`); every
command begins an attempt of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sdg.deduction.library_skills import options_of
from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.bench.skill_figures import figures
from sdg.experiments.cli.errors import UserError
from sdg.experiments.play.players import recipes
from sdg.experiments.table.comparison import Equipping, compare
from sdg.experiments.table.rows import Table1Settings
from sdg.run import Journal
from sdg.skills.library.store import load_library


def rows(
    *,
    seed: int = 0,
    instructions: int = 200,
    levels: tuple[str, ...] = PAPER_LEVELS,
    library: str = "",
    out: str = "",
    most: int = 1000,
    processes: int = 0,
) -> list[dict[str, Any]]:
    """A row for each skill of the library, from at most `most` starts. Raises UserError for what isn't there."""
    folder = Path(out or f"runs/skills-{seed}")
    try:
        equipping = Equipping(library)
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, 1, seed)
    except ValueError as error:
        raise UserError(str(error)) from None
    recipe = equipping.recipe(folder)
    chosen = recipes(("sdg",), recipe)
    compare(chosen, settings, folder=folder, config=equipping.config(recipe), processes=processes)
    assert recipe.library is not None
    options = options_of(load_library(recipe.library))
    episodes = [row for row in Journal(folder / "episodes.jsonl") if row["agent"] == "sdg"]
    return figures(options, episodes, most=most, seed=seed)


__all__ = ["rows"]
