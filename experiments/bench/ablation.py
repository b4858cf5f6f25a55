"""What parts of deduction are worth: programs an instruction, tries a skill call, gate, skills (SDG, Figs 5, 6).

    sdg bench ablation --which interactions|attempts|gate|skills --instructions 100 [--json]

| which | figure | compared |
|---|---|---|
| interactions | 5 | at most 1..`--most` programs an instruction (without it 4, the paper's) |
| attempts | 6 | at most 1..`--most` attempts at a skill call (without it 5) |
| gate | - | the gate's rules, and an open gate |
| skills | 1 | learned skills, and the six primitive actions in their place |

`--llm openai:NAME` asks a model, `--llm replay:transcript.jsonl` plays one that was recorded. With a rule-based model
the figure over interactions is a test of the plumbing, and its rows say so: without `--llm` the stand-in then makes
mistakes on purpose in half of its replies (faulty), because it makes next to none of its own. The folder `--out` keeps
the episodes and, in `figure/`, rows and plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sdg.deduction.deduce import DeductionSettings
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.play.episodes import Recipe
from sdg.experiments.play.players import PlannerRecipe, recipes
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import PlannerSettings, compare
from sdg.experiments.table.figures import publish
from sdg.experiments.table.rows import Instructions, Summary
from sdg.llm.registry import is_rule_based
from sdg.skills.statistics import wilson_interval

Which = Literal["interactions", "attempts", "gate", "skills"]
SHOWN = (
    *("level", "agent", "success_rate", "low", "high", "episodes"),
    *("median_steps", "steps_to_bot", "skill_calls", "llm_calls", "tokens", "causes"),
)
"""Columns that are printed; `results.json` in the folder has all."""
PLUMBING = "plumbing test: the model is rule-based"


def rows(
    *,
    seed: options.Seed = 0,
    which: Annotated[Which, typer.Option(help="what is varied")] = "attempts",
    most: Annotated[int, typer.Option(min=0, help="most interactions or attempts; 0: the default's")] = 0,
    instructions: options.Instructions = 100,
    repeats: options.Repeats = 1,
    levels: options.Levels = PAPER_LEVELS,
    library: options.Library = "",
    out: options.Out = None,
    llm: options.Llm = "",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
    processes: options.Processes = 0,
) -> list[Mapping[str, Any]]:
    """A row for each level and setting. Raises UserError for levels, counts or a library that aren't there."""
    deduction = DeductionSettings()
    most = most or (deduction.interactions if which == "interactions" else deduction.attempts)
    if which == "interactions":
        deduction = replace(deduction, interactions=most)
    folder, model = (
        Path(out or f"runs/ablation-{which}-{seed}"),
        llm or ("faulty" if which == "interactions" else "babylang"),
    )
    asked = Instructions.of(levels, instructions, repeats, seed=seed)
    planner = PlannerSettings(library, model, base_url, deduction, budget=budget)
    base = planner.recipe(folder)
    config = planner.config(base) | {"which": which}
    table = compare(_chosen(which, base, most=most), asked, folder=folder, config=config, processes=processes)
    found = _over_interactions(table, most) if which == "interactions" else _over_agents(table)
    note = PLUMBING if which == "interactions" and is_rule_based(model.partition(":")[0]) else ""
    about = {"figure": which, "model": model} | ({"note": note} if note else {})
    publish(folder / "figure", [about | row for row in found], name="ablation", plot=plot(which, found, note=note))
    return [about | row for row in found]


def _chosen(which: str, base: PlannerRecipe, *, most: int) -> Sequence[Recipe]:
    if which == "attempts":
        limits = {n: replace(base.settings, attempts=n) for n in range(1, most + 1)}
        return [replace(base, agent=f"sdg-attempts-{n}", settings=limit) for n, limit in limits.items()]
    other = {"interactions": (), "gate": ("sdg-ungated",), "skills": ("sdg-action",)}[which]
    return recipes(("sdg", *other), base)


def _over_interactions(table: Sequence[Summary], most: int) -> list[dict[str, Any]]:
    """A row for each limit 1..most: what was solved with at most so many programs."""
    found = []
    for row in table:
        for limit in range(1, most + 1):
            solved = row.solved_by_interaction[min(limit, len(row.solved_by_interaction)) - 1]
            rate = wilson_interval(solved, row.episodes)
            success = {"success_rate": rate.value, "low": rate.low, "high": rate.high, "episodes": row.episodes}
            found.append({"level": row.level, "agent": row.agent, "interactions": limit, **success})
    return found


def _over_agents(table: Sequence[Summary]) -> list[dict[str, Any]]:
    """Rows by level, then in the order of the agents, with the limit on attempts as a number of its own."""
    levels = list(dict.fromkeys(row.level for row in table))
    ordered = sorted(table, key=lambda row: levels.index(row.level))
    return [_limit(row.agent) | {key: value for key, value in asdict(row).items() if key in SHOWN} for row in ordered]


def _limit(agent: str) -> dict[str, Any]:
    name, _, number = agent.rpartition("-")
    return {"attempts": int(number)} if name == "sdg-attempts" else {}


def plot(which: str, found: Sequence[Mapping[str, Any]], *, note: str = "") -> Panels:
    """Success over the limit, a panel a level; or for gate and skills the agents side by side, level by level."""
    levels = list(dict.fromkeys(row["level"] for row in found))
    if which not in ("interactions", "attempts"):
        agents = dict.fromkeys(row["agent"] for row in found)
        places = {level: x for x, level in enumerate(levels)}
        lines = {agent: [_mark(places[r["level"]], r) for r in found if r["agent"] == agent] for agent in agents}
        return Panels([Panel("", lines)], x="", note=_with_bands(note), ticks=levels)
    panels = [Panel(level, {"sdg": [_mark(r[which], r) for r in found if r["level"] == level]}) for level in levels]
    axis = {"interactions": "interactions (programs)", "attempts": "attempts at a skill"}[which]
    return Panels(panels, x=axis, note=_with_bands(note))


def _mark(x: float, row: Mapping[str, Any]) -> Mark:
    return Mark(x, row["success_rate"], row["low"], row["high"])


def _with_bands(note: str) -> str:
    return "; ".join(part for part in (note, "intervals: 95 % (Wilson)") if part)


__all__ = ["plot", "rows"]
