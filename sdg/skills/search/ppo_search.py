"""PPO for one subgoal after another: a search that learns while it searches (SDG, section 4.3), besides the default.

One policy searches the subgoals of all instructions that a `PPOSearch` is asked about, distinguished by their targets,
so that each search uses what earlier ones learned. It is rewarded by the check and for novelty; its actions are drawn
as in `CountSearch`, with the policy's preferences instead of the prior.
"""

from typing import Any

import numpy as np

from sdg.skills.learning.ppo import PPOLearner, RowsVecEnv
from sdg.skills.search.trial import Explorer, SearchSettings, Trial, TrialSearch
from sdg.skills.settings import PPOSettings


class SearchVecEnv(RowsVecEnv):
    """A trial for a learner: rewarded when the subgoal is reached, and a little for novelty."""

    def __init__(self, trial: Trial, *, seed: int = 0) -> None:
        super().__init__(trial.settings.n_envs)
        self.inputs = trial.env.inputs
        self.follow(trial, seed=seed)

    def follow(self, trial: Trial, *, seed: int) -> None:
        """Go on with another trial."""
        self.trial, self.explorer = trial, Explorer(trial, seed=seed)

    def reset(self) -> np.ndarray:
        """Put every row at the start."""
        self.trial.begin()
        return self.trial.env.features()

    def draw(self, logits: np.ndarray) -> np.ndarray:
        """Actions (n,) in the frames of the latest observations, by a policy's logits f32 (n, actions)."""
        env = self.trial.env
        return env.unmirror(self.explorer.draw(env.inputs.to_world(logits, env.frames)))

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, size), rewards f32 (n,), dones bool (n,) and empty infos."""
        gains, ended = self.trial.step(self.trial.env.unmirror(actions))
        return self.trial.env.features(), gains + self.trial.novelty(), ended, self._infos


class _SearchLearner(PPOLearner):
    """Draws actions as the search does; the gradient uses the policy's own probabilities, as if nothing were masked."""

    env: SearchVecEnv

    def _draw(self, logits: np.ndarray) -> np.ndarray:
        return self.env.draw(logits)

    def search(self, trial: Trial, *, budget: int, seed: int) -> None:
        """Search a trial until something is found or the budget is spent, and learn from it."""
        self.env.follow(trial, seed=seed)
        self._observations = self.env.reset()
        self.learn(budget, callback=lambda _learner, _steps: True, should_stop=lambda: trial.over)


class PPOSearch(TrialSearch):
    """Proximal policy optimisation with one policy for all searches of this object; each ends at its first success.

    The policy isn't pickled: a search that is sent to another process begins there without one.
    """

    def __init__(self, settings: SearchSettings = SearchSettings()) -> None:
        super().__init__(settings)
        self._learner: _SearchLearner | None = None

    def __reduce__(self) -> tuple[type["PPOSearch"], tuple[SearchSettings]]:
        return PPOSearch, (self.settings,)

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Learn while searching."""
        if trial.over:
            return
        if self._learner is None:
            settings = PPOSettings(
                n_steps=self.settings.n_steps,
                batch_size=self.settings.n_envs * self.settings.n_steps,
                n_epochs=4,
                learning_rate=self.settings.learning_rate,
                ent_coef=self.settings.ent_coef,
                gamma=0.99,
                hidden=(64, 64),
            )
            self._learner = _SearchLearner(SearchVecEnv(trial), settings, seed=seed)
            self._learner.bias_actions(np.array(trial.prior))
        self._learner.search(trial, budget=trial.budget, seed=seed)
