"""A plain PPO agent for one level: the BabyAI paper's model, the mission as its text, the task's own reward.

The baseline without grounding, skills or programs. A step pays what the level pays (1 - 0.9 * steps / max_steps when
the mission is done, else 0), an episode lasts as long as the level lets it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.practice.inputs import N_ACTIONS
from sdg.experiments.baselines.paper_model import SPACE, PaperLearner, PaperShape, pack_observations
from sdg.experiments.baselines.paper_policy import PaperPolicy
from sdg.skills.learning.ppo import PPOSettings
from sdg.skills.learning.sb3 import ArraysVecEnv

CHUNKS = 20
"""How often at most, over the whole budget, the success of the episodes since the last time is noted.

Failures last longest, so that only as many steps as every environment's longest episode has show them all."""


@dataclass(frozen=True, slots=True)
class FlatSettings:
    """`n_envs` environments for `total_timesteps` steps in all; `ppo` as SDG's appendix has it for skills."""

    total_timesteps: int = 500_000
    n_envs: int = 128
    ppo: PPOSettings = field(default_factory=lambda: PPOSettings(n_steps=32, n_epochs=4, gamma=0.99))
    shape: PaperShape = field(default_factory=PaperShape)


@dataclass(frozen=True, eq=False)
class FlatTrained:
    """The policy at the end of the budget, and (environment steps, success of the episodes that ended) over time."""

    policy: PaperPolicy
    curve: tuple[tuple[int, float], ...]
    environment_steps: int
    episodes: int


class FlatVecEnv(ArraysVecEnv):
    """n environments over a bank, seen as the BabyAI paper's model sees them, with same-step auto-reset."""

    def __init__(self, bank: LevelBank, n: int, *, seed: int) -> None:
        super().__init__(n, SPACE, spaces.Discrete(N_ACTIONS))
        self.engine = BabyAIEngine(bank, n, seed=seed)
        self._missions = np.asarray(bank.layouts.mission)
        self._actions = np.zeros(n, np.int64)
        self.episodes = self.successes = self.ended = 0

    def reset(self) -> np.ndarray:
        """Begin the next layouts of the bank everywhere."""
        views, _ = self.engine.reset()
        return pack_observations(views, self._missions[self.engine.state.layout])

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions for `step_wait`."""
        self._actions = np.asarray(actions, np.int64)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, OBSERVED), rewards f32 (n,), dones bool (n,), infos as stable-baselines3 reads them."""
        step, final = self.engine.step(self._actions), self.engine.final
        dones = step.terminated | step.truncated
        rewards = step.rewards.copy()
        rows = np.flatnonzero(dones)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        last = pack_observations(final.views[rows], self._missions[final.layouts[rows]])
        for i, observation in zip(rows, last, strict=True):
            infos[i] = {
                "TimeLimit.truncated": bool(step.truncated[i] and not step.terminated[i]),
                "terminal_observation": observation,
            }
        self.episodes += len(rows)
        self.ended += len(rows)
        self.successes += int((rewards[rows] > 0).sum())
        return pack_observations(step.views, self._missions[self.engine.state.layout]), rewards, dones, infos

    def success(self) -> float:
        """Success of the episodes that ended since this was asked last; 0 when none did."""
        rate = self.successes / max(1, self.episodes)
        self.episodes = self.successes = 0
        return rate


def train_flat(bank: LevelBank, settings: FlatSettings, *, seed: int) -> FlatTrained:
    """PPO on the missions of a bank."""
    env = FlatVecEnv(bank, settings.n_envs, seed=seed)
    learner = PaperLearner(env, bank.missions, settings.ppo, seed=seed, shape=settings.shape)
    curve: list[tuple[int, float]] = []
    apart = max(settings.total_timesteps / CHUNKS, int(bank.layouts.max_steps.max()) * settings.n_envs)

    def on_rollout(learner: PaperLearner, steps: int) -> bool:
        since = steps - (curve[-1][0] if curve else 0)
        if since >= apart and env.episodes:
            curve.append((steps, env.success()))
        return True

    steps = learner.learn(settings.total_timesteps, callback=on_rollout)
    return FlatTrained(learner.policy(), tuple(curve), steps, env.ended)
