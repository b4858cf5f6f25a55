"""Search that trains a policy on a subgoal's check until it reaches it nearly always (SDG, section 4.3), where actions
are torques: there random search succeeds only by luck, and leaves the body where it can reach nothing further.

One policy learns all subgoals that a `LearnedSearch` is asked about, distinguished by their targets. A subgoal is
practised from its start; afterwards rows practise earlier subgoals, which still give reward while the new one gives
none yet. For example, "stand in the next cell" is never reached by chance, but "get 0.25 metres nearer" is, and a
policy that has learned that well soon reaches the other.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from sdg.skills.learning.sb3 import SB3Learner, SB3Settings
from sdg.skills.learning.vec_env import ChainedVecEnv
from sdg.skills.policy.network import MLPPolicy
from sdg.skills.practice.env import ChainedPractice
from sdg.skills.practice.starts import Starts, target_of
from sdg.skills.search.trial import SearchedTask, SearchResult, SearchSettings, failure, nothing_to_do, success
from sdg.skills.subgoal import CheckFunction

SETTLED_SHARE, JUDGED_ATTEMPTS = 0.8, 20
"""A subgoal is settled if SETTLED_SHARE of its latest JUDGED_ATTEMPTS attempts from the start reached it."""
MAX_SUBGOALS = 40
"""How many of the latest subgoals are practised, the new one included."""
PATIENCE, MAX_STRETCH = 100, 4
"""Failed attempts after which the horizon is doubled, and how many times the first horizon it may become."""
REDRAW_CHANCE = 0.5
"""How often a row goes on with a different subgoal after it reached one."""


class SearchedRows(ChainedVecEnv):
    """Chained practice of one subgoal from one start. It keeps the latest actions that reached the subgoal, preferably
    without doing the whole task. An attempt that the task's end cut short isn't counted."""

    def __init__(self, env: ChainedPractice, *, most: int, must_succeed: bool, lost_cost: float = 0.0) -> None:
        super().__init__(env, most=most, lost_cost=lost_cost)
        self.must_succeed = must_succeed
        self.outcomes: deque[bool] = deque(maxlen=JUDGED_ATTEMPTS)
        self.first = np.ones(self.num_envs, bool)
        """Whether a row is still at its first subgoal after the start."""
        self.ways: list[list[Any]] = [[] for _ in range(self.num_envs)]
        self.found: tuple[tuple[Any, ...], Any] | None = None
        self.done = False
        """Whether the actions in `found` do the task before its last subgoal."""
        self.tried = self.reached = self.lost = self.inconsistent = self.cut_short = 0
        self.max_horizon, self.tried_at_stretch = MAX_STRETCH * env.horizon, 0
        """The longest horizon, and how many attempts were over when it was last doubled."""

    @property
    def is_settled(self) -> bool:
        """Whether the subgoal is reached often enough."""
        return len(self.outcomes) == JUDGED_ATTEMPTS and sum(self.outcomes) >= SETTLED_SHARE * JUDGED_ATTEMPTS

    def begin(self, rows: np.ndarray) -> None:
        """Put rows at the start, with the searched subgoal."""
        self.env.restore(rows, np.zeros(len(rows), np.int64))
        self.first[rows] = True
        for row in rows.tolist():
            self.ways[row] = []

    def notice(
        self, actions: np.ndarray, *, fired: np.ndarray, over: np.ndarray, won: np.ndarray, ended: np.ndarray
    ) -> None:
        """Count results of first attempts; keep the way of one that reached the subgoal."""
        super().notice(actions, fired=fired, over=over, won=won, ended=ended)
        for row in np.flatnonzero(self.first).tolist():
            self.ways[row].append(tuple(actions[row].tolist()))
        good = fired & (won if self.must_succeed else won | ~over) & self.first
        self.inconsistent += int((fired & self.first & ~good).sum())
        for row in np.flatnonzero(good).tolist():
            is_won = bool(won[row]) and not self.must_succeed
            if self.found is None or self.done or not is_won:
                self.found, self.done = (tuple(self.ways[row]), self.env.rows.take(np.array([row]))), is_won
        cut_short = won & ~fired & self.first
        self.cut_short += int(cut_short.sum())
        self.first[cut_short] = False
        first_ended = np.flatnonzero(ended & self.first)
        self.outcomes.extend(good[first_ended].tolist())
        self.tried += len(first_ended)
        self.reached += int(good.sum())
        self.lost += int((over & ~won)[first_ended].sum())
        self.first[first_ended] = False
        is_fruitless = not (self.reached or self.inconsistent) and self.tried - self.tried_at_stretch >= PATIENCE
        if is_fruitless and self.env.horizon < self.max_horizon:  # a far subgoal may only need more steps
            self.env.horizon, self.most = 2 * self.env.horizon, 2 * self.most
            self.tried_at_stretch = self.tried


class LearnedSearch:
    """Learns while it searches (`sdg.skills.search.trial.Search`); what it learned can be sent to other processes.

    `ppo` are settings of `SB3Settings` that differ from its defaults.
    """

    def __init__(self, settings: SearchSettings = SearchSettings(), ppo: Mapping[str, Any] | None = None) -> None:
        self.settings, self.ppo = settings, dict(ppo or {})
        self.learned: tuple[dict[str, np.ndarray], tuple[SearchedTask, ...]] = ({}, ())

    def __call__(
        self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int
    ) -> SearchResult:
        """See `Search`."""
        settings = SB3Settings(**self.ppo)
        task = (check, tuple(target_of(check, start.domain.language).tolist()))
        rows = SearchedRows(
            ChainedPractice(
                self._pool(start, task),
                self.settings.n_envs,
                horizon=self.settings.horizon,
                seed=seed,
                redraw=REDRAW_CHANCE,
            ),
            most=2 * self.settings.horizon,
            must_succeed=must_succeed,
            lost_cost=settings.lost_cost,
        )
        if rows.env.reward(start.memory, np.zeros(1, np.int64))[0] and not must_succeed:
            return nothing_to_do(start)
        weights, tasks = self.learned
        learner = SB3Learner(
            rows, settings, seed=seed, init_policy=MLPPolicy(weights, start.domain.inputs) if weights else None
        )

        def is_over() -> bool:
            return rows.is_settled or rows.env.steps + rows.num_envs > budget

        if not is_over():
            learner.learn(budget, callback=lambda *_: True, should_stop=is_over)
        self.learned = (
            dict(learner.policy().weights),
            (*(earlier for earlier in tasks if earlier != task), task)[-MAX_SUBGOALS:],
        )
        return self._result(start, rows, steps=rows.env.steps)

    def _pool(self, start: Starts, task: SearchedTask) -> Starts:
        """The start, once for the subgoal itself and once for each earlier one."""
        tasks = [task, *(earlier for earlier in self.learned[1] if earlier != task)]
        targets = np.array([target for _, target in tasks], np.int16)
        moments = start.rows.take(np.zeros(len(tasks), np.int64))
        return Starts(moments, targets, tuple(check for check, _ in tasks), np.arange(len(tasks)))

    def _result(self, start: Starts, rows: SearchedRows, *, steps: int) -> SearchResult:
        tally = f"{rows.reached} of {rows.tried} attempts of at most {rows.env.horizon} steps"
        if rows.found is None:
            cause = f"was reached in {tally}, {steps} searched steps; {rows.lost} attempts ended with the body lost"
            if rows.cut_short:
                cause += (
                    f"; in {rows.cut_short} others the task was done while the check still said no: it asks too much"
                )
            cause = failure(cause, rows.must_succeed, rows.inconsistent)
            return SearchResult(False, (), start, steps, rows.tried, rows.inconsistent, cause)
        actions, world = rows.found
        return success(
            start,
            world,
            actions,
            steps=steps,
            episodes=rows.tried,
            inconsistent=rows.inconsistent,
            done=rows.done,
        )
