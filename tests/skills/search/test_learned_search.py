"""A search that learns torques: what it finds is a way from the start, and what it learned helps with the next."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra `mujoco` isn't installed")

from sdg.envs.domains import domain
from sdg.skills.learning.by_hand import check_that
from sdg.skills.practice.chained import ChainedPractice
from sdg.skills.practice.starts import Starts, restore
from sdg.skills.search.count_search import CountSearch, RandomSearch
from sdg.skills.search.learned_search import LearnedSearch
from sdg.skills.search.search import LearningSearch, SearchSettings
from sdg.skills.subgoal import CheckFunction

TABLE = domain("table")
SETTINGS = SearchSettings(n_envs=8, horizon=40)
PPO = {"n_steps": 64, "batch_size": 256, "n_epochs": 2, "hidden": (16,)}
SEED = 4


def start(check: CheckFunction) -> Starts:
    rows = TABLE.begin(TABLE.layouts("Touch", [SEED]), np.array([0]))
    rows.begin_subgoals()
    return Starts(rows, TABLE.language.row("")[None], (check,), np.zeros(1, np.int64))


@pytest.mark.parametrize("search", [LearnedSearch(SETTINGS, PPO), RandomSearch(SETTINGS), CountSearch(SETTINGS)])
def test_what_is_found_leads_there_from_the_start(search: LearnedSearch | RandomSearch) -> None:
    nearer = check_that('progress("yellow block") >= 0.03')
    found = search(start(nearer), nearer, must_succeed=False, budget=8_000, seed=0)
    assert found.reached
    assert found.end is not None
    world = restore(
        TABLE, TABLE.layouts("Touch", [SEED]), [0], actions=[found.actions], moments=[(0, len(found.actions))]
    )
    assert world.perception(0).describe() == found.end.describe()
    assert found.steps <= 8_000 + SETTINGS.n_envs


def test_what_was_learned_goes_with_the_search() -> None:
    search, far = LearnedSearch(SETTINGS, PPO), check_that('distance("yellow block") <= 0.001')
    assert isinstance(search, LearningSearch)
    assert not isinstance(RandomSearch(SETTINGS), LearningSearch)
    found = search(start(far), far, must_succeed=False, budget=2_000, seed=0)
    assert not found.reached
    assert "0 of" in found.cause
    travelled = pickle.loads(pickle.dumps(search))
    assert travelled.learned[0].keys() == search.learned[0].keys() != set()
    nearer = check_that('progress("yellow block") >= 0.03')
    travelled(start(nearer), nearer, must_succeed=False, budget=6_000, seed=1)
    assert [check for check, _ in travelled.learned[1]] == [far, nearer]


def test_a_subgoal_that_is_so_already_costs_nothing() -> None:
    so = check_that('distance("yellow block") <= 5')
    found = LearnedSearch(SETTINGS, PPO)(start(so), so, must_succeed=False, budget=1_000, seed=0)
    assert (found.reached, found.actions, found.steps) == (True, (), 0)


def test_a_row_goes_on_only_with_what_is_left_to_be_done() -> None:
    done, never = check_that('distance("yellow block") <= 5'), check_that('distance("yellow block") <= 0')
    rows = start(done).rows.take(np.zeros(2, np.int64))
    targets = np.stack([TABLE.language.row(name) for name in ("yellow block", "yellow block")])
    for checks, stuck in (((done, done), 2), ((never, never), 0)):
        env = ChainedPractice(Starts(rows, targets, checks, np.arange(2)), 2, horizon=5, seed=0, redraw=1.0)
        env.restore(np.arange(2), np.arange(2))
        env.step(env.random_actions())
        assert len(env.go_on(np.arange(2), reached=np.ones(2, bool))) == stuck
        assert not env.age.any()


def test_a_search_without_a_budget_ends_where_it_began() -> None:
    far = check_that('distance("yellow block") <= 0.001')
    found = LearnedSearch(SETTINGS, PPO)(start(far), far, must_succeed=False, budget=0, seed=0)
    assert (found.reached, found.steps) == (False, 0)
    assert found.after.rows.perception(0).describe() == start(far).rows.perception(0).describe()
