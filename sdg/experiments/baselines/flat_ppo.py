"""A plain PPO agent for one level: the BabyAI paper's model, the mission as its text, the task's own reward.

The baseline without grounding, skills or programs. A step pays what the level pays (1 - 0.9 * steps / max_steps when
the mission is done, else 0), an episode lasts as long as the level lets it.
"""

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


class FlatVecEnv(ArraysVecEnv):
    """n environments over a bank, seen as the BabyAI paper's model sees them, with same-step auto-reset."""

    def __init__(self, bank: LevelBank, n: int, *, seed: int) -> None:
        super().__init__(n, SPACE, spaces.Discrete(N_ACTIONS))
        self.engine = BabyAIEngine(bank, n, seed=seed)
        self._missions = np.asarray(bank.layouts.mission)
        self._actions = np.zeros(n, np.int64)
        self.ended = 0

    def reset(self) -> np.ndarray:
        """Begin the bank's next layouts in all rows."""
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
        self.ended += len(rows)
        return pack_observations(step.views, self._missions[self.engine.state.layout]), rewards, dones, infos


def train_flat(
    bank: LevelBank, *, timesteps: int, seed: int, shape: PaperShape, ppo: PPOSettings, n_envs: int = 128
) -> tuple[PaperPolicy, int, int]:
    """PPO on the missions of a bank: the policy at the end, its environment steps and its episodes."""
    env = FlatVecEnv(bank, n_envs, seed=seed)
    learner = PaperLearner(env, bank.missions, ppo, seed=seed, shape=shape)
    steps = learner.learn(timesteps, callback=lambda learner, steps: True)
    return learner.policy(), steps, env.ended
