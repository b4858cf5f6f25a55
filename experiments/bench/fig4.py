"""Figure 4: learning curves of each skill with and without restoring, on the same held-out starts (SDG, Fig 4).

    sdg bench fig4 --run runs/library --seeds 5 --steps 60000 [--json]

Takes what a run grounded. A row for each skill and way: `area` is the mean success over the budget of `--steps`, on
restored states of held-out instructions (a share `--held-out` of them), with a bootstrap interval over the training
seeds; the row "with - without" has the difference, seed by seed. Practice in both ways has the run's own horizon and
hyperparameters, one round, no early stop, and reads nothing of the other way. Skills whose subgoals all begin at reset
are practised alike in both ways and are left out (`--most-at-reset`), as are those with nothing to hold out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.table.figures import cores, open_folder, publish
from sdg.experiments.table.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from sdg.experiments.bench.restoring import Practised
    from sdg.experiments.run.grounded import Grounded
    from sdg.run import RunFolder

Row = dict[str, Any]
ALL = "all skills"
DIFFERENCE = "with - without"
GRID = 25
"""Points of the drawn curves and of the areas."""


def rows(
    *,
    seed: int = 0,
    run: str = "runs/library",
    seeds: int = 5,
    steps: int = 60_000,
    episodes: int = 200,
    held_out: float = 0.3,
    most_at_reset: float = 0.9,
    skills: tuple[str, ...] = (),
    processes: int = 0,
    out: str = "",
) -> list[Row]:
    """The rows; `skills` chooses some by name. Raises UserError for a run or skills that aren't there."""
    from sdg.experiments.run.grounded import grounded

    if seeds < 1 or steps < 1 or episodes < 1 or not 0 < held_out < 1:
        raise UserError("--seeds, --steps and --episodes are at least 1, --held-out lies between 0 and 1")
    found = grounded(Path(run))
    unknown = set(skills) - set(found.members)
    if unknown:
        raise UserError(f"{run} has no skill {sorted(unknown)[0]!r}; there are {', '.join(found.members)}")
    settings = Fig4Settings(seed, seeds, steps, episodes, held_out, most_at_reset)
    folder = Path(out or f"runs/fig4-{seed}")
    asked = {"run": str(run), "skills": list(skills), "seeds": seeds, "steps": steps, "episodes": episodes,
             "held_out": held_out, "most_at_reset": most_at_reset}  # fmt: skip
    with open_folder(folder, asked, seed=seed, may_change=("seeds", "skills")) as kept:
        jobs = [job for name in skills or found.members for job in _jobs(name, found, settings)]
        curves = _learned(jobs, kept, processes=processes or cores())
        table = _table(jobs, curves, settings)
        path = publish(kept, table, name="fig4", plot=_plot(jobs, curves, settings))
    progress(quiet=False).note(f"table: {path}, plot: {folder / 'fig4.png'}")
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
    from dataclasses import replace

    from sdg.experiments.bench.restoring import MODES, WITH, Practised, practice_starts
    from sdg.experiments.config.assembly import plan_of
    from sdg.induction.induce import split

    members = found.members[name]
    at_reset = sum(not member.restore_actions for member in members) / len(members)
    if at_reset > settings.most_at_reset:
        return
    training, judged = split(members, share=settings.held_out, seed=settings.seed)
    plan = plan_of(found.config)
    there = practice_starts(judged, WITH, plan.domain) and all(
        practice_starts(training, mode, plan.domain) for mode in MODES
    )
    if not there:
        return
    whole = replace(plan.induce.train, total_timesteps=settings.steps)
    for number in range(settings.seeds):
        for mode in MODES:
            seed = settings.seed * 1000 + number
            yield Practised(name, mode, seed, training, judged, whole, settings.episodes, plan.domain)


def _learned(jobs: Sequence[Practised], kept: RunFolder, *, processes: int) -> dict[str, list[tuple[int, float]]]:
    from sdg.experiments.bench.restoring import learning_curve
    from sdg.experiments.run.workers import Workers

    journal = kept.journal("curves")
    missing = [job for job in jobs if job.unit not in journal]
    done = len(jobs) - len(missing)
    with progress(quiet=False).stage("learning curves", total=len(jobs), unit="curve", done=done) as stage:
        for job, curve in Workers(processes)(learning_curve, missing):
            journal.append({"unit": job.unit, "curve": [list(point) for point in curve]})
            stage.advance(steps=curve[-1][0])
    return {job.unit: [(int(s), float(r)) for s, r in journal[job.unit]["curve"]] for job in jobs}


def _areas(
    name: str, mode: str, jobs: Sequence[Practised], curves: Mapping[str, Any], grid: np.ndarray
) -> dict[int, float]:
    """The mean success over the budget, by seed."""
    from sdg.experiments.bench.restoring import on_grid

    mine = [job for job in jobs if job.skill == name and job.mode == mode]
    return {job.seed: float(on_grid(curves[job.unit], grid).mean()) for job in mine}


def _table(jobs: Sequence[Practised], curves: Mapping[str, Any], settings: Fig4Settings) -> list[Row]:
    from sdg.experiments.bench.restoring import MODES, WITH, WITHOUT, practice_starts

    names = list(dict.fromkeys(job.skill for job in jobs))
    areas = {(n, mode): _areas(n, mode, jobs, curves, settings.grid) for n in names for mode in MODES}
    gains = {n: [areas[n, WITH][seed] - areas[n, WITHOUT][seed] for seed in areas[n, WITH]] for n in names}
    table = []
    for name in names:
        for mode in MODES:
            job = next(job for job in jobs if job.skill == name and job.mode == mode)
            begun = practice_starts(job.training, mode, job.domain)
            judged = practice_starts(job.held_out, WITH, job.domain)
            last = [curves[each.unit][-1][1] for each in jobs if each.skill == name and each.mode == mode]
            sure = mean_interval([list(areas[name, mode].values())], seed=settings.seed)
            about = {"practice_starts": len(begun or ()), "validation_starts": len(judged or ())}
            table.append(_row(name, mode, sure, settings) | {"last": float(np.mean(last))} | about)
        table.append(_row(name, DIFFERENCE, mean_interval([gains[name]], seed=settings.seed), settings))
    if names:
        table += _overall(names, areas, gains, settings)
    return table


def _overall(
    names: Sequence[str],
    areas: Mapping[Any, dict[int, float]],
    gains: Mapping[str, list[float]],
    settings: Fig4Settings,
) -> list[Row]:
    from sdg.experiments.bench.restoring import MODES

    strata = {mode: [list(areas[name, mode].values()) for name in names] for mode in MODES}
    parts = strata | {DIFFERENCE: [gains[name] for name in names]}
    return [_row(ALL, mode, mean_interval(part, seed=settings.seed), settings) for mode, part in parts.items()]


def _row(name: str, mode: str, sure: Interval, settings: Fig4Settings) -> Row:
    key = "difference" if mode == DIFFERENCE else "area"
    head = {"skill": name, "practice": mode, key: sure.value, "low": sure.low, "high": sure.high}
    return head | {"seeds": settings.seeds, "environment_steps": settings.steps}


def _plot(jobs: Sequence[Practised], curves: Mapping[str, Any], settings: Fig4Settings) -> Panels | None:
    from sdg.experiments.bench.restoring import MODES, on_grid

    panels = []
    for name in dict.fromkeys(job.skill for job in jobs):
        lines = {}
        for mode in MODES:
            mine = [job for job in jobs if job.skill == name and job.mode == mode]
            read = np.stack([on_grid(curves[job.unit], settings.grid) for job in mine])
            sure = [mean_interval([column], seed=settings.seed) for column in read.T.tolist()]
            lines[mode] = [Mark(x, s.value, s.low, s.high) for x, s in zip(settings.grid.tolist(), sure, strict=True)]
        panels.append(Panel(name, lines))
    note = f"mean of {settings.seeds} seeds on restored held-out starts; bands: 95 % (bootstrap over seeds)"
    return Panels(panels, x="environment steps", note=note) if panels else None


__all__ = ["ALL", "DIFFERENCE", "Fig4Settings", "rows"]
