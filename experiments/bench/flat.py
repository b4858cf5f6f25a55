"""Flat PPO beside sdg: the BabyAI paper's model, a policy a level, the task's own reward, as many steps as the skills.

    sdg bench flat --steps 3000000 --instructions 100 [--json]

`--steps` are divided evenly among the levels. A policy sees the view of the moment and the mission's words; it is paid
what the level pays, on `--layouts` training layouts. It is then played, actions sampled, under Table 1's harness beside
`--agents`, as `ppo-flat`. Of its policies over the budget the one whose practice succeeded most often is kept. The
folder `--out` holds the policies (`sdg bench table1 --agents ppo-flat --flat DIR` plays them), learning curves,
episodes and tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.kernels import cache_folder
from sdg.experiments.bench import options
from sdg.experiments.bench.flat_policies import FLAT_AGENT, FlatJob, flat_checksum, train_level
from sdg.experiments.cli.errors import UserError
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import PlannerSettings, compare
from sdg.experiments.table.figures import measured, open_folder, publish
from sdg.experiments.table.rows import Instructions, Summary

SHOWN = (
    *("level", "agent", "success_rate", "low", "high", "episodes"),
    *("median_steps", "steps_to_bot", "llm_calls", "tokens"),
)


def rows(
    *,
    seed: options.Seed = 0,
    steps: Annotated[int, typer.Option(min=1, help="environment steps, over all levels")] = 3_000_000,
    levels: options.Levels = PAPER_LEVELS,
    layouts: Annotated[int, typer.Option(min=1, help="training layouts a level")] = 4000,
    learning_rate: Annotated[float, typer.Option(help="of Adam")] = 1e-3,
    width: options.Width = 32,
    words: options.Words = 64,
    instructions: options.Instructions = 100,
    repeats: options.Repeats = 1,
    agents: options.Agents = ("sdg", FLAT_AGENT, "random"),
    library: options.Library = "",
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Mapping[str, Any]]:
    """The rows. Raises UserError for levels, agents, counts or a library that can't be had."""
    folder, asked = Path(out or f"runs/flat-{seed}"), Instructions.of(levels, instructions, repeats, seed=seed)
    planner = PlannerSettings(library, with_library="sdg" in agents)
    base = planner.recipe(folder)
    try:
        chosen = recipes(agents, PlannerRecipe("sdg", base.library), flat=folder)
    except ValueError as error:
        raise UserError(str(error)) from None
    each = steps // len(asked.levels)
    kept = {"steps_a_level": each, "layouts": layouts, "learning_rate": learning_rate, "width": width, "words": words}
    jobs = [FlatJob(folder, level, each, layouts, seed, learning_rate, width, words) for level in asked.levels]
    with open_folder(folder, kept, seed=seed) as run:
        # These jobs alone write, their policies and banks of layouts: they run no generated code.
        places = (folder, cache_folder(), Path(tempfile.gettempdir()))
        trained = measured(run, "flat", train_level, jobs, processes=processes, writes=places)
    config = planner.config(base) | {"flat": flat_checksum(folder, asked.levels)}
    table = compare(chosen, asked, folder=folder / "evaluation", config=config, processes=processes)
    found = [_row(row, trained) for row in table]
    publish(folder, found, name="flat", plot=_plot(jobs, trained))
    return found


def _row(row: Summary, trained: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    mine = trained[row.level] if row.agent == FLAT_AGENT else {}
    cost = {"environment_steps": mine.get("environment_steps"), "cpu_seconds": mine.get("cpu_seconds")}
    return {key: value for key, value in asdict(row).items() if key in SHOWN} | cost


def _plot(jobs: Sequence[FlatJob], trained: Mapping[str, Mapping[str, Any]]) -> Panels:
    curves = {job.level: [Mark.exact(steps, rate) for steps, rate in trained[job.level]["curve"]] for job in jobs}
    panels = [Panel(level, {FLAT_AGENT: curve}) for level, curve in curves.items()]
    return Panels(panels, x="environment steps", note="success in practice, of the episodes since the last point")


__all__ = ["rows"]
