"""Rehearsals: planners play on layouts of practice with the skills so far, and what they ask of a skill is practised.

A hypothesis calls skills in one order, from the start of an episode. A program calls them anywhere: with full hands, in
doorways, from the far side of a room it came back to. The last round of learning begins where programs begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.deduction.library_skills import Option, options_of
from sdg.induction.skill_requests import asked_of_skill
from sdg.skills.library.library import SkillLibrary
from sdg.skills.practice.starts import Starts
from sdg.skills.practice.train import open_starts

Row = Mapping[str, Any]
Rehearse = Callable[[SkillLibrary, int], Sequence[Row]]
"""Whoever plays rehearsals with a library in a cycle: rows of episodes, on layouts of practice only."""

HELD_OUT = 4
"""Every fourth layout judges what was learned on the others."""


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Where a skill was asked for something that wasn't done yet: to practise on, and held out to judge by."""

    practised: Starts | None
    judged: Starts | None


def rehearsed(learned: SkillLibrary, labels: Sequence[int], episodes: Sequence[Row]) -> dict[int, Rehearsed]:
    """What these episodes asked of each skill of the library, by its cluster's number (`labels`, in their order)."""
    options = options_of(learned)
    held = set(sorted({row["seed"] for row in episodes})[::HELD_OUT])
    parts = [row for row in episodes if row["seed"] not in held], [row for row in episodes if row["seed"] in held]
    return {
        label: Rehearsed(*(_left_to_do(part, options[skill.name]) for part in parts))
        for label, skill in zip(labels, learned.skills, strict=True)
    }


def _left_to_do(episodes: Sequence[Row], option: Option) -> Starts | None:
    """Starts of this skill's calls whose aim wasn't reached already."""
    asked = asked_of_skill(episodes, option)
    left = open_starts(asked) if asked is not None else None
    return left if left is not None and len(left) else None


__all__ = ["HELD_OUT", "Rehearse", "Rehearsed", "rehearsed"]
