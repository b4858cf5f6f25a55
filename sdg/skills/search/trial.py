"""Searching one subgoal until its check function fires once (SDG, section 4.3), in attempts by many rows at once.

`CountSearch` is the default, `PPOSearch` is the paper's.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sdg.envs.world import ActionValue, Perception
from sdg.skills.checks.reward import BatchReward
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts, target_of
from sdg.skills.settings import NotNegative, Positive, Size
from sdg.skills.subgoal import CheckFunction


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
    """scale of PPO's count-based novelty bonus"""
    learning_rate: Positive = 1e-3
    """of the search's PPO"""
    ent_coef: NotNegative = 0.05
    """of the search's PPO"""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search: the actions, the state they lead to, and the environment steps that the search took.

    If nothing was found, `after` is the end state of the walk that has seen most of the world, or the start where a
    policy learned. `end` is what the agent knew when the check fired. `done`: the actions did the whole task, although
    more subgoals follow.
    """

    reached: bool
    actions: tuple[ActionValue, ...]
    after: Starts
    steps: int
    episodes: int
    inconsistent: int
    cause: str = ""
    end: Perception | None = None
    done: bool = False


class Search(Protocol):
    """Looks for a way to make a check fire."""

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """Search from `start` (one row) for at most `budget` steps; `must_succeed`: the mission must be done, too."""
        ...


SearchedTask = tuple[CheckFunction, tuple[int, ...]]
"""A check and its target."""


@runtime_checkable
class LearningSearch(Search, Protocol):
    """A search that learns. `learned` is plain data with which the next search starts: weights by name, and the
    subgoals that were searched, the latest last."""

    learned: tuple[dict[str, np.ndarray], tuple[SearchedTask, ...]]


CODE_COUNT = 64
"""How many random actions a search without learning chooses from where actions are real numbers."""


class Trial:
    """Steps the rows of an environment for a search and keeps the first success: zero actions where the check is true
    at the start."""

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
        pool = Starts(start.rows, target_of(check, start.domain.language)[None], (check,), np.zeros(1, np.int64))
        self.env = PracticeEnv(pool, settings.n_envs, horizon=settings.horizon, seed=seed)
        self.must_succeed, self.budget, self.settings = must_succeed, budget, settings
        self.actions: list[list[ActionValue]] = [[] for _ in range(settings.n_envs)]
        rng, bounds = np.random.default_rng(seed), start.domain.inputs.bounds
        self.codes = (
            None
            if bounds is None
            else rng.uniform(bounds[0], bounds[1], (CODE_COUNT, len(bounds[0]))).astype(np.float32)
        )
        """f32 (CODE_COUNT, actions): real-valued actions that a search numbers; None where the world numbers them."""
        self.visits: dict[Hashable, int] = {}
        self.episodes = settings.n_envs
        self.inconsistent = self.lost = 0
        is_reached = bool(self.env.reward(start.memory, np.zeros(1, np.int64))[0])
        self.found = nothing_to_do(start) if is_reached and not must_succeed else None

    @property
    def prior(self) -> tuple[float, ...]:
        """First preferences (logits) over the world's actions, or over the codes."""
        return self.env.starts.domain.hints.prior if self.codes is None else (0.0,) * CODE_COUNT

    @property
    def over(self) -> bool:
        """Whether a success was found or the budget is too small for another step of every row."""
        return self.found is not None or self.env.steps + len(self.actions) > self.budget

    def begin(self) -> None:
        """Put every row at the start."""
        self.actions = [[] for _ in self.actions]
        self.env.restore_random(np.arange(len(self.actions)))

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row; gives (paid bool (n,), ended bool (n,)). Rows that ended are put at the start again."""
        if self.codes is not None:
            actions = self.codes[actions]
        for row, action in enumerate(actions.tolist()):
            self.actions[row].append(tuple(action) if self.codes is not None else action)
        fired, over, succeeded = self.env.step(actions)
        good = fired & succeeded if self.must_succeed else fired & ~over
        self.inconsistent += int(np.count_nonzero(fired & ~good))
        self.lost += int(np.count_nonzero(over & ~good))
        if good.any() and self.found is None:
            row = int(np.argmax(good))
            self.found = success(
                self.env.starts,
                self.env.rows.take(np.array([row])),
                tuple(self.actions[row]),
                steps=self.env.steps,
                episodes=self.episodes,
                inconsistent=self.inconsistent,
            )
        ended = good | over | (self.env.age >= self.env.horizon)
        rows = np.flatnonzero(ended)
        if len(rows) and not self.over:
            self.episodes += len(rows)
            for row in rows.tolist():
                self.actions[row] = []
            self.env.restore_random(rows)
        return good, ended

    def try_each_action(self) -> None:
        """Take each action once from the start, because many subgoals are one action away."""
        if not self.over:
            self.begin()
            self.step(np.arange(len(self.actions)) % len(self.prior))

    def novelty(self) -> np.ndarray:
        """Bonus f32 (n,): `bonus` over the root of the visits to a row's state, as the domain distinguishes states."""
        out = np.zeros(len(self.actions), np.float32)
        for row in range(len(self.actions)):
            key = self.env.rows.novelty(row)
            self.visits[key] = self.visits.get(key, 0) + 1
            out[row] = self.settings.bonus / self.visits[key] ** 0.5
        return out

    def result(self) -> SearchResult:
        """The success that was found, or why none was."""
        if self.found is not None:
            return self.found
        cause = failure(f"was not reached in {self.env.steps} searched steps", self.must_succeed, self.inconsistent)
        sense = self.env.starts.domain.persistence
        rows = [self.env.rows.take(np.array([row])) for row in range(len(self.actions))]
        after = replace(self.env.starts, rows=max(rows, key=lambda row: sense.knowledge(row.memory)))
        return SearchResult(False, (), after, self.env.steps, self.episodes, self.inconsistent, cause)


def failure(cause: str, must_succeed: bool, inconsistent: int) -> str:
    """Why nothing was found: this cause, or that the check fired but the task wasn't done then."""
    if must_succeed and inconsistent:
        return f"was reached {inconsistent} times but the environment did not call the task done"
    return cause


def success(
    start: Starts,
    world: Any,
    actions: tuple[ActionValue, ...],
    *,
    steps: int = 0,
    episodes: int = 0,
    inconsistent: int = 0,
    done: bool = False,
) -> SearchResult:
    """The result of actions that lead from `start` to `world` (one row), where the check fires."""
    end = world.perception(0)
    world.begin_subgoals()
    return SearchResult(True, actions, replace(start, rows=world), steps, episodes, inconsistent, end=end, done=done)


def nothing_to_do(start: Starts) -> SearchResult:
    """The result of zero actions: the check is true at the start."""
    return success(start, start.rows.take(np.arange(1)), ())


def hold_when_done(start: Starts, check: CheckFunction) -> SearchResult:
    """The result if the task is already done: zero actions if the check is true there, a failure otherwise."""
    if BatchReward((check,), start.domain)(start.memory, np.zeros(1, np.int64))[0]:
        return replace(nothing_to_do(start), done=True)
    cause = "was not so when the environment called the task done, which the goals before it led to: it asks too much"
    return SearchResult(False, (), start, 0, 0, 0, cause)


class TrialSearch:
    """A search in one trial: it takes each action once, then calls `explore`."""

    def __init__(self, settings: SearchSettings = SearchSettings()) -> None:
        self.settings = settings

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """See `Search`."""
        trial = Trial(start, check, must_succeed=must_succeed, budget=budget, settings=self.settings, seed=seed)
        trial.try_each_action()
        self.explore(trial, seed=seed)
        return trial.result()

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Search until the trial is over."""
        raise NotImplementedError


COUNT_WEIGHT = 2.0
"""An action's logit falls by COUNT_WEIGHT * log(1 + how often it was taken in the same state)."""
RARITY_WEIGHT = 1.5
"""An action's logit rises by RARITY_WEIGHT * log(1 / the share of states in which it was possible)."""
MAX_RARITY = 5.0
"""The most that a rare action's logit rises."""
IMPOSSIBLE = -1e8
"""The logit at or below which an action is masked."""


class RandomSearch(TrialSearch):
    """Samples every action from the prior, to show what search achieves without learning."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step until the trial is over."""
        rng = np.random.default_rng(seed)
        weights = np.exp(trial.prior)
        trial.begin()
        while not trial.over:
            trial.step(rng.choice(len(weights), size=self.settings.n_envs, p=weights / weights.sum()))


class Explorer:
    """Samples actions for a trial's rows from logits, lowered for actions tried there and raised for rare ones."""

    def __init__(self, trial: Trial, *, seed: int) -> None:
        self.trial, self.rng = trial, np.random.default_rng(seed)
        self.counts: dict[Hashable, np.ndarray] = {}
        self.seen_rows, self.possible_rows = 1.0, np.ones(len(trial.prior))
        """Rows so far, and in how many of them each action was possible."""
        self.hands = list(trial.env.starts.domain.hints.hands)

    def draw(self, logits: np.ndarray) -> np.ndarray:
        """Actions i64 (n,) sampled from logits f32 (n, actions), which are changed in place; counts the actions."""
        env = self.trial.env
        env.inputs.mask_noops(env.memory, logits)
        logits += self._rarity(logits > IMPOSSIBLE)
        here = [self.counts.setdefault(env.rows.novelty(row), np.zeros(logits.shape[1])) for row in range(len(logits))]
        logits -= COUNT_WEIGHT * np.log1p(here).astype(np.float32)
        actions: np.ndarray = np.argmax(logits + self.rng.gumbel(size=logits.shape), axis=1)
        for count, action in zip(here, actions, strict=True):
            count[action] += 1
        return actions

    def _rarity(self, possible: np.ndarray) -> np.ndarray:
        """The bonus of rare actions for each row's logits; 0 for actions that take, drop or would break something."""
        self.seen_rows += len(possible)
        self.possible_rows += possible.sum(axis=0)
        bonus = np.minimum(RARITY_WEIGHT * np.log(self.seen_rows / self.possible_rows), MAX_RARITY)
        bonus[self.hands] = 0.0
        bonuses = np.tile(bonus.astype(np.float32), (len(possible), 1))
        for action in np.flatnonzero(bonus > 0.0):
            bonuses[self.trial.env.rows.spoils(np.full(len(possible), action)), action] = 0.0
        return bonuses


class CountSearch(TrialSearch):
    """Searches by counts, from the prior: the default."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step until the trial is over."""
        explorer = Explorer(trial, seed=seed)
        prior = np.array(trial.prior, np.float32)
        trial.begin()
        while not trial.over:
            trial.step(explorer.draw(np.tile(prior, (len(trial.actions), 1))))


Known = Mapping[CheckFunction, Sequence[tuple[ActionValue, ...]]]
"""Check -> lists of actions that made it fire, each from where an earlier hypothesis was."""


class ReplaySearch:
    """Replays actions that reached an equal check before, and searches if they fail. All steps count as usual.

    Actions that take or drop something although the check doesn't ask about that aren't reused, because they may be why
    the earlier attempt failed later.
    """

    def __init__(self, known: Known, inner: Search) -> None:
        self.known, self.inner = known, inner

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """See `sdg.skills.search.trial.Search`."""
        steps = 0
        for actions in self.known.get(check, ()):
            replay = _play_actions(start, check, actions, must_succeed=must_succeed, budget=budget - steps)
            steps += replay.steps
            about_hands = any(word in check.source for word in start.domain.hints.about_hands)
            if replay.reached and (about_hands or bool(start.rows.holding()[0] == replay.after.rows.holding()[0])):
                return replace(replay, steps=steps)
        rest = self.inner(start, check, must_succeed=must_succeed, budget=budget - steps, seed=seed)
        return replace(rest, steps=rest.steps + steps)


def _play_actions(
    start: Starts, check: CheckFunction, actions: Sequence[ActionValue], *, must_succeed: bool, budget: int
) -> SearchResult:
    trial = Trial(
        start,
        check,
        must_succeed=must_succeed,
        budget=budget,
        settings=SearchSettings(n_envs=1, horizon=len(actions) + 1),
        seed=0,
    )
    trial.begin()
    for action in actions:
        if trial.over:
            break
        trial.step(np.array([action]))
    return trial.result()
