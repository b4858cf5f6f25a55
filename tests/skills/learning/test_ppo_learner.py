"""The loop around the network: what it hands on, what it learns, when it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.skills.learning.ppo import PPOLearner, PPOSettings, _Rollout

N = 16
SMALL = PPOSettings(n_steps=8, batch_size=64, hidden=(16, 16), learning_rate=3e-3)


class Signs:
    """One bit says which action is paid; an episode ends with the step that `ends` names."""

    num_envs, inputs = N, MAP_INPUTS

    def __init__(self, *, cut: bool = False, ends: int = 1) -> None:
        self.rng, self.cut, self.ends, self.age = np.random.default_rng(0), cut, ends, 0
        self.wanted = np.zeros(N, np.int64)

    def reset(self) -> np.ndarray:
        self.wanted = self.rng.integers(0, 6, N)
        observations = np.zeros((N, MAP_INPUTS.size), np.uint8)
        observations[np.arange(N), self.wanted] = 1
        return observations

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        rewards, self.age = (actions == self.wanted).astype(np.float32), self.age + 1
        last = self.reset()
        dones = np.full(N, self.age % self.ends == 0)
        info = {"TimeLimit.truncated": self.cut, "terminal_observation": last[0]}
        return self.reset(), rewards, dones, [info] * N


def always(_learner: PPOLearner, _steps: int) -> bool:
    return True


def choose_actions(learner: PPOLearner, observations: np.ndarray) -> np.ndarray:
    logits = learner.policy().outputs(observations)
    return (logits + np.random.default_rng(1).gumbel(size=logits.shape)).argmax(axis=1)


def test_it_learns() -> None:
    env = Signs()
    learner = PPOLearner(env, SMALL, seed=0)
    assert learner.learn(6000, callback=always) == 6016, "whole rollouts"
    rates = [(choose_actions(learner, env.reset()) == env.wanted).mean() for _ in range(20)]
    assert np.mean(rates) > 0.9


def test_the_same_seed_gives_the_same_weights_to_the_bit() -> None:
    def learned(seed: int) -> np.ndarray:
        learner = PPOLearner(Signs(), SMALL, seed=seed)
        learner.learn(1000, callback=always)
        return learner.network.parameters

    assert (learned(1) == learned(1)).all()
    assert (learned(1) != learned(2)).any()


def test_learning_goes_on_where_it_stood() -> None:
    learner = PPOLearner(Signs(), SMALL, seed=0)
    assert learner.learn(128, callback=always) == 128
    assert learner.learn(128, callback=always) == 256


def test_whoever_watches_ends_it_before_the_update() -> None:
    steps_seen: list[int] = []

    def watch(learner: PPOLearner, steps: int) -> bool:
        steps_seen.append(steps)
        return len(steps_seen) < 2

    learner = PPOLearner(Signs(), SMALL, seed=0)
    first = learner.network.parameters.copy()
    assert learner.learn(10_000, callback=watch) == 256
    assert steps_seen == [128, 256]
    assert (learner.network.parameters != first).any()


def test_stop_ends_it_within_a_rollout() -> None:
    env = Signs()
    learner = PPOLearner(env, SMALL, seed=0)
    first = learner.network.parameters.copy()
    assert learner.learn(10_000, callback=always, should_stop=lambda: env.age == 3) == 3 * N
    assert (learner.network.parameters != first).any(), "what led to the end is what there is to learn from"


def test_what_only_the_clock_ended_is_still_worth_something() -> None:
    rewards = {}
    for cut in (False, True):
        learner = PPOLearner(Signs(cut=cut), PPOSettings(n_steps=4, hidden=(16, 16)), seed=0)
        learner.network.views(learner.network.parameters)[5][-1] = 5.0  # every state seems to be worth about 5
        learner.learn(4 * N, callback=lambda *_: False)
        rewards[cut] = learner._rollout.rewards
    assert rewards[False].max() <= 1
    assert np.abs(rewards[True] - rewards[False] - 0.97 * 5).max() < 2
    assert (rewards[True] - rewards[False]).min() > 3


def test_advantages_are_stable_baselines_own() -> None:
    import torch
    from gymnasium import spaces
    from stable_baselines3.common.buffers import RolloutBuffer

    rng = np.random.default_rng(0)
    mine, last = _Rollout(8, N, MAP_INPUTS), rng.standard_normal(N).astype(np.float32)
    mine.rewards[:], mine.values[:] = rng.standard_normal((2, 8, N))
    mine.dones[:] = rng.random((8, N)) < 0.3
    mine.compute_advantages(last, 0.9, 0.8)
    space = spaces.Box(0, 1, (1,))
    its = RolloutBuffer(8, space, spaces.Discrete(6), gamma=0.9, gae_lambda=0.8, n_envs=N)
    its.rewards, its.values = mine.rewards, mine.values
    its.episode_starts = np.concatenate([np.zeros((1, N)), mine.dones[:-1]]).astype(np.float32)
    its.compute_returns_and_advantage(torch.as_tensor(last), mine.dones[-1])
    np.testing.assert_allclose(mine.advantages, its.advantages, atol=1e-5)


def test_first_preferences_and_an_earlier_policy() -> None:
    learner = PPOLearner(Signs(), SMALL, seed=0)
    learner.bias_actions(np.array([0, 0, 9, 0, 0, 0]))
    assert (choose_actions(learner, Signs().reset()) == 2).mean() > 0.9
    again = PPOLearner(Signs(), SMALL, seed=7, init_policy=learner.policy())
    assert (choose_actions(again, Signs().reset()) == 2).mean() > 0.9
    with pytest.raises(ValueError, match="w1"):
        PPOLearner(Signs(), PPOSettings(), seed=0, init_policy=learner.policy())
