"""Success per level over training seeds: one library a seed, judged on the same instructions (IQM with interval).

    sdg bench seeds --config library --seeds 5 --instructions 100 [--json]
    sdg bench seeds --runs runs/a,runs/b,runs/c --instructions 100 [--json]

Without `--runs` the config is run from grounding to skills under seeds 0, 1, ... in folders `--out`/seed-N, which go on
after a kill. Each library plays the same fresh evaluation instructions, as `sdg` plays them in Table 1. A row for each
level: the interquartile mean of the libraries' success rates with a bootstrap interval over libraries, the worst and
the best of them, and what they cost; then one over all levels. No library is left out, and none is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import Equipping, compare, find_library
from sdg.experiments.table.figures import markdown_table, write_plot
from sdg.experiments.table.rows import ALL, Table1Settings
from sdg.experiments.table.statistics import Interval, iqm_interval
from sdg.run import atomic_write

Row = Mapping[str, Any]


def rows(
    *,
    seed: int = 0,
    config: str = "library",
    seeds: int = 5,
    runs: tuple[str, ...] = (),
    instructions: int = 100,
    levels: tuple[str, ...] = PAPER_LEVELS,
    llm: str = "babylang",
    base_url: str = "",
    processes: int = 0,
    out: str = "",
) -> list[dict[str, Any]]:
    """The rows; `seed` chooses the evaluation instructions, training seeds are 0 to `seeds` - 1.

    Raises UserError for a config, runs, levels or counts that can't be had.
    """
    folder = Path(out or f"runs/seeds-{seed}")
    if seeds < 1:
        raise UserError("--seeds is at least 1")
    try:
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, 1, seed)
    except ValueError as error:
        raise UserError(str(error)) from None
    trained = [Path(each) for each in runs] or [folder / f"seed-{number}" for number in range(seeds)]
    if not runs:
        for number, place in enumerate(trained):
            _train(config, place, seed=number)
    table = _judged(trained, settings, folder=folder / "evaluation", llm=llm, base_url=base_url, processes=processes)
    found = summarise(table, cost=_cost(trained), seed=seed)
    atomic_write(folder / "table.md", markdown_table(found))
    write_plot(folder, "seeds", _plot(found, libraries=len(trained)))
    progress(quiet=False).note(f"table: {folder / 'table.md'}, plot: {folder / 'seeds.png'}")
    return found


def _train(name: str, place: Path, *, seed: int) -> None:
    """Ground and learn, or go on with it; nothing where the library is there already."""
    from sdg.experiments.cli.main import find_config
    from sdg.experiments.config.config import dump, load
    from sdg.experiments.run.runs import run
    from sdg.run import RunFolder, RunSettings

    config = load(find_config(name), seed=seed)
    settings = RunSettings(config.model_dump(mode="json"), dump(config), config.seed, ("sdg", "bench", "seeds"))
    told = progress(quiet=False)
    if (place / "library" / "library.json").is_file():
        if load(place / "config.yaml") != config:
            raise UserError(f"{place} was trained with another config than {name} is now: name another --out")
        return
    told.note(f"training seed {seed}: {place}")
    with RunFolder.start(place, settings) as kept:
        for _ in run(config, kept, until="induce", progress=told):
            pass


def _judged(
    trained: Sequence[Path], settings: Table1Settings, *, folder: Path, llm: str, base_url: str, processes: int
) -> list[dict[str, Any]]:
    """Table 1's rows, an agent a library; a library that changed has another name, so it plays anew."""
    chosen = []
    for number, place in enumerate(trained):
        equipping = Equipping(str(place), llm, base_url)
        base = equipping.recipe(folder)
        checksum = equipping.config(base)["library"]
        chosen.append(replace(base, agent=f"sdg-library-{number}-{checksum[:8]}"))
    return compare(chosen, settings, folder=folder, config={"llm": llm, "base_url": base_url}, processes=processes)


@dataclass(frozen=True, slots=True)
class Cost:
    """What all libraries took: environment steps of skills, searched steps of grounding, and seconds of the runs."""

    skill_steps: int
    searched_steps: int
    seconds: float


def _cost(trained: Sequence[Path]) -> Cost:
    from sdg.run.files import read_json
    from sdg.skills.library.store import load_library

    libraries = [load_library(find_library(str(place))) for place in trained]
    stages = [(read_json(place / "results.json") or {}) for place in trained if (place / "results.json").is_file()]
    return Cost(
        skill_steps=sum(skill.environment_steps for library in libraries for skill in library.skills),
        searched_steps=sum(int(library.provenance.get("searched_steps", 0)) for library in libraries),
        seconds=sum(stage["seconds"] for each in stages for stage in each.get("stages", {}).values()),
    )


def summarise(table: Sequence[Row], *, cost: Cost, seed: int = 0) -> list[dict[str, Any]]:
    """A row a level over the libraries of Table 1's rows, then one over all levels, resampled within levels."""
    rates: dict[str, list[float]] = {}
    for row in table:
        rates.setdefault(row["level"], []).append(row["success_rate"])
    many = len(next(iter(rates.values())))
    played = {level: [row for row in table if row["level"] == level] for level in rates}
    found = [_row(level, iqm_interval([rates[level]], seed=seed), rates[level], played[level]) for level in rates]
    means = [sum(each[number] for each in rates.values()) / len(rates) for number in range(many)]
    found.append(_row(ALL, iqm_interval(list(rates.values()), seed=seed), means, table))
    each = {
        "skill_steps": cost.skill_steps // many,
        "searched_steps": cost.searched_steps // many,
        "training_seconds": round(cost.seconds / many, 1),
    }
    return [row | each for row in found]


def _row(level: str, iqm: Interval, rates: Sequence[float], played: Sequence[Row]) -> dict[str, Any]:
    return {
        "level": level,
        "agent": "sdg",
        "success_rate": iqm.value,
        "low": iqm.low,
        "high": iqm.high,
        "libraries": len(rates),
        "worst": min(rates),
        "best": max(rates),
        "rates": [round(rate, 4) for rate in rates],
        "episodes": sum(row["episodes"] for row in played),
    }


def _plot(found: Sequence[Row], *, libraries: int) -> Panels:
    levels = [row["level"] for row in found if row["level"] != ALL]
    mine = [row for row in found if row["level"] != ALL]
    iqm = [Mark(x, row["success_rate"], row["low"], row["high"]) for x, row in enumerate(mine)]
    worst = [Mark(x, row["worst"], row["worst"], row["worst"]) for x, row in enumerate(mine)]
    best = [Mark(x, row["best"], row["best"], row["best"]) for x, row in enumerate(mine)]
    lines = {"interquartile mean": iqm, "worst library": worst, "best library": best}
    note = f"{libraries} libraries, one a training seed; intervals: 95 % (bootstrap over libraries)"
    return Panels([Panel("", lines)], x="", note=note, ticks=levels)


__all__ = ["Cost", "rows", "summarise"]
