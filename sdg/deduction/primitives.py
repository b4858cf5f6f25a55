"""Primitive actions dressed as skills, for SDG-action: the same planner without learned skills (SDG, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdg.envs.domain import Domain
from sdg.gate.rules import Usage


@dataclass(frozen=True, slots=True)
class Constant:
    """A policy that knows one action."""

    action: int

    def act(self, memory: Any, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """The action."""
        return self.action


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive action as an option of one step; whether it had an effect is for the gate to say."""

    name: str
    description: str
    policy: Constant
    examples: tuple[str, ...] = ()
    takes_argument: bool = False
    usage: Usage = Usage(takes_argument=False)  # noqa: RUF009  a frozen value
    horizon: int = 1

    def check(self, argument: str) -> None:
        """It is over after its one step. Raises ValueError for an argument."""
        if argument:
            raise ValueError(f"{self.name} takes no argument, got {argument!r:.60}")


def primitive_skills(domain: Domain, *, beside_skills: bool = False) -> Mapping[str, Primitive]:
    """A domain's actions by the names that programs call them by; with `beside_skills` those alone that programs over
    skills use too."""
    chosen = [each for each in domain.actions if each.beside_skills or not beside_skills]
    return {each.name: Primitive(each.name, each.description, Constant(each.number)) for each in chosen}
