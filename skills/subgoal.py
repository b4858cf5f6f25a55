"""Subgoals and the check functions that say when they are reached (SDG, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """f: S -> {0, 1} as Python *source* that defines the function `name` without arguments.

    It travels as source and is compiled behind the guard where it runs.
    """

    name: str
    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Subgoal:
    """g_i: a small instruction and the check function that tells whether it is reached."""

    description: str
    check: CheckFunction


@dataclass(frozen=True, slots=True)
class SkillCall:
    """A subgoal translated to an API name and a parameter (SDG, section 4.4), e.g. `discover`, "green key"."""

    api: str
    argument: str
