"""The engine's own calls and its face for gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.engine.vec_env import BabyAIVectorEnv

N = 6


@pytest.fixture(scope="module")
def bank() -> LevelBank:
    return LevelBank.build("GoToLocal", range(40))


def actions(seed: int, length: int, n: int = N) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 7, (length, n))


BAD_ACTIONS: list[Callable[[], object]] = [
    lambda: np.zeros(N + 1, np.int64),
    lambda: np.zeros((N, 1), np.int64),
    lambda: np.int64(0),
    lambda: np.zeros(N),
    lambda: np.zeros(N, np.bool_),
    lambda: np.array(["left"] * N),
    lambda: np.array([0, 0, 7, 0, 0, 0]),
    lambda: np.array([0, 0, -1, 0, 0, 0]),
    lambda: np.array([0, 0, 0, 0, 0, 255], np.uint8),
    lambda: np.array([0, 0, 0, 0, 0, 2**63], np.uint64),
]


@pytest.mark.parametrize("make", BAD_ACTIONS)
def test_bad_actions_are_refused_and_nothing_moves(bank: LevelBank, make: Callable[[], object]) -> None:
    engine = BabyAIEngine(bank, N)
    engine.reset()
    before = engine.state.copy()
    with pytest.raises(ValueError, match="action"):
        engine.step(make())  # type: ignore[arg-type]
    assert (engine.state == before).all()


@pytest.mark.parametrize(
    ("rows", "layouts"),
    [([0], [40]), ([0], [-1]), ([N], [0]), ([-1], [0]), ([0, 1], [0]), ([0.5], [0]), ([[0]], [0])],
)
def test_bad_resets_are_refused(bank: LevelBank, rows: list[int], layouts: list[int]) -> None:
    engine = BabyAIEngine(bank, N)
    with pytest.raises(ValueError, match=r"rows|layouts"):
        engine.reset(rows, layouts)  # type: ignore[arg-type]


def test_bad_sizes_are_refused(bank: LevelBank) -> None:
    with pytest.raises(ValueError, match="n_envs"):
        BabyAIEngine(bank, 0)
    with pytest.raises(ValueError, match="max_steps"):
        BabyAIEngine(bank, 1, max_steps=0)


def test_kept_rows_continue_in_another_engine(bank: LevelBank) -> None:
    """A state copied out, and into an engine of another size over another bank, plays on as if it had never left."""
    engine = BabyAIEngine(bank, N, auto_reset=False)
    engine.reset(layouts=np.arange(N))
    for step in actions(0, 20):
        engine.step(step)
    rows_before = engine.state[[1, 4]]
    target = BabyAIEngine(LevelBank.build("Open", range(3)), 3, auto_reset=False)
    target.reset()
    target.state[[2, 0]] = rows_before
    for step in [np.full(N, 6), *actions(1, 60)]:
        here, there = engine.step(step), target.step(np.array([step[4], 6, step[1]]))
        for mine, its in zip(here, there, strict=True):
            assert (mine[[1, 4]] == its[[2, 0]]).all()


def test_auto_reset_goes_through_the_bank_in_a_seeded_order(bank: LevelBank) -> None:
    def played(seed: int) -> list[int]:
        engine = BabyAIEngine(bank, N, max_steps=1, seed=seed)
        engine.reset()
        return [int(k) for _ in range(10) for k in (engine.step(np.full(N, 6)), engine.final.layouts)[1]]

    assert played(0) == played(0) != played(1)
    assert sorted(played(0)[:40]) == list(range(40))


def test_same_actions_same_everything(bank: LevelBank) -> None:
    engines = [BabyAIEngine(bank, N, seed=3) for _ in range(2)]
    for engine in engines:
        engine.reset()
    for step in actions(2, 300):
        for mine, its in zip(engines[0].step(step), engines[1].step(step), strict=True):
            assert (mine == its).all()
    assert (engines[0].state == engines[1].state).all()


def test_vector_env_equals_gymnasiums_own_over_minigrid(bank: LevelBank) -> None:
    """The same spaces, observations, rewards and final observations as SyncVectorEnv in same-step mode."""
    mine = BabyAIVectorEnv(bank, N)
    makers = [lambda: gym.make("BabyAI-GoToLocal-v0", disable_env_checker=True)] * N
    theirs = gym.vector.SyncVectorEnv(makers, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    assert mine.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    assert mine.single_action_space == theirs.single_action_space
    observations, _ = mine.reset(options={"layouts": np.arange(N)})
    expected, _ = theirs.reset(seed=0)
    assert mine.observation_space["image"] == theirs.observation_space["image"]
    going, finals = np.ones(N, np.bool_), 0
    for step in actions(5, 64):
        for key in ("image", "direction", "mission"):
            assert all(np.array_equal(observations[key][i], expected[key][i]) for i in np.flatnonzero(going))
        observations, *mine_rest, info = mine.step(step)
        expected, *their_rest, their_info = theirs.step(step)
        for my_values, their_values in zip(mine_rest, their_rest, strict=True):
            assert np.allclose(my_values[going], their_values[going], atol=1e-7)
        for i in np.flatnonzero(going & (mine_rest[1] | mine_rest[2])):
            assert np.array_equal(info["final_obs"][i]["image"], their_info["final_obs"][i]["image"])
            assert info["final_obs"][i]["mission"] == their_info["final_obs"][i]["mission"]
            going[i] = False  # from here on each side is in an episode of its own
            finals += 1
    assert finals == N


def test_vector_env_options_and_seeds(bank: LevelBank) -> None:
    env = BabyAIVectorEnv(bank, N)
    first, _ = env.reset(seed=1)
    again, _ = env.reset(seed=1)
    assert np.array_equal(first["image"], again["image"])
    assert env.observation_space["image"].contains(first["image"])
    with pytest.raises(ValueError, match="unknown options"):
        env.reset(options={"colour": 1})
    with pytest.raises(ValueError, match="one seed"):
        env.reset(seed=[1] * N)
    with pytest.raises(ValueError, match="action"):
        env.step(np.full(N, 9))


def test_files_stay_where_they_are_told(bank: LevelBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    LevelBank.build("GoToObj", range(2))
    assert len(list(tmp_path.rglob("*.npz"))) == 1
