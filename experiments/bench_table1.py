"""Table 1: success on unseen instructions with a trained library, level by level and agent by agent, resumable.

    sdg bench table1 --instructions 100 --repeats 3 --seed 0 [--json]

The folder `--out` keeps every episode (`episodes.jsonl`), the table as Markdown, LaTeX and CSV, and `results.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.babyai.levels import PAPER_LEVELS, level_name
from experiments.cli_errors import UserError
from experiments.cli_progress import progress
from experiments.episodes import BotRecipe, Recipe, Row
from experiments.formats import comma_separated, latex, markdown
from experiments.players import PlannerRecipe, recipes
from experiments.table1 import Table1Settings, columns, run_table1, wide, wide_columns
from sdg.deduce import DeductionSettings
from sdg.llm.registry import ModelSettings
from sdg.runlog import RunFolder, RunSettings, atomic_write

AGENTS = ("sdg", "sdg-restart", "sdg-action", "random-skills", "random", "bot")
WITH_LIBRARY = {"sdg", "sdg-restart", "sdg-ungated", "random-skills"}
LIBRARIES = (Path("library"), Path("runs/quickstart/library"))
"""Where a library is looked for when none is named."""

MAY_CHANGE = ("levels", "agents", "instructions", "repeats")
"""What a folder may be asked for next: an episode's row doesn't depend on how many others there are."""


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
) -> list[dict[str, Any]]:
    """The rows of the table. `processes` 0 means one for each core; `llm` is KIND or KIND:NAME, as in `sdg run --llm`.

    Raises UserError for levels, agents, counts or a library that aren't there.
    """
    place = _library(library) if set(agents) & WITH_LIBRARY else None
    folder = Path(out or f"runs/table1-{seed}")
    base = PlannerRecipe(
        "sdg",
        place,
        model=_model(llm, base_url, folder=folder),
        settings=DeductionSettings(interactions=interactions, attempts=attempts),
    )
    try:
        chosen = recipes(agents, base)
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, repeats, seed)
    except ValueError as error:
        raise UserError(str(error)) from None
    asked = {"levels": list(settings.levels), "agents": list(agents), "instructions": instructions, "repeats": repeats}
    fixed = {"llm": llm, "base_url": base_url, "library": _fingerprint(place) if place else None}
    config = asked | fixed | {"interactions": interactions, "attempts": attempts}
    return _played(chosen, settings, folder=folder, config=config, processes=processes or os.cpu_count() or 1)


def _played(
    chosen: Sequence[Recipe], settings: Table1Settings, *, folder: Path, config: Mapping[str, Any], processes: int
) -> list[dict[str, Any]]:
    about = RunSettings(config, json.dumps(config, indent=1) + "\n", settings.seed, ("sdg", *sys.argv[1:]))
    told = progress(quiet=False)
    total = len(settings.levels) * settings.instructions * settings.repeats
    total *= len({BotRecipe().agent, *(recipe.agent for recipe in chosen)})
    with RunFolder.start(folder, about, may_change=MAY_CHANGE) as run:
        journal = run.journal("episodes")
        with told.stage("episodes", total=total, unit="episode", done=min(len(journal), total)) as stage:
            heard = _Heard(stage)
            table = run_table1(chosen, settings, journal=journal, processes=processes, done=heard)
        _write(table, settings.levels, run=run)
        told.note(f"table: {folder / 'table1.md'}, one row an episode: {folder / 'episodes.jsonl'}")
    return table


class _Heard:
    """Tells a progress bar of each finished episode."""

    def __init__(self, stage: Any) -> None:
        self._stage = stage

    def __call__(self, row: Row) -> None:
        self._stage.advance(steps=row["steps"])


def _write(table: list[dict[str, Any]], levels: Sequence[str], *, run: RunFolder) -> None:
    """The table in every format, each file whole or not at all."""
    paper, shown = wide(table, levels), wide_columns(levels)
    atomic_write(run.path / "table1.md", markdown(paper, shown) + "\n" + markdown(table, columns()))
    atomic_write(run.path / "table1.tex", latex(paper, shown) + "\n" + latex(table, columns()))
    atomic_write(run.path / "table1.csv", comma_separated(table))
    run.write_json("results.json", {"rows": table})


def _library(name: str) -> Path:
    """The folder of the library. Raises UserError when there is none."""
    places = [Path(name)] if name else list(LIBRARIES)
    for place in places:
        for folder in (place, place / "library"):
            if (folder / "library.json").is_file():
                return folder
    looked = ", ".join(map(str, places))
    raise UserError(f"there is no skill library in {looked}: name one with --library, or train one with `sdg run`")


def _fingerprint(library: Path) -> str:
    """What a table's episodes were played with: the index names the checksum of every weights file."""
    return hashlib.sha256((library / "library.json").read_bytes()).hexdigest()


def _model(llm: str, base_url: str, *, folder: Path) -> ModelSettings:
    kind, _, name = llm.partition(":")
    if kind == "replay":
        return ModelSettings(kind, transcript=Path(name))
    if kind != "openai":
        return ModelSettings(kind, name)
    return ModelSettings(
        kind,
        name,
        base_url=base_url or None,
        api_key=os.environ.get("OPENAI_API_KEY"),
        record=folder / "transcript.jsonl",
        cache=folder / "replies.sqlite",
    )


__all__ = ["AGENTS", "rows"]
