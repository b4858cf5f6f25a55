"""The policy over the remembered map beside the BabyAI paper's model (GRU, convolutions, FiLM), skill by skill.

    sdg bench policies --run runs/library --skills walk_up_to,collect --steps 300000 [--json]

Both learn each skill of a run from nothing, with the run's own hyperparameters and the same practice starts (restored,
and on fresh layouts as the run's skills reach them), and are judged on the same fresh starts of other layouts, with
sampled actions. `success %` is the best policy's on them (Wilson), summed over `--seeds` seeds; `cpu_seconds` are one
core's. The BabyAI model is without its LSTM memory; `--width` and `--words` are its channels and text units, of which
the paper has 128 each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.envs.batch import Layouts
from sdg.envs.domain import Domain
from sdg.envs.instructions import seeds
from sdg.experiments.bench import options
from sdg.experiments.cli.errors import UserError
from sdg.experiments.config.assembly import plan_of
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.experiments.run.grounded import Grounded, grounded
from sdg.experiments.table.figures import measured, open_folder, publish
from sdg.induction.induce import VALIDATION_TRIES, InduceSettings, split
from sdg.skills.learning.train import open_starts, train
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member, fresh_starts, restored_starts
from sdg.skills.practice.starts import Starts, join
from sdg.skills.statistics import wilson_interval

Row = dict[str, Any]


MAP, BABYAI = "map", "babyai"


@dataclass(frozen=True)
class Contest:
    """One skill learned by one kind of policy under one seed; `earlier` are skills that reach fresh layouts."""

    skill: str
    policy: str
    seed: int
    members: tuple[Member, ...]
    earlier: Mapping[int, Policy]
    settings: InduceSettings
    network: Mapping[str, int]
    domain: Domain
    layouts: tuple[int, int]
    """Layouts a level to practise on and to be judged on."""
    layout_seed: int

    @property
    def unit(self) -> str:
        """Its name in a journal."""
        return f"{self.skill}/{self.policy}/{self.seed}"


def contest(job: Contest) -> dict[str, Any]:
    """Learn, from nothing, to the end of the budget: the curve and the best policy's success on fresh starts.

    Raises ValueError where no fresh start is reached.
    """
    starts, judged = _starts(job)
    settings = replace(job.settings.train, target_success=2.0, patience=10**9)
    if job.policy == BABYAI:
        settings = replace(settings, learner="paper-model", network=dict(job.network))
    began = time.process_time()
    trained = train(starts, judged, settings, seed=job.seed)
    return {
        "unit": job.unit,
        "practice_starts": len(starts),
        "validation_starts": len(judged),
        "environment_steps": trained.environment_steps,
        "cpu_seconds": round(time.process_time() - began, 1),
        "parameters": sum(array.size for array in trained.weights.values()),
        "solved": round(trained.best.validation_success * len(judged)),
        "mean_steps": trained.best.validation_steps,
        "curve": [[point.environment_steps, point.validation_success] for point in trained.curve],
    }


def _starts(job: Contest) -> tuple[Starts, Starts]:
    """As in the second round of a run: restored and fresh starts to practise on, fresh ones to be judged on."""
    training, _ = split(job.members, share=job.settings.validation_share, seed=job.layout_seed)
    levels = sorted({member.level for member in job.members})
    practise, judge = ({level: _layouts(level, job, number) for level in levels} for number in (0, 1))
    horizon, seed = job.settings.train.horizon, job.layout_seed
    found = partial(fresh_starts, domain=job.domain, horizon=horizon)
    fresh = found(training, job.earlier, layouts=practise, count=job.settings.fresh_starts, seed=seed)
    judged = found(job.members, job.earlier, layouts=judge, count=VALIDATION_TRIES, seed=seed + 1)
    if judged is None or not len(judged := open_starts(judged)):
        raise ValueError(f"no fresh layout has a start of {job.skill} that leaves anything to be done")
    parts = [open_starts(part) for part in (restored_starts(training, job.domain), fresh) if part is not None]
    judged = judged.take(np.arange(min(len(judged), job.settings.train.validation_starts)))
    return join([part for part in parts if len(part)]), judged


def _layouts(level: str, job: Contest, number: int) -> Layouts:
    name = ("training", "validation")[number]
    return job.domain.layouts(level, seeds(name, count=job.layouts[number], seed=job.layout_seed))


def rows(
    *,
    seed: options.Seed = 0,
    run: options.Run = Path("runs/library"),
    skills: options.Skills = (),
    policies: Annotated[Sequence[str], options.listed("kinds of policy")] = (MAP, BABYAI),
    seeds: Annotated[int, typer.Option(min=1, help="training seeds")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="environment steps of each")] = 300_000,
    width: options.Width = 32,
    words: options.Words = 64,
    processes: options.Processes = 0,
    out: options.Out = None,
) -> list[Row]:
    """The rows. Raises UserError for a run, skills or policies that aren't there."""
    found = grounded(Path(run))
    unknown = set(skills) - set(found.members) or set(policies) - {MAP, BABYAI}
    if unknown:
        raise UserError(f"no such skill or policy: {sorted(unknown)}; skills are {', '.join(found.members)}")
    folder = Path(out or f"runs/policies-{seed}")
    asked = {"run": str(run), "skills": list(skills), "policies": list(policies), "seeds": seeds, "steps": steps,
             "babyai": {"width": width, "words": words}}  # fmt: skip
    jobs = list(_jobs(found, asked, seed=seed))
    with open_folder(folder, asked, seed=seed, may_change=("skills", "policies", "seeds")) as kept:
        results = measured(kept, "contests", contest, jobs, processes=processes)
    table = [_row(skill, policy, jobs, results) for skill, policy in _pairs(jobs)]
    publish(folder, table, name="policies", plot=_plot(jobs, results))
    return table


def _jobs(found: Grounded, asked: Mapping[str, Any], *, seed: int) -> Iterator[Contest]:
    plan = plan_of(found.config)
    settings = replace(plan.induce, train=replace(plan.induce.train, total_timesteps=asked["steps"]))
    earlier = found.policies()
    for skill in asked["skills"] or found.members:
        for number in range(asked["seeds"]):
            for policy in asked["policies"]:
                yield Contest(
                    skill=skill,
                    policy=policy,
                    seed=seed * 1000 + number,
                    members=found.members[skill],
                    earlier=earlier,
                    settings=settings,
                    network=asked["babyai"],
                    domain=plan.domain,
                    layouts=(plan.training_layouts, plan.validation_layouts),
                    layout_seed=plan.seed,
                )


def _pairs(jobs: Sequence[Contest]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((job.skill, job.policy) for job in jobs))


def _row(skill: str, policy: str, jobs: Sequence[Contest], results: Mapping[str, Row]) -> Row:
    mine = [results[job.unit] for job in jobs if (job.skill, job.policy) == (skill, policy)]
    sure = wilson_interval(sum(row["solved"] for row in mine), sum(row["validation_starts"] for row in mine))
    steps, seconds = sum(row["environment_steps"] for row in mine), sum(row["cpu_seconds"] for row in mine)
    return {
        "skill": skill,
        "policy": policy,
        "success_rate": sure.value,
        "low": sure.low,
        "high": sure.high,
        "episodes": sum(row["validation_starts"] for row in mine),
        "seeds": len(mine),
        "environment_steps": steps // len(mine),
        "cpu_seconds": round(seconds / len(mine), 1),
        "steps_per_cpu_second": round(steps / max(seconds, 0.1)),
        "parameters": mine[0]["parameters"],
        "mean_steps": round(sum(row["mean_steps"] for row in mine) / len(mine), 2),
    }


def _plot(jobs: Sequence[Contest], results: Mapping[str, Row]) -> Panels | None:
    panels = []
    for skill in dict.fromkeys(job.skill for job in jobs):
        lines = {policy: _line(skill, policy, jobs, results) for name, policy in _pairs(jobs) if name == skill}
        panels.append(Panel(skill, lines))
    note = "success on fresh held-out starts, first seed; bands: 95 % (Wilson)"
    return Panels(panels, x="environment steps", note=note) if panels else None


def _line(skill: str, policy: str, jobs: Sequence[Contest], results: Mapping[str, Row]) -> list[Mark]:
    row = next(results[job.unit] for job in jobs if (job.skill, job.policy) == (skill, policy))
    many = row["validation_starts"]
    found = [(steps, wilson_interval(round(rate * many), many)) for steps, rate in row["curve"]]
    return [Mark(steps, sure.value, sure.low, sure.high) for steps, sure in found]


__all__ = ["rows"]
