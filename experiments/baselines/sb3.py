"""stable-baselines3's own PPO, which the project's learner is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import nn

from sdg.envs.babyai.practice.features import SIZE
from sdg.envs.babyai.practice.inputs import N_ACTIONS
from sdg.experiments.baselines.level_env import WorldEnv
from sdg.skills.learning.ppo import PPOSettings
from sdg.skills.learning.vec_env import RowsVecEnv

BITS = spaces.Box(0, 1, (SIZE,), np.uint8)
"""What the project's policies see."""


class Trunk(BaseFeaturesExtractor):
    """The shared layers below actor and critic: (n, SIZE) binary -> (n, hidden[1])."""

    def __init__(self, observation_space: Any, hidden: tuple[int, int]) -> None:
        super().__init__(observation_space, hidden[1])
        self.layers = nn.Sequential(
            nn.Linear(int(observation_space.shape[0]), hidden[0]), nn.ReLU(), nn.Linear(hidden[0], hidden[1]), nn.ReLU()
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layers(observations)
        return out


class SB3Rows(VecEnv):
    """Rows that are arrays, with all that stable-baselines3 asks of a VecEnv."""

    def __init__(self, rows: RowsVecEnv, space: spaces.Box = BITS) -> None:
        super().__init__(rows.num_envs, space, spaces.Discrete(N_ACTIONS))
        self.rows = rows

    def reset(self) -> Any:
        return self.rows.reset()

    def step_async(self, actions: np.ndarray) -> None:
        self.rows.step_async(actions)

    def step_wait(self) -> Any:
        return self.rows.step_wait()

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Rows have no attribute but this."""
        return [{"render_mode": None}.get(attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused."""
        raise AttributeError(f"rows have no attribute {attr_name!r} to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refused."""
        raise AttributeError(f"rows have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Never wrapped."""
        return [False] * self.num_envs


def world_vec_env(level: str, n: int, *, seeds: range, seed: int) -> VecEnv:
    """n minigrid environments one after the other, on random layouts of `seeds`."""
    rng = np.random.default_rng(seed)
    return DummyVecEnv([lambda: WorldEnv(level, lambda: int(seeds[rng.integers(len(seeds))])) for _ in range(n)])


def default_ppo(env: VecEnv, *, seed: int) -> PPO:
    """stable-baselines3's PPO as it comes, but on one thread: two that wait for each other are far slower."""
    torch.set_num_threads(1)
    return PPO("MlpPolicy", env, seed=seed, device="cpu")


def keywords(settings: PPOSettings) -> dict[str, Any]:
    """The settings as stable-baselines3's PPO takes them; the widths of the network are no keywords of its own."""
    return {field.name: getattr(settings, field.name) for field in fields(settings) if field.name != "hidden"}


def project_ppo(env: VecEnv, settings: PPOSettings = PPOSettings(), *, seed: int) -> PPO:
    """stable-baselines3's PPO with the project's network and hyperparameters."""
    torch.set_num_threads(1)
    return PPO(
        "MlpPolicy",
        env,
        **keywords(settings),
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"hidden": settings.hidden},
            "net_arch": [],
        },
        seed=seed,
        device="cpu",
    )


def acting(ppo: PPO) -> Callable[[np.ndarray], np.ndarray]:
    """Sampled actions for observations."""
    return lambda observations: ppo.predict(observations, deterministic=False)[0]


def going_on(ppo: PPO, steps: int) -> Callable[[], int]:
    """Each call trains for `steps` more and gives the steps taken so far."""

    def learn() -> int:
        ppo.learn(steps, reset_num_timesteps=False, log_interval=1_000_000)
        return int(ppo.num_timesteps)

    return learn
