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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdg.envs.babyai.levels import PAPER_LEVELS, level_name
from sdg.envs.instructions import seeds
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.comparison import Equipping, compare
from sdg.experiments.table.figures import markdown_table, write_plot
from sdg.experiments.table.rows import Table1Settings
from sdg.experiments.table.statistics import wilson_interval
from sdg.run import atomic_write

if TYPE_CHECKING:
    from sdg.experiments.config.config import RunConfig

Row = dict[str, Any]
CONFIGS = ("cycles", "library")


def rows(
    *,
    seed: int = 0,
    configs: tuple[str, ...] = CONFIGS,
    runs: tuple[str, ...] = (),
    instructions: int = 100,
    levels: tuple[str, ...] = PAPER_LEVELS,
    llm: str = "babylang",
    base_url: str = "",
    processes: int = 0,
    out: str = "",
) -> list[Row]:
    """The rows; `seed` chooses the evaluation instructions. With `instructions` 0 nothing is played.

    Raises UserError for runs, configs, levels or counts that can't be had.
    """
    folder = Path(out or f"runs/bench-cycles-{seed}")
    try:
        settings = Table1Settings(tuple(map(level_name, levels)), instructions, 1, seed)
    except ValueError as error:
        raise UserError(str(error)) from None
    places = [Path(each) for each in runs] or [_trained(name, folder / name) for name in configs]
    cycles = [cycle for place in places for cycle in cycles_of(place)]
    played = _played(cycles, settings, folder=folder / "evaluation", llm=llm, base_url=base_url, processes=processes)
    found = [row for cycle in cycles for row in _rows(cycle, played, levels=settings.levels)]
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "table.md", markdown_table(found))
    write_plot(folder, "cycles", _plot(found))
    progress(quiet=False).note(f"table: {folder / 'table.md'}, plot: {folder / 'cycles.png'}")
    return found


def _trained(name: str, place: Path) -> Path:
    """Ground and learn, or go on with it; nothing is done where the library is there already."""
    from sdg.experiments.cli.main import find_config
    from sdg.experiments.config.config import dump, load
    from sdg.experiments.run.runs import run
    from sdg.run import RunFolder, RunSettings

    config = load(find_config(name))
    settings = RunSettings(config.model_dump(mode="json"), dump(config), config.seed, ("sdg", "bench", "cycles"))
    if not (place / "library" / "library.json").is_file():
        with RunFolder.start(place, settings) as kept:
            list(run(config, kept, until="induce", progress=progress(quiet=False)))
    return place


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
        progress(quiet=False).note(f"{run} isn't finished: `sdg induce --out {run}` goes on with it")
    return there


def _cycle(run: Path, config: RunConfig, number: int) -> Cycle | None:
    """A cycle whose instructions were all verified, which is when its clusters are written down; None before that."""
    from sdg.experiments.config.assembly import library_of

    library = library_of(run, cycle=number, cycles=config.cycles)
    if (library / "library.json").is_file():
        return Cycle(run, config, number, library)
    clusters = "induction.json" if number == config.cycles else f"induction-{number}.json"
    return Cycle(run, config, number, None) if (run / clusters).is_file() else None


def _played(
    cycles: Sequence[Cycle], settings: Table1Settings, *, folder: Path, llm: str, base_url: str, processes: int
) -> dict[tuple[Path, str], Row]:
    """Table 1's rows by library and level; a library that changed has another name, so it plays anew."""
    if not settings.instructions:
        return {}
    agents, chosen = {}, []
    for number, cycle in enumerate(cycles):
        if cycle.library is None:
            continue
        equipping = Equipping(str(cycle.library), llm, base_url)
        base = equipping.recipe(folder)
        name = f"sdg-{number}-{equipping.config(base)['library'][:8]}"
        agents[name] = cycle.library
        chosen.append(replace(base, agent=name))
    table = compare(chosen, settings, folder=folder, config={"llm": llm, "base_url": base_url}, processes=processes)
    return {(agents[row["agent"]], row["level"]): row for row in table}


def _rows(cycle: Cycle, played: Mapping[tuple[Path, str], Row], *, levels: Sequence[str]) -> list[Row]:
    grounded, cost = _grounded(cycle), _cost(cycle)
    return [
        {"grounding": cycle.name, "level": level}
        | grounded.get(level, dict.fromkeys(("verified", "low", "high", "searched_steps")))
        | cost
        | _solved(played.get((cycle.library, level)) if cycle.library else None)
        for level in dict.fromkeys((*levels, *cycle.config.levels))
    ]


def _grounded(cycle: Cycle) -> dict[str, Row]:
    """By level: the share of instructions verified by the end of the cycle, and the steps searched till then."""
    from sdg.experiments.config.assembly import plan_of
    from sdg.run.records import VerificationRow
    from sdg.run.rows import read_rows
    from sdg.verification.attempts import best_of

    plan = plan_of(cycle.config)
    rows = {row.unit: row for row in read_rows(cycle.run / "verifications.jsonl", VerificationRow)}
    chosen = seeds("grounding", count=plan.instructions, seed=plan.seed)
    found = {}
    for level in plan.levels:
        last = best_of(rows.get, [(level, seed) for seed in chosen], plan=plan, cycle=cycle.number)
        share = wilson_interval(sum(row.verified for row in last), len(last))
        steps = [
            row.searched_steps
            for row in rows.values()
            if row.level == level and _attempt(row.unit) in range(plan.attempts_of(cycle.number).stop)
        ]
        found[level] = {
            "verified": share.value,
            "low": share.low,
            "high": share.high,
            "searched_steps": sum(steps),
        }
    return found


def _attempt(unit: str) -> int:
    return int(unit.rpartition("/")[2])


def _cost(cycle: Cycle) -> Row:
    """The skills of the library, how they did on held-out starts, and the steps of all skills up to this cycle."""
    from sdg.run import read_journal
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


def _solved(row: Row | None) -> Row:
    """What the planner solves; `low` and `high` are the ends of what was verified, so these have names of their own."""
    if row is None:
        return {"solved": None, "solved_low": None, "solved_high": None, "episodes": 0}
    ends = {"solved_low": row["low"], "solved_high": row["high"]}
    return {"solved": row["success_rate"]} | ends | {"episodes": row["episodes"]}


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
