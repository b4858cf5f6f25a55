"""A comparison of agents in its own folder: its settings, its episodes, and its table in every format."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg import skills
from sdg.agents.agents import Task
from sdg.console import Row, cell, progress, with_interval
from sdg.envs.babyai.world import instructions
from sdg.errors import UserError
from sdg.experiments.play.episodes import ALL, BOT, Recipe
from sdg.experiments.play.players import ChatRecipe, PlannerRecipe
from sdg.experiments.results.formats import comma_separated, latex, markdown, percent
from sdg.experiments.results.rows import COLUMNS, Summary, paper_columns, paper_table, run_table1
from sdg.llm.budget import CHAT_EPISODE, EPISODE, BudgetSettings, describe_cost
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import concurrency_of, parse_llm, provider_of
from sdg.skills.library.store import library_checksum, load_library
from sdg.storage import Journal, Rows, RunFolder, RunSettings, atomic_write


def open_folder(path: Path, request: Mapping[str, Any], *, seed: int, may_change: Collection[str] = ()) -> RunFolder:
    """Begin or resume the folder of a figure; its `request` must be the same, except for the keys that may change.

    Raises RunFolderError when it was begun with something else.
    """
    settings = RunSettings(dict(request), json.dumps(request, indent=1) + "\n", seed, ("sdg", *sys.argv[1:]))
    return RunFolder.start(path, settings, may_change=may_change)


def run_missing_jobs(
    jobs: Sequence[Any],
    journal: Journal | Rows[Any],
    play: Callable[[Sequence[Any]], Iterable[Any]],
    *,
    name: str,
    unit: str = "unit",
) -> list[Any]:
    """A journal's rows, one for each job; `play` plays the jobs that the journal lacks, in any order.

    Each row is written to the journal at once, so that an interrupted command resumes where it stopped.
    """
    missing = [job for job in jobs if job.unit not in journal]
    with progress().stage(name, total=len(jobs), unit=unit, done=len(jobs) - len(missing)) as stage:
        for row in play(missing) if missing else ():
            journal.append(row)
            stage.advance()
    return [journal[job.unit] for job in jobs]


def publish(run: RunFolder, rows: Sequence[Row]) -> None:
    """Write `table.md`, `table.csv` and `results.json`, and say where."""
    display_rows = [with_interval(row) for row in rows]
    columns = {key: (lambda row, key=key: cell(row.get(key))) for row in display_rows for key in row}
    atomic_write(run.path / "table.md", markdown(display_rows, columns))  # type: ignore[arg-type]
    atomic_write(run.path / "table.csv", comma_separated(rows))
    run.write_json("results.json", {"rows": rows})
    progress().note(f"table: {run.path / 'table.md'}")


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


SHIPPED = Path(skills.__file__).resolve().parent / "shipped"
"""The library that comes with the package."""

MAY_CHANGE = ("levels", "agents", "instructions", "repeats")
"""May differ when a folder is resumed, because no episode's row depends on how many others there are."""


def named_model(
    llm: str, base_url: str = "", *, folder: Path, budget: BudgetSettings = BudgetSettings()
) -> ModelSettings:
    """The model that options name; `llm` is KIND or KIND:NAME, as in `sdg run --llm`. A real one keeps its
    transcript, which answers repeated questions, and its ledger in the folder.

    Raises RegistryError for an unknown kind.
    """
    values = parse_llm(llm)
    files: dict[str, Any] = {
        "record": folder / "transcript.jsonl",
        "cache": True,
        "ledger": folder / "spent.json",
    }
    return ModelSettings(
        values["kind"],
        values.get("name", ""),
        base_url=base_url or None,
        transcript=Path(values["transcript"]) if "transcript" in values else None,
        budget=budget,
        **(files if provider_of(values["kind"]).network else {}),
    )


def planner_identity(planner: PlannerRecipe, llm: str = "babylang", base_url: str = "") -> dict[str, Any]:
    """The planners' settings that decide a comparison; its folder is identified by them."""
    return {
        "llm": llm,
        "base_url": base_url,
        "library": library_checksum(planner.library) if planner.library else None,
        "interactions": planner.settings.interactions,
        "attempts": planner.settings.attempts,
    }


def compare(
    chosen: Sequence[Recipe],
    tasks: Sequence[Task],
    *,
    folder: Path,
    seed: int,
    config: Mapping[str, Any],
    processes: int = 0,
) -> list[Summary]:
    """Play what the folder lacks, write its table, return the rows of levels. The folder is identified by `config`,
    levels, agents and the user's `seed`. `processes` 0 means one for each core.

    The rows over all levels are printed and in the folder. Raises RunFolderError when the folder was begun with another
    library, model or limit.
    """
    levels = list(dict.fromkeys(task.level for task in tasks))
    settings: dict[str, Any] = {"levels": levels, "agents": [recipe.agent for recipe in chosen]}
    total = len({BOT, *settings["agents"]}) * len(tasks)
    libraries = [
        recipe.library for recipe in chosen if isinstance(recipe, PlannerRecipe) and recipe.library is not None
    ]
    with open_folder(folder, settings | dict(config), seed=seed, may_change=MAY_CHANGE) as run:
        journal = run.journal("episodes")
        if cost := _expected_cost(chosen, episodes=len(tasks)):
            progress().note(cost)
        with progress().stage("episodes", total=total, unit="episode", done=min(len(journal), total)) as stage:
            table = run_table1(
                chosen,
                tasks,
                journal=journal,
                processes=processes or cores(),
                done=lambda row: stage.advance(steps=row.steps),
                known=grounding_texts(load_library(libraries[0]).provenance) if libraries else None,
            )
        _write(table, levels, run=run)
    for row in (row for row in table if row["level"] == ALL):
        ends = f"[{percent(row['low'])}, {percent(row['high'])}]"
        progress().note(f"{row['agent']} over all levels: {percent(row['success_rate'])} % {ends}")
    progress().note(f"table: {folder / 'table.md'}, one row an episode: {folder / 'episodes.jsonl'}")
    return [row for row in table if row["level"] != ALL]


def _expected_cost(recipes: Sequence[Recipe], *, episodes: int) -> str:
    """The agents' expected use of their model, in a line; "" if no agent asks a server."""
    asking = [recipe for recipe in recipes if isinstance(recipe, PlannerRecipe | ChatRecipe)]
    served = [recipe for recipe in asking if provider_of(recipe.model.kind).network]
    work = [(EPISODE if isinstance(recipe, PlannerRecipe) else CHAT_EPISODE, episodes) for recipe in served]
    models = [recipe.model for recipe in served]
    return describe_cost(work, models[-1].budget, concurrency=concurrency_of(models[-1])) if models else ""


MAX_GROUNDED = 10_000
"""Most grounding instructions that are made again, which takes a minute; a provenance may count any number."""


def grounding_texts(provenance: Mapping[str, Any]) -> frozenset[str] | None:
    """Texts of the grounding instructions that a library's provenance counts; None if it can't be used or counts more
    than MAX_GROUNDED, which a note says."""
    try:
        levels, seed = list(provenance["levels"]), int(provenance["seed"])
        count = int(provenance["instructions_per_level"])
        if (total := len(levels) * max(1, count)) > MAX_GROUNDED:
            progress().note(f"which instructions are new isn't told: the library counts {total}, over {MAX_GROUNDED}")
            return None
        by_level = [instructions(level, split="grounding", count=count, seed=seed) for level in levels]
    except (KeyError, TypeError, ValueError):
        return None
    return frozenset(mission.text for missions in by_level for mission in missions)


def _write(table: Sequence[Summary], levels: Sequence[str], *, run: RunFolder) -> None:
    """The table in every format, each file whole or not at all."""
    paper, columns = paper_table(table, levels), paper_columns(levels)
    atomic_write(run.path / "table.md", markdown(paper, columns) + "\n" + markdown(table, COLUMNS))
    atomic_write(run.path / "table.tex", latex(paper, columns) + "\n" + latex(table, COLUMNS))
    atomic_write(run.path / "table.csv", comma_separated(table))
    run.write_json("results.json", {"rows": table})


def find_library(name: str = "") -> Path:
    """The folder of a library by its own or its run's name; without one, the shipped library's. Raises UserError where
    there is none."""
    parent = Path(name) if name else SHIPPED
    if library := next((at for at in (parent, parent / "library") if (at / "library.json").is_file()), None):
        return library
    raise UserError(
        f"there is no skill library in {parent}: name the folder of a library or of a run, or train one with `sdg run`"
    )
