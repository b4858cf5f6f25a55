"""What a robot works with: a world to step in, and skills to step by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.perception import Perception
from sdg.gate.rules import Usage
from sdg.skills.subgoal import CheckFunction


class ActingPolicy(Protocol):
    """Whoever chooses the next primitive action."""

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """An action 0..5 for row `row` of memory and a target of shape (4,): type, colour, location, id."""
        ...


class Skill(Protocol):
    """An option (Sutton, Precup, Singh 1999): a policy, when it ends and what it is called."""

    @property
    def name(self) -> str:
        """The name programs call it by."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the prompt."""
        ...

    @property
    def examples(self) -> Sequence[str]:
        """Subgoals it was learned from, in words, for the prompt."""
        ...

    @property
    def takes_argument(self) -> bool:
        """Whether it acts on something that the call names."""
        ...

    @property
    def horizon(self) -> int:
        """Steps one attempt may take."""
        ...

    @property
    def usage(self) -> Usage:
        """What it is known to need: what the gate's rules may hold a call to."""
        ...

    @property
    def policy(self) -> ActingPolicy:
        """pi(a | map, target)."""
        ...

    def check(self, argument: str) -> CheckFunction:
        """The termination check with the argument's text filled in. ValueError for text that is no description."""
        ...


class StepResult(Protocol):
    """What one step gave."""

    @property
    def reward(self) -> float:
        """The task's own reward, in [0, 1]; above 0 means done as asked."""
        ...

    @property
    def terminated(self) -> bool:
        """The mission is over, done or failed."""
        ...

    @property
    def truncated(self) -> bool:
        """The level's time limit is reached."""
        ...


class World(Protocol):
    """One environment and what was seen of it; row 0 of its memory is this robot's."""

    @property
    def memory(self) -> Memory:
        """What was seen so far, one row."""
        ...

    @property
    def mission(self) -> str:
        """The instruction, as the world words it."""
        ...

    @property
    def max_steps(self) -> int:
        """The level's own time limit for this episode."""
        ...

    def step(self, action: int) -> StepResult:
        """One primitive action 0..5."""
        ...

    def perception(self) -> Perception:
        """A snapshot of what is known now."""
        ...

    def begin_subgoal(self) -> None:
        """The current subgoal begins now."""
        ...

    def forget_visited_rooms(self) -> None:
        """Forget which rooms were visited, but for the one the robot is in."""
        ...


Judge = Callable[[CheckFunction], Callable[[Perception], bool]]
"""Compiles a check behind the guard; the result judges a snapshot. Raises where the check can't be used."""
