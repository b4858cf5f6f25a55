"""Rehearsals: planners play with the skills so far on layouts of their own, and what they ask of a skill is practised.

A hypothesis calls skills in one order, from the start of an episode. A program calls them anywhere: with full hands, in
narrow places, from the far side of where it came back to. The last round of learning begins where programs begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sdg.deduction.library_skills import Option, options_of
from sdg.envs.domain import Domain
from sdg.envs.domains import domain_of_data
from sdg.induction.skill_requests import EpisodeRow, starts_of_skill
from sdg.skills.learning.train import open_starts
from sdg.skills.library.library import SkillLibrary
from sdg.skills.practice.starts import Starts

Rehearse = Callable[[SkillLibrary, int], Sequence[EpisodeRow]]
"""Whoever plays rehearsals with a library in a cycle: rows of episodes, on layouts that nothing else practises on."""

HELD_OUT = 4
"""Every fourth layout judges what was learned on the others."""


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Where a skill was asked for something that wasn't done yet: to practise on, and held out to judge by."""

    practised: Starts | None
    judged: Starts | None


def rehearsed(learned: SkillLibrary, labels: Sequence[int], episodes: Sequence[EpisodeRow]) -> dict[int, Rehearsed]:
    """What these episodes asked of each skill of the library, by its cluster's number (`labels`, in their order)."""
    options, domain = options_of(learned), domain_of_data(learned.domain)
    held = set(sorted({row["seed"] for row in episodes})[::HELD_OUT])
    parts = [row for row in episodes if row["seed"] not in held], [row for row in episodes if row["seed"] in held]
    return {
        label: Rehearsed(*(_left_to_do(part, options[skill.name], domain) for part in parts))
        for label, skill in zip(labels, learned.skills, strict=True)
    }


def _left_to_do(episodes: Sequence[EpisodeRow], option: Option, domain: Domain) -> Starts | None:
    """Starts of this skill's calls whose aim wasn't reached already."""
    asked = starts_of_skill(episodes, option, domain)
    left = open_starts(asked) if asked is not None else None
    return left if left is not None and len(left) else None


__all__ = ["HELD_OUT", "Rehearse", "Rehearsed", "rehearsed"]
