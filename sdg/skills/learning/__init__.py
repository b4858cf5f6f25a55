"""Learners of skills by name: PPO over binary inputs, stable-baselines3's for everything else, or a user's own.

What stands above registers its own in `LEARNERS` (`sdg.experiments`: the paper's model).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from sdg.envs.registry import Registry

if TYPE_CHECKING:
    import numpy as np

    from sdg.envs.domain import Domain
    from sdg.skills.learning.train import TrainSettings
    from sdg.skills.policy.network import Policy
    from sdg.skills.practice.starts import Starts


class Counts(Protocol):
    """Attempts that ended since they were last set to 0, and those of them that succeeded."""

    episodes: int
    successes: int


class Practice(Protocol):
    """One skill while it is learned."""

    @property
    def env(self) -> Counts:
        """Where it is practised."""
        ...

    def learn(self, total_timesteps: int, *, callback: Callable[[Practice, int], bool]) -> int:
        """Train for so many environment steps, in whole rollouts; returns their number. A callback gets the practice
        and the steps so far after each rollout, and returns False to end it."""
        ...

    def policy(self) -> Policy:
        """The current policy."""
        ...


class Learner(Protocol):
    """A way to learn one skill."""

    def practise(self, starts: Starts, settings: TrainSettings, *, seed: int, init_policy: Policy | None) -> Practice:
        """Practice on `starts` with `settings`, going on from `init_policy`."""
        ...

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """The policy that stored arrays are of. Raises ValueError for arrays that are none of this learner's."""
        ...


LEARNERS = Registry[Learner](
    "learner", {"ppo": "sdg.skills.learning.vec_env:PPO", "sb3": "sdg.skills.learning.sb3:SB3"}
)


def policy_of(weights: Mapping[str, np.ndarray], domain: Domain, learner: str = "ppo") -> Policy:
    """The policy that a learner's stored arrays are of. Raises ValueError where they are none."""
    return LEARNERS.get(learner).policy(weights, domain)
