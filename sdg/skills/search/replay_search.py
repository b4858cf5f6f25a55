"""A search that first plays what was found before, then searches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdg.envs.world import ActionValue
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import Search, Searched, SearchSettings, Trial, nothing_to_do
from sdg.skills.subgoal import CheckFunction

Known = Mapping[CheckFunction, Sequence[tuple[ActionValue, ...]]]
"""Check -> lists of actions that made it fire, each from where an earlier hypothesis was."""


class ReplaySearch:
    """Plays actions that reached an equal check before, and searches where they fail. All steps count as usual.

    Actions that take or drop something although the check doesn't ask about that aren't reused, because they may be why
    the earlier attempt failed later.
    """

    def __init__(self, known: Known, inner: Search) -> None:
        self.known, self.inner = known, inner

    def __call__(self, start: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> Searched:
        """See `sdg.skills.search.trial.Search`."""
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
