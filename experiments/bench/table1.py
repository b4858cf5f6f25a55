"""Table 1: success on unseen instructions with a trained library, level by level and agent by agent, resumable.

    sdg bench table1 --instructions 100 --repeats 3 --seed 0 [--json]

`--agents ppo-flat` adds the flat policies that `sdg bench flat` left in `--flat`, `--agents chat` the model that names
one action a turn; it asks once a step, which with a real model costs.
The folder `--out` keeps every episode (`episodes.jsonl`), the table as Markdown, LaTeX and CSV, and `results.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sdg.deduction.deduce import DeductionSettings
from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.bench.flat_policies import FLAT_AGENT, flat_checksum
from sdg.experiments.cli.errors import UserError
from sdg.experiments.play.players import FLAT, PlannerRecipe, recipes
from sdg.experiments.table.comparison import Equipping, compare
from sdg.experiments.table.rows import Table1Settings

AGENTS = ("sdg", "sdg-restart", "sdg-action", "random-skills", "random", "bot")
NEED_NO_LIBRARY = {"sdg-action", "chat", FLAT_AGENT, "random", "bot"}


def rows(
    *,
    seed: int = 0,
    instructions: int = 100,
    repeats: int = 3,
    levels: tuple[str, ...] = PAPER_LEVELS,
    agents: tuple[str, ...] = AGENTS,
    library: str = "",
    out: str = "",
    llm: str = "babylang",
    base_url: str = "",
    interactions: int = 4,
    attempts: int = 5,
    processes: int = 0,
    flat: str = str(FLAT),
) -> list[dict[str, Any]]:
    """The rows of the table. `processes` 0 means one for each core; `llm` is KIND or KIND:NAME, as in `sdg run --llm`.

    Raises UserError for levels, agents, counts or a library that aren't there.
    """
    folder = Path(out or f"runs/table1-{seed}")
    try:
        recipes(agents, PlannerRecipe("sdg", None))  # A wrong name is told before a missing library.
        deduction = DeductionSettings(interactions=interactions, attempts=attempts)
        equipping = Equipping(library, llm, base_url, deduction, with_library=bool(set(agents) - NEED_NO_LIBRARY))
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, repeats, seed)
        base = equipping.recipe(folder)
        chosen = recipes(agents, base, flat=Path(flat))
    except ValueError as error:
        raise UserError(str(error)) from None
    config = equipping.config(base)
    if FLAT_AGENT in agents:
        config |= {"flat": flat_checksum(Path(flat), settings.levels)}
    return compare(chosen, settings, folder=folder, config=config, processes=processes)


__all__ = ["AGENTS", "rows"]
