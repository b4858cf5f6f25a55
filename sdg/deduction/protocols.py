"""Skills as programs call them, whoever provides them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sdg.gate.rules import Usage
from sdg.skills.subgoal import CheckFunction


class ActingPolicy(Protocol):
    """Whoever chooses the next primitive action."""

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> Any:
        """An action of the domain for row `row` of memory and a target (w,) as `Language.row` makes it."""
        ...


class Documented(Protocol):
    """What a prompt tells of a skill; `parameters` and `success_rate`, where it has them, as well."""

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


class Skill(Documented, Protocol):
    """An option (Sutton, Precup, Singh 1999): a policy, when it ends and what it is called."""

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
        """pi(a | memory, target)."""
        ...

    def check(self, argument: str) -> CheckFunction | None:
        """The termination check with the argument's text filled in; None: it is over after `horizon` steps.

        ValueError for text that is no description.
        """
        ...
