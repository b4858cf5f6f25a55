"""Figure 7: instructions whose first hypothesis is verified, over T_verify, by each search (SDG, Fig 7).

    sdg bench fig7 --instructions 100 --t-verify 3000 --curve 500,1000,2000,6000,10000 [--json]
    sdg bench fig7 --llm sdg.experiments.bench.clusterings.recorded:RECORDED --seed 31 --instructions 5

A row for each level, search and T_verify. All searches try the same hypotheses, which are there before the first of
them begins, under one count of steps, and each has one run under the longest count: what ended after n steps ends there
under any count of at least n. `ppo` is one policy for a level, which learns from instruction to instruction; a shorter
count would have taught it less, so its curve flatters it. One subgoal may take the whole count here (in a run
`verify.most_per_subgoal`); "count, 2nd hypothesis" is a run's own way under `--t-verify`: the hypothesis, and one more
for what is left of the count. What was replayed to restore states is that of the whole run. The folder `--out` keeps
every verification, the table and the plot. The second line plays hypotheses that a real model wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from sdg.skills.search.count_search import CountSearch
from sdg.skills.search.ppo_search import PPOSearch
from sdg.skills.search.search import RandomSearch, Search, SearchSettings
from sdg.skills.statistics import wilson_interval

Row = dict[str, Any]
SEARCHES: Mapping[str, Callable[[SearchSettings], Search]] = {
    "count": CountSearch,
    "ppo": PPOSearch,
    "random": RandomSearch,
}
LEARNS = "ppo"
RETRIED = "count, 2nd hypothesis"
MAY_CHANGE = ("levels", "instructions", "curve")


def rows(
    *,
    seed: options.Seed = 0,
    instructions: options.Instructions = 100,
    levels: options.Levels = PAPER_LEVELS,
    t_verify: Annotated[int, typer.Option(min=1, help="searched steps an instruction")] = 3000,
    curve: Annotated[Sequence[int], options.listed("further counts of searched steps", parser=options.numbers)] = (
        *(500, 1000, 2000, 6000, 10_000),
    ),
    llm: options.Llm = "babylang",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
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
        planner = PlannerSettings(llm=llm, base_url=base_url, budget=budget)
        workers = Workers(processes or cores())
        found = _searched(asked, run, planner=planner, t_verify=t_verify, longest=counts[-1], workers=workers)
    table = [row for level in asked.levels for row in _level(level, found, counts=counts, t_verify=t_verify)]
    publish(folder, table, name="fig7", plot=_plot(table, model=found.model))
    return table


@dataclass(frozen=True)
class _Found:
    """Verifications of first hypotheses by search, those of a run with a second one; `hypothesised`: (level, seed)."""

    model: str
    first: Mapping[str, Sequence[VerificationRow]]
    tries: Sequence[VerificationRow]
    hypothesised: frozenset[tuple[str, int]]


def _searched(
    asked: Instructions, run: RunFolder, *, planner: PlannerSettings, t_verify: int, longest: int, workers: Workers
) -> _Found:
    """Every search under the longest count, and the default as a run has it."""
    config = RunConfig(name="fig7", seed=asked.seed, levels=asked.levels, instructions_per_level=asked.count)
    plan, model = plan_of(config), build(planner.model(run.path))
    searches = {name: kind(config.verify.search) for name, kind in SEARCHES.items()}

    def grounding(**verify: int) -> Grounding:
        chosen = replace(plan, verify=replace(plan.verify, **verify))
        return Grounding(chosen, run, model=model, search=searches["count"], progress=progress(), parallel=workers)

    def read(rows: Sequence[VerificationRow]) -> list[VerificationRow]:
        return [row for row in rows if (row.level, row.seed) in wanted]

    usual, long = grounding(t_verify=t_verify), grounding(t_verify=longest, most_per_subgoal=longest)
    wanted = frozenset((row.level, row.seed) for row in usual.hypothesize(0))
    first = {
        name: read(long.compare(search, f"{name}_{longest}", learns=name == LEARNS))
        for name, search in searches.items()
    }
    tries = read(usual.verify(0))
    usual.hypothesize(1)
    return _Found(model.name, first, [*tries, *read(usual.verify(1))], wanted)


def _level(level: str, found: _Found, *, counts: Sequence[int], t_verify: int) -> list[Row]:
    many = sum(each == level for each, _ in found.hypothesised)
    table = []
    for search, all_rows in found.first.items():
        mine = [row for row in all_rows if row.level == level]
        table += [_row(level, search, count, rows=mine, of=many) for count in counts]
    tries = [row for row in found.tries if row.level == level]
    last = {row.seed: row for row in tries}
    both = _row(level, RETRIED, 10**9, rows=list(last.values()), of=many)
    spent, replayed = (sum(getattr(row, steps) for row in tries) for steps in ("searched_steps", "replayed_steps"))
    return [*table, both | {"searched_steps": spent, "replayed_steps": replayed, "t_verify": t_verify}]


def _row(level: str, search: str, count: int, *, rows: Sequence[VerificationRow], of: int) -> Row:
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
        "replayed_steps": sum(row.replayed_steps for row in rows),
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
            for search in SEARCHES
        }
        panels.append(Panel(level, lines))
    note = f"first hypotheses by {model}; bands: 95 % (Wilson)"
    return Panels(panels, x="T_verify (searched steps)", y="verified, %", note=note)


__all__ = ["rows"]
