"""The level that the PPO benchmark trains on is the same on minigrid and on the engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.instructions import SPLITS

SEEDS = range(SPLITS["training"].start, SPLITS["training"].start + 12)


def test_both_sides_give_the_same_inputs_rewards_and_endings(tmp_path: Path) -> None:
    from sdg.experiments.baselines.level_env import LevelVecEnv, WorldEnv

    bank = LevelBank.build("GoToLocal", np.arange(SEEDS.start, SEEDS.stop), cache_dir=tmp_path)
    env = LevelVecEnv(bank, 4, seed=0)
    seen = env.reset()
    twins = [WorldEnv("GoToLocal", lambda i=i: int(bank.seeds[env.state.layout[i]])) for i in range(4)]  # type: ignore[misc]
    assert all(np.array_equal(twin.reset()[0], seen[i]) for i, twin in enumerate(twins))
    rng, ends = np.random.default_rng(0), 0
    for _ in range(150):
        actions = rng.integers(0, 6, 4)
        env.step_async(actions)
        seen, rewards, dones, infos = env.step_wait()
        for i, twin in enumerate(twins):
            features, reward, terminated, truncated, _ = twin.step(int(actions[i]))
            assert rewards[i] == np.float32(reward)
            assert dones[i] == (terminated or truncated)
            if dones[i]:
                assert np.array_equal(infos[i]["terminal_observation"], features)
                assert infos[i]["TimeLimit.truncated"] == (truncated and not terminated)
                features, ends = twin.reset()[0], ends + 1
            assert np.array_equal(features, seen[i])
    assert ends > 4


def test_a_mission_that_is_not_one_place_is_refused() -> None:
    from sdg.experiments.baselines.level_env import target_of

    with pytest.raises(ValueError, match="not a mission"):
        target_of("pick up the red ball")


def test_rows_of_the_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sdg.experiments.bench.engine import ppo as bench_ppo

    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(bench_ppo, "BANK", 50)
    monkeypatch.setattr(bench_ppo, "EVALUATION", 20)
    row, end = bench_ppo.rows(seed=4, seeds=1, cap=0.1, only="c")
    assert row["seed"] == 4
    assert row["steps"] >= 16 * 256
    assert row["steps_per_second"] > 0
    assert 0 < row["simulator_share"] < row["environment_share"] < 1
    assert 0 <= row["success"] <= 1
    assert end["steps_per_second_c"] == row["steps_per_second"]


def test_what_the_rows_come_to() -> None:
    from sdg.experiments.bench.engine.ppo import Learning, summary

    slow = [Learning("a", 16, 100, steps=1000 * k, seconds=100, reached={0.95: (20.0 * k, 9)}) for k in (1, 2, 3)]
    fast = [Learning("c", 256, 9, steps=500, seconds=1, reached={0.95: (2.0, 9), 0.99: (4.0, 9)})] * 3
    row = summary([*slow, *fast])
    assert row["seeds"] == 3
    assert row["c_over_a"] == 500 / 20
    assert row["c_faster_than_a_to_95%"] == 20
    assert row["c_faster_than_a_to_99%"] == 25, "a did not get there in 100 seconds"


def test_the_curve_over_the_size_of_the_bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sdg.experiments.bench.engine import bank as bench_bank

    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(bench_bank, "EVALUATION", 10)
    done = list(bench_bank.rows(sizes=(4, 8), steps=8000, plot=tmp_path / "bank.svg"))
    assert [row["bank"] for row in done] == [4, 8]
    assert done[0]["reuse"] > done[1]["reuse"] > 1
    assert done[0]["steps_per_second_with_generation"] < done[0]["steps_per_second"]
    assert (tmp_path / "bank.svg").read_bytes().startswith(b"<?xml")


def test_the_network_with_embedding_bag_is_the_learners() -> None:
    from sdg.envs.babyai.practice.features import SIZE
    from sdg.envs.babyai.practice.inputs import MAP_INPUTS, N_ACTIONS
    from sdg.experiments.baselines.embedding_bag import BagNetwork
    from sdg.skills.learning.gradients import Batch, Inputs, Loss, Network

    rng, n = np.random.default_rng(0), 60
    own = Network.create(MAP_INPUTS, (24, 12), rng)
    bag = BagNetwork.of(Network(MAP_INPUTS, (24, 12), own.parameters.copy()))
    inputs = Inputs(MAP_INPUTS, n)
    inputs.append((rng.random((n, SIZE)) < 0.1).astype(np.uint8))
    batch = Batch(rng.integers(0, N_ACTIONS, n), *rng.standard_normal((3, n)).astype(np.float32))
    before = own.parameters.copy()
    for _ in range(3):
        for network in (own, bag):
            network.compute_gradient(inputs, batch, rng.permutation(n), Loss(0.2, 0.01))
            network.adam_step(1e-3, 0.5)
    assert np.abs(own.parameters - before).max() > 1e-3
    np.testing.assert_allclose(bag.parameters, own.parameters, atol=1e-4)
    for mine, its in zip(own.evaluate(inputs, slice(0, n)), bag.evaluate(inputs, slice(0, n)), strict=True):
        np.testing.assert_allclose(its, mine, atol=1e-3)
