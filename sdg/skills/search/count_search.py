"""The default search: it samples actions that change something, each the less the more often it was taken."""

from collections.abc import Hashable

import numpy as np

from sdg.skills.search.trial import Trial, TrialSearch

COUNTED = 2.0
"""An action's logit falls by COUNTED * log(1 + how often it was taken in the same state)."""
RARE = 1.5
"""An action's logit rises by RARE * log(1 / the share of states in which it was possible)."""
MOST_RARE = 5.0
"""The most that a rare action's logit rises."""
IMPOSSIBLE = -1e8
"""Actions with lower logits are masked."""


class RandomSearch(TrialSearch):
    """Samples every action from the prior, to show what search achieves without learning."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step until the trial is over."""
        rng, weights = np.random.default_rng(seed), np.exp(trial.prior)
        trial.begin()
        while not trial.over:
            trial.step(rng.choice(len(weights), size=self.settings.n_envs, p=weights / weights.sum()))


class Explorer:
    """Samples actions for a trial's rows from logits, lowered for actions tried there and raised for rare ones."""

    def __init__(self, trial: Trial, *, seed: int) -> None:
        self.trial, self.rng = trial, np.random.default_rng(seed)
        self.counts: dict[Hashable, np.ndarray] = {}
        self.moments, self.possible = 1.0, np.ones(len(trial.prior))
        self.hands = list(trial.env.starts.domain.hints.hands)

    def draw(self, logits: np.ndarray) -> np.ndarray:
        """Actions i64 (n,) sampled from logits f32 (n, actions), which are changed in place; counts the actions."""
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
        """What rarity adds to each row's logits; 0 for actions that take or drop, or would break something."""
        self.moments += len(possible)
        self.possible += possible.sum(axis=0)
        bonus = np.minimum(RARE * np.log(self.moments / self.possible), MOST_RARE)
        bonus[self.hands] = 0.0
        bonuses = np.tile(bonus.astype(np.float32), (len(possible), 1))
        for action in np.flatnonzero(bonus > 0.0):
            bonuses[self.trial.env.rows.spoils(np.full(len(possible), action)), action] = 0.0
        return bonuses


class CountSearch(TrialSearch):
    """Searches by counts, from the prior: the default."""

    def explore(self, trial: Trial, *, seed: int) -> None:
        """Step until the trial is over."""
        explorer, prior = Explorer(trial, seed=seed), np.array(trial.prior, np.float32)
        trial.begin()
        while not trial.over:
            trial.step(explorer.draw(np.tile(prior, (len(trial.actions), 1))))
