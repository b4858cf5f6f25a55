"""The default search: actions that change what is perceived are repeated, less often the more they were taken."""

from collections.abc import Hashable

import numpy as np

from sdg.skills.search.trial import Trial, TrialSearch

COUNTED = 2.0
"""Logit subtracted from an action for each e-fold of one plus its count in a place."""
RARE = 1.5
"""Logit added to an action for each e-fold by which it is rarely possible."""
MOST_RARE = 5.0
"""The most that rarity may add."""
IMPOSSIBLE = -1e8
"""Logits below this are of masked actions."""


class RandomSearch(TrialSearch):
    """Draws every action from the prior, to show what search achieves without learning."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step by step."""
        rng, weights = np.random.default_rng(seed), np.exp(trial.prior)
        trial.begin()
        while not trial.over:
            trial.step(rng.choice(len(weights), size=self.settings.n_envs, p=weights / weights.sum()))


class Explorer:
    """Draws actions for a trial's rows by preferences, lower for actions tried there and higher for rare ones."""

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
        """Logits to add to each row's actions; 0 for actions that take or drop, or would break something."""
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
