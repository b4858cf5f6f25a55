"""Success of each skill from the states in which planners ask for it, on layouts that no stage has seen.

    sdg bench skills --instructions 200 --seed 0 [--library DIR] [--json]

The planner plays the levels' instructions first (a folder of Table 1 that is there already serves: `--out`); every
command begins an attempt of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.deduction.library_skills import options_of
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.bench.skill_figures import figures
from sdg.experiments.play.players import recipes
from sdg.experiments.table.comparison import PlannerSettings, compare
from sdg.experiments.table.rows import Instructions
from sdg.run import Journal
from sdg.skills.library.store import load_library


def rows(
    *,
    seed: options.Seed = 0,
    instructions: options.Instructions = 200,
    levels: options.Levels = PAPER_LEVELS,
    library: options.Library = "",
    out: options.Out = None,
    most: Annotated[int, typer.Option(min=1, help="starts of one skill")] = 1000,
    processes: options.Processes = 0,
) -> list[Mapping[str, Any]]:
    """A row for each skill of the library. Raises UserError for what isn't there."""
    folder = Path(out or f"runs/skills-{seed}")
    planner, asked = PlannerSettings(library), Instructions.of(levels, instructions, seed=seed)
    recipe = planner.recipe(folder)
    compare(recipes(("sdg",), recipe), asked, folder=folder, config=planner.config(recipe), processes=processes)
    assert recipe.library is not None
    episodes = [row for row in Journal(folder / "episodes.jsonl") if row["agent"] == "sdg"]
    return list(figures(options_of(load_library(recipe.library)), episodes, most=most, seed=seed))


__all__ = ["rows"]
