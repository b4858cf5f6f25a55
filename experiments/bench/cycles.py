"""What several cycles and a curriculum bring: verified instructions, skills, their cost, and planner success by level.

    sdg bench cycles [--instructions 100] [--json]
    sdg bench cycles --runs runs/six-levels,runs/cycles,runs/library --instructions 100 [--json]

Without `--runs` the configs `--configs` are run from grounding to skills in folders `--out`/NAME, which go on after a
kill. A row for each run, cycle and level: what was verified by the end of the cycle (Wilson's interval over the
grounding instructions), the searched steps of all attempts and the environment steps of all skills up to then, how well
the skills did on their held-out starts, and what the planner solves of unseen instructions with the library that the
cycle left. The first cycle of `cycles` is `six-levels` step for step: "six levels grounded in one cycle" is its row.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.instructions import seeds
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import PlannerSettings, compare_libraries
from sdg.experiments.table.figures import publish
from sdg.experiments.table.rows import Instructions, Summary
from sdg.grounding.records import VerificationRow
from sdg.run import read_journal
from sdg.run.rows import read_rows
from sdg.skills.statistics import wilson_interval

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig

Row = dict[str, Any]
CONFIGS = ("cycles", "library")


def rows(
    *,
    seed: options.Seed = 0,
    configs: Annotated[Sequence[str], options.listed("what is run from grounding to skills")] = CONFIGS,
    runs: options.Runs = (),
    instructions: Annotated[int, typer.Option(min=0, help="unseen instructions a level; 0: nothing is played")] = 100,
    levels: options.Levels = PAPER_LEVELS,
    llm: options.Llm = "babylang",
    base_url: options.BaseUrl = "",
    budget: options.Budget = options.NO_BUDGET,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Row]:
    """The rows. Raises UserError for runs, configs, levels or counts that can't be had."""
    from sdg.experiments.run.runs import grounded_run

    folder, asked = Path(out or f"runs/bench-cycles-{seed}"), Instructions.of(levels, instructions, seed=seed)
    places = [Path(each) for each in runs]
    places = places or [grounded_run(name, folder / name, progress=progress()) for name in configs]
    cycles = [cycle for place in places for cycle in cycles_of(place)]
    libraries = [cycle.library for cycle in cycles if cycle.library is not None]
    played: dict[Path, list[Summary]] = {}
    if instructions:
        planner = PlannerSettings(llm=llm, base_url=base_url, budget=budget)
        played = compare_libraries(libraries, asked, folder=folder / "evaluation", planner=planner, processes=processes)
    found = [row for cycle in cycles for row in _rows(cycle, played, levels=asked.levels)]
    publish(folder, found, name="cycles", plot=_plot(found))
    return found


@dataclass(frozen=True)
class Cycle:
    """One cycle of a run: where the run is, its config, the cycle's number and the library it left (None: not yet)."""

    run: Path
    config: RunConfig
    number: int
    library: Path | None

    @property
    def name(self) -> str:
        """What was grounded, and how often."""
        levels = self.config.levels
        what = "six levels" if set(levels) == set(PAPER_LEVELS) else f"curriculum of {len(levels)} levels"
        return f"{what}, {self.number} cycle{'s' * (self.number > 1)}"


def cycles_of(run: Path) -> list[Cycle]:
    """The cycles of a run, the first one first; one that is still learning has no library yet.

    Raises UserError for what is no run, and for one that hasn't verified all of its first cycle.
    """
    from sdg.experiments.config.config import load

    if not (run / "config.yaml").is_file():
        raise UserError(f"{run} holds no run: `sdg induce --out {run}` makes one")
    config = load(run / "config.yaml")
    found = [_cycle(run, config, number) for number in range(1, config.cycles + 1)]
    there = [cycle for cycle in found if cycle is not None]
    if not there:
        raise UserError(f"{run} has not got through its first cycle: `sdg induce --out {run}` goes on with it")
    if len(there) < config.cycles or there[-1].library is None:
        progress().note(f"{run} isn't finished: `sdg induce --out {run}` goes on with it")
    return there


def _cycle(run: Path, config: RunConfig, number: int) -> Cycle | None:
    """A cycle whose instructions were all verified, which is when its clusters are written down; None before that."""
    from sdg.experiments.config.assembly import library_of

    library = library_of(run, cycle=number, cycles=config.cycles)
    if (library / "library.json").is_file():
        return Cycle(run, config, number, library)
    clusters = "induction.json" if number == config.cycles else f"induction-{number}.json"
    return Cycle(run, config, number, None) if (run / clusters).is_file() else None


def _rows(cycle: Cycle, played: Mapping[Path, Sequence[Summary]], *, levels: Sequence[str]) -> list[Row]:
    grounded, cost = _grounded(cycle), _cost(cycle)
    solved = {row.level: row for row in played.get(cycle.library, ())} if cycle.library else {}
    return [
        {"grounding": cycle.name, "level": level}
        | grounded.get(level, dict.fromkeys(("verified", "low", "high", "searched_steps")))
        | cost
        | _solved(solved.get(level))
        for level in dict.fromkeys((*levels, *cycle.config.levels))
    ]


def _grounded(cycle: Cycle) -> dict[str, Row]:
    """By level: the share of instructions verified by the end of the cycle, and the steps searched till then."""
    from sdg.experiments.config.assembly import plan_of
    from sdg.grounding.attempts import best_of

    plan = plan_of(cycle.config)
    rows = {row.unit: row for row in read_rows(cycle.run / "verifications.jsonl", VerificationRow)}
    chosen = seeds("grounding", count=plan.instructions, seed=plan.seed)
    found = {}
    for level in plan.levels:
        last = best_of(rows.get, [(level, seed) for seed in chosen], plan=plan, cycle=cycle.number)
        share = wilson_interval(sum(row.verified for row in last), len(last))
        till_then = range(plan.attempts_of(cycle.number).stop)
        mine = [row for row in rows.values() if row.level == level and int(row.unit.rpartition("/")[2]) in till_then]
        steps = sum(row.searched_steps for row in mine)
        found[level] = {"verified": share.value, "low": share.low, "high": share.high, "searched_steps": steps}
    return found


def _cost(cycle: Cycle) -> Row:
    """The skills of the library, how they did on held-out starts, and the steps of all skills up to this cycle."""
    from sdg.skills.library.store import load_library

    if cycle.library is None:
        return dict.fromkeys(("skills", "skill_success", "worst_skill", "skill_steps"))
    skills = load_library(cycle.library).skills
    units = read_journal(cycle.run / "skills.jsonl")
    rates = [skill.success_rate for skill in skills]
    return {
        "skills": len(skills),
        "skill_success": statistics.fmean(rates),
        "worst_skill": min(rates),
        "skill_steps": sum(row["environment_steps"] for row in units if _cycle_of_unit(row["unit"]) <= cycle.number),
    }


def _cycle_of_unit(unit: str) -> int:
    """The cycle of a unit of `skills.jsonl`: "2/5" is of the first one, "c3-2/5" of the third."""
    head = unit.partition("-")[0]
    return int(head[1:]) if head.startswith("c") else 1


def _solved(row: Summary | None) -> Row:
    """What the planner solves; `low` and `high` are the ends of what was verified, so these have names of their own."""
    if row is None:
        return {"solved": None, "solved_low": None, "solved_high": None, "episodes": 0}
    return {"solved": row.success_rate, "solved_low": row.low, "solved_high": row.high, "episodes": row.episodes}


def _plot(found: Sequence[Row]) -> Panels:
    """Verified instructions and solved ones, levels along x, a grounding a colour."""
    levels = list(dict.fromkeys(row["level"] for row in found))
    kinds = {
        "verified": ("verified", "low", "high"),
        "solved by the planner": ("solved", "solved_low", "solved_high"),
    }
    panels = []
    for title, (value, low, high) in kinds.items():
        lines: dict[str, list[Mark]] = {row["grounding"]: [] for row in found}
        for row in found:
            if row[value] is not None:
                lines[row["grounding"]].append(Mark(levels.index(row["level"]), row[value], row[low], row[high]))
        panels.append(Panel(title, lines))
    return Panels(panels, x="", y="share, %", note="intervals: 95 % (Wilson)", ticks=levels)


__all__ = ["CONFIGS", "Cycle", "cycles_of", "rows"]
