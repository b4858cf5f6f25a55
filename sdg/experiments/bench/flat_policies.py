"""Flat PPO policies in a folder: trained level by level, and loaded again."""

import hashlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.console import UserError
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.instructions import seeds
from sdg.envs.kernels import cache_folder
from sdg.experiments.results.comparison import cores, open_folder, run_missing_jobs
from sdg.experiments.workers.workers import Workers

FLAT_AGENT = "ppo-flat"
LAYOUTS = 4000
"""Training layouts a level."""
LEARNING_RATE = 1e-3


@dataclass(frozen=True, slots=True)
class FlatJob:
    """One level to train on for so many steps; weights go to the run folder `folder`."""

    folder: Path
    level: str
    steps: int
    layouts: int

    @property
    def unit(self) -> str:
        """Its name in a journal."""
        return self.level


def train_level(job: FlatJob) -> dict[str, Any]:
    """Train, store the weights and return a row for the journal."""
    from sdg.envs.babyai.engine.bank import LevelBank
    from sdg.experiments.baselines.flat_ppo import train_flat
    from sdg.experiments.baselines.paper_model import PaperShape
    from sdg.pipeline.records import save_policy
    from sdg.skills.learning.ppo import PPOSettings

    bank = LevelBank.build(job.level, seeds("training", count=job.layouts))
    began, ppo = time.process_time(), PPOSettings(n_steps=32, n_epochs=4, gamma=0.99, learning_rate=LEARNING_RATE)
    policy, steps, episodes = train_flat(bank, timesteps=job.steps, seed=0, shape=PaperShape(), ppo=ppo)
    save_policy(job.folder, job.level, policy.weights)
    seconds = round(time.process_time() - began, 1)
    return {"unit": job.level, "environment_steps": steps, "episodes": episodes, "cpu_seconds": seconds}


def train_policies(folder: Path, levels: Sequence[str], *, steps: int) -> int:
    """Train the flat policies of these levels, each with an even share of `steps`; returns all environment steps.

    A level with a policy isn't trained again.
    """
    each = steps // len(PAPER_LEVELS)
    settings = {"steps_a_level": each, "layouts": LAYOUTS, "learning_rate": LEARNING_RATE}
    jobs = [FlatJob(folder, level, each, LAYOUTS) for level in levels]
    with open_folder(folder, settings, seed=0) as run:
        # Only these jobs may write (policies and banks of layouts), because they run no generated code.
        workers = Workers(cores(), writes=(folder, cache_folder(), Path(tempfile.gettempdir())))
        trained = run_missing_jobs(
            jobs, run.journal("flat"), lambda missing: (row for _, row in workers(train_level, missing)), name="flat"
        )
    return sum(row["environment_steps"] for row in trained)


def flat_checksum(folder: Path, levels: Sequence[str]) -> str:
    """A digest of the policies of these levels. Raises UserError where one of them was not trained."""
    from sdg.pipeline.records import policy_path

    digest = hashlib.sha256()
    for level in levels:
        path = policy_path(folder, level)
        if not path.is_file():
            raise UserError(
                f"{folder} has no flat policy for {level}: train it with "
                f"`sdg bench evidence --agents {FLAT_AGENT} --levels {level}`, or name another folder with --flat"
            )
        digest.update(path.read_bytes())
    return digest.hexdigest()
