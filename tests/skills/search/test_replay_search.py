"""Actions that reached a check are played again for it, counted, and left where they no longer help."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import RandomSearch, ReplaySearch, SearchResult
from sdg.skills.subgoal import CheckFunction

MOVED = CheckFunction("check", "def check():\n    return get_position() != (0, 0)\n")
BUDGET = 400


def start(seed: int = 0) -> Starts:
    rows = BABYAI.begin(BABYAI.layouts("GoToLocal", [seed]), np.zeros(1, np.int64))
    return Starts(rows, BABYAI.language.row("")[None], (), np.zeros(1, np.int64))


def search_with(*ways: tuple[int, ...], check: CheckFunction = MOVED, budget: int = BUDGET) -> SearchResult:
    search = ReplaySearch({MOVED: ways}, RandomSearch())
    return search(start(), check, must_succeed=False, budget=budget, seed=3)


def search_plainly() -> SearchResult:
    return RandomSearch()(start(), MOVED, must_succeed=False, budget=BUDGET, seed=3)


def test_known_actions_are_played_and_counted() -> None:
    around = (0, 0, *search_plainly().actions)
    turned_back = (1, 1, *around)
    result = search_with(turned_back)
    assert result.reached
    assert result.steps == len(result.actions) <= len(turned_back)
    assert result.actions == turned_back[: len(result.actions)]


def test_what_does_not_help_any_more_is_paid_for_and_searched_anew() -> None:
    result = search_with((0, 0), (1, 1, 1))
    assert result.reached
    assert result.actions == search_plainly().actions
    assert result.steps == search_plainly().steps + 5


def test_other_checks_are_searched_as_ever() -> None:
    other = CheckFunction("check", "def check():\n    return get_position() != (0, 1)\n")
    at_random = RandomSearch()(start(), other, must_succeed=False, budget=BUDGET, seed=3)
    assert search_with((2,), check=other).steps == at_random.steps


@pytest.mark.parametrize("budget", [0, 2, 9])
def test_a_budget_is_never_overdrawn(budget: int) -> None:
    assert search_with((0, 0, 0), (1, 1, 1), (0, 1, 0), budget=budget).steps <= budget


def test_what_was_taken_in_passing_is_not_taken_over() -> None:
    taken = CheckFunction("check", "def check():\n    return get_carried() is not None\n")
    way = RandomSearch()(start(), taken, must_succeed=False, budget=BUDGET, seed=0).actions
    late = CheckFunction("check", f"def check():\n    return get_steps() >= {len(way)}\n")
    search = ReplaySearch({late: (way,)}, RandomSearch())
    result = search(start(), late, must_succeed=False, budget=BUDGET, seed=3)
    assert result.reached
    assert result.steps > len(way)
    search = ReplaySearch({taken: (way,)}, RandomSearch())
    result = search(start(), taken, must_succeed=False, budget=BUDGET, seed=3)
    assert (result.actions, result.steps) == (way, len(way)), "a check about the hand is another matter"
