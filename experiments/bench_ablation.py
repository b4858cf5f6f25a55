"""What parts of deduction are worth: programs an instruction, tries a skill call, gate, skills (SDG, Figs 5, 6).

    sdg bench ablation --which interactions|attempts|gate|skills --instructions 100 [--json]

With a rule-based model (babylang, faulty) the figure over interactions is a test of the plumbing, and its rows say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from envs.babyai.levels import PAPER_LEVELS, level_name
from experiments.cli_errors import UserError
from experiments.comparison import Equipping, compare
from experiments.episodes import Recipe, Row
from experiments.players import PlannerRecipe, recipes
from experiments.statistics import wilson_interval
from experiments.table1 import Table1Settings
from sdg.deduce import DeductionSettings

WHICH = ("interactions", "attempts", "gate", "skills")
RULE_BASED = ("babylang", "faulty")


def rows(
    *,
    seed: int = 0,
    which: str = "attempts",
    most: int = 5,
    instructions: int = 100,
    repeats: int = 1,
    levels: tuple[str, ...] = PAPER_LEVELS,
    library: str = "",
    out: str = "",
    llm: str = "babylang",
    base_url: str = "",
    processes: int = 0,
) -> list[dict[str, Any]]:
    """A row for each level and setting; `most` bounds interactions (Fig 5) and attempts (Fig 6).

    Raises UserError for a figure, levels, counts or a library that aren't there.
    """
    if which not in WHICH or most < 1:
        raise UserError(f"--which is one of {', '.join(WHICH)} and --most at least 1, not {which!r} and {most}")
    folder = Path(out or f"runs/ablation-{which}-{seed}")
    deduction = DeductionSettings(interactions=most) if which == "interactions" else DeductionSettings()
    equipping = Equipping(library, llm, base_url, deduction)
    try:
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, repeats, seed)
        base = equipping.recipe(folder)
        chosen = _chosen(which, base, most=most)
    except ValueError as error:
        raise UserError(str(error)) from None
    config = equipping.config(base) | {"which": which}
    table = compare(chosen, settings, folder=folder, config=config, processes=processes)
    found = _over_interactions(table, most) if which == "interactions" else table
    note = "plumbing test: the model is rule-based" if llm.split(":")[0] in RULE_BASED else ""
    return [{"figure": which, "note": note if which == "interactions" else "", **row} for row in found]


def _chosen(which: str, base: PlannerRecipe, *, most: int) -> Sequence[Recipe]:
    if which == "attempts":
        limits = {n: replace(base.settings, attempts=n) for n in range(1, most + 1)}
        return [replace(base, agent=f"sdg-attempts-{n}", settings=limit) for n, limit in limits.items()]
    other = {"interactions": (), "gate": ("sdg-ungated",), "skills": ("sdg-action",)}[which]
    return recipes(("sdg", *other), base)


def _over_interactions(table: Sequence[Row], most: int) -> list[Row]:
    """A row for each limit 1..most: what was solved with at most so many programs."""
    found = []
    for row in table:
        solved = row["solved_by_interaction"]
        for limit in range(1, most + 1):
            rate = wilson_interval(solved[min(limit, len(solved)) - 1], row["episodes"])
            success = {"success_rate": rate.value, "low": rate.low, "high": rate.high, "episodes": row["episodes"]}
            found.append({"level": row["level"], "agent": row["agent"], "interactions": limit, **success})
    return found


__all__ = ["WHICH", "rows"]
