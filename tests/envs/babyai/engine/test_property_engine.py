"""Whatever is done, the engine keeps its laws: nothing vanishes, one thing a cell, one thing in the hand."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given, settings, strategies as st

from sdg.envs.babyai.cells import BALL, BOX, KEY, KIND_MASK
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.engine.state import spot_of

LEVELS = ("GoToLocal", "PutNextLocal", "Open", "BossLevel")
ACTIONS = st.lists(st.sampled_from([0, 1, 2, 2, 2, 3, 4, 5]), min_size=1, max_size=120)


@cache
def bank_of(level: str) -> LevelBank:
    return LevelBank.build(level, range(3))


def start_engine(level: str, layout: int, *, rows: int = 1) -> BabyAIEngine:
    engine = BabyAIEngine(bank_of(level), rows, auto_reset=False)
    engine.reset(np.arange(rows), np.full(rows, layout))
    return engine


CASES = st.tuples(st.sampled_from(LEVELS), st.integers(0, 2), ACTIONS)


@settings(max_examples=40, deadline=None)
@given(CASES)
def test_things_are_neither_made_nor_lost(case: tuple[str, int, list[int]]) -> None:
    level, layout, actions = case
    engine = start_engine(level, layout)
    for action in actions:
        before = engine.state.copy()
        engine.step(np.array([action]))
        state = engine.state
        lying = _loose(state) + _held(state)
        assert lying == _loose(before) + _held(before) or action == 5, "only a box can open into something"
        x, y = divmod(int(state.spot[0]) - spot_of(0, 0), spot_of(1, 0) - spot_of(0, 0))
        assert 0 < x < 21
        assert 0 < y < 21
        moved = int(state.spot[0] != before.spot[0])
        assert moved <= int(action == 2), "only a step ahead moves the robot"
        assert (int(state.direction[0]) - int(before.direction[0])) % 4 == {0: 3, 1: 1}.get(action, 0)
        assert int(state.steps[0]) == int(before.steps[0]) + 1


def _loose(state: np.recarray) -> int:
    """How many balls, keys and boxes lie somewhere."""
    return int(np.isin(state.cells[0] & KIND_MASK, (KEY, BALL, BOX)).sum())


def _held(state: np.recarray) -> int:
    """Whether a thing is in the hand."""
    return int(state.carried[0] > 0)


@settings(max_examples=25, deadline=None)
@given(CASES)
def test_a_row_s_fate_is_its_own_and_can_be_done_again(case: tuple[str, int, list[int]]) -> None:
    level, layout, actions = case
    many, one = start_engine(level, layout, rows=3), start_engine(level, layout)
    rng = np.random.default_rng(len(actions))
    for number, action in enumerate(actions):
        if number == len(actions) // 2:
            row_before = many.state[[1]]
        others = rng.integers(0, 6, 2)
        many.step(np.array([others[0], action, others[1]]))
        one.step(np.array([action]))
    assert many.state[1] == one.state[0]
    one.state[[0]] = row_before
    for action in actions[len(actions) // 2 :]:
        one.step(np.array([action]))
    assert many.state[1] == one.state[0], "a row that was kept goes the same way again"


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(LEVELS), st.integers(0, 2), st.integers(0, 3))
def test_four_turns_change_nothing(level: str, layout: int, turns: int) -> None:
    engine = start_engine(level, layout)
    for _ in range(turns):
        engine.step(np.array([0]))
    views = engine.step(np.array([6])).views.copy()
    before = engine.state.copy()
    for _ in range(4):
        engine.step(np.array([1]))
    for name in ("spot", "direction", "cells", "carried"):
        assert np.array_equal(before[name], engine.state[name])
    assert np.array_equal(views, engine.step(np.array([6])).views)
