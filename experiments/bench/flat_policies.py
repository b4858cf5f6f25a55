"""Flat PPO policies in a folder: trained, a level at a time, and found again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.envs.instructions import seeds
from sdg.experiments.cli.errors import UserError

FLAT_AGENT = "ppo-flat"


@dataclass(frozen=True, slots=True)
class FlatJob:
    """One level to train on; weights go to the run folder `folder`. `width` and `words` are the model's sizes."""

    folder: Path
    level: str
    steps: int
    layouts: int
    seed: int
    learning_rate: float
    width: int
    words: int

    @property
    def unit(self) -> str:
        """Its name in a journal."""
        return self.level


def train_level(job: FlatJob) -> dict[str, Any]:
    """Train, store the weights, and tell of it: a row for the journal."""
    from sdg.envs.babyai.engine.bank import LevelBank
    from sdg.experiments.baselines.flat_ppo import FlatSettings, train_flat
    from sdg.experiments.baselines.paper_model import PaperShape
    from sdg.grounding.records import save_policy
    from sdg.skills.learning.ppo import PPOSettings

    bank = LevelBank.build(job.level, seeds("training", count=job.layouts, seed=job.seed))
    ppo = PPOSettings(n_steps=32, n_epochs=4, gamma=0.99, learning_rate=job.learning_rate)
    settings = FlatSettings(job.steps, ppo=ppo, shape=PaperShape(job.width, job.words))
    began = time.process_time()
    trained = train_flat(bank, settings, seed=job.seed)
    save_policy(job.folder, job.level, trained.policy.weights)
    return {
        "unit": job.level,
        "environment_steps": trained.environment_steps,
        "episodes": trained.episodes,
        "cpu_seconds": round(time.process_time() - began, 1),
        "curve": [list(point) for point in trained.curve],
    }


def flat_checksum(folder: Path, levels: Sequence[str]) -> str:
    """A digest of the policies of these levels. Raises UserError where one of them was not trained."""
    from sdg.grounding.records import policy_path

    digest = hashlib.sha256()
    for level in levels:
        path = policy_path(folder, level)
        if not path.is_file():
            raise UserError(
                f"{folder} has no flat policy for {level}: train it with "
                f"`sdg bench flat --levels {level} --out {folder}`, or name another folder with --flat"
            )
        digest.update(path.read_bytes())
    return digest.hexdigest()


__all__ = ["FLAT_AGENT", "FlatJob", "flat_checksum", "train_level"]
