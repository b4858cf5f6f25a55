"""Count-based search takes chances that seldom come, and PPO's one policy goes on from search to search."""

from __future__ import annotations

import pickle
from copy import copy

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.skills.practice.starts import Starts
from sdg.skills.search.ppo_search import PPOSearch
from sdg.skills.search.trial import CountSearch, Explorer, RandomSearch, Search, SearchSettings, Trial
from sdg.skills.subgoal import CheckFunction

ELSEWHERE = CheckFunction("check", "def check():\n    return len(get_visited_rooms()) > 1\n")
NEVER = CheckFunction("check", "def check():\n    return get_steps() < 0\n")
LEFT, FORWARD, PICKUP, TOGGLE = 0, 2, 3, 5


def start(seed: int = 0, level: str = "Open") -> Starts:
    rows = BABYAI.begin(BABYAI.layouts(level, [seed]), np.zeros(1, np.int64))
    return Starts(rows, BABYAI.language.row("")[None], (), np.zeros(1, np.int64))


def count_reached(search: Search) -> int:
    results = [search(start(seed), ELSEWHERE, must_succeed=False, budget=500, seed=seed) for seed in range(8)]
    assert all(result.steps <= 500 for result in results)
    return sum(result.reached for result in results)


def test_count_search_leaves_rooms_more_often_than_random_search() -> None:
    assert count_reached(CountSearch()) >= 7
    assert count_reached(RandomSearch()) <= 5


def trial(settings: SearchSettings = SearchSettings()) -> Trial:
    search_trial = Trial(start(), NEVER, must_succeed=False, budget=10_000, settings=settings, seed=0)
    search_trial.begin()
    return search_trial


def test_what_is_rarely_possible_weighs_more_but_for_what_takes_or_drops() -> None:
    explorer = Explorer(trial(), seed=0)
    seldom = np.ones((8, 6), bool)
    for _ in range(40):
        seldom[:, [PICKUP, TOGGLE]] = False
        explorer._rarity(seldom)
    added = explorer._rarity(np.ones((8, 6), bool))
    assert (added[:, TOGGLE] > 3).all()
    assert np.allclose(added[:, [FORWARD, PICKUP]], 0)


def test_what_was_taken_often_in_a_place_is_taken_less() -> None:
    explorer, prior = Explorer(trial(), seed=0), np.zeros((8, 6), np.float32)
    drawn = np.concatenate([explorer.draw(prior.copy()) for _ in range(30)])  # all rows stay in one place
    counts = np.bincount(drawn, minlength=6)
    possible = counts[counts > 0]
    assert len(possible) > 2
    assert possible.max() - possible.min() < len(drawn) / 4


@pytest.mark.parametrize("kind", [CountSearch, PPOSearch])
@pytest.mark.parametrize("budget", [0, 5, 333])
def test_a_budget_is_never_overdrawn(kind: type[CountSearch] | type[PPOSearch], budget: int) -> None:
    result = kind()(start(), NEVER, must_succeed=False, budget=budget, seed=1)
    assert not result.reached
    assert result.steps <= budget


@pytest.mark.parametrize("kind", [CountSearch, PPOSearch])
def test_equal_seeds_search_alike(kind: type[CountSearch] | type[PPOSearch]) -> None:
    first, same, another = (kind()(start(), ELSEWHERE, must_succeed=False, budget=3000, seed=s) for s in (3, 3, 4))
    assert first.actions == same.actions
    assert first.actions != another.actions


def test_a_policy_goes_on_from_search_to_search_and_not_to_another_process() -> None:
    search = PPOSearch()
    search(start(), NEVER, must_succeed=False, budget=600, seed=0)
    assert search._learner is not None
    learned = search._learner.network.parameters.copy()
    search(start(1), NEVER, must_succeed=False, budget=600, seed=0)
    assert (search._learner.network.parameters != learned).any()
    assert copy(search)._learner is None
    assert pickle.loads(pickle.dumps(search))._learner is None
