"""Searching one subgoal until its check function fires once (SDG, section 4.3).

`CountSearch` is the default, `PPOSearch` is the paper's.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdg.envs.perception import Perception
from sdg.envs.world import ActionValue
from sdg.skills.practice.starts import Starts
from sdg.skills.settings import NotNegative, Positive, Size
from sdg.skills.subgoal import CheckFunction


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How one subgoal is searched."""

    n_envs: Size = 8
    """environments that search side by side"""
    horizon: Size = 250
    """steps of one search episode"""
    n_steps: Size = 30
    """steps of each environment between two updates of the search's PPO"""
    bonus: NotNegative = 0.1
    """scale of PPO's count-based novelty bonus"""
    learning_rate: Positive = 1e-3
    """of the search's PPO"""
    ent_coef: NotNegative = 0.05
    """of the search's PPO"""


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search found: the actions, the state they lead to, and the single environment steps that it took.

    Where nothing was found, `after` is the state of the walk that knows most. `end` is what the agent knew when the
    check fired. `done`: these actions did the task, before its last subgoal was searched.
    """

    reached: bool
    actions: tuple[ActionValue, ...]
    after: Starts
    steps: int
    episodes: int
    inconsistent: int
    cause: str = ""
    end: Perception | None = None
    done: bool = False


class Search(Protocol):
    """Looks for a way to make a check fire."""

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """Search from `start` (one row) for at most `budget` steps; `must_succeed`: the mission must be done, too."""
        ...


@runtime_checkable
class LearningSearch(Search, Protocol):
    """A search that learns. What it `learned` is plain data, first weights by name, and serves the next search."""

    learned: tuple[dict[str, np.ndarray], Any]
