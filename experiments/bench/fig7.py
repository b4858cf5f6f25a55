"""Figure 7: instructions whose first hypothesis is verified, over T_verify, by PPO and by random search (SDG, Fig 7).

    sdg bench fig7 --instructions 100 --t-verify 3000 --curve 500,1000,2000,4000,6000 [--json]

A row for each level, search and T_verify. Up to `--t-verify` the curve is read off one run (a search that ended after n
steps ends there under any count of at least n); beyond it all is searched again under the longest count. One subgoal is
searched for at most 2000 steps (`verify.most_per_subgoal`), so counts beyond that help hypotheses of several subgoals.
What was replayed to restore states is counted at `--t-verify` alone. "ppo, 2nd hypothesis" is what one more hypothesis
under the same count adds. The folder `--out` keeps every verification, the table and the plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.config.assembly import plan_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.run.workers import Workers
from sdg.experiments.table.comparison import PlannerSettings
from sdg.experiments.table.figures import cores, open_folder, publish
from sdg.experiments.table.rows import Instructions
from sdg.grounding.records import VerificationRow
from sdg.llm.registry import build
from sdg.pipeline import Grounding
from sdg.run import RunFolder
from sdg.skills.search.ppo_search import PPOSearch
from sdg.skills.search.search import RandomSearch
from sdg.skills.statistics import wilson_interval

Row = dict[str, Any]
PPO, RANDOM, RETRIED = "ppo", "random", "ppo, 2nd hypothesis"
MAY_CHANGE = ("levels", "instructions", "curve")


def rows(
    *,
    seed: options.Seed = 0,
    instructions: options.Instructions = 100,
    levels: options.Levels = PAPER_LEVELS,
    t_verify: Annotated[int, typer.Option(min=1, help="searched steps an instruction")] = 3000,
    curve: Annotated[Sequence[int], options.listed("further counts of searched steps", parser=options.numbers)] = (
        *(500, 1000, 2000, 4000, 6000),
    ),
    llm: options.Llm = "babylang",
    base_url: options.BaseUrl = "",
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Row]:
    """The rows. Raises UserError for levels or counts that can't be had."""
    counts = tuple(sorted({*curve, t_verify}))
    if counts[0] < 1 or instructions < 1:
        raise UserError("--instructions and every T_verify are at least 1")
    asked = Instructions.of(levels, instructions, seed=seed)
    settings = {
        "levels": list(asked.levels), "instructions": instructions, "t_verify": t_verify, "curve": list(counts),
        "llm": llm, "base_url": base_url,
    }  # fmt: skip
    folder = Path(out or f"runs/fig7-{seed}")
    with open_folder(folder, settings, seed=seed, may_change=MAY_CHANGE) as run:
        planner = PlannerSettings(llm=llm, base_url=base_url)
        found = _searched(asked, run, planner=planner, counts=(t_verify, counts[-1]), processes=processes or cores())
    table = [row for level in asked.levels for row in _level(level, found, counts=counts, t_verify=t_verify)]
    publish(folder, table, name="fig7", plot=_plot(table, model=found.model))
    return table


@dataclass(frozen=True)
class _Found:
    """Verifications by search; those of `longer` are under the longest count. `hypothesised`: (level, seed)."""

    model: str
    first: Mapping[str, Sequence[VerificationRow]]
    longer: Mapping[str, Sequence[VerificationRow]]
    second: Sequence[VerificationRow]
    hypothesised: frozenset[tuple[str, int]]


def _searched(
    asked: Instructions, run: RunFolder, *, planner: PlannerSettings, counts: tuple[int, int], processes: int
) -> _Found:
    """Both searches under the usual count of steps and, where that differs, under the longest one."""
    config = RunConfig(name="fig7", seed=asked.seed, levels=asked.levels, instructions_per_level=asked.count)
    plan, searching = plan_of(config), config.verify.search
    model, ppo, random = build(planner.model(run.path)), PPOSearch(searching), RandomSearch(searching)

    def grounding(t_verify: int) -> Grounding:
        chosen = replace(plan, verify=replace(plan.verify, t_verify=t_verify))
        return Grounding(chosen, run, model=model, search=ppo, progress=progress(), parallel=Workers(processes))

    def read(rows: Sequence[VerificationRow]) -> list[VerificationRow]:
        return [row for row in rows if (row.level, row.seed) in wanted]

    usual, long = (grounding(count) for count in counts)
    wanted = frozenset((row.level, row.seed) for row in usual.hypothesize(0))
    first = {PPO: read(usual.verify(0)), RANDOM: read(usual.compare(random, "random_search"))}
    usual.hypothesize(1)
    second = read(usual.verify(1))
    longest, longer = counts[1], {}
    if longest > counts[0]:
        found = {PPO: long.compare(ppo, f"ppo_{longest}"), RANDOM: long.compare(random, f"random_{longest}")}
        longer = {name: read(rows) for name, rows in found.items()}
    return _Found(model.name, first, longer, second, wanted)


def _level(level: str, found: _Found, *, counts: Sequence[int], t_verify: int) -> list[Row]:
    many = sum(each == level for each, _ in found.hypothesised)
    table = []
    for search in (PPO, RANDOM):
        for count in counts:
            rows = found.first[search] if count <= t_verify else found.longer.get(search, ())
            mine = [row for row in rows if row.level == level]
            table.append(_row(level, search, count, rows=mine, of=many, replays=count == t_verify))
    first = [row for row in found.first[PPO] if row.level == level]
    again = {row.seed: row for row in found.second if row.level == level}
    both = _row(level, RETRIED, 10**9, rows=[again.get(row.seed, row) for row in first], of=many, replays=False)
    spent = sum(row.searched_steps for row in (*first, *again.values()))
    return [*table, both | {"searched_steps": spent, "t_verify": t_verify}]


def _row(level: str, search: str, count: int, *, rows: Sequence[VerificationRow], of: int, replays: bool) -> Row:
    """One point. An instruction without a readable hypothesis has no verification and counts as not verified.

    A search that ended after n steps ends there under any count of at least n: it doesn't know how much is left.
    """
    share = wilson_interval(sum(row.verified and row.searched_steps <= count for row in rows), of)
    return {
        "level": level,
        "search": search,
        "t_verify": count,
        "verified": share.value,
        "low": share.low,
        "high": share.high,
        "instructions": of,
        "searched_steps": sum(min(row.searched_steps, count) for row in rows),
        "replayed_steps": sum(row.replayed_steps for row in rows) if replays else None,
    }


def _plot(table: Sequence[Row], *, model: str) -> Panels:
    panels = []
    for level in dict.fromkeys(row["level"] for row in table):
        lines = {
            search: [
                Mark(row["t_verify"], row["verified"], row["low"], row["high"])
                for row in table
                if row["level"] == level and row["search"] == search
            ]
            for search in (PPO, RANDOM)
        }
        panels.append(Panel(level, lines))
    note = f"first hypotheses by {model}; bands: 95 % (Wilson)"
    return Panels(panels, x="T_verify (searched steps)", y="verified, %", note=note)


__all__ = ["rows"]
