"""PPO from nothing for one subgoal: a search that learns while it looks (SDG, section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.skills.learning.ppo import PPOLearner, PPOSettings
from sdg.skills.learning.vec_env import RowsVecEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.search.search import Searched, SearchSettings, Trial
from sdg.skills.subgoal import CheckFunction


class SearchVecEnv(RowsVecEnv):
    """A trial for a learner: paid when the subgoal is reached, and a little for what is new."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.settings.n_envs)
        self.inputs = trial.env.inputs
        self.trial = trial

    def reset(self) -> np.ndarray:
        """Put every row at the start."""
        self.trial.begin()
        return self.trial.env.features()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, size), rewards f32 (n,), dones bool (n,) and empty infos."""
        paid, ended = self.trial.step(self.trial.env.unmirror(self._actions))
        rewards = paid.astype(np.float32) + self.trial.novelty()
        return self.trial.env.features(), rewards, ended, self._infos


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
            learner.bias_actions(np.array(trial.prior))
            learner.learn(budget, callback=lambda _learner, _steps: True, should_stop=lambda: trial.over)
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
