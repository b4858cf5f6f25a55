"""What planners ask of skills: the states in which commands begin when programs run, as starts of the batch engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from envs.babyai.bank import LevelBank
from sdg.gate.verdict import Command
from sdg.roles import Skill
from skills.starts import Starts, join, replayed, target_row
from skills.subgoal import CheckFunction

Row = Mapping[str, Any]


def asked_of(rows: Sequence[Row], check_of: Callable[[Command], CheckFunction | None]) -> Starts | None:
    """Where the commands of these episodes began, in the episodes' order; None where none was given.

    `rows` are journal rows of episodes. `check_of` says what a command aims at, or None for one that is of no interest.
    """
    parts = []
    for level in dict.fromkeys(row["level"] for row in rows):
        part = _asked_in(level, [row for row in rows if row["level"] == level], check_of=check_of)
        parts += [part] if part is not None else []
    return join(parts) if parts else None


def asked_of_skill(rows: Sequence[Row], skill: Skill) -> Starts | None:
    """Where one skill's commands began, each with the check that this skill has for its argument."""

    @cache
    def aim(command: Command) -> CheckFunction | None:
        try:
            return skill.check(command.argument) if command.name == skill.name else None
        except ValueError:
            return None

    return asked_of(rows, aim)


def _asked_in(level: str, rows: Sequence[Row], *, check_of: Callable[[Command], CheckFunction | None]) -> Starts | None:
    moments, targets, checks = [], [], []
    for i, row in enumerate(rows):
        for command, began in _commands(row):
            check = check_of(command)
            if check is not None:
                moments.append((i, began))
                targets.append(target_row(command.argument))
                checks.append(check)
    if not moments:
        return None
    seeds = sorted({row["seed"] for row in rows})
    state, memory = replayed(
        LevelBank.build(level, seeds),
        [seeds.index(row["seed"]) for row in rows],
        actions=[row["actions"] for row in rows],
        moments=moments,
        forgot=[row["forgot"] for row in rows],
    )
    numbers = {check: number for number, check in enumerate(dict.fromkeys(checks))}
    check_numbers = np.array([numbers[check] for check in checks], np.int64)
    return Starts(state, memory, np.stack(targets), tuple(numbers), check_numbers)


def _commands(row: Row) -> list[tuple[Command, int]]:
    """The commands that were carried out, with the step at which each began."""
    calls = [call for interaction in row["trace"] for call in interaction["calls"] if not call["refused"]]
    return [(Command(call["name"], call["argument"]), call["began"]) for call in calls]


__all__ = ["asked_of", "asked_of_skill"]
