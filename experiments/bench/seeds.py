"""Success per level over training seeds: one library a seed, judged on the same instructions (IQM with interval).

    sdg bench seeds --config library --seeds 5 --instructions 100 [--json]
    sdg bench seeds --runs runs/a,runs/b,runs/c --instructions 100 [--json]

Without `--runs` the config is run from grounding to skills under seeds 0, 1, ... in folders `--out`/seed-N, which go on
after a kill. Each library plays the same fresh evaluation instructions, as `sdg` plays them in Table 1. A row for each
level: the interquartile mean of the libraries' success rates with a bootstrap interval over libraries (never narrower
than Wilson's over all their episodes), the worst and the best of them, and what they cost; then one over all levels. No
library is left out, and none is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import PlannerSettings, compare_libraries, find_library
from sdg.experiments.table.figures import publish
from sdg.experiments.table.rows import ALL, Instructions, Summary
from sdg.run.files import read_json
from sdg.skills.statistics import bootstrap_interval, iqm_of_strata, wilson_interval


def rows(
    *,
    seed: options.Seed = 0,
    config: Annotated[str, typer.Option(help="what each library is trained with")] = "library",
    seeds: Annotated[int, typer.Option(min=1, help="training seeds: 0, 1, ...")] = 5,
    runs: options.Runs = (),
    instructions: options.Instructions = 100,
    levels: options.Levels = PAPER_LEVELS,
    llm: options.Llm = "babylang",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Mapping[str, Any]]:
    """The rows. Raises UserError for a config, runs, levels or counts that can't be had."""
    from sdg.experiments.run.runs import grounded_run

    folder, asked = Path(out or f"runs/seeds-{seed}"), Instructions.of(levels, instructions, seed=seed)
    trained = [Path(each) for each in runs]
    if not runs:
        trained = [grounded_run(config, folder / f"seed-{n}", seed=n, progress=progress()) for n in range(seeds)]
    planner = PlannerSettings(llm=llm, base_url=base_url, budget=budget)
    played = compare_libraries(trained, asked, folder=folder / "evaluation", planner=planner, processes=processes)
    found = summarise(list(played.values()), cost=_cost(trained), seed=seed)
    publish(folder, found, name="seeds", plot=_plot(found, libraries=len(trained)))
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """What all libraries took: environment steps of skills, searched steps of grounding, and seconds of the runs."""

    skill_steps: int
    searched_steps: int
    seconds: float


def _cost(trained: Sequence[Path]) -> Cost:
    from sdg.skills.library.store import load_library

    libraries = [load_library(find_library(str(place))) for place in trained]
    results = [read_json(place / "results.json") for place in trained if (place / "results.json").is_file()]
    return Cost(
        skill_steps=sum(skill.environment_steps for library in libraries for skill in library.skills),
        searched_steps=sum(int(library.provenance.get("searched_steps", 0)) for library in libraries),
        seconds=sum(stage["seconds"] for each in results for stage in each.get("stages", {}).values()),
    )


def summarise(played: Sequence[Sequence[Summary]], *, cost: Cost, seed: int = 0) -> list[Mapping[str, Any]]:
    """A row a level over libraries (each with its rows of the same levels), then one over all levels."""
    many = len(played)
    by_level = list(zip(*played, strict=True))
    found = [_row(each[0].level, [each], seed=seed) for each in by_level] + [_row(ALL, by_level, seed=seed)]
    each = {
        "skill_steps": cost.skill_steps // many,
        "searched_steps": cost.searched_steps // many,
        "training_seconds": round(cost.seconds / many, 1),
    }
    return [row | each for row in found]


def _row(name: str, levels: Sequence[Sequence[Summary]], *, seed: int) -> dict[str, Any]:
    """Of some levels, each with one row a library."""
    scores = [[row.success_rate for row in level] for level in levels]
    episodes = sum(row.episodes for level in levels for row in level)
    solved = round(sum(row.success_rate * row.episodes for level in levels for row in level))
    sure = bootstrap_interval(scores, iqm_of_strata, seed=seed).widened(wilson_interval(solved, episodes))
    libraries = [sum(each) / len(each) for each in zip(*scores, strict=True)]
    return {
        "level": name,
        "agent": "sdg",
        "success_rate": sure.value,
        "low": sure.low,
        "high": sure.high,
        "libraries": len(libraries),
        "worst": min(libraries),
        "best": max(libraries),
        "rates": [round(rate, 4) for rate in libraries],
        "episodes": episodes,
    }


def _plot(found: Sequence[Mapping[str, Any]], *, libraries: int) -> Panels:
    mine = [row for row in found if row["level"] != ALL]
    iqm = [Mark(x, row["success_rate"], row["low"], row["high"]) for x, row in enumerate(mine)]
    ends = {name: [Mark.exact(x, row[name]) for x, row in enumerate(mine)] for name in ("worst", "best")}
    lines = {"interquartile mean": iqm, "worst library": ends["worst"], "best library": ends["best"]}
    note = f"{libraries} libraries, one a training seed; intervals: 95 % (bootstrap over libraries)"
    return Panels([Panel("", lines)], x="", note=note, ticks=[row["level"] for row in mine])


__all__ = ["Cost", "rows", "summarise"]
