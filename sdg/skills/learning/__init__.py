"""Learners of skills by name: our PPO over binary inputs, stable-baselines3's for everything else, or a user's own.

Higher layers register theirs in `LEARNERS` (`sdg.experiments`: the paper's model).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from sdg.envs.registry import Registry
from sdg.skills import learners

if TYPE_CHECKING:
    import numpy as np

    from sdg.envs.domain import Domain
    from sdg.skills.learning.ppo import RowsVecEnv
    from sdg.skills.learning.train import TrainSettings
    from sdg.skills.policy.network import Policy
    from sdg.skills.practice.starts import Starts


class Practice(Protocol):
    """One skill while it learns."""

    @property
    def env(self) -> RowsVecEnv:
        """The rows on which it is practised; they count attempts."""
        ...

    def learn(self, total_timesteps: int, *, callback: Callable[[Practice, int], bool]) -> int:
        """Train for `total_timesteps` environment steps, in whole rollouts; returns the number of steps. After each
        rollout `callback` gets the practice and the steps so far, and returns False to end it."""
        ...

    def policy(self) -> Policy:
        """The current policy."""
        ...


class Learner(Protocol):
    """A way to learn one skill."""

    def practise(self, starts: Starts, settings: TrainSettings, *, seed: int, init_policy: Policy | None) -> Practice:
        """Practice on `starts` with `settings`, beginning from `init_policy`."""
        ...

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """The policy of stored arrays. Raises ValueError for arrays that this learner didn't make."""
        ...


LEARNERS: Registry[Learner] = learners.LEARNERS


def policy_of(weights: Mapping[str, np.ndarray], domain: Domain, learner: str = "ppo") -> Policy:
    """The policy of a learner's stored arrays. Raises ValueError where they aren't a policy."""
    return LEARNERS.get(learner).policy(weights, domain)
