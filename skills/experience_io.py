"""Grounded experience as JSON, for a run's journal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sdg.skills.experience import Experience
from sdg.skills.strict_json import decode

MAX_ACTIONS = 1_000_000


def experience_to_json(experience: Experience) -> dict[str, Any]:
    """Plain lists, numbers and texts: the fields of `Experience`, its subgoal and check nested."""
    row = asdict(experience)
    return {**row, "restore_actions": list(experience.restore_actions), "actions": list(experience.actions)}


def experience_from_json(row: object) -> Experience:
    """The inverse, also of what JSON makes of it. Raises ValueError, naming the field, for anything else."""
    experience = decode(Experience, row, place="experience")
    for what in ("restore_actions", "actions"):
        actions = getattr(experience, what)
        if len(actions) > MAX_ACTIONS or any(not 0 <= action <= 255 for action in actions):
            raise ValueError(f"experience.{what} isn't a sequence of at most {MAX_ACTIONS} action numbers")
    if experience.index < 0:
        raise ValueError(f"experience.index is {experience.index}; subgoals are counted from 0")
    return experience
