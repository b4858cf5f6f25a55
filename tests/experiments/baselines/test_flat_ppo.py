"""The flat PPO baseline: paid by the level's own reward, judged when failures had time to end."""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.practice.inputs import CELLS
from sdg.experiments.baselines.paper_model import FlatVecEnv, PaperShape, train_paper_model
from sdg.skills.learning.ppo import PPOSettings


def test_the_environment_pays_what_the_level_pays() -> None:
    bank = LevelBank.build("GoToObj", range(30))
    env, rng = FlatVecEnv(bank, 8, seed=0), np.random.default_rng(0)
    observations = env.reset()
    assert observations.shape == (8, CELLS + 2)
    paid = truncated = ended = 0
    for _ in range(200):
        observations, rewards, dones, infos = env.step(rng.integers(6, size=8))
        assert not rewards[~dones].any()
        for i in np.flatnonzero(dones):
            ended += 1
            paid += int(rewards[i] > 0)
            cut = infos[i]["TimeLimit.truncated"]
            truncated += cut
            assert not (cut and rewards[i] > 0)
            assert infos[i]["terminal_observation"].shape == (CELLS + 2,)
        numbers = observations[:, CELLS].astype(int) * 256 + observations[:, CELLS + 1]
        assert [bank.missions[n] for n in numbers] == [env.engine.mission(i) for i in range(8)]
    assert paid > 0
    assert truncated > 0
    assert env.episodes == ended


def test_a_policy_is_trained_for_so_many_steps() -> None:
    bank = LevelBank.build("GoToObj", range(30))
    ppo, shape = PPOSettings(n_steps=8, batch_size=256), PaperShape(8, 8)
    policy, steps, episodes = train_paper_model(bank, timesteps=1000, seed=0, shape=shape, ppo=ppo)
    assert steps == 1024
    assert episodes > 0
    assert policy.weights["head.weight"].shape[0] > 0
