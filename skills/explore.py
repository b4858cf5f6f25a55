"""Searching with skills: what an earlier cycle learned is tried as macro actions, beside single actions.

An episode is a chain of skill calls and single actions. Which skill comes next is drawn from which skill followed which
in what was grounded before; arguments are what the check is about and what was seen so far. All steps are counted as
any search counts them, and what is found is a flat list of actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from envs.babyai.description import Target, parse, text
from envs.babyai.memory import Memory
from envs.babyai.perception import BabyAIPerception
from skills.check import with_argument
from skills.features import NO_TARGET
from skills.library import Skill, SkillLibrary
from skills.library_io import load_library
from skills.policy import N_ACTIONS, Policy
from skills.reward import BatchReward
from skills.search import Search, Searched, SearchSettings, Trial
from skills.starts import Starts, target_row
from skills.subgoal import CheckFunction

FOLLOWS, USAGES = "follows", "usages"
"""Keys of a library's provenance: skill -> skill -> how often it came next; skill -> what it is known to need."""

EPISODE = 120
"""Steps of one chain."""
SHARE = 0.7
"""Share of the budget that is searched with skills; the rest is left to the search without."""
SINGLE = 0.35
"""How often a chain goes on with a single action."""
LEARNED = 0.7
"""Weight of what followed what, against all skills alike."""
AIMED = 3.0
"""Weight of an argument that the check is about, against another."""
DRAWS = 6
"""How often another call is drawn where the first has nothing left to do."""


@dataclass(frozen=True, eq=False)
class Call:
    """A skill with an argument: its policy, the target marked for it, and the check that ends it."""

    skill: Skill
    argument: str
    policy: Policy
    target: np.ndarray
    done: BatchReward


class Toolbox:
    """The skills of a library as calls, and what is known of when they come."""

    def __init__(self, library: SkillLibrary) -> None:
        self.skills = library.skills
        self._policies = {skill.name: Policy(library.weights[skill.name]) for skill in library.skills}
        self._usages = _table(library.provenance.get(USAGES))
        self._follows = _table(library.provenance.get(FOLLOWS))
        self._types = {skill.name: {_type(example) for example in skill.argument_examples} for skill in self.skills}
        self._calls: dict[tuple[str, str], Call | None] = {}

    def call(self, skill: Skill, argument: str) -> Call | None:
        """A call, or None where none of the skill's checks can be asked about the argument."""
        key = skill.name, argument
        if key not in self._calls:
            check = _check(skill, argument)
            policy = self._policies[skill.name]
            made = check and Call(skill, argument, policy, target_row(argument), BatchReward((check,)))
            self._calls[key] = made or None
        return self._calls[key]

    def is_apt(self, skill: Skill, *, holding: bool) -> bool:
        """Whether empty or full hands speak against it: what takes needs empty ones, what lets go full ones."""
        known = self._usages.get(skill.name, {})
        return not ((holding and known.get("grasps") is True) or (not holding and known.get("releases") is True))

    def suits(self, skill: Skill, argument: str) -> bool:
        """Whether the skill was learned on things of this type."""
        return _type(argument) in self._types[skill.name]

    def next_weights(self, last: str) -> np.ndarray:
        """How likely each skill is to come after another ("" at the beginning), summing to 1."""
        alike = np.full(len(self.skills), 1 / len(self.skills))
        counts = self._follows.get(last, {})
        seen = np.array([_count(counts.get(skill.name)) for skill in self.skills])
        return alike if not seen.sum() else (1 - LEARNED) * alike + LEARNED * seen / seen.sum()


def _table(value: object) -> dict[str, Mapping[str, Any]]:
    """A table of tables out of a library's provenance, which may hold anything."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {str(key): inner for key, inner in pairs if isinstance(inner, Mapping)}


def _type(argument: str) -> int:
    try:
        return parse(argument).type
    except ValueError:
        return NO_TARGET[3]


def _count(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e9 else 0.0


def _check(skill: Skill, argument: str) -> CheckFunction | None:
    for template in skill.checks:
        try:
            return with_argument(template.check, template.argument, argument) if argument else template.check
        except ValueError:
            continue
    return None


class Explorer:
    """Chains of calls and single actions in the rows of a trial."""

    def __init__(self, trial: Trial, tools: Toolbox, *, prior: np.ndarray, seed: int) -> None:
        self.trial, self.tools, self.prior = trial, tools, prior
        self.rng = np.random.default_rng(seed)
        n = len(trial.actions)
        self.calls: list[Call | None] = [None] * n
        self.last = [""] * n
        self.left = np.zeros(n, np.int64)
        self.began = trial.arena.memory.began_at.copy()
        self.before = trial.arena.memory.visited_before.copy()
        self.aim = _named(trial.arena.starts.targets[0])
        self.queue: list[Call] = []

    def run(self) -> None:
        """Search until something is found or the budget is spent."""
        self.trial.begin()
        self.queue = self._first_calls()
        while not self.trial.over:
            _, ended = self.trial.step(np.array([self._action(row) for row in range(len(self.calls))]))
            view = self._view()
            for row, call in enumerate(self.calls):
                if ended[row]:
                    self.calls[row], self.last[row] = None, ""
                elif call is not None and self._is_done(call, row, view):
                    self.calls[row], self.last[row] = None, call.skill.name
                elif not self.left[row]:
                    self.calls[row], self.last[row] = None, ""

    def _action(self, row: int) -> int:
        if self.calls[row] is None and (self.queue or self.rng.random() >= SINGLE):
            self._choose(row)
        call = self.calls[row]
        if call is None:
            return int(self.rng.choice(N_ACTIONS, p=self.prior))
        self.left[row] -= 1
        return call.policy.act(self._view(), row, call.target, self.rng)

    def _choose(self, row: int) -> None:
        """Begin a call in a row: the next of the queue at the start, otherwise one that is drawn."""
        memory = self.trial.arena.memory
        self.began[row], self.before[row] = memory.steps[row], memory.visited[row]
        call = self.queue.pop(0) if self.queue and not self.trial.actions[row] else self._drawn(row)
        if call is not None:
            self.calls[row], self.left[row] = call, call.skill.horizon

    def _drawn(self, row: int) -> Call | None:
        memory = self.trial.arena.memory
        holding = bool(memory.carried[row] >= 0)
        arguments = self._arguments(row)
        weights = self.tools.next_weights(self.last[row])
        view = self._view()
        for number in self.rng.choice(len(weights), size=DRAWS, p=weights):
            skill = self.tools.skills[number]
            argument = (
                self._argument([a for a in arguments if self.tools.suits(skill, a)]) if skill.takes_argument else ""
            )
            call = self.tools.call(skill, argument) if argument or not skill.takes_argument else None
            if call is not None and self.tools.is_apt(skill, holding=holding) and not self._is_done(call, row, view):
                return call
        return None

    def _argument(self, arguments: list[str]) -> str:
        weights = np.array([AIMED if argument == self.aim else 1.0 for argument in arguments])
        return str(self.rng.choice(arguments, p=weights / weights.sum())) if arguments else ""

    def _first_calls(self) -> list[Call]:
        """Every skill once, on what the check is about; what is done already is left out."""
        holding, view = bool(self.trial.arena.memory.carried[0] >= 0), self._view()
        apt = [skill for skill in self.tools.skills if self.tools.is_apt(skill, holding=holding)]
        calls = [self.tools.call(skill, self.aim) for skill in apt if self.aim and skill.takes_argument]
        calls += [self.tools.call(skill, "") for skill in apt if not skill.takes_argument]
        return [call for call in calls if call is not None and not self._is_done(call, 0, view)]

    def _arguments(self, row: int) -> list[str]:
        """What a skill may be called on: what the check is about, and what was seen so far."""
        seen = BabyAIPerception(self.trial.arena.memory, row).get_observed_objects()
        names = {text(Target(*parse(thing.name)[:2], 0, -1)) for thing in seen if not thing.held}
        return sorted(names | ({self.aim} if self.aim else set()))

    def _view(self) -> Memory:
        """The rows' memory as their calls see it: each began when its call did."""
        return self.trial.arena.memory._replace(began_at=self.began, visited_before=self.before)

    def _is_done(self, call: Call, row: int, view: Memory) -> bool:
        return bool(call.done(view, np.zeros(len(self.calls), np.int64))[row])


def _named(target: np.ndarray) -> str:
    return "" if tuple(target) == NO_TARGET else text(Target(*map(int, target)))


class SkilledSearch:
    """Searches with the skills of a library first, then as it would without them, under one budget."""

    def __init__(self, library: Path, inner: Search, settings: SearchSettings = SearchSettings()) -> None:
        self.library, self.inner, self.settings = library, inner, settings

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `skills.search.Search`. Raises LibraryError for a library that can't be used."""
        chains = replace(self.settings, horizon=EPISODE)
        trial = Trial(start, check, must_succeed=must_succeed, budget=int(budget * SHARE), settings=chains, seed=seed)
        if trial.already() and not must_succeed:
            return trial.nothing_to_do()
        trial.try_each_action()
        if not trial.over:
            weights = np.exp(self.settings.prior)
            Explorer(trial, _toolbox(self.library), prior=weights / weights.sum(), seed=seed).run()
        found = trial.result()
        if found.reached:
            return found
        rest = self.inner(start, check, must_succeed=must_succeed, budget=budget - found.steps, seed=seed)
        return _together(found, rest)


def _together(first: Searched, second: Searched) -> Searched:
    steps, inconsistent = first.steps + second.steps, first.inconsistent + second.inconsistent
    cause = second.cause if second.inconsistent or not second.cause else first.cause
    if second.cause and not inconsistent:
        cause = f"was not reached in {steps} searched steps, learned skills included"
    together = {"steps": steps, "episodes": first.episodes + second.episodes, "inconsistent": inconsistent}
    return replace(second, cause=cause, **together)  # type: ignore[arg-type]


def _toolbox(library: Path) -> Toolbox:
    return _loaded(library, (library / "library.json").stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(library: Path, changed: int) -> Toolbox:
    return Toolbox(load_library(library))


__all__ = ["FOLLOWS", "SkilledSearch", "Toolbox"]
