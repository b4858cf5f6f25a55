"""The levels through gymnasium's own door."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from sdg import envs
from sdg.envs.babyai.levels import PAPER_LEVELS


@pytest.fixture(autouse=True)
def registered() -> None:
    envs.register()
    envs.register()


@pytest.mark.parametrize("level", PAPER_LEVELS)
def test_one_equals_minigrids(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    import minigrid  # noqa: F401  registers its environments

    ours, theirs = gymnasium.make(f"sdg/{level}-v0"), gymnasium.make(f"BabyAI-{level}-v0")
    capsys.readouterr()
    observation, _ = ours.reset(seed=4)
    assert capsys.readouterr().out == ""
    expected, _ = theirs.reset(seed=4)
    for action in (-1, 0, 1, 2, 2, 3):
        if action >= 0:
            (observation, reward, *over), (expected, minigrid_reward, *ended) = (
                (*env.step(action)[:4],) for env in (ours, theirs)
            )
            assert (reward, over) == (minigrid_reward, ended)
        np.testing.assert_array_equal(observation["image"], expected["image"])
        assert (observation["direction"], observation["mission"]) == (expected["direction"], expected["mission"])


def test_many_on_the_engine() -> None:
    many = gymnasium.make_vec("sdg/BabyAI-v0", num_envs=3, level="PickupLoc", layouts=5)
    observations, _ = many.reset()
    assert observations["image"].shape == (3, 7, 7, 3)
    assert len(observations["mission"]) == 3
    _, rewards, *_ = many.step(np.zeros(3, np.int64))
    assert rewards.tolist() == [0, 0, 0]
    many.close()


def test_unknown_level() -> None:
    with pytest.raises(ValueError, match="did you mean"):
        gymnasium.make("sdg/BabyAI-v0", level="GoToLocl")
