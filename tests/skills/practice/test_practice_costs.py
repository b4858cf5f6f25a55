"""What practice charges for: taking, dropping and breaking what the skill isn't about."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import BOX, COLOUR_SHIFT, EMPTY, FORWARD, KEY, LEFT, PICKUP, TOGGLE
from sdg.envs.babyai.domain import BABYAI
from sdg.skills.learning.vec_env import PracticeVecEnv
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction

COST = 0.3
NEVER = CheckFunction("reached", "def reached():\n    return False\n")
ALWAYS = CheckFunction("reached", "def reached():\n    return True\n")


def _facing(code: int, check: CheckFunction) -> PracticeVecEnv:
    """One row that faces a cell of this code, and knows it."""
    rows = BABYAI.begin(BABYAI.layouts("GoToLocal", [3_000_000]), np.zeros(1, np.int64))
    state = rows.state
    spot = int(state.spot[0]) + {0: 32, 1: 1, 2: -32, 3: -1}[int(state.direction[0])]
    state.cells[0, spot] = code
    rows.memory.cells[0, spot // 32 - 5, spot % 32 - 5] = code
    state.where[0, 0], state.code[0, 0], state.inside[0, 0] = spot, code, 0
    starts = Starts(rows, BABYAI.language.row("")[None], (check,), np.zeros(1, np.int64))
    env = PracticeVecEnv(PracticeEnv(starts, 1, horizon=5, seed=0), side_effect_cost=COST)
    env.reset()
    return env


@pytest.mark.parametrize(
    ("code", "action", "cost"),
    [
        (BOX | 2 << COLOUR_SHIFT, TOGGLE, COST),
        (BOX | 2 << COLOUR_SHIFT, LEFT, 0.0),
        (KEY | 2 << COLOUR_SHIFT, PICKUP, COST),
        (KEY | 2 << COLOUR_SHIFT, TOGGLE, 0.0),
        (EMPTY, TOGGLE, 0.0),
        (EMPTY, FORWARD, 0.0),
    ],
)
def test_hands_cost_something_where_the_check_does_not_fire(code: int, action: int, cost: float) -> None:
    env = _facing(code, NEVER)
    _, rewards, _, _ = env.step(np.array([action]))
    assert rewards[0] == pytest.approx(-cost)


def test_what_the_skill_is_about_costs_nothing() -> None:
    env = _facing(BOX | 2 << COLOUR_SHIFT, ALWAYS)
    _, rewards, _, _ = env.step(np.array([TOGGLE]))
    assert rewards[0] == pytest.approx(1.0)
