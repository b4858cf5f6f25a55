"""Actions come from files, models and callers: kernels, which check nothing, get no other ones than they know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.practice.batch_world import WAIT
from sdg.experiments.baselines.level_env import LevelVecEnv

STRANGE = {
    "one too high": [WAIT + 1] * 2,
    "negative": [0, -1],
    "far out": [10**12] * 2,
    "too few": [0],
    "too many": [0] * 9,
    "several each": [[0, 1]] * 2,
    "no integers": [0.5, 1.0],
    "beyond any integer": [10**40] * 2,
    "texts": ["0", "1"],
}


@pytest.mark.parametrize("actions", STRANGE.values(), ids=STRANGE.keys())
def test_strange_actions_are_refused_and_step_nothing(actions: list[Any]) -> None:
    bank = BABYAI.layouts("GoToLocal", range(2))
    rows = BABYAI.begin(bank, np.arange(2))
    env = LevelVecEnv(bank, 2, seed=0, target_of=lambda mission: BABYAI.language.row(mission.removeprefix("go to ")))
    env.reset()
    before = rows.state.tobytes(), env.state.tobytes()
    for world in (rows, env):
        with pytest.raises(ValueError, match="actions"):
            world.step(np.array(actions))
    assert (rows.state.tobytes(), env.state.tobytes()) == before


def test_numbers_of_any_integer_type_are_actions() -> None:
    rows = BABYAI.begin(BABYAI.layouts("GoToLocal", range(2)), np.arange(2))
    for actions in (np.array([0, WAIT], np.uint8), np.array([1, 2], np.int32), [0, 1]):
        assert all(result.shape == (2,) for result in rows.step(actions))
