"""Flat PPO beside sdg: the BabyAI paper's model, a policy a level, the task's own reward, as many steps as the skills.

    sdg bench flat --steps 3000000 --instructions 100 [--json]

`--steps` are divided evenly among the levels. A policy sees the view of the moment and the mission's words; it is paid
what the level pays, on `--layouts` training layouts. It is then played, actions sampled, under Table 1's harness beside
`--agents`, as `ppo-flat`. Of its policies over the budget the one whose practice succeeded most often is kept. The
folder `--out` holds the policies (`sdg bench table1 --agents ppo-flat --flat DIR` plays them), learning curves,
episodes and tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.bench.flat_policies import FLAT_AGENT, FlatJob, flat_checksum, train_level
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import Equipping, compare
from sdg.experiments.table.figures import cores, markdown_table, open_folder, write_plot
from sdg.experiments.table.rows import Table1Settings
from sdg.run import RunFolder, atomic_write

Row = dict[str, Any]
SHOWN = (
    "level",
    "agent",
    "success_rate",
    "low",
    "high",
    "episodes",
    "median_steps",
    "steps_to_bot",
    "llm_calls",
    "tokens",
)


def rows(
    *,
    seed: int = 0,
    steps: int = 3_000_000,
    levels: tuple[str, ...] = PAPER_LEVELS,
    layouts: int = 4000,
    learning_rate: float = 1e-3,
    width: int = 32,
    words: int = 64,
    instructions: int = 100,
    repeats: int = 1,
    agents: tuple[str, ...] = ("sdg", FLAT_AGENT, "random"),
    library: str = "",
    processes: int = 0,
    out: str = "",
) -> list[Row]:
    """The rows. Raises UserError for levels, agents, counts or a library that can't be had."""
    folder, many = Path(out or f"runs/flat-{seed}"), processes or cores()
    try:
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, repeats, seed)
        equipping = Equipping(library, with_library="sdg" in agents)
        base = equipping.recipe(folder)
        chosen = recipes(agents, PlannerRecipe("sdg", base.library), flat=folder)
    except ValueError as error:
        raise UserError(str(error)) from None
    if steps < 1 or layouts < 1:
        raise UserError("--steps and --layouts are at least 1")
    each = steps // len(settings.levels)
    asked = {"steps_a_level": each, "layouts": layouts, "learning_rate": learning_rate, "width": width, "words": words}
    jobs = [FlatJob(folder, level, each, layouts, seed, learning_rate, width, words) for level in settings.levels]
    with open_folder(folder, asked, seed=seed) as kept:
        trained = _trained(jobs, kept, processes=many)
        write_plot(folder, "flat", _plot(jobs, trained))
    config = equipping.config(base) | {"flat": flat_checksum(folder, settings.levels)}
    table = compare(chosen, settings, folder=folder / "evaluation", config=config, processes=many)
    found = [_row(row, trained) for row in table]
    atomic_write(folder / "table.md", markdown_table(found))
    progress(quiet=False).note(f"table: {folder / 'table.md'}, plot: {folder / 'flat.png'}")
    return found


def _trained(jobs: Sequence[FlatJob], kept: RunFolder, *, processes: int) -> dict[str, Row]:
    journal = kept.journal("flat")
    missing = [job for job in jobs if job.level not in journal]
    total, done = sum(job.steps for job in jobs), sum(job.steps for job in jobs if job.level in journal)
    with progress(quiet=False).stage("flat PPO", total=total, unit="step", done=done) as stage:
        for row, untold in _learned(missing, processes=processes, heard=stage.advance):
            journal.append(row)
            stage.advance(untold)
    return {job.level: journal[job.level] for job in jobs}


def _learned(jobs: Sequence[FlatJob], *, processes: int, heard: Any) -> Iterator[tuple[Row, int]]:
    """Rows as they are there, and how many of their steps `heard` was not told of: other processes tell at the end."""
    from sdg.experiments.run.workers import Workers

    if processes == 1 or len(jobs) == 1:
        for job in jobs:
            yield train_level(job, heard), 0
        return
    folders = tuple({job.folder for job in jobs})  # the only jobs that write: they run no generated code
    for job, row in Workers(processes, writes=folders)(train_level, jobs):
        yield row, job.steps


def _row(row: Mapping[str, Any], trained: Mapping[str, Row]) -> Row:
    mine = trained[row["level"]] if row["agent"] == FLAT_AGENT else {}
    cost = {"environment_steps": mine.get("environment_steps"), "cpu_seconds": mine.get("cpu_seconds")}
    return {key: row[key] for key in SHOWN} | cost


def _plot(jobs: Sequence[FlatJob], trained: Mapping[str, Row]) -> Panels:
    panels = [
        Panel(job.level, {FLAT_AGENT: [Mark(steps, rate, rate, rate) for steps, rate in trained[job.level]["curve"]]})
        for job in jobs
    ]
    return Panels(panels, x="environment steps", note="success in practice, of the episodes since the last point")


__all__ = ["rows"]
