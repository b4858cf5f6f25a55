"""The flat PPO baseline: trained on the level's own reward, stored, and played under the common harness."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.practice.paper_view import CELLS
from sdg.experiments.bench import flat as bench_flat
from sdg.experiments.bench import table1 as bench_table1
from sdg.experiments.cli.errors import UserError
from sdg.run.records import load_policy
from sdg.skills.policy.paper_model import BabyAIPolicy


def test_the_environment_pays_what_the_level_pays() -> None:
    from sdg.skills.learning.flat import FlatVecEnv

    bank = LevelBank.build("GoToObj", range(30))
    env, rng = FlatVecEnv(bank, 8, seed=0), np.random.default_rng(0)
    seen = env.reset()
    assert seen.shape == (8, CELLS + 2)
    paid = truncated = ended = 0
    for _ in range(200):
        env.step_async(rng.integers(6, size=8))
        seen, rewards, dones, infos = env.step_wait()
        assert not rewards[~dones].any()
        for i in np.flatnonzero(dones):
            ended += 1
            paid += int(rewards[i] > 0)
            cut = infos[i]["TimeLimit.truncated"]
            truncated += cut
            assert not (cut and rewards[i] > 0)
            assert infos[i]["terminal_observation"].shape == (CELLS + 2,)
        numbers = seen[:, CELLS].astype(int) * 256 + seen[:, CELLS + 1]
        assert [bank.missions[n] for n in numbers] == [env.engine.mission(i) for i in range(8)]
    assert paid > 0
    assert truncated > 0
    assert env.ended == ended
    assert env.success() == pytest.approx(paid / ended)


def test_policies_are_trained_once_and_played_beside_others(tmp_path: Path) -> None:
    shared = {"levels": ("GoToObj",), "steps": 9000, "layouts": 60, "width": 8, "words": 8, "processes": 1}
    out = tmp_path / "flat"
    agents = ("ppo-flat", "random")
    table = bench_flat.rows(instructions=3, agents=agents, out=str(out), **shared)  # type: ignore[arg-type]
    assert [row["agent"] for row in table] == list(agents)
    assert table[0]["environment_steps"] >= 9000
    assert table[1]["environment_steps"] is None
    assert isinstance(load_policy(out, "GoToObj"), BabyAIPolicy)
    before = (out / "flat.jsonl").read_text()
    row = json.loads(before)
    assert row["curve"]
    again = bench_flat.rows(instructions=3, agents=agents, out=str(out), **shared)  # type: ignore[arg-type]
    assert (out / "flat.jsonl").read_text() == before
    assert [each["success_rate"] for each in again] == [each["success_rate"] for each in table]
    asked = {"instructions": 2, "repeats": 1, "levels": ("GoToObj",), "agents": ("ppo-flat",), "processes": 1}
    there = bench_table1.rows(flat=out, out=str(tmp_path / "t"), **asked)  # type: ignore[arg-type]
    assert [each["agent"] for each in there] == ["ppo-flat"]
    with pytest.raises(UserError, match="no flat policy for GoToObj"):
        bench_table1.rows(flat=tmp_path / "none", out=str(tmp_path / "u"), **asked)  # type: ignore[arg-type]


def test_success_is_noted_when_failures_had_time_to_end() -> None:
    from sdg.skills.learning.flat import FlatSettings, train_flat
    from sdg.skills.learning.paper_model import BabyAIShape
    from sdg.skills.learning.ppo import PPOSettings

    bank = LevelBank.build("GoToObj", range(30))
    settings = FlatSettings(6000, n_envs=16, ppo=PPOSettings(n_steps=16, batch_size=256), shape=BabyAIShape(8, 8))
    trained = train_flat(bank, settings, seed=0)
    whole = int(bank.layouts.max_steps.max()) * settings.n_envs
    times = [0, *(steps for steps, _ in trained.curve)]
    assert len(times) > 2
    assert all(later - earlier >= whole for earlier, later in pairwise(times))
