"""An arena and a search as a learner wants them; `skills/learning/sb3.py` has stable-baselines3's own interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.envs.babyai.perception.memory import TOGGLE
from sdg.skills.learning.ppo import PPOLearner, PPOSettings
from sdg.skills.practice.env import Arena
from sdg.skills.practice.starts import Starts
from sdg.skills.search.search import Searched, SearchSettings, Trial
from sdg.skills.subgoal import CheckFunction


class RowsVecEnv:
    """What a learner asks of rows that are arrays and not objects: to be stepped at once."""

    def __init__(self, n: int) -> None:
        self.num_envs = n
        self._actions = np.zeros(n, np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(n)]

    def reset(self) -> np.ndarray:
        """Begin every row: observations u8 (n, SIZE)."""
        raise NotImplementedError

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, SIZE), rewards f32 (n,), dones bool (n,), infos."""
        raise NotImplementedError

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions for `step_wait`."""
        self._actions = np.asarray(actions, np.int64)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Both at once."""
        self.step_async(actions)
        return self.step_wait()


class ArenaVecEnv(RowsVecEnv):
    """An arena for a learner. A row ends when its check fires or its horizon is over.

    The horizon is the option's own (a skill that isn't done by then has failed), so it ends the episode for good and is
    not a truncation to bootstrap from. Taking, dropping or breaking something on the way costs `side_effect_cost`:
    whoever called the skill counts on full hands staying full, empty ones empty, and boxes staying boxes.
    """

    def __init__(self, arena: Arena, *, side_effect_cost: float = 0.0) -> None:
        super().__init__(len(arena.age))
        self.arena, self.side_effect_cost = arena, side_effect_cost
        self.episodes = self.successes = 0

    def reset(self) -> np.ndarray:
        """Start every row anew."""
        self.arena.load_random(np.arange(self.num_envs))
        return self.arena.features()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, SIZE), rewards f32 (n,), dones bool (n,) and empty infos."""
        actions = self.arena.meant(self._actions)
        held, broken = self.arena.memory.carried.copy(), (actions == TOGGLE) & self.arena.before_boxes()
        fired, over, _ = self.arena.step(actions)
        rewards = fired.astype(np.float32)
        spoilt = (self.arena.memory.carried != held) | broken
        rewards[spoilt & ~fired] -= self.side_effect_cost
        dones = fired | over | (self.arena.age >= self.arena.horizon)
        ended = np.flatnonzero(dones)
        self.episodes += len(ended)
        self.successes += int(fired.sum())
        if len(ended):
            self.arena.load_random(ended)
        return self.arena.features(), rewards, dones, self._infos


class SearchVecEnv(RowsVecEnv):
    """A trial for a learner: paid when the subgoal is reached, and a little for what is new."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.settings.n_envs)
        self.trial = trial

    def reset(self) -> np.ndarray:
        """Put every row at the start."""
        self.trial.begin()
        return self.trial.arena.features()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, SIZE), rewards f32 (n,), dones bool (n,) and empty infos."""
        paid, ended = self.trial.step(self.trial.arena.meant(self._actions))
        rewards = paid.astype(np.float32) + self.trial.novelty()
        return self.trial.arena.features(), rewards, ended, self._infos


class PPOSearch:
    """Proximal policy optimisation from nothing, for one subgoal at one start; ends at the first success."""

    def __init__(self, settings: SearchSettings = SearchSettings()) -> None:
        self.settings = settings

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `sdg.skills.search.search.Search`."""
        trial = Trial(start, check, must_succeed=must_succeed, budget=budget, settings=self.settings, seed=seed)
        if trial.already() and not must_succeed:
            return trial.nothing_to_do()
        trial.try_each_action()
        if not trial.over:
            learner = PPOLearner(SearchVecEnv(trial), self._ppo(), seed=seed)
            learner.bias_actions(np.array(self.settings.prior))
            learner.learn(budget, watch=lambda _learner, _steps: True, stop=lambda: trial.over)
        return trial.result()

    def _ppo(self) -> PPOSettings:
        chosen = self.settings
        return PPOSettings(
            n_steps=chosen.n_steps,
            batch_size=chosen.n_envs * chosen.n_steps,
            n_epochs=4,
            learning_rate=chosen.learning_rate,
            ent_coef=chosen.ent_coef,
            gamma=0.99,
            hidden=(64, 64),
        )
