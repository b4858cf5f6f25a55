"""Practice in a learner's form: rows that are stepped at once and restart by themselves."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sdg.envs.domain import Domain
from sdg.skills.learning.ppo import PPOLearner, RowsVecEnv
from sdg.skills.learning.train import TrainSettings
from sdg.skills.policy.network import BitsPolicy, Policy
from sdg.skills.practice.env import ChainedPractice, PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.settings import PPOSettings


class PracticeVecEnv(RowsVecEnv):
    """Practice for a learner. A row ends when its check fires or its horizon is over.

    The horizon is the option's own (a skill that isn't done by then has failed), so it ends the episode and isn't a
    truncation to bootstrap from. Taking, dropping or breaking something on the way costs `side_effect_cost`: a program
    that calls the skill expects that full hands stay full and empty ones empty, and that things stay as they are.
    """

    def __init__(self, env: PracticeEnv, *, side_effect_cost: float = 0.0) -> None:
        super().__init__(len(env.age))
        self.inputs, self.env, self.side_effect_cost = env.inputs, env, side_effect_cost

    def reset(self) -> np.ndarray:
        """Start every row again."""
        self.env.restore_random(np.arange(self.num_envs))
        return self.env.features()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations u8 (n, size), rewards f32 (n,), dones bool (n,) and empty infos."""
        actions = self.env.unmirror(actions)
        has_cost = self.side_effect_cost > 0
        before = self.env.rows.holding() if has_cost else 0
        damage = self.env.rows.spoils(actions) if has_cost else False
        fired, over, _ = self.env.step(actions)
        rewards = fired.astype(np.float32)
        if has_cost:
            rewards[((self.env.rows.holding() != before) | damage) & ~fired] -= self.side_effect_cost
        dones = fired | over | (self.env.age >= self.env.horizon)
        rows = np.flatnonzero(dones)
        self.episodes += len(rows)
        self.successes += int(fired.sum())
        if len(rows):
            self.env.restore_random(rows)
        return self.env.features(), rewards, dones, self._infos


class ChainedVecEnv(RowsVecEnv):
    """Chained practice for a learner: an episode ends when the body is lost, or is cut off after `most` steps.

    A check that fires gives reward 1, nothing else does; losing the body costs `lost_cost`, unless that does the task.
    The end of a subgoal inside an episode isn't an end for the learner, because later subgoals still give reward.
    """

    def __init__(self, env: ChainedPractice, *, most: int, lost_cost: float = 0.0) -> None:
        super().__init__(len(env.age))
        self.inputs, self.env = env.inputs, env
        self.most, self.lost_cost = most, lost_cost
        self.lived = np.zeros(self.num_envs, np.int64)

    def reset(self) -> np.ndarray:
        """Start every row again, each at a different age, so that not all are cut off at once."""
        self.begin(np.arange(self.num_envs))
        self.lived = np.arange(self.num_envs) * self.most // self.num_envs
        return self.env.features()

    def begin(self, rows: np.ndarray) -> None:
        """Put rows into moments drawn from the pool."""
        self.env.restore_random(rows)

    def notice(
        self, actions: np.ndarray, *, fired: np.ndarray, over: np.ndarray, won: np.ndarray, ended: np.ndarray
    ) -> None:
        """Count attempts, with a step's results, before rows go on. `won`: the task was done."""
        self.episodes += int(ended.sum())
        self.successes += int(fired.sum())

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations (n, size), rewards f32 (n,), dones bool (n,), infos as stable-baselines3 reads them."""
        env = self.env
        actions = env.unmirror(actions)
        fired, over, won = env.step(actions)
        self.lived += 1
        lost = over | env.are_lost()
        ended = fired | lost | (env.age >= env.horizon)
        self.notice(actions, fired=fired, over=lost, won=won, ended=ended)
        rewards = fired - self.lost_cost * (lost & ~won)
        dones = lost | (self.lived >= self.most)
        onward = np.flatnonzero(ended & ~dones)
        if len(onward):
            stuck = env.go_on(onward, reached=fired[onward])
            lost[stuck] = dones[stuck] = True
        infos = self._infos
        if dones.any():
            rows = np.flatnonzero(dones)
            infos = self.infos_of(rows, env.features()[rows], cut=~lost)
            self.begin(rows)
            self.lived[rows] = 0
        return env.features(), rewards.astype(np.float32), dones, infos


class _PPO:
    """The project's own learner (`sdg.skills.learners.Learner`)."""

    def practise(self, starts: Starts, settings: TrainSettings, *, seed: int, init_policy: Policy | None) -> PPOLearner:
        """PPO on `starts`; a row's horizon is the skill's own."""
        env = PracticeEnv(
            starts,
            settings.n_envs,
            horizon=settings.horizon,
            seed=seed,
            require_same_place=settings.require_same_place,
        )
        return PPOLearner(
            PracticeVecEnv(env, side_effect_cost=settings.side_effect_cost),
            PPOSettings(**settings.ppo),
            seed=seed,
            init_policy=init_policy,
        )

    def policy(self, weights: Mapping[str, np.ndarray], domain: Domain) -> Policy:
        """A policy over the domain's inputs."""
        return BitsPolicy(weights, domain.inputs)


PPO = _PPO()
