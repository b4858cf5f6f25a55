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
from typing import TYPE_CHECKING, Any

from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.figures import cores, open_folder, publish
from sdg.experiments.table.statistics import wilson_interval

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig
    from sdg.pipeline import Grounding
    from sdg.run import RunFolder
    from sdg.run.records import HypothesisRow, VerificationRow

Row = dict[str, Any]
PPO, RANDOM, RETRIED = "ppo", "random", "ppo, 2nd hypothesis"
MAY_CHANGE = ("levels", "instructions", "curve")


def rows(
    *,
    seed: int = 0,
    instructions: int = 100,
    levels: tuple[str, ...] = PAPER_LEVELS,
    t_verify: int = 3000,
    curve: tuple[str, ...] = ("500", "1000", "2000", "4000", "6000"),
    llm: str = "babylang",
    base_url: str = "",
    processes: int = 0,
    out: str = "",
) -> list[Row]:
    """The rows. `processes` 0 means one for each core. Raises UserError for levels or counts that can't be had."""
    counts = _counts(curve, t_verify)
    config = _config(levels, instructions=instructions, t_verify=t_verify, seed=seed, processes=processes or cores())
    folder = Path(out or f"runs/fig7-{seed}")
    asked = {
        "levels": list(config.levels), "instructions": instructions, "t_verify": t_verify, "curve": list(counts),
        "llm": llm, "base_url": base_url,
    }  # fmt: skip
    with open_folder(folder, asked, seed=seed, may_change=MAY_CHANGE) as run:
        found = _searched(config, run, llm=llm, base_url=base_url, longest=counts[-1])
        table = [row for level in config.levels for row in _level(level, found, counts=counts, t_verify=t_verify)]
        path = publish(run, table, name="fig7", plot=_plot(table, model=found.model))
    progress(quiet=False).note(f"table: {path}, plot: {folder / 'fig7.png'}")
    return table


def _counts(curve: Sequence[str], t_verify: int) -> tuple[int, ...]:
    try:
        counts = {int(each) for each in curve} | {t_verify}
    except ValueError:
        raise UserError(f"--curve is whole numbers such as 500,1000, not {','.join(curve)}") from None
    if min(counts) < 1:
        raise UserError("T_verify is at least one step")
    return tuple(sorted(counts))


def _config(levels: Sequence[str], *, instructions: int, t_verify: int, seed: int, processes: int) -> RunConfig:
    from sdg.experiments.config.config import RunConfig

    try:
        return RunConfig(
            name="fig7",
            seed=seed,
            levels=tuple(map(level_name, levels)),
            instructions_per_level=instructions,
            processes=processes,
            verify={"t_verify": t_verify},  # type: ignore[arg-type]
        )
    except ValueError as error:  # pydantic's own is one
        raise UserError(str(error)) from None


@dataclass(frozen=True)
class _Found:
    """Rows of verifications by search; those of `longer` are under the longest count."""

    model: str
    first: Mapping[str, Sequence[VerificationRow]]
    longer: Mapping[str, Sequence[VerificationRow]]
    second: Sequence[VerificationRow]
    hypothesised: Sequence[HypothesisRow]


def _searched(config: RunConfig, run: RunFolder, *, llm: str, base_url: str, longest: int) -> _Found:
    from sdg.experiments.config.assembly import plan_of, search_settings
    from sdg.experiments.run.workers import Workers
    from sdg.experiments.table.comparison import Equipping
    from sdg.llm.registry import build
    from sdg.pipeline import Grounding
    from sdg.skills.search.ppo_search import PPOSearch
    from sdg.skills.search.search import RandomSearch

    model = build(Equipping(llm=llm, base_url=base_url).model(run.path))
    ppo, random = PPOSearch(search_settings(config)), RandomSearch(search_settings(config))
    told, plan = progress(quiet=False), plan_of(config)

    def grounding(t_verify: int) -> Grounding:
        chosen = replace(plan, verify=replace(plan.verify, t_verify=t_verify))
        return Grounding(chosen, run, model=model, search=ppo, progress=told, parallel=Workers(config.processes))

    usual, long = grounding(plan.verify.t_verify), grounding(longest)
    hypothesised = usual.hypothesize(0)
    first = {PPO: usual.verify(0), RANDOM: usual.compare(random, "random_search")}
    usual.hypothesize(1)
    second = usual.verify(1)
    if longest == plan.verify.t_verify:
        return _Found(model.name, first, {}, second, hypothesised)
    longer = {PPO: long.compare(ppo, f"ppo_{longest}"), RANDOM: long.compare(random, f"random_{longest}")}
    return _Found(model.name, first, longer, second, hypothesised)


def _level(level: str, found: _Found, *, counts: Sequence[int], t_verify: int) -> list[Row]:
    wanted = {(row.level, row.seed) for row in found.hypothesised if row.level == level}
    table = []
    for search in (PPO, RANDOM):
        usual = _only(found.first[search], wanted)
        longer = _only(found.longer.get(search, ()), wanted)
        for count in counts:
            source = usual if count <= t_verify else longer
            table.append(_row(level, search, count, rows=source, of=len(wanted), replays=count == t_verify))
    again = {row.seed: row for row in _only(found.second, wanted)}
    last = [again.get(row.seed, row) for row in _only(found.first[PPO], wanted)]
    spent = {"searched_steps": sum(row.searched_steps for row in (*_only(found.first[PPO], wanted), *again.values()))}
    both = _row(level, RETRIED, 10**9, rows=last, of=len(wanted), replays=False)
    return [*table, both | spent | {"t_verify": t_verify}]


def _only(rows: Sequence[VerificationRow], wanted: set[tuple[str, int]]) -> list[VerificationRow]:
    return [row for row in rows if (row.level, row.seed) in wanted]


def _row(level: str, search: str, count: int, *, rows: Sequence[VerificationRow], of: int, replays: bool) -> Row:
    """One point. An instruction without a readable hypothesis has no verification and counts as not verified."""
    share = wilson_interval(sum(verified_within(row, count) for row in rows), of)
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


def verified_within(row: VerificationRow, count: int) -> bool:
    """Whether a verification would have succeeded under this count: searches don't know how much is left."""
    return row.verified and row.searched_steps <= count


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


__all__ = ["rows", "verified_within"]
