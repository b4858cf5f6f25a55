"""Grounded experience: what verification proved about one subgoal (SDG, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from sdg.skills.subgoal import Subgoal


@dataclass(frozen=True, slots=True)
class Experience:
    """A subgoal that was reached in the world, and how to stand where it began.

    `restore_actions` replayed from `reset(seed)` lead to the state in which the subgoal began; `actions` reach it from
    there (empty when it was true already). `confirmed` is False for subgoals of a hypothesis that failed later.
    """

    instruction: str
    level: str
    seed: int
    index: int
    subgoal: Subgoal
    restore_actions: tuple[int, ...]
    actions: tuple[int, ...]
    confirmed: bool = True
