"""A search that learns torques: what it finds is a way from the start, and what it learned helps with the next."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra `mujoco` isn't installed")

from sdg.envs.domains import domain
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.skills.learning.by_hand import check_that
from sdg.skills.practice.env import ChainedPractice
from sdg.skills.practice.starts import Starts, restore
from sdg.skills.search.learned_search import MAX_STRETCH, PATIENCE, LearnedSearch, SearchedRows
from sdg.skills.search.trial import CountSearch, LearningSearch, RandomSearch, SearchResult, SearchSettings
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.verification.verify import VerifySettings, verify

TABLE = domain("table")
SETTINGS = SearchSettings(n_envs=8, horizon=40)
PPO = {"n_steps": 64, "batch_size": 256, "n_epochs": 2, "hidden": (16,)}
SEED = 4


def start_for(check: CheckFunction) -> Starts:
    rows = TABLE.begin(TABLE.layouts("Touch", [SEED]), np.array([0]))
    rows.begin_subgoals()
    return Starts(rows, TABLE.language.row("")[None], (check,), np.zeros(1, np.int64))


@pytest.mark.parametrize("search", [LearnedSearch(SETTINGS, PPO), RandomSearch(SETTINGS), CountSearch(SETTINGS)])
def test_what_is_found_leads_there_from_the_start(search: LearnedSearch | RandomSearch) -> None:
    nearer = check_that('progress("yellow block") >= 0.03')
    result = search(start_for(nearer), nearer, must_succeed=False, budget=8_000, seed=0)
    assert result.reached
    assert result.end is not None
    world = restore(
        TABLE, TABLE.layouts("Touch", [SEED]), [0], actions=[result.actions], moments=[(0, len(result.actions))]
    )
    assert world.perception(0).describe() == result.end.describe()
    assert result.steps <= 8_000 + SETTINGS.n_envs


def test_what_was_learned_goes_with_the_search() -> None:
    search, far = LearnedSearch(SETTINGS, PPO), check_that('distance("yellow block") <= 0.001')
    assert isinstance(search, LearningSearch)
    assert not isinstance(RandomSearch(SETTINGS), LearningSearch)
    result = search(start_for(far), far, must_succeed=False, budget=2_000, seed=0)
    assert not result.reached
    assert "0 of" in result.cause
    travelled = pickle.loads(pickle.dumps(search))
    assert travelled.learned[0].keys() == search.learned[0].keys() != set()
    nearer = check_that('progress("yellow block") >= 0.03')
    travelled(start_for(nearer), nearer, must_succeed=False, budget=6_000, seed=1)
    assert [check for check, _ in travelled.learned[1]] == [far, nearer]


def test_a_subgoal_that_is_so_already_costs_nothing() -> None:
    so = check_that('distance("yellow block") <= 5')
    result = LearnedSearch(SETTINGS, PPO)(start_for(so), so, must_succeed=False, budget=1_000, seed=0)
    assert (result.reached, result.actions, result.steps) == (True, (), 0)


def test_a_row_goes_on_only_with_what_is_left_to_be_done() -> None:
    done, never = check_that('distance("yellow block") <= 5'), check_that('distance("yellow block") <= 0')
    rows = start_for(done).rows.take(np.zeros(2, np.int64))
    targets = np.stack([TABLE.language.row(name) for name in ("yellow block", "yellow block")])
    for checks, stuck in (((done, done), 2), ((never, never), 0)):
        env = ChainedPractice(Starts(rows, targets, checks, np.arange(2)), 2, horizon=5, seed=0, redraw=1.0)
        env.restore(np.arange(2), np.arange(2))
        env.step(env.random_actions())
        assert len(env.go_on(np.arange(2), reached=np.ones(2, bool))) == stuck
        assert not env.age.any()


def test_a_search_without_a_budget_ends_where_it_began() -> None:
    far = check_that('distance("yellow block") <= 0.001')
    result = LearnedSearch(SETTINGS, PPO)(start_for(far), far, must_succeed=False, budget=0, seed=0)
    assert (result.reached, result.steps) == (False, 0)
    assert result.after.rows.perception(0).describe() == start_for(far).rows.perception(0).describe()


def rows_of(check: CheckFunction, *, must_succeed: bool = False) -> SearchedRows:
    pool = start_for(check)
    rows = SearchedRows(ChainedPractice(pool, 4, horizon=40, seed=0, redraw=0.5), most=80, must_succeed=must_succeed)
    rows.begin(np.arange(4))
    return rows


def notice(rows: SearchedRows, **happened: str) -> None:
    """A step of four rows; `fired`, `over`, `won` and `ended` have a digit for each."""
    rows.notice(np.zeros((4, 7)), **{name: np.array([*map(int, text)], bool) for name, text in happened.items()})


NEARER = check_that('progress("yellow block") >= 0.03')


def test_an_attempt_that_the_task_cut_short_says_nothing_of_the_subgoal() -> None:
    rows = rows_of(NEARER)
    notice(rows, fired="0000", over="1100", won="1000", ended="1110")
    assert (rows.tried, rows.reached, rows.cut_short, rows.lost) == (2, 0, 1, 1)
    assert list(rows.outcomes) == [False, False]


@pytest.mark.parametrize(("order", "done"), [(("1", "0"), False), (("0", "1"), False), (("1", "1"), True)])
def test_a_way_that_does_the_task_is_kept_while_there_is_no_other(order: tuple[str, str], done: bool) -> None:
    rows = rows_of(NEARER)
    for row, over in enumerate(order):
        at = "0" * row + "1" + "0" * (3 - row)
        ends = "0" * row + over + "0" * (3 - row)
        notice(rows, fired=at, over=ends, won=ends, ended=at)
    assert rows.found is not None
    assert (rows.reached, rows.done) == (2, done)


def test_failed_attempts_take_longer_up_to_a_bound() -> None:
    rows = rows_of(NEARER)
    for _ in range(PATIENCE):
        rows.first[:] = True
        notice(rows, fired="0000", over="0000", won="0000", ended="1111")
    assert (rows.env.horizon, rows.most) == (40 * MAX_STRETCH, 80 * MAX_STRETCH)
    rows_lost = rows_of(NEARER)
    notice(rows_lost, fired="1000", over="0000", won="0000", ended="1000")
    for _ in range(PATIENCE):
        rows_lost.first[:] = True
        notice(rows_lost, fired="0000", over="0000", won="0000", ended="1111")
    assert rows_lost.env.horizon == 40


def test_what_holds_where_the_task_was_done_is_verified_there() -> None:
    def search(begun: Starts, check: CheckFunction, *, must_succeed: bool, budget: int, seed: int) -> SearchResult:
        return SearchResult(True, ((0.0,) * 7,), begun, 5, 1, 0, done=True)

    near, far = check_that('distance("yellow block") <= 5'), check_that('distance("yellow block") <= 0.001')
    for last, cause in ((near, ""), (far, "called the task done")):
        hypothesis = Hypothesis("touch it", (Subgoal("begin", near), Subgoal("end", last)))
        verified = verify(
            hypothesis,
            start_for(near),
            level="Touch",
            seed=SEED,
            settings=VerifySettings(judged_steps=2),
            search=search,
        )
        assert verified.verified == (cause == "")
        assert cause in verified.cause
