"""Learners of skills by name: PPO over binary inputs, stable-baselines3's for everything else, or a user's own.

A learner is an object with

    practise(starts, settings, *, seed, init_policy) -> an object with `env` (it counts `episodes` and `successes`),
        `learn(total_timesteps, callback=)` and `policy()`
    policy(weights, domain) -> the Policy that stored arrays are of; raises ValueError for arrays that are none
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from sdg.envs.domain import Domain
from sdg.envs.registry import Registry
from sdg.skills.policy.network import Policy


class Learner(Protocol):
    """A way to learn one skill."""

    def practise(self, starts: Any, settings: Any, *, seed: int, init_policy: Policy | None) -> Any:
        """Practice on `starts` (`Starts`) with `settings` (`TrainSettings`), going on from `init_policy`."""
        ...

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """The policy that stored arrays are of. Raises ValueError for arrays that are none of this learner's."""
        ...


LEARNERS = Registry[Learner](
    "learner",
    {
        "ppo": "sdg.skills.learning.vec_env:PPO",
        "sb3": "sdg.skills.learning.sb3:SB3",
        "paper-model": "sdg.experiments.baselines.paper_model:PAPER_MODEL",
        "sb3-policy": "sdg.experiments.baselines.sb3_policy:SB3_POLICY",
    },
)


def policy_of(weights: Mapping[str, np.ndarray], domain: Domain, learner: str = "ppo") -> Policy:
    """The policy that a learner's stored arrays are of. Raises ValueError where they are none."""
    return LEARNERS.get(learner).policy(weights, domain)
