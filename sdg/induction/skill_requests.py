"""The states in which planners' programs call skills, as starts for practice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sdg.deduction.episode import EpisodeResult
from sdg.deduction.library_skills import options_of
from sdg.deduction.protocols import CalledSkill
from sdg.envs.domain import Domain
from sdg.envs.domains import domain_of_data
from sdg.gate.executor import Command
from sdg.skills.learning.train import join_open
from sdg.skills.library.library import SkillLibrary
from sdg.skills.practice.starts import Starts, join, restore
from sdg.skills.subgoal import CheckFunction

EpisodeRow = Mapping[str, Any]
"""A journal row of an episode (`Episode.row`)."""


@dataclass(frozen=True, eq=False)
class SkillRequest:
    """One command of an episode: the step at which it began, and the check that it aimed at."""

    episode: EpisodeResult
    began: int
    command: Command
    check: CheckFunction


def skill_requests(
    rows: Sequence[EpisodeRow], check_of: Callable[[Command], CheckFunction | None]
) -> list[SkillRequest]:
    """The commands of these episodes, level by level. Raises ValueError for a row that isn't an episode's.

    `check_of` gives the check that a command aims at, or None to leave it out.
    """
    episodes = [EpisodeResult.from_json(row) for row in rows]
    requests = []
    for level in dict.fromkeys(episode.level for episode in episodes):
        for episode in episodes:
            for call in episode.calls() if episode.level == level else ():
                command = Command(call["name"], call["argument"])
                check = check_of(command)
                if check is not None:
                    requests.append(SkillRequest(episode, call["began"], command, check))
    # A command that is repeated before any step has the same start, which counts once.
    return list({(id(request.episode), request.began, request.command): request for request in requests}.values())


def starts_of(requests: Sequence[SkillRequest], domain: Domain) -> Starts | None:
    """Where these commands (level by level, as in `skill_requests`) began, in their order; None without any."""
    parts = [
        _starts_in(level, [request for request in requests if request.episode.level == level], domain)
        for level in dict.fromkeys(request.episode.level for request in requests)
    ]
    return join(parts) if parts else None


def requests_of_skill(rows: Sequence[EpisodeRow], skill: CalledSkill) -> list[SkillRequest]:
    """One skill's commands, each with the check that this skill has for its argument."""

    @cache
    def aim(command: Command) -> CheckFunction | None:
        try:
            return skill.check(command.argument) if command.name == skill.name else None
        except ValueError:
            return None

    return skill_requests(rows, aim)


def calls_until(episode: EpisodeResult) -> int:
    """Environment steps to replay an episode once for each skill that it called, up to that skill's last command."""
    last: dict[str, int] = {}
    for call in episode.calls():
        last[call["name"]] = max(call["began"], last.get(call["name"], 0))
    return sum(last.values())


def _starts_in(level: str, requests: Sequence[SkillRequest], domain: Domain) -> Starts:
    seeds = sorted({request.episode.seed for request in requests})
    episodes = list({id(request.episode): request.episode for request in requests}.values())
    index_of = {id(episode): i for i, episode in enumerate(episodes)}
    moments = restore(
        domain,
        domain.layouts(level, seeds),
        [seeds.index(episode.seed) for episode in episodes],
        actions=[episode.actions for episode in episodes],
        moments=[(index_of[id(request.episode)], request.began) for request in requests],
        forgot=[episode.forgot for episode in episodes],
    )
    checks = {check: number for number, check in enumerate(dict.fromkeys(request.check for request in requests))}
    targets = np.stack([domain.language.row(request.command.argument) for request in requests])
    return Starts(moments, targets, tuple(checks), np.array([checks[request.check] for request in requests], np.int64))


Rehearse = Callable[[SkillLibrary, int], Sequence[EpisodeRow]]
"""Plays rehearsals with a library in a cycle: rows of episodes, on layouts that nothing else practises on."""

HELD_OUT_EVERY = 4
"""One layout in HELD_OUT_EVERY judges the skills that are practised on the others."""


@dataclass(frozen=True, eq=False)
class RehearsalResult:
    """Starts at which a skill was called with something left to do: some to practise on, some held out to judge it."""

    practised: Starts | None
    judged: Starts | None


def collect_requests(
    learned: SkillLibrary, labels: Sequence[int], episodes: Sequence[EpisodeRow]
) -> dict[int, RehearsalResult]:
    """Where these episodes called each of the library's skills, by cluster number (`labels`, in the skills' order)."""
    options, domain = options_of(learned), domain_of_data(learned.domain)
    held_out = set(sorted({row["seed"] for row in episodes})[::HELD_OUT_EVERY])
    sides = (
        [row for row in episodes if row["seed"] not in held_out],
        [row for row in episodes if row["seed"] in held_out],
    )
    return {
        label: RehearsalResult(
            *(join_open([starts_of(requests_of_skill(rows, options[skill.name]), domain)]) for rows in sides)
        )
        for label, skill in zip(labels, learned.skills, strict=True)
    }
