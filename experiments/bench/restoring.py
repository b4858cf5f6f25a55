"""What restoring is worth to practice: a skill learned from restored states or from reset states, judged alike.

With restoring, practice begins where the subgoals of a cluster began, by replaying the saved actions. Without, it
begins where the same episodes begin, in the state after reset, and is paid by the same checks for the same arguments.
Both are judged on restored states of instructions held out from both (SDG, Fig 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdg.envs.domain import Domain
from sdg.skills.learning.train import TrainSettings, open_starts, train
from sdg.skills.practice.fresh_starts import Member, restored_starts
from sdg.skills.practice.starts import Starts

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


__all__ = ["MODES", "WITH", "WITHOUT", "Practised", "learning_curve", "on_grid", "practice_starts"]
