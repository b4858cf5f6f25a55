"""PPO for one skill: stable-baselines3 on the batched engine, one torch thread (SDG, section 4.4 and appendix).

The only file that imports torch and stable-baselines3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from skills.policy import Policy


@dataclass(frozen=True, slots=True)
class PPOSettings:
    """Names are stable-baselines3's. The defaults learn a skill; `hidden` are the widths of the two layers."""

    n_steps: int = 16
    batch_size: int = 1024
    n_epochs: int = 4
    learning_rate: float = 1e-3
    ent_coef: float = 0.01
    gamma: float = 0.97
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    max_grad_norm: float = 0.5
    hidden: tuple[int, int] = (128, 64)


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


class _EveryRollout(BaseCallback):
    """Calls `watch(policy, steps)` after each rollout and `stop()` after each step; either may end the training."""

    def __init__(self, learner: PPOLearner, watch: Callable[[PPOLearner, int], bool], stop: Callable[[], bool]) -> None:
        super().__init__()
        self.learner, self.watch, self.stop = learner, watch, stop
        self.keep_going = True

    def _on_step(self) -> bool:
        return self.keep_going and not self.stop()

    def _on_rollout_end(self) -> None:
        # SB3 updates after the rollout: what is watched here is the policy that made it.
        self.keep_going = self.watch(self.learner, self.num_timesteps)


def _never() -> bool:
    return False


class PPOLearner:
    """Learns one policy on a VecEnv whose observations are binary vectors; can go on from an earlier policy."""

    def __init__(
        self, env: VecEnv, settings: PPOSettings = PPOSettings(), *, seed: int, start: Policy | None = None
    ) -> None:
        torch.set_num_threads(1)
        self.ppo = PPO(
            "MlpPolicy",
            env,
            n_steps=settings.n_steps,
            batch_size=settings.batch_size,
            n_epochs=settings.n_epochs,
            learning_rate=settings.learning_rate,
            ent_coef=settings.ent_coef,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip_range,
            max_grad_norm=settings.max_grad_norm,
            policy_kwargs={
                "features_extractor_class": Trunk,
                "features_extractor_kwargs": {"hidden": settings.hidden},
                "net_arch": [],
            },
            seed=seed,
            device="cpu",
        )
        if start is not None:
            self._load(start)

    def learn(
        self,
        total_timesteps: int,
        *,
        watch: Callable[[PPOLearner, int], bool],
        stop: Callable[[], bool] = _never,
    ) -> int:
        """Train for at most `total_timesteps`; returns the steps taken. `watch` returns False to end it."""
        callback = _EveryRollout(self, watch, stop)
        self.ppo.learn(total_timesteps, callback=callback, log_interval=None)  # type: ignore[arg-type]
        return int(self.ppo.num_timesteps)

    def bias_actions(self, logits: np.ndarray) -> None:
        """Set the actor's first preferences (6,) over actions; an untrained network adds next to nothing to them."""
        with torch.no_grad():
            self._layers()[2].bias.copy_(torch.as_tensor(logits, dtype=torch.float32))

    def policy(self) -> Policy:
        """The current policy as plain arrays."""
        weights: dict[str, np.ndarray] = {}
        for number, module in enumerate(self._layers(), start=1):
            weights[f"w{number}"] = module.weight.detach().numpy().T.copy()
            weights[f"b{number}"] = module.bias.detach().numpy().copy()
        return Policy(weights)

    def _load(self, policy: Policy) -> None:
        with torch.no_grad():
            for number, module in enumerate(self._layers(), start=1):
                module.weight.copy_(torch.as_tensor(policy.weights[f"w{number}"].T.copy()))
                module.bias.copy_(torch.as_tensor(policy.weights[f"b{number}"]))

    def _layers(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        """The two layers of the trunk and the actor's head."""
        policy: Any = self.ppo.policy
        return policy.features_extractor.layers[0], policy.features_extractor.layers[2], policy.action_net
