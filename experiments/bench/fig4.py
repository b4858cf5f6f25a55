"""Figure 4: learning curves of each skill with and without restoring, on the same held-out starts (SDG, Fig 4).

    sdg bench fig4 --run runs/library --seeds 5 --steps 60000 [--json]

Takes what a run grounded. A row for each skill and way: `area` is the mean success over the budget of `--steps`, on
restored states of held-out instructions (a share `--held-out` of them), with a bootstrap interval over the training
seeds; the row "with - without" has the difference, seed by seed. Practice in both ways has the run's own horizon and
hyperparameters, one round, no early stop, and reads nothing of the other way. Skills whose subgoals all begin at reset
are practised alike in both ways and are left out (`--most-at-reset`), as are those with nothing to hold out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.envs.domain import Domain
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import UserError
from sdg.experiments.config.assembly import plan_of
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.run.grounded import Grounded, grounded
from sdg.experiments.table.figures import measured, open_folder, publish
from sdg.induction.induce import split
from sdg.skills.learning.train import TrainSettings, open_starts, train
from sdg.skills.practice.fresh_starts import Member, restored_starts
from sdg.skills.practice.starts import Starts
from sdg.skills.statistics import Interval, bootstrap_interval, wilson_interval

Row = Mapping[str, Any]
Curves = Mapping[str, Sequence[tuple[int, float]]]
"""By the unit of what was practised: (environment steps, success in [0, 1])."""

ALL = "all skills"
DIFFERENCE = "with - without"
GRID = 25
"""Points of the drawn curves and of the areas."""


WITH, WITHOUT = "with restoring", "without restoring"
MODES = (WITH, WITHOUT)


@dataclass(frozen=True)
class Practised:
    """One skill practised in one way under one seed; `episodes` validation episodes judge each point of its curve."""

    skill: str
    mode: str
    seed: int
    training: tuple[Member, ...]
    held_out: tuple[Member, ...]
    settings: TrainSettings
    episodes: int
    domain: Domain

    @property
    def unit(self) -> str:
        """Its name in a journal."""
        return f"{self.skill}/{self.mode}/{self.seed}"


def practice_starts(members: Sequence[Member], mode: str, domain: Domain) -> Starts | None:
    """Where practice begins, starts whose check is true already left out; None when none is left."""
    chosen = members if mode == WITH else [replace(member, restore_actions=()) for member in members]
    found = open_starts(restored_starts(chosen, domain)) if chosen else None
    return found if found is not None and len(found) else None


def learning_curve(job: Practised) -> dict[str, Any]:
    """A journal row: `curve` has (environment steps, success in [0, 1]) after each rollout, to the end of the budget.

    Raises ValueError where nothing is left to be practised or judged.
    """
    starts = practice_starts(job.training, job.mode, job.domain)
    judged = practice_starts(job.held_out, WITH, job.domain)
    if starts is None or judged is None:
        raise ValueError(f"{job.skill} has no open starts {job.mode}")
    often = judged.take(np.resize(np.arange(len(judged)), max(job.episodes, len(judged))))
    whole = replace(job.settings, target_success=2.0, patience=10**9, evaluate_every=1)
    curve = train(starts, often, whole, seed=job.seed).curve
    told = [[point.environment_steps, point.validation_success] for point in curve]
    return {"unit": job.unit, "environment_steps": curve[-1].environment_steps, "curve": told}


def on_grid(curve: Sequence[tuple[int, float]], grid: np.ndarray) -> np.ndarray:
    """Success at the steps of a grid f64 (g,): linear between measured points, level before the first one."""
    steps, success = zip(*curve, strict=True)
    found: np.ndarray = np.interp(grid, steps, success)
    return found


def rows(
    *,
    seed: options.Seed = 0,
    run: options.Run = Path("runs/library"),
    seeds: Annotated[int, typer.Option(min=1, help="training seeds of each curve")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="environment steps of each curve")] = 60_000,
    episodes: Annotated[int, typer.Option(min=1, help="validation episodes of each point")] = 200,
    held_out: Annotated[float, typer.Option(min=0.01, max=0.99, help="share of the subgoals that judge")] = 0.3,
    most_at_reset: Annotated[float, typer.Option(help="largest share of subgoals that begin at reset")] = 0.9,
    skills: options.Skills = (),
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Row]:
    """The rows. Raises UserError for a run or skills that aren't there."""
    found = grounded(Path(run))
    unknown = set(skills) - set(found.members)
    if unknown:
        raise UserError(f"{run} has no skill {sorted(unknown)[0]!r}; there are {', '.join(found.members)}")
    settings = Fig4Settings(seed, seeds, steps, episodes, held_out, most_at_reset)
    folder = Path(out or f"runs/fig4-{seed}")
    asked = asdict(settings) | {"run": str(run), "skills": list(skills)}
    with open_folder(folder, asked, seed=seed, may_change=("seeds", "skills")) as kept:
        jobs = [job for name in skills or found.members for job in _jobs(name, found, settings)]
        told = measured(kept, "curves", learning_curve, jobs, processes=processes)
    curves = {unit: [(int(at), float(rate)) for at, rate in row["curve"]] for unit, row in told.items()}
    table = _table(jobs, curves, settings)
    publish(folder, table, name="fig4", plot=_plot(jobs, curves, settings))
    return table


@dataclass(frozen=True, slots=True)
class Fig4Settings:
    """What is practised for how long, and how it is judged."""

    seed: int
    seeds: int
    steps: int
    episodes: int
    held_out: float
    most_at_reset: float

    @property
    def grid(self) -> np.ndarray:
        """Steps at which curves are read, f64 (GRID,)."""
        return np.linspace(0, self.steps, GRID)


def _jobs(name: str, found: Grounded, settings: Fig4Settings) -> Iterator[Practised]:
    """Every way and seed of one skill; nothing where the two ways don't differ or there is nothing to compare on."""
    members = found.members[name]
    at_reset = sum(not member.restore_actions for member in members) / len(members)
    if at_reset > settings.most_at_reset:
        return
    training, judged = split(members, share=settings.held_out, seed=settings.seed)
    plan = plan_of(found.config)
    every = [practice_starts(judged, WITH, plan.domain), *(practice_starts(training, m, plan.domain) for m in MODES)]
    if not all(every):
        return
    whole = replace(plan.induce.train, total_timesteps=settings.steps)
    for number in range(settings.seeds):
        for mode in MODES:
            seed = settings.seed * 1000 + number
            yield Practised(name, mode, seed, training, judged, whole, settings.episodes, plan.domain)


def _areas(name: str, mode: str, jobs: Sequence[Practised], curves: Curves, grid: np.ndarray) -> list[float]:
    """The mean success over the budget, a number for each seed."""
    mine = [job for job in jobs if job.skill == name and job.mode == mode]
    return [float(on_grid(curves[job.unit], grid).mean()) for job in mine]


def _table(jobs: Sequence[Practised], curves: Curves, settings: Fig4Settings) -> list[Row]:
    names = list(dict.fromkeys(job.skill for job in jobs))
    areas = {(n, mode): _areas(n, mode, jobs, curves, settings.grid) for n in names for mode in MODES}
    gains = {n: [one - other for one, other in zip(areas[n, WITH], areas[n, WITHOUT], strict=True)] for n in names}
    table = []
    for name in names:
        for mode in MODES:
            job = next(job for job in jobs if job.skill == name and job.mode == mode)
            begun = practice_starts(job.training, mode, job.domain)
            judged = practice_starts(job.held_out, WITH, job.domain)
            last = [curves[each.unit][-1][1] for each in jobs if each.skill == name and each.mode == mode]
            about = {"practice_starts": len(begun or ()), "validation_starts": len(judged or ())}
            table.append(_row(name, mode, [areas[name, mode]], settings) | {"last": float(np.mean(last))} | about)
        table.append(_row(name, DIFFERENCE, [gains[name]], settings))
    strata = {mode: [areas[name, mode] for name in names] for mode in MODES} | {DIFFERENCE: list(gains.values())}
    return table + [_row(ALL, mode, part, settings) for mode, part in strata.items() if names]


def _row(name: str, mode: str, strata: Sequence[Sequence[float]], settings: Fig4Settings) -> dict[str, Any]:
    """Where seeds don't differ (or there is one) nothing is known of others: the interval has no ends."""
    sure = bootstrap_interval(strata, seed=settings.seed)
    ends = {"low": None, "high": None} if math.isnan(sure.low) else {"low": sure.low, "high": sure.high}
    head = {"skill": name, "practice": mode, "difference" if mode == DIFFERENCE else "area": sure.value}
    return head | ends | {"seeds": settings.seeds, "environment_steps": settings.steps}


def _plot(jobs: Sequence[Practised], curves: Curves, settings: Fig4Settings) -> Panels | None:
    panels = []
    for name in dict.fromkeys(job.skill for job in jobs):
        lines = {}
        for mode in MODES:
            mine = [job for job in jobs if job.skill == name and job.mode == mode]
            read = np.stack([on_grid(curves[job.unit], settings.grid) for job in mine])
            sure = [_sure(column, settings) for column in read.T.tolist()]
            lines[mode] = [Mark(x, s.value, s.low, s.high) for x, s in zip(settings.grid.tolist(), sure, strict=True)]
        panels.append(Panel(name, lines))
    note = f"mean of {settings.seeds} seeds on restored held-out starts; bands: 95 % (over seeds and episodes)"
    return Panels(panels, x="environment steps", note=note) if panels else None


def _sure(scores: Sequence[float], settings: Fig4Settings) -> Interval:
    """A point of a curve over seeds: resampled, and never surer than all its validation episodes."""
    episodes = settings.episodes * len(scores)
    judged = wilson_interval(round(float(np.mean(scores)) * episodes), episodes)
    return bootstrap_interval([scores], seed=settings.seed, resamples=500).widened(judged)


__all__ = ["ALL", "DIFFERENCE", "Fig4Settings", "rows"]
