"""Searching one subgoal until its check function fires once (SDG, section 4.3), and the plainest search.

`CountSearch` is the default, `PPOSearch` the paper's. `RandomSearch` draws every
action from the domain's prior.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdg.envs.batch import BatchWorld
from sdg.envs.perception import Perception
from sdg.envs.world import ActionValue
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts, target_of
from sdg.skills.settings import NotNegative, Positive, Size
from sdg.skills.subgoal import CheckFunction

CODES = 64
"""Actions that a search which learns nothing draws from, where actions are made of real numbers."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How one subgoal is searched."""

    n_envs: Size = 8
    """environments that search side by side"""
    horizon: Size = 250
    """steps of one search episode"""
    n_steps: Size = 30
    """steps of each environment between two updates of the search's PPO"""
    bonus: NotNegative = 0.1
    """scale of the count-based novelty bonus that PPO is paid"""
    learning_rate: Positive = 1e-3
    """of the search's PPO"""
    ent_coef: NotNegative = 0.05
    """of the search's PPO"""


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search found: the actions, the state they lead to, and the single environment steps that it took.

    Where nothing was found `after` is where the walk stands that came to know most. `end` is what the agent knew when
    the check fired.
    """

    reached: bool
    actions: tuple[ActionValue, ...]
    after: Starts
    steps: int
    episodes: int
    inconsistent: int
    cause: str = ""
    end: Perception | None = None


class Search(Protocol):
    """Looks for a way to make a check fire."""

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """Search from `start` (one row) for at most `budget` steps; `must_succeed`: the mission must be done, too."""
        ...


@runtime_checkable
class LearningSearch(Search, Protocol):
    """A search that learns. What it `learned` is plain data, weights by name first, and goes on to the next search."""

    learned: tuple[dict[str, np.ndarray], Any]


class Trial:
    """Steps an environment row by row on behalf of a search and notices the first success."""

    def __init__(
        self,
        start: Starts,
        check: CheckFunction,
        *,
        must_succeed: bool,
        budget: int,
        settings: SearchSettings,
        seed: int,
    ) -> None:
        target = target_of(check, start.domain.language)
        pool = Starts(start.rows, target[None], (check,), np.zeros(1, np.int64))
        self.env = PracticeEnv(pool, settings.n_envs, horizon=settings.horizon, seed=seed)
        self.must_succeed, self.budget, self.settings = must_succeed, budget, settings
        self.actions: list[list[ActionValue]] = [[] for _ in range(settings.n_envs)]
        bounds = start.domain.inputs.bounds
        self.codes = None if bounds is None else _codes(*bounds, seed=seed)
        """What the numbers of a search's actions stand for where the world's own aren't numbered, (CODES, actions)."""
        self.visits: dict[Hashable, int] = {}
        self.episodes = settings.n_envs
        self.inconsistent = self.lost = 0
        self.found: Searched | None = None

    @property
    def prior(self) -> tuple[float, ...]:
        """First preferences (logits) over the world's actions, or over the codes of some of them."""
        return self.env.starts.domain.hints.prior if self.codes is None else (0.0,) * CODES

    @property
    def over(self) -> bool:
        """Found, or no budget left for another step of every row."""
        return self.found is not None or self.env.steps + len(self.actions) > self.budget

    def begin(self) -> None:
        """Put every row at the start."""
        self.actions = [[] for _ in self.actions]
        self.env.restore_random(np.arange(len(self.actions)))

    def already(self) -> bool:
        """Is the check true before anything was done? Then the subgoal is one of zero actions."""
        memory = self.env.starts.memory
        return bool(self.env.reward(memory, np.zeros(1, np.int64))[0])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(paid bool (n,), ended bool (n,)); rows that end begin again."""
        if self.codes is not None:
            actions = self.codes[actions]
        for row, action in enumerate(actions.tolist()):
            self.actions[row].append(tuple(action) if self.codes is not None else action)
        fired, over, succeeded = self.env.step(actions)
        good = fired & succeeded if self.must_succeed else fired & ~over
        self.inconsistent += int(np.count_nonzero(fired & ~good))
        self.lost += int(np.count_nonzero(over & ~good))
        if good.any() and self.found is None:
            self.found = self._searched(int(np.argmax(good)))
        ended = good | over | (self.env.age >= self.env.horizon)
        rows = np.flatnonzero(ended)
        if len(rows) and not self.over:
            self.episodes += len(rows)
            for row in rows.tolist():
                self.actions[row] = []
            self.env.restore_random(rows)
        return good, ended

    def try_each_action(self) -> None:
        """One step of every row, each action once: many subgoals are one action away, and a walk begins by leaving."""
        n = len(self.actions)
        if n <= self.budget:
            self.begin()
            self.step(np.arange(n) % len(self.prior))

    def novelty(self) -> np.ndarray:
        """Bonus f32 (n,): one over the root of how often a row was where it is, as the domain tells places apart."""
        out = np.zeros(len(self.actions), np.float32)
        for row in range(len(self.actions)):
            key = self.env.rows.novelty(row)
            self.visits[key] = self.visits.get(key, 0) + 1
            out[row] = self.settings.bonus / self.visits[key] ** 0.5
        return out

    def _searched(self, row: int) -> Searched:
        world = self.env.rows.take(np.array([row]))
        end = world.perception(0)
        world.begin_subgoals()
        after, actions = replace(self.env.starts, rows=world), tuple(self.actions[row])
        return Searched(True, actions, after, self.env.steps, self.episodes, self.inconsistent, end=end)

    def result(self) -> Searched:
        """What was found, or why nothing was."""
        if self.found is not None:
            return self.found
        cause = f"was not reached in {self.env.steps} searched steps"
        if self.must_succeed and self.inconsistent:
            cause = f"was reached {self.inconsistent} times but the environment did not call the task done"
        after = replace(self.env.starts, rows=self._furthest())
        return Searched(False, (), after, self.env.steps, self.episodes, self.inconsistent, cause)

    def _furthest(self) -> BatchWorld:
        """The row whose agent knows most of the world."""
        sense = self.env.starts.domain.persistence
        rows = [self.env.rows.take(np.array([row])) for row in range(len(self.actions))]
        return max(rows, key=lambda row: sense.knowledge(row.memory))


def nothing_to_do(start: Starts) -> Searched:
    """The subgoal of zero actions: what it asks is so at the start."""
    world = start.rows.take(np.arange(1))
    world.begin_subgoals()
    return Searched(True, (), replace(start, rows=world), 0, 0, 0, end=start.rows.perception(0))


def _codes(low: np.ndarray, high: np.ndarray, *, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (CODES, len(low))).astype(np.float32)


class TrialSearch:
    """A search in one trial: each action is tried once, then `explore` goes on."""

    def __init__(self, settings: SearchSettings = SearchSettings()) -> None:
        self.settings = settings

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `Search`."""
        trial = Trial(start, check, must_succeed=must_succeed, budget=budget, settings=self.settings, seed=seed)
        if trial.already() and not must_succeed:
            return nothing_to_do(start)
        trial.try_each_action()
        self.explore(trial, seed=seed)
        return trial.result()

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Search until the trial is over."""
        raise NotImplementedError


class RandomSearch(TrialSearch):
    """Draws every action from the prior: what a search is worth without learning."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step by step."""
        rng, weights = np.random.default_rng(seed), np.exp(trial.prior)
        trial.begin()
        while not trial.over:
            trial.step(rng.choice(len(weights), size=self.settings.n_envs, p=weights / weights.sum()))


COUNTED = 2.0
"""How much less is thought of an action, as a logit, for each e-fold of one plus its count in a place."""
RARE = 1.5
"""How much more is thought of an action, as a logit, for each e-fold by which it is rarely possible."""
MOST_RARE = 5.0
"""The most that being rare may add."""
IMPOSSIBLE = -1e8
"""Logits below this are of masked actions."""


class Explorer:
    """Draws the actions of a trial's rows from preferences, less what was tried there and more what is rare."""

    def __init__(self, trial: Trial, *, seed: int) -> None:
        self.trial, self.rng = trial, np.random.default_rng(seed)
        self.counts: dict[Hashable, np.ndarray] = {}
        self.moments, self.possible = 1.0, np.ones(len(trial.prior))
        self.hands = list(trial.env.starts.domain.hints.hands)

    def draw(self, logits: np.ndarray) -> np.ndarray:
        """Actions i64 (n,) for preferences f32 (n, actions), which are changed in place, and counted as taken."""
        env = self.trial.env
        env.inputs.mask_noops(env.memory, logits)
        logits += self._rarity(logits > IMPOSSIBLE)
        here = [self.counts.setdefault(env.rows.novelty(row), np.zeros(logits.shape[1])) for row in range(len(logits))]
        logits -= COUNTED * np.log1p(here).astype(np.float32)
        actions: np.ndarray = np.argmax(logits + self.rng.gumbel(size=logits.shape), axis=1)
        for count, action in zip(here, actions, strict=True):
            count[action] += 1
        return actions

    def _rarity(self, possible: np.ndarray) -> np.ndarray:
        """What is added to each row's actions; nothing to what takes or drops, or would break something."""
        self.moments += len(possible)
        self.possible += possible.sum(axis=0)
        bonus = np.minimum(RARE * np.log(self.moments / self.possible), MOST_RARE)
        bonus[self.hands] = 0.0
        added = np.tile(bonus.astype(np.float32), (len(possible), 1))
        for action in np.flatnonzero(bonus > 0.0):
            added[self.trial.env.rows.spoils(np.full(len(possible), action)), action] = 0.0
        return added


class CountSearch(TrialSearch):
    """Searches by counts, from the prior: the default."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step by step."""
        explorer, prior = Explorer(trial, seed=seed), np.array(trial.prior, np.float32)
        trial.begin()
        while not trial.over:
            trial.step(explorer.draw(np.tile(prior, (len(trial.actions), 1))))


Known = Mapping[CheckFunction, Sequence[tuple[ActionValue, ...]]]
"""Check -> lists of actions that made it fire, each from where an earlier hypothesis stood."""


class ReplaySearch:
    """Plays what reached an equal check before, and searches where that doesn't. Its steps are counted like others.

    What took or dropped something in passing, while the check asks nothing about that, isn't taken over: it may be why
    the earlier attempt failed later.
    """

    def __init__(self, known: Known, inner: Search) -> None:
        self.known, self.inner = known, inner

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `sdg.skills.search.search.Search`."""
        spent = 0
        for actions in self.known.get(check, ()):
            found = _play_actions(start, check, actions, must_succeed=must_succeed, budget=budget - spent)
            spent += found.steps
            about_hands = any(word in check.source for word in start.domain.hints.about_hands)
            if found.reached and (about_hands or bool(start.rows.holding()[0] == found.after.rows.holding()[0])):
                return replace(found, steps=spent)
        rest = self.inner(start, check, must_succeed=must_succeed, budget=budget - spent, seed=seed)
        return replace(rest, steps=rest.steps + spent)


def _play_actions(
    start: Starts, check: CheckFunction, actions: Sequence[ActionValue], *, must_succeed: bool, budget: int
) -> Searched:
    alone = SearchSettings(n_envs=1, horizon=len(actions) + 1)
    trial = Trial(start, check, must_succeed=must_succeed, budget=budget, settings=alone, seed=0)
    if trial.already() and not must_succeed:
        return nothing_to_do(start)
    trial.begin()
    for action in actions:
        if trial.over:
            break
        trial.step(np.array([action]))
    return trial.result()
