"""A level for PPO is the same on the engine as on minigrid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.practice.inputs import AS_IT_IS, N_ACTIONS, SIZE, write_features
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.instructions import SPLITS
from sdg.experiments.baselines.level_env import LevelVecEnv

SEEDS = range(SPLITS["training"].start, SPLITS["training"].start + 12)


def target_of(mission: str) -> np.ndarray:
    return BABYAI.language.row(mission.removeprefix("go to "))


class WorldEnv(gym.Env[np.ndarray, int]):
    """One minigrid environment and its robot's memory; every episode is the next of `seeds`."""

    observation_space = spaces.Box(0, 1, (SIZE,), np.uint8)
    action_space: spaces.Space[Any] = spaces.Discrete(N_ACTIONS)

    def __init__(self, level: str, seeds: Callable[[], int]) -> None:
        self.world = BabyAIWorld(level)
        self._seeds = seeds
        self._target = np.zeros(4, np.int16)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin the next layout; `seed` is for gymnasium's own generator only."""
        super().reset(seed=seed)
        self.world.reset(self._seeds())
        self._target = target_of(self.world.mission)
        return self._features(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take action 0..5."""
        result = self.world.step(int(action))
        return self._features(), result.reward, result.terminated, result.truncated, {}

    def _features(self) -> np.ndarray:
        out = np.zeros(SIZE, np.uint8)
        write_features(self.world.memory, 0, self._target, AS_IT_IS, out)
        return out


def test_both_sides_give_the_same_inputs_rewards_and_endings() -> None:
    bank = LevelBank.build("GoToLocal", np.arange(SEEDS.start, SEEDS.stop))
    env = LevelVecEnv(bank, 4, seed=0, target_of=target_of)
    observations = env.reset()
    twins = [WorldEnv("GoToLocal", lambda i=i: int(bank.seeds[env.state.layout[i]])) for i in range(4)]  # type: ignore[misc]
    assert all(np.array_equal(twin.reset()[0], observations[i]) for i, twin in enumerate(twins))
    rng, ends = np.random.default_rng(0), 0
    for _ in range(150):
        actions = rng.integers(0, 6, 4)
        observations, rewards, dones, infos = env.step(actions)
        for i, twin in enumerate(twins):
            features, reward, terminated, truncated, _ = twin.step(int(actions[i]))
            assert rewards[i] == np.float32(reward)
            assert dones[i] == (terminated or truncated)
            if dones[i]:
                assert np.array_equal(infos[i]["terminal_observation"], features)
                assert infos[i]["TimeLimit.truncated"] == (truncated and not terminated)
                features, ends = twin.reset()[0], ends + 1
            assert np.array_equal(features, observations[i])
    assert ends > 4
