"""Searching with skills: an earlier cycle's skills are tried as macro actions, beside single actions.

An episode is a chain of skill calls and single actions. The next skill is drawn by how often skills followed one
another in what was grounded before; arguments are what the check is about and what was seen so far. All steps count as
in any search, and the result is a flat list of actions.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domains import domain_of_data
from sdg.skills.checks.check import asked_about
from sdg.skills.checks.reward import BatchReward
from sdg.skills.checks.shape import asked_by, similarity
from sdg.skills.learners import policy_of
from sdg.skills.library.library import FOLLOWS, USAGES, Skill, SkillLibrary
from sdg.skills.library.store import load_library
from sdg.skills.policy.network import Policy
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import Search, SearchResult, SearchSettings, Trial, failure
from sdg.skills.subgoal import CheckFunction

ORDER_WEIGHT = 0.7
"""Weight of the known order, against equal weights for all."""

CHAIN_STEPS = 400
"""Steps of one chain."""
CHAINS = 6
"""Chains that go on side by side."""
BUDGET_SHARE = 0.9
"""Share of the budget for searching with skills; the rest goes to the search without them."""
SINGLE_ACTION_CHANCE = 0.2
"""How often a chain continues with a single action instead of a skill."""
LIKEST_CHANCE = 0.2
"""How often the next skill is the one with the check most like the searched check."""
AIM_WEIGHT = 3.0
"""Weight of an argument that the check is about, against another."""
TIDY_SHARE = 0.4
"""In this share of the budget, skills that take or drop are only called where the check asks for that."""
MAX_WALK = 4
"""How often a walking action may be repeated."""
MIN_CALL_STEPS = 4
"""Fewest steps of a call. It has half its skill's horizon otherwise, within which nearly all successes end."""
MAX_DRAWS = 8
"""Most calls that are drawn until one has something left to do."""


@dataclass(frozen=True, eq=False)
class MarkedCall:
    """A skill with an argument: its policy, the target marked for it, and the check that ends it."""

    skill: Skill
    argument: str
    policy: Policy
    target: np.ndarray
    done: BatchReward


class SkillCalls:
    """The skills of a library as calls, and the known frequencies of their order."""

    def __init__(self, library: SkillLibrary) -> None:
        self.skills = library.skills
        self.domain = domain_of_data(library.domain)
        self._policies = {skill.name: library_policy(library, skill) for skill in library.skills}
        self._usages = provenance_of(library, USAGES)
        self._follows = provenance_of(library, FOLLOWS)
        self.kinds = {skill.name: set(map(self.domain.language.kind, skill.argument_examples)) for skill in self.skills}
        """The kinds of things that each skill was learned on."""
        self.call = cache(self._call)

    def _call(self, skill: Skill, argument: str) -> MarkedCall | None:
        """A call, or None where none of the skill's checks can be asked about the argument."""
        try:
            check = asked_about(skill, argument, self.domain)
        except ValueError:
            return None
        target = self.domain.language.row(argument)
        return MarkedCall(skill, argument, self._policies[skill.name], target, BatchReward((check,), self.domain))

    def is_apt(self, skill: Skill, *, holding: bool) -> bool:
        """Whether the hands allow it: a skill that takes needs empty ones, one that lets go needs full ones."""
        return self._usages.get(skill.name, {}).get("grasps" if holding else "releases") is not True

    def likeness(self, check: CheckFunction, argument: str) -> np.ndarray:
        """How similar each skill's own checks are to a check, in [0, 1]; `argument` is what the check is about."""
        signature = asked_by(check, argument)
        return np.array(
            [
                max(similarity(signature, asked_by(own.check, own.argument)) for own in skill.checks)
                for skill in self.skills
            ]
        )

    def next_weights(self, last: str) -> np.ndarray:
        """How likely each skill is to come after another ("" at the beginning), summing to 1."""
        alike = np.full(len(self.skills), 1 / len(self.skills))
        counts = [self._follows.get(last, {}).get(skill.name) for skill in self.skills]
        weights = np.array([float(n) if isinstance(n, int | float) and 0 < n < 1e9 else 0.0 for n in counts])
        return (1 - ORDER_WEIGHT) * alike + ORDER_WEIGHT * weights / weights.sum() if weights.any() else alike


def provenance_of(library: SkillLibrary, key: str) -> dict[str, Mapping[str, Any]]:
    """A table of tables from a library's provenance, which may hold anything."""
    value = library.provenance.get(key)
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {str(key): inner for key, inner in pairs if isinstance(inner, Mapping)}


def library_policy(library: SkillLibrary, skill: Skill) -> Policy:
    """The policy of one of a library's skills. Raises ValueError for invalid weights."""
    return policy_of(library.weights[skill.name], domain_of_data(library.domain), skill.learner)


@lru_cache(maxsize=4)
def skill_calls_of(library: Path, changed: int) -> SkillCalls:
    """The calls of the library in a folder, last `changed` at (ns); loaded once a process. Raises LibraryError."""
    return SkillCalls(load_library(library))


class SkillChains:
    """Chains of calls and single actions in the rows of a trial."""

    def __init__(self, trial: Trial, tools: SkillCalls, *, prior: np.ndarray, seed: int) -> None:
        self.trial, self.tools = trial, tools
        self.rows = trial.env.rows
        hints = trial.env.starts.domain.hints
        self.walk = hints.walks
        empty = np.where(np.isin(np.arange(len(prior)), hints.hands), 0.0, prior)
        self.prior = (prior + np.full(len(prior), 1 / len(prior))) / 2, empty / empty.sum()
        self.rng = np.random.default_rng(seed)
        n = len(trial.actions)
        self.calls: list[MarkedCall | None] = [None] * n
        self.last = [""] * n
        self.left, self.walks, self.places = np.zeros((3, n), np.int64)
        self.failed: Counter[tuple[str, str, int, str]] = Counter()
        self.marks = self.rows.marks()
        self.language = trial.env.starts.domain.language
        self.aim = self.language.description_of(trial.env.starts.targets[0])
        self.likeness = tools.likeness(trial.env.starts.checks[0], self.aim)
        self.likest = int(np.argmax(self.likeness))
        self.queue: list[MarkedCall] = []

    def run(self) -> None:
        """Search until something is found or the budget is spent."""
        self.trial.begin()
        self.queue = self._first_calls()
        while not self.trial.over:
            _, ended = self.trial.step(np.array([self._action(row) for row in range(len(self.calls))]))
            view = self.rows.since(self.marks)
            for row, call in enumerate(self.calls):
                if ended[row]:
                    self.calls[row], self.last[row] = None, ""
                    self.walks[row] = 0
                elif call is not None and self._is_done(call, row, view):
                    self.calls[row], self.last[row] = None, call.skill.name
                elif call is not None and not self.left[row]:
                    self.calls[row] = None
                    self.failed[self._place(call, row)] += 1

    def _action(self, row: int) -> int:
        if (
            self.calls[row] is None
            and not self.walks[row]
            and (self._is_aimed(row) or self.rng.random() >= SINGLE_ACTION_CHANCE)
        ):
            self._choose(row)
        call = self.calls[row]
        if call is None:
            # A single action; a walking one is repeated for a while, because that gets through narrow ways.
            if self.walks[row]:
                self.walks[row] -= 1
                return self.walk
            action = int(self.rng.choice(len(self.prior[0]), p=self.prior[int(self._is_tidy)]))
            if action == self.walk:
                self.walks[row] = self.rng.integers(MAX_WALK)
            return action
        self.left[row] -= 1
        return call.policy.act(self.rows.since(self.marks), row, call.target, self.rng)

    @property
    def _is_tidy(self) -> bool:
        """Whether nothing may be taken or dropped yet, because full hands would spoil what comes after."""
        return self.trial.env.steps < TIDY_SHARE * self.trial.budget

    def _is_aimed(self, row: int) -> bool:
        """Whether a row is at the start and first calls are left to be made from there."""
        return bool(self.queue) and not self.trial.actions[row]

    def _choose(self, row: int) -> None:
        """Begin a call in a row: at the start the next one of the queue, otherwise a random one."""
        self.rows.mark(self.marks, row)
        self.places[row] = self.rows.places()[row]
        call = self.queue.pop(0) if self._is_aimed(row) else self._draw_call(row)
        if call is not None:
            self.calls[row] = call
            self.left[row] = max(MIN_CALL_STEPS, call.skill.horizon // 2)

    def _draw_call(self, row: int) -> MarkedCall | None:
        is_holding = bool(self.rows.holding()[row] >= 0)
        # Possible arguments: what the check is about, and what was seen so far.
        names = {self.language.kinds_of(thing) for thing in self.rows.perception(row).elements() if not thing.held}
        arguments = sorted(names | ({self.aim} if self.aim else set()))
        weights = (1 - LIKEST_CHANCE) * self.tools.next_weights(self.last[row])
        weights[self.likest] += LIKEST_CHANCE
        view = self.rows.since(self.marks)
        for number in self.rng.choice(len(weights), size=MAX_DRAWS, p=weights):
            skill = self.tools.skills[number]
            apt = [self.tools.is_apt(skill, holding=is_full) for is_full in (False, True)]
            if self._is_tidy and number != self.likest and not all(apt):  # it takes something or lets go of it
                continue
            fit = [argument for argument in arguments if self.language.kind(argument) in self.tools.kinds[skill.name]]
            call = self.tools.call(skill, self._argument(fit)) if fit or not skill.takes_argument else None
            if call is None or not apt[is_holding] or self._is_done(call, row, view):
                continue
            if self.rng.random() < 1 / (1 + self.failed[self._place(call, row)]):
                return call
        return None

    def _place(self, call: MarkedCall, row: int) -> tuple[str, str, int, str]:
        """A call, its place and the call before it: combinations that failed become rarer in all rows."""
        return call.skill.name, call.argument, int(self.places[row]), self.last[row]

    def _argument(self, arguments: list[str]) -> str:
        weights = np.array([AIM_WEIGHT if argument == self.aim else 1.0 for argument in arguments])
        return str(self.rng.choice(arguments, p=weights / weights.sum())) if arguments else ""

    def _first_calls(self) -> list[MarkedCall]:
        """Every skill once, on what the check is about; skills whose own checks are most like it come first."""
        is_holding = bool(self.rows.holding()[0] >= 0)
        view = self.rows.since(self.marks)
        skills = [self.tools.skills[number] for number in np.argsort(-self.likeness, kind="stable")]
        apt = [skill for skill in skills if self.tools.is_apt(skill, holding=is_holding)]
        calls = [
            self.tools.call(skill, self.aim if skill.takes_argument else "")
            for skill in apt
            if self.aim or not skill.takes_argument
        ]
        return [call for call in calls if call is not None and not self._is_done(call, 0, view)]

    def _is_done(self, call: MarkedCall, row: int, view: Any) -> bool:
        return bool(call.done(view, np.zeros(len(self.calls), np.int64))[row])


class SkillSearch:
    """Searches first with the skills of a library, then without them, under one budget."""

    def __init__(self, library: Path, inner: Search, settings: SearchSettings = SearchSettings()) -> None:
        self.library, self.inner, self.settings = library, inner, settings

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """See `sdg.skills.search.trial.Search`. Raises LibraryError for a library that can't be used."""
        trial = Trial(
            start,
            check,
            must_succeed=must_succeed,
            budget=int(budget * BUDGET_SHARE),
            settings=replace(self.settings, horizon=CHAIN_STEPS, n_envs=CHAINS),
            seed=seed,
        )
        trial.try_each_action()
        if not trial.over:
            weights = np.exp(trial.prior)
            SkillChains(
                trial,
                skill_calls_of(self.library, (self.library / "library.json").stat().st_mtime_ns),
                prior=weights / weights.sum(),
                seed=seed,
            ).run()
        first = trial.result()
        if first.reached:
            return first
        rest = self.inner(start, check, must_succeed=must_succeed, budget=budget - first.steps, seed=seed)
        steps, inconsistent = first.steps + rest.steps, first.inconsistent + rest.inconsistent
        cause = f"was not reached in {steps} searched steps, learned skills included"
        return replace(
            rest,
            steps=steps,
            episodes=first.episodes + rest.episodes,
            inconsistent=inconsistent,
            cause="" if rest.reached else failure(cause, must_succeed, inconsistent),
        )
