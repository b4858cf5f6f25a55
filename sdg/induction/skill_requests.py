"""What planners ask of skills: the states in which commands begin when programs run, as starts of practice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sdg.deduction.protocols import Skill
from sdg.envs.domain import Domain
from sdg.gate.verdict import Command
from sdg.skills.practice.starts import Starts, join, replayed
from sdg.skills.strict_json import decode
from sdg.skills.subgoal import CheckFunction

EpisodeRow = Mapping[str, Any]
"""A journal row of an episode (`Episode.row`)."""


@dataclass(frozen=True, slots=True)
class Called:
    """What is read of a call: the skill, its argument, the step at which it began, whether it was refused."""

    name: str
    argument: str
    began: int
    refused: bool


@dataclass(frozen=True, slots=True)
class Interacted:
    """What is read of an interaction."""

    calls: tuple[Called, ...]


@dataclass(frozen=True, slots=True)
class Played:
    """What is read of an episode's row."""

    level: str
    seed: int
    actions: tuple[Any, ...]
    forgot: tuple[int, ...]
    trace: tuple[Interacted, ...]

    def carried_out(self) -> Iterator[Called]:
        """The calls that weren't refused."""
        return (call for interaction in self.trace for call in interaction.calls if not call.refused)


@dataclass(frozen=True, eq=False)
class SkillRequest:
    """One command as it was given: its episode, the step at which it began, and what it aimed at."""

    episode: Played
    began: int
    command: Command
    check: CheckFunction


def skill_requests(
    rows: Sequence[EpisodeRow], check_of: Callable[[Command], CheckFunction | None]
) -> list[SkillRequest]:
    """The commands of these episodes, level by level. Raises ValueError for what is no row of an episode.

    `check_of` says what a command aims at, or None for one that is of no interest.
    """
    episodes = [decode(Played, row, extra="ignore") for row in rows]
    found = []
    for level in dict.fromkeys(episode.level for episode in episodes):
        for episode in episodes:
            for call in episode.carried_out() if episode.level == level else ():
                command = Command(call.name, call.argument)
                check = check_of(command)
                found += [SkillRequest(episode, call.began, command, check)] if check is not None else []
    # What is asked again before a step was made is the same start, and counts once.
    return list({(id(each.episode), each.began, each.command): each for each in found}.values())


def starts_of(asked: Sequence[SkillRequest], domain: Domain) -> Starts | None:
    """Where these commands (level by level, as in `skill_requests`) began, in their order; None of none."""
    levels = dict.fromkeys(each.episode.level for each in asked)
    parts = [_starts_in(level, [each for each in asked if each.episode.level == level], domain) for level in levels]
    return join(parts) if parts else None


def requests_of_skill(rows: Sequence[EpisodeRow], skill: Skill) -> list[SkillRequest]:
    """One skill's commands, each with the check that this skill has for its argument."""

    @cache
    def aim(command: Command) -> CheckFunction | None:
        try:
            return skill.check(command.argument) if command.name == skill.name else None
        except ValueError:
            return None

    return skill_requests(rows, aim)


def calls_until(row: EpisodeRow) -> int:
    """Environment steps of replaying an episode once for each skill that it asked for, up to its last command."""
    last: dict[str, int] = {}
    for call in decode(Played, row, extra="ignore").carried_out():
        last[call.name] = max(call.began, last.get(call.name, 0))
    return sum(last.values())


def starts_of_skill(rows: Sequence[EpisodeRow], skill: Skill, domain: Domain) -> Starts | None:
    """Where one skill's commands began; None where none was given."""
    return starts_of(requests_of_skill(rows, skill), domain)


def _starts_in(level: str, asked: Sequence[SkillRequest], domain: Domain) -> Starts:
    seeds = sorted({each.episode.seed for each in asked})
    episodes = list({id(each.episode): each.episode for each in asked}.values())
    number = {id(episode): i for i, episode in enumerate(episodes)}
    moments = replayed(
        domain,
        domain.layouts(level, seeds),
        [seeds.index(episode.seed) for episode in episodes],
        actions=[episode.actions for episode in episodes],
        moments=[(number[id(each.episode)], each.began) for each in asked],
        forgot=[episode.forgot for episode in episodes],
    )
    checks = {check: number for number, check in enumerate(dict.fromkeys(each.check for each in asked))}
    targets = np.stack([domain.language.row(each.command.argument) for each in asked])
    return Starts(moments, targets, tuple(checks), np.array([checks[each.check] for each in asked], np.int64))


__all__ = [
    "EpisodeRow",
    "SkillRequest",
    "calls_until",
    "requests_of_skill",
    "skill_requests",
    "starts_of",
    "starts_of_skill",
]
