"""PPO for one skill on the batched engine (SDG, section 4.4 and appendix; Schulman et al., 2017).

The algorithm, its order of work and its settings are stable-baselines3's; the network is
`skills/learning/gradients.py`, which exploits that inputs are bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from sdg.envs.batch import Inputs
from sdg.skills.learning.gradients import Batch, BitRows, Network
from sdg.skills.policy.network import BitsPolicy, Policy
from sdg.skills.settings import PPOSettings


class RowsVecEnv(ABC):
    """n rows of arrays, not objects, as a learner needs them: stepped at once, and restarted by themselves."""

    inputs: Inputs
    """The form of observations, and the number of actions."""
    episodes = successes = 0
    """Attempts that ended, and those that succeeded, since both were last set to 0."""

    def __init__(self, n: int) -> None:
        self.num_envs = n
        self._infos: list[dict[str, Any]] = [{} for _ in range(n)]

    @abstractmethod
    def reset(self) -> np.ndarray:
        """Begin every row: observations (n, size)."""

    @abstractmethod
    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations (n, size), rewards f32 (n,), dones bool (n,), infos as stable-baselines3 reads them: with
        `TimeLimit.truncated` there is a `terminal_observation`, too."""

    def infos_of(self, ended: np.ndarray, last: np.ndarray, *, cut: np.ndarray) -> list[dict[str, Any]]:
        """The infos of a step in which the rows `ended`, each with its last observation; `cut` bool (n,): by a limit of
        time alone."""
        infos = list(self._infos)
        for row, observation in zip(ended, last, strict=True):
            infos[row] = {"TimeLimit.truncated": bool(cut[row]), "terminal_observation": observation}
        return infos


class PPOLearner:
    """Learns one policy on environments whose observations are binary vectors; can go on from an earlier policy."""

    def __init__(
        self, env: RowsVecEnv, settings: PPOSettings = PPOSettings(), *, seed: int, init_policy: Policy | None = None
    ) -> None:
        self.env, self.settings, self.steps = env, settings, 0
        self._rng = np.random.default_rng(seed)
        self.network = Network.create(env.inputs, settings.hidden, self._rng)
        self._rollout = _Rollout(settings.n_steps, env.num_envs, env.inputs)
        self._observations: np.ndarray = np.zeros((0, 0), np.uint8)
        if init_policy is not None:
            self.network.load(init_policy)

    def learn(
        self,
        total_timesteps: int,
        *,
        callback: Callable[["PPOLearner", int], bool],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Train for `total_timesteps` more, in whole rollouts; returns all steps taken so far.

        After each rollout, before the network learns from it, `callback(self, steps)` is asked whether to go on;
        after each step `should_stop()` may end training; the network still learns from what was collected until then.
        """
        last = self.steps + total_timesteps
        if not len(self._observations):
            self._observations = self.env.reset()
        goes_on = True
        while goes_on and self.steps < last:
            goes_on = self._collect(should_stop)
            if not callback(self, self.steps):
                break
            settings, rollout = self.settings, self._rollout
            batch = rollout.batch()
            for _ in range(settings.n_epochs):
                order = self._rng.permutation(rollout.inputs.used)
                for first in range(0, len(order), settings.batch_size):
                    self.network.compute_gradient(
                        rollout.inputs, batch, order[first : first + settings.batch_size], settings
                    )
                    self.network.adam_step(settings.learning_rate, settings.max_grad_norm)
        return self.steps

    def bias_actions(self, logits: np.ndarray) -> None:
        """Set the actor's output biases to these logits, to which an untrained network adds almost nothing."""
        self.network.views(self.network.parameters)[5][:-1] = logits

    def policy(self) -> BitsPolicy:
        """The current policy as plain arrays."""
        return self.network.policy()

    def _draw(self, logits: np.ndarray) -> np.ndarray:
        return np.argmax(logits + self._rng.gumbel(size=logits.shape), axis=1)

    def _collect(self, should_stop: Callable[[], bool]) -> bool:
        """Fill the rollout; False if `should_stop` ended it early."""
        rollout, n = self._rollout, self.env.num_envs
        goes_on = True
        rollout.inputs.used = 0
        for t in range(self.settings.n_steps):
            logits, rollout.values[t] = self.network.evaluate(rollout.inputs, rollout.inputs.append(self._observations))
            rollout.actions[t] = actions = self._draw(logits)
            top = logits.max(axis=1)
            log_sum = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
            rollout.log_probabilities[t] = logits[np.arange(n), actions] - log_sum
            self._observations, rewards, rollout.dones[t], infos = self.env.step(actions)
            rollout.rewards[t] = rewards + self._truncation_bootstrap(rollout.dones[t], infos)
            self.steps += n
            rollout.length, goes_on = t + 1, not should_stop()
            if not goes_on:
                break
        inputs = BitRows(self.env.inputs, n)
        _, last = self.network.evaluate(inputs, inputs.append(self._observations))
        rollout.compute_advantages(last, self.settings.gamma, self.settings.gae_lambda)
        return goes_on

    def _truncation_bootstrap(self, dones: np.ndarray, infos: list[dict[str, Any]]) -> np.ndarray:
        """The remaining value of episodes that only the time limit ended: f32 (n,)."""
        worth = np.zeros(len(dones), np.float32)
        rows = [i for i in np.flatnonzero(dones).tolist() if infos[i].get("TimeLimit.truncated")]
        if rows:
            inputs = BitRows(self.env.inputs, len(rows))
            numbers = inputs.append(np.stack([infos[i]["terminal_observation"] for i in rows]))
            worth[rows] = np.float32(self.settings.gamma) * self.network.evaluate(inputs, numbers)[1]
        return worth


class _Rollout:
    """T steps of n environments, in arrays (T, n), of which the first `length` are filled."""

    def __init__(self, n_steps: int, n_envs: int, inputs: Inputs) -> None:
        self.inputs, self.length = BitRows(inputs, n_steps * n_envs), n_steps
        self.actions = np.zeros((n_steps, n_envs), np.int64)
        self.dones = np.zeros((n_steps, n_envs), np.bool_)
        self.log_probabilities, self.values, self.rewards, self.advantages = np.zeros((4, n_steps, n_envs), np.float32)

    def compute_advantages(self, last: np.ndarray, gamma: float, gae_lambda: float) -> None:
        """Generalised advantage estimation (Schulman et al., 2016); `last` f32 (n,) are the values after the end."""
        next_values, advantage = last, np.zeros_like(last)
        for t in reversed(range(self.length)):
            discount = np.float32(gamma) * ~self.dones[t]
            advantage = (
                self.rewards[t]
                + discount * next_values
                - self.values[t]
                + discount * np.float32(gae_lambda) * advantage
            )
            self.advantages[t] = advantage
            next_values = self.values[t]

    def batch(self) -> Batch:
        """All samples, in the order of `inputs`."""
        span = slice(self.length)
        advantages, values = self.advantages[span].ravel(), self.values[span].ravel()
        return Batch(self.actions[span].ravel(), self.log_probabilities[span].ravel(), advantages, advantages + values)
