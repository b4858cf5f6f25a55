"""Searching with skills: an earlier cycle's skills are tried as macro actions, beside single actions.

An episode is a chain of skill calls and single actions. The next skill is drawn by how often skills followed one
another in what was grounded before; arguments are what the check is about and what was seen so far. All steps count as
in any search, and the result is a flat list of actions.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sdg.skills.practice.starts import Starts
from sdg.skills.search.skill_calls import MarkedCall, SkillCalls, skill_calls_of
from sdg.skills.search.trial import Search, Searched, SearchSettings, Trial, failure
from sdg.skills.subgoal import CheckFunction

EPISODE = 400
"""Steps of one chain."""
ROWS = 6
"""Chains that go on side by side."""
SHARE = 0.9
"""Share of the budget for searching with skills; the rest goes to the search without them."""
SINGLE = 0.2
"""How often a chain continues with a single action."""
LIKE = 0.2
"""How often the next skill is the one whose check is most like the searched check."""
AIMED = 3.0
"""Weight of an argument that the check is about, against another."""
TIDY = 0.4
"""In this share of the budget, skills that take or drop are only called where the check asks for that."""
LONGEST_WALK = 4
"""How often a walking action may be repeated."""
SHORTEST = 4
"""Fewest steps of a call, which else has half its skill's horizon, within which nearly all successes end."""
DRAWS = 8
"""Tries to find a call that has something left to do."""


class SkillChains:
    """Chains of calls and single actions in the rows of a trial."""

    def __init__(self, trial: Trial, tools: SkillCalls, *, prior: np.ndarray, seed: int) -> None:
        self.trial, self.tools = trial, tools
        self.rows, hints = trial.env.rows, trial.env.starts.domain.hints
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
        self.like = int(np.argmax(self.likeness))
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
                    self.calls[row], self.last[row], self.walks[row] = None, "", 0
                elif call is not None and self._is_done(call, row, view):
                    self.calls[row], self.last[row] = None, call.skill.name
                elif call is not None and not self.left[row]:
                    self.calls[row] = None
                    self.failed[self._place(call, row)] += 1

    def _action(self, row: int) -> int:
        if self.calls[row] is None and not self.walks[row] and (self._is_aimed(row) or self.rng.random() >= SINGLE):
            self._choose(row)
        call = self.calls[row]
        if call is None:
            # A single action; a walking one is repeated for a while, because that gets through narrow ways.
            if self.walks[row]:
                self.walks[row] -= 1
                return self.walk
            action = int(self.rng.choice(len(self.prior[0]), p=self.prior[int(self._is_tidy)]))
            if action == self.walk:
                self.walks[row] = self.rng.integers(LONGEST_WALK)
            return action
        self.left[row] -= 1
        return call.policy.act(self.rows.since(self.marks), row, call.target, self.rng)

    @property
    def _is_tidy(self) -> bool:
        """Whether nothing may be taken or dropped yet, because full hands would spoil what comes after."""
        return self.trial.env.steps < TIDY * self.trial.budget

    def _is_aimed(self, row: int) -> bool:
        """Whether a row is at the start and first calls are left to be made from there."""
        return bool(self.queue) and not self.trial.actions[row]

    def _choose(self, row: int) -> None:
        """Begin a call in a row: at the start the next one of the queue, otherwise a random one."""
        self.rows.mark(self.marks, row)
        self.places[row] = self.rows.places()[row]
        call = self.queue.pop(0) if self._is_aimed(row) else self._draw_call(row)
        if call is not None:
            self.calls[row], self.left[row] = call, max(SHORTEST, call.skill.horizon // 2)

    def _draw_call(self, row: int) -> MarkedCall | None:
        is_holding = bool(self.rows.holding()[row] >= 0)
        # Possible arguments: what the check is about, and what was seen so far.
        names = {self.language.kinds_of(thing) for thing in self.rows.perception(row).elements() if not thing.held}
        arguments = sorted(names | ({self.aim} if self.aim else set()))
        weights = (1 - LIKE) * self.tools.next_weights(self.last[row])
        weights[self.like] += LIKE
        view, tidy = self.rows.since(self.marks), self._is_tidy
        for number in self.rng.choice(len(weights), size=DRAWS, p=weights):
            skill = self.tools.skills[number]
            apt = [self.tools.is_apt(skill, holding=each) for each in (False, True)]
            if tidy and number != self.like and not all(apt):  # it takes something or lets go of it
                continue
            fit = [argument for argument in arguments if self.tools.suits(skill, argument)]
            call = self.tools.call(skill, self._argument(fit)) if fit or not skill.takes_argument else None
            if call is None or not apt[is_holding] or self._is_done(call, row, view):
                continue
            if self.rng.random() < 1 / (1 + self.failed[self._place(call, row)]):
                return call
        return None

    def _place(self, call: MarkedCall, row: int) -> tuple[str, str, int, str]:
        """A call, its place and the call before it: a combination that failed becomes rarer, in every row."""
        return call.skill.name, call.argument, int(self.places[row]), self.last[row]

    def _argument(self, arguments: list[str]) -> str:
        weights = np.array([AIMED if argument == self.aim else 1.0 for argument in arguments])
        return str(self.rng.choice(arguments, p=weights / weights.sum())) if arguments else ""

    def _first_calls(self) -> list[MarkedCall]:
        """Every skill once, on what the check is about; skills whose own checks are most like it come first."""
        is_holding, view = bool(self.rows.holding()[0] >= 0), self.rows.since(self.marks)
        skills = [self.tools.skills[number] for number in np.argsort(-self.likeness, kind="stable")]
        apt = [skill for skill in skills if self.tools.is_apt(skill, holding=is_holding)]
        pairs = [(skill, self.aim if skill.takes_argument else "") for skill in apt]
        calls = [self.tools.call(skill, on) for skill, on in pairs if on or not skill.takes_argument]
        return [call for call in calls if call is not None and not self._is_done(call, 0, view)]

    def _is_done(self, call: MarkedCall, row: int, view: Any) -> bool:
        return bool(call.done(view, np.zeros(len(self.calls), np.int64))[row])


class SkillSearch:
    """Searches first with the skills of a library, then without them, under one budget."""

    def __init__(self, library: Path, inner: Search, settings: SearchSettings = SearchSettings()) -> None:
        self.library, self.inner, self.settings = library, inner, settings

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `sdg.skills.search.trial.Search`. Raises LibraryError for a library that can't be used."""
        trial = Trial(
            start,
            check,
            must_succeed=must_succeed,
            budget=int(budget * SHARE),
            settings=replace(self.settings, horizon=EPISODE, n_envs=ROWS),
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
        cause = failure(
            f"was not reached in {steps} searched steps, learned skills included", must_succeed, inconsistent
        )
        return replace(
            rest,
            steps=steps,
            episodes=first.episodes + rest.episodes,
            inconsistent=inconsistent,
            cause="" if rest.reached else cause,
        )
