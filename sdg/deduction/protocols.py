"""Skills as programs call them, and the primitive actions in that form, for SDG-action (SDG, section 5.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sdg.envs.domain import Domain
from sdg.gate.rules import Usage
from sdg.skills.subgoal import CheckFunction


class ActingPolicy(Protocol):
    """Chooses the next primitive action."""

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> Any:
        """An action of the domain for row `row` of memory and a target (w,) as `Language.row` makes it."""
        ...


class Documented(Protocol):
    """A skill's text for prompts, with `parameters` and `success_rate` where it has them."""

    @property
    def name(self) -> str:
        """The name programs call it by."""
        ...

    @property
    def description(self) -> str:
        """Its action, for the prompt."""
        ...

    @property
    def examples(self) -> Sequence[str]:
        """Subgoals it was learned from, in words, for the prompt."""
        ...

    @property
    def takes_argument(self) -> bool:
        """Whether it acts on something that the call names."""
        ...


class CalledSkill(Documented, Protocol):
    """An option (Sutton, Precup, Singh 1999): a policy with its termination check and its name."""

    @property
    def horizon(self) -> int:
        """Steps one attempt may take."""
        ...

    @property
    def usage(self) -> Usage:
        """Its known needs; the gate's rules may refuse a call without them."""
        ...

    @property
    def policy(self) -> ActingPolicy:
        """pi(a | memory, target)."""
        ...

    def check(self, argument: str) -> CheckFunction | None:
        """The termination check with the argument's text filled in; None: it is over after `horizon` steps.

        Raises ValueError for text that isn't a description.
        """
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A policy of a single action."""

    action: int

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """The action."""
        return self.action


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive action as an option of one step; the gate judges whether it had an effect."""

    name: str
    description: str
    policy: Constant
    examples: tuple[str, ...] = ()
    takes_argument: bool = False
    usage: Usage = Usage(takes_argument=False)  # noqa: RUF009  a frozen value
    horizon: int = 1

    def check(self, argument: str) -> None:
        """It is over after its one step."""


def primitive_skills(domain: Domain, *, beside_skills: bool = False) -> Mapping[str, Primitive]:
    """A domain's actions by the names that programs use; with `beside_skills` only those that programs over skills use
    too."""
    actions = [action for action in domain.actions if action.beside_skills or not beside_skills]
    return {action.name: Primitive(action.name, action.description, Constant(action.number)) for action in actions}
