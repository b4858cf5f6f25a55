"""What planners ask of skills: the states in which commands begin when programs run, as starts of practice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sdg.deduction.protocols import Skill
from sdg.envs.domain import Domain
from sdg.gate.verdict import Command
from sdg.skills.practice.starts import Starts, join, replayed
from sdg.skills.subgoal import CheckFunction

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SkillRequest:
    """One command as it was given: the row of its episode, the step at which it began, and what it aimed at."""

    row: Row
    began: int
    command: Command
    check: CheckFunction


def skill_requests(rows: Sequence[Row], check_of: Callable[[Command], CheckFunction | None]) -> list[SkillRequest]:
    """The commands of these episodes, level by level.

    `rows` are journal rows of episodes. `check_of` says what a command aims at, or None for one that is of no interest.
    """
    found = []
    for level in dict.fromkeys(row["level"] for row in rows):
        for row in rows:
            for command, began in _commands(row) if row["level"] == level else ():
                check = check_of(command)
                found += [SkillRequest(row, began, command, check)] if check is not None else []
    return found


def starts_of(asked: Sequence[SkillRequest], domain: Domain) -> Starts | None:
    """Where these commands (level by level, as in `skill_requests`) began, in their order; None of none."""
    levels = dict.fromkeys(each.row["level"] for each in asked)
    parts = [_starts_in(level, [each for each in asked if each.row["level"] == level], domain) for level in levels]
    return join(parts) if parts else None


def requests_of_skill(rows: Sequence[Row], skill: Skill) -> list[SkillRequest]:
    """One skill's commands, each with the check that this skill has for its argument."""

    @cache
    def aim(command: Command) -> CheckFunction | None:
        try:
            return skill.check(command.argument) if command.name == skill.name else None
        except ValueError:
            return None

    return skill_requests(rows, aim)


def starts_of_skill(rows: Sequence[Row], skill: Skill, domain: Domain) -> Starts | None:
    """Where one skill's commands began; None where none was given."""
    return starts_of(requests_of_skill(rows, skill), domain)


def _starts_in(level: str, asked: Sequence[SkillRequest], domain: Domain) -> Starts:
    seeds = sorted({each.row["seed"] for each in asked})
    rows = list({id(each.row): each.row for each in asked}.values())
    number = {id(row): i for i, row in enumerate(rows)}
    moments = replayed(
        domain,
        domain.layouts(level, seeds),
        [seeds.index(row["seed"]) for row in rows],
        actions=[row["actions"] for row in rows],
        moments=[(number[id(each.row)], each.began) for each in asked],
        forgot=[row["forgot"] for row in rows],
    )
    checks = {check: number for number, check in enumerate(dict.fromkeys(each.check for each in asked))}
    targets = np.stack([domain.language.row(each.command.argument) for each in asked])
    return Starts(moments, targets, tuple(checks), np.array([checks[each.check] for each in asked], np.int64))


def _commands(row: Row) -> list[tuple[Command, int]]:
    """The commands that were carried out, with the step at which each began."""
    calls = [call for interaction in row["trace"] for call in interaction["calls"] if not call["refused"]]
    return [(Command(call["name"], call["argument"]), call["began"]) for call in calls]


__all__ = ["SkillRequest", "requests_of_skill", "skill_requests", "starts_of", "starts_of_skill"]
