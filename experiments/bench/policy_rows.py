"""The policy over the remembered map beside the BabyAI paper's model: one skill, the same starts, the same steps."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sdg.envs.batch import Layouts
from sdg.envs.domain import Domain
from sdg.envs.instructions import seeds
from sdg.induction.induce import VALIDATION_TRIES, InduceSettings, split
from sdg.skills.learning.train import open_starts, train
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member, fresh_starts, restored_starts
from sdg.skills.practice.starts import Starts, join

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


__all__ = ["BABYAI", "MAP", "Contest", "contest"]
