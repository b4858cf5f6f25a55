"""A comparison of agents in a folder of its own: what it was asked with, its episodes, its table in every format."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sdg import skills
from sdg.deduction.deduce import DeductionSettings
from sdg.envs.babyai.levels import instructions
from sdg.envs.registry import RegistryError
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import Stage, progress
from sdg.experiments.play.episodes import BOT, Recipe, Row
from sdg.experiments.play.players import ChatRecipe, PlannerRecipe
from sdg.experiments.table.formats import comma_separated, latex, markdown
from sdg.experiments.table.rows import ALL, Table1Settings, columns, run_table1, wide, wide_columns
from sdg.llm.budget import Limits, Prices
from sdg.llm.estimate import CHAT_EPISODE, EPISODE, Estimate
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of, named, prices_of, provider_of
from sdg.run import RunFolder, RunSettings, atomic_write
from sdg.skills.library.store import load_library

SHIPPED = Path(skills.__file__).resolve().parent / "shipped"
"""The library that comes with the package."""

LIBRARIES = (Path("library"), SHIPPED, Path("runs/quickstart/library"))
"""Where a library is looked for when none is named."""

MAY_CHANGE = ("levels", "agents", "instructions", "repeats")
"""What a folder may be asked for next: an episode's row doesn't depend on how many others there are."""


@dataclass(frozen=True, slots=True)
class Equipping:
    """What every planner of a comparison has: a library's name ("" to look for one), a model, its limits.

    `llm` is KIND or KIND:NAME, as in `sdg run --llm`. Without `with_library` nobody needs skills.
    """

    library: str = ""
    llm: str = "babylang"
    base_url: str = ""
    deduction: DeductionSettings = field(default_factory=DeductionSettings)
    with_library: bool = True
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)

    def recipe(self, folder: Path) -> PlannerRecipe:
        """The recipe of `sdg`. Raises UserError when there is no library."""
        place = find_library(self.library) if self.with_library else None
        return PlannerRecipe("sdg", place, model=self.model(folder), settings=self.deduction)

    def config(self, recipe: PlannerRecipe) -> dict[str, Any]:
        """What the folder is held to; the library by the checksum of its index, which names those of its weights."""
        index = recipe.library / "library.json" if recipe.library else None
        return {
            "llm": self.llm,
            "base_url": self.base_url,
            "library": hashlib.sha256(index.read_bytes()).hexdigest() if index else None,
            "interactions": self.deduction.interactions,
            "attempts": self.deduction.attempts,
        }

    def model(self, folder: Path) -> ModelSettings:
        """Which model, with its transcript, cache and ledger in the folder where it is a real one.

        Raises UserError for a kind that there isn't.
        """
        try:
            chosen = named(self.llm)
        except RegistryError as error:
            raise UserError(str(error)) from None
        settings = ModelSettings(
            chosen["kind"],
            chosen.get("name", ""),
            base_url=self.base_url or None,
            transcript=Path(chosen["transcript"]) if "transcript" in chosen else None,
            limits=self.limits,
            prices=self.prices,
        )
        if not provider_of(settings.kind).network:
            return settings
        return replace(
            settings,
            record=folder / "transcript.jsonl",
            cache=folder / "replies.sqlite",
            ledger=folder / "spent.json",
        )


def compare(
    chosen: Sequence[Recipe],
    settings: Table1Settings,
    *,
    folder: Path,
    config: Mapping[str, Any],
    processes: int = 0,
) -> list[dict[str, Any]]:
    """Play what the folder lacks and write its table; the rows of levels. `processes` 0 means one for each core.

    The rows over all levels, which are no success rates but interquartile means, are in the folder and told.
    Raises RunFolderError when the folder was begun with another library, model or limit.
    """
    asked = {
        "levels": list(settings.levels),
        "agents": [recipe.agent for recipe in chosen],
        "instructions": settings.instructions,
        "repeats": settings.repeats,
        **config,
    }
    about = RunSettings(asked, json.dumps(asked, indent=1) + "\n", settings.seed, ("sdg", *sys.argv[1:]))
    told = progress(quiet=False)
    agents = {BOT, *(recipe.agent for recipe in chosen)}
    total = len(agents) * len(settings.levels) * settings.instructions * settings.repeats
    with RunFolder.start(folder, about, may_change=MAY_CHANGE) as run:
        journal = run.journal("episodes")
        if cost := _expected_cost(chosen, episodes=total // len(agents)):
            told.note(cost)
        with told.stage("episodes", total=total, unit="episode", done=min(len(journal), total)) as stage:
            table = run_table1(
                chosen,
                settings,
                journal=journal,
                processes=processes or _cores(),
                done=_Heard(stage),
                known=_grounded(chosen),
            )
        _write(table, settings.levels, run=run)
        for row in (row for row in table if row["level"] == ALL):
            low, middle, high = (100 * row[key] for key in ("low", "success_rate", "high"))
            sure = f" [{low:.1f}, {high:.1f}]" if settings.repeats > 1 else ""  # One repeat says nothing about others.
            told.note(f"{row['agent']} over all levels: interquartile mean {middle:.1f} %{sure}")
        told.note(f"table: {folder / 'table.md'}, one row an episode: {folder / 'episodes.jsonl'}")
    return [row for row in table if row["level"] != ALL]


def _expected_cost(chosen: Sequence[Recipe], *, episodes: int) -> str:
    """What the agents will ask of their model, in a line; "" where nobody asks a server."""
    asked, model = Estimate(), None
    for recipe in chosen:
        if isinstance(recipe, PlannerRecipe | ChatRecipe) and provider_of(recipe.model.kind).network:
            asked = asked.plus(EPISODE if isinstance(recipe, PlannerRecipe) else CHAT_EPISODE, episodes)
            model = recipe.model
    return asked.describe(prices_of(model), concurrency=concurrency_of(model)) if model else ""


def _grounded(chosen: Sequence[Recipe]) -> frozenset[str] | None:
    """Texts of all instructions that the library of these agents was grounded on; None where it doesn't say them."""
    places = [recipe.library for recipe in chosen if isinstance(recipe, PlannerRecipe) and recipe.library is not None]
    return grounding_texts(load_library(places[0]).provenance) if places else None


def grounding_texts(provenance: Mapping[str, Any]) -> frozenset[str] | None:
    """Texts of the grounding instructions that a library's provenance counts; None where it says nothing usable."""
    try:
        levels, seed = list(provenance["levels"]), int(provenance["seed"])
        count = int(provenance["instructions_per_level"])
        drawn = [instructions(level, split="grounding", count=count, seed=seed) for level in levels]
    except (KeyError, TypeError, ValueError):
        return None
    return frozenset(each.text for part in drawn for each in part)


@dataclass(frozen=True)
class _Heard:
    """Tells a progress bar of each finished episode."""

    stage: Stage

    def __call__(self, row: Row) -> None:
        self.stage.advance(steps=row["steps"])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write(table: list[dict[str, Any]], levels: Sequence[str], *, run: RunFolder) -> None:
    """The table in every format, each file whole or not at all."""
    paper, shown = wide(table, levels), wide_columns(levels)
    atomic_write(run.path / "table.md", markdown(paper, shown) + "\n" + markdown(table, columns()))
    atomic_write(run.path / "table.tex", latex(paper, shown) + "\n" + latex(table, columns()))
    atomic_write(run.path / "table.csv", comma_separated(table))
    run.write_json("results.json", {"rows": table})


def find_library(name: str = "") -> Path:
    """The folder of a library by name, a run's folder too, or the first of LIBRARIES. Raises UserError for none."""
    places = [Path(name)] if name else list(LIBRARIES)
    for place in places:
        for folder in (place, place / "library"):
            if (folder / "library.json").is_file():
                return folder
    looked = ", ".join(map(str, places))
    raise UserError(f"there is no skill library in {looked}: name one with --library, or train one with `sdg run`")
