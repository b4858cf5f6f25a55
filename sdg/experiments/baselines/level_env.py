"""A whole level on the engine for PPO, with the inputs that skills see (not mirrored)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sdg.envs.babyai.engine import state
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import checked_actions
from sdg.envs.babyai.engine.state import VIEW
from sdg.envs.babyai.perception import memory
from sdg.envs.babyai.practice.batch_world import begin_rows, step_rows
from sdg.envs.babyai.practice.inputs import AS_IT_IS, MAP_INPUTS, SIZE, write_features
from sdg.envs.batch import Inputs
from sdg.envs.kernels import kernel
from sdg.skills.learning.ppo import RowsVecEnv


@kernel
def _write_rows(memory, targets, rows, out):  # type: ignore[no-untyped-def]
    for i in rows:
        write_features(memory, i, targets[i], AS_IT_IS, out[i])


class LevelVecEnv(RowsVecEnv):
    """n rows of the engine and their robots' memories, with same-step auto-reset from a bank."""

    inputs: Inputs = MAP_INPUTS

    def __init__(self, bank: LevelBank, n: int, *, seed: int, target_of: Callable[[str], np.ndarray]) -> None:
        super().__init__(n)
        self.bank, self.state, self.memory = bank, state.create(n), memory.create(n)
        self._rng = np.random.default_rng(seed)
        self._target_of = np.stack([target_of(text) for text in bank.missions])[bank.layouts.mission]
        self._targets = np.zeros((n, 4), np.int16)
        self._views = np.zeros((n, VIEW, VIEW), np.uint8)
        self.layout_of = np.zeros(n, np.int64)

    def begin(self, rows: np.ndarray, layouts: np.ndarray) -> None:
        """Begin these layouts in these rows."""
        begin_rows(self.state, self.memory, self.bank.layouts, rows, layouts, self._views, 0)
        self._targets[rows] = self._target_of[layouts]
        self.layout_of[rows] = layouts

    def reset(self) -> np.ndarray:
        """Begin a random layout in every row."""
        self.begin(np.arange(self.num_envs), self._rng.integers(len(self.bank), size=self.num_envs))
        return self._features()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, SIZE), rewards f32 (n,), dones bool (n,), infos as stable-baselines3 reads them.

        Raises ValueError for actions that aren't n numbers in 0..6.
        """
        n = self.num_envs
        chosen = checked_actions(actions, n)
        rewards, terminated, truncated = np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        step_rows(self.state, self.memory, chosen, self._views, rewards, terminated, truncated)
        observations, dones = self._features(), terminated | truncated
        endings = np.flatnonzero(dones)
        infos = self.infos_of(endings, observations[endings], cut=truncated & ~terminated)
        if len(endings):
            self.begin(endings, self._rng.integers(len(self.bank), size=len(endings)))
            _write_rows(self.memory, self._targets, endings, observations)
        return observations, rewards, dones, infos

    def _features(self) -> np.ndarray:
        out = np.zeros((self.num_envs, SIZE), np.uint8)
        _write_rows(self.memory, self._targets, np.arange(self.num_envs), out)
        return out
