"""stable-baselines3's own PPO, which the project's learner is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import nn

from sdg.experiments.baselines.level_env import WorldEnv
from sdg.skills.learning.ppo import PPOSettings
from sdg.skills.learning.sb3 import keywords


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


def world_vec_env(level: str, n: int, *, seeds: range, seed: int) -> VecEnv:
    """n minigrid environments one after the other, on random layouts of `seeds`."""
    rng = np.random.default_rng(seed)
    return DummyVecEnv([lambda: WorldEnv(level, lambda: int(seeds[rng.integers(len(seeds))])) for _ in range(n)])


def default_ppo(env: VecEnv, *, seed: int) -> PPO:
    """stable-baselines3's PPO as it comes, but on one thread: two that wait for each other are far slower."""
    torch.set_num_threads(1)
    return PPO("MlpPolicy", env, seed=seed, device="cpu")


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
