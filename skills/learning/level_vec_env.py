"""A level's own mission as a stable-baselines3 `VecEnv` over the batch engine: what a plain PPO would train on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from sdg.envs.babyai.cells import decode
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import N_ACTIONS, BabyAIEngine

_LARGEST_INDEX = 10
"""Highest object type in a minigrid image. Not 255: stable-baselines3 would take the 7x7x3 indices for pixels."""


class BabyAIVecEnv(VecEnv):
    """N environments over a bank of layouts: Dict observations of image (7, 7, 3) uint8 and direction.

    As stable-baselines3 asks: an environment that ends is reset at once, its last observation is in
    `infos[i]["terminal_observation"]`, `infos[i]["TimeLimit.truncated"]` tells a time limit from an ending, and
    `infos[i]["episode"]` has reward, length and time as its Monitor gives them.
    """

    def __init__(self, bank: LevelBank, num_envs: int, *, max_steps: int | None = None, seed: int = 0) -> None:
        self.engine = BabyAIEngine(bank, num_envs, max_steps=max_steps, seed=seed)
        self.render_mode = None
        self._actions: np.ndarray | None = None
        self._began = time.monotonic()
        observation_space = spaces.Dict(
            {"image": spaces.Box(0, _LARGEST_INDEX, (7, 7, 3), np.uint8), "direction": spaces.Discrete(4)}
        )
        super().__init__(num_envs, observation_space, spaces.Discrete(N_ACTIONS))

    def reset(self) -> dict[str, np.ndarray]:
        """Begin the next N layouts of the bank; after `seed(s)`, in an order shuffled by s."""
        if self._seeds[0] is not None:
            self.engine.reshuffle(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.engine.reset()
        self.reset_infos = [{"mission": self.engine.mission(i)} for i in range(self.num_envs)]
        return self._observation()

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the next step_wait."""
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step all. ValueError on actions of the wrong shape or dtype or out of range, or without step_async."""
        if self._actions is None:
            raise ValueError("step_wait without step_async")
        actions, self._actions = self._actions, None
        step = self.engine.step(actions)
        done = step.terminated | step.truncated
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            self._describe_end(infos[i], int(i))
        return self._observation(), step.rewards.copy(), done, infos

    def _describe_end(self, info: dict[str, Any], i: int) -> None:
        step, final = self.engine.latest, self.engine.final
        elapsed = round(time.monotonic() - self._began, 6)
        info["TimeLimit.truncated"] = bool(step.truncated[i] and not step.terminated[i])
        info["terminal_observation"] = {"image": decode(final.views[i]), "direction": int(final.directions[i])}
        info["episode"] = {"r": float(step.rewards[i]), "l": int(final.steps[i]), "t": elapsed}
        self.reset_infos[i] = {"mission": self.engine.mission(i)}

    def _observation(self) -> dict[str, np.ndarray]:
        latest = self.engine.latest
        return {"image": decode(latest.views), "direction": latest.directions.astype(np.int64)}

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of this object, the same for each environment (`mission`: each one's own)."""
        rows = self._rows(indices)
        if attr_name == "mission":
            return [self.engine.mission(i) for i in rows]
        return [getattr(self, attr_name)] * len(rows)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Environments are rows of arrays and have no attributes of their own: raises AttributeError."""
        raise AttributeError(f"environments of one engine have no attribute {attr_name!r} to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Environments are rows of arrays and have no methods: raises AttributeError."""
        raise AttributeError(f"environments of one engine have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """True for Monitor, whose episode records these environments give themselves; nothing else wraps them."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor] * len(self._rows(indices))

    def _rows(self, indices: int | Sequence[int] | None) -> Sequence[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices
