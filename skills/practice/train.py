"""Training one skill on the subgoals of its cluster (SDG, section 4.4): PPO, held-out starts, the best policy kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdg.skills.checks.reward import BatchReward
from sdg.skills.learning.settings import PPOSettings
from sdg.skills.policy.network import Policy
from sdg.skills.practice.env import Arena, success_of
from sdg.skills.practice.starts import Starts
from sdg.skills.settings import Count, NotNegative, Size


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Practice of one skill. It ends at `total_timesteps`, or when `target_success` of the held-out starts succeed in
    `confirmations` evaluations in a row, or after `patience` evaluations without a gain."""

    total_timesteps: Count = 60_000
    """most environment steps (of round 2, where there are rounds)"""
    n_envs: Size = 256
    """environments a skill learns in side by side"""
    horizon: Size = 40
    """steps of one attempt at a skill"""
    evaluate_every: Count = 20_000
    """environment steps between two evaluations"""
    target_success: NotNegative = 0.998
    """validation success at which learning stops early; above 1: never"""
    confirmations: Count = 2
    """evaluations in a row that must reach it"""
    patience: Count = 6
    """evaluations without a gain before learning stops"""
    validation_starts: Size = 400
    """held-out starts of an evaluation"""
    side_effect_cost: NotNegative = 0.3
    """taken from the reward for each thing that changes by the way"""
    stays: bool = False
    """whether a check counts only in the room in which the attempt began"""
    ppo: PPOSettings = field(default_factory=PPOSettings)
    """how a skill is learned"""
    babyai: dict[str, int] | None = None
    """null: the policy over the remembered map; {width: 32, words: 64}: the BabyAI paper's model of these sizes"""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a learning curve: rates in [0, 1], the mean steps of held-out episodes and the steps within which
    99 % of those that succeeded did."""

    environment_steps: int
    train_success: float
    validation_success: float
    validation_steps: float
    steps_99: float
    episodes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Trained:
    """The best policy on held-out starts, its curve and what it cost."""

    policy: Policy
    curve: tuple[Point, ...]
    environment_steps: int
    best: Point


def open_starts(starts: Starts) -> Starts:
    """The starts whose check isn't true already: there is nothing to learn at the others."""
    return starts.take(np.flatnonzero(~are_done(starts)))


def are_done(starts: Starts) -> np.ndarray:
    """bool (M,): whether each start's check is true already."""
    return BatchReward(starts.checks)(starts.memory, starts.check_of)


def train(
    starts: Starts,
    validation: Starts,
    settings: TrainSettings,
    *,
    seed: int,
    warm: Policy | None = None,
    good_enough: float | None = None,
    heard: Callable[[Point], None] = lambda point: None,
) -> Trained:
    """PPO on `starts`; `heard` is told each point of the curve as it is measured. Raises ValueError without starts.

    With `good_enough` the policy to begin with is evaluated, too, and kept as it is where it succeeds that often.
    """
    if not len(starts) or not len(validation):
        raise ValueError("a skill needs starts to practise on and to be judged on; this one has none")
    env, learner = _equipped(starts, settings, seed=seed, warm=warm)
    watcher = _Watcher(env, validation, settings=settings, seed=seed, heard=heard)
    if good_enough is not None:
        watcher.evaluate(learner, 0)
        if watcher.best.validation_success >= good_enough:
            return Trained(learner.policy(), tuple(watcher.curve), 0, watcher.best)
    steps = learner.learn(settings.total_timesteps, watch=watcher)
    if not watcher.curve or watcher.curve[-1].environment_steps < steps:
        watcher.evaluate(learner, steps)
    assert watcher.policy is not None
    return Trained(watcher.policy, tuple(watcher.curve), steps, watcher.best)


def _equipped(starts: Starts, settings: TrainSettings, *, seed: int, warm: Policy | None) -> tuple[Any, Any]:
    """The environment and the learner of the kind of policy that the settings name."""
    if settings.babyai is not None:
        from sdg.skills.learning.paper_model import practice

        return practice(starts, settings, settings.babyai, seed=seed, warm=warm)
    from sdg.skills.learning.ppo import PPOLearner
    from sdg.skills.learning.vec_env import ArenaVecEnv

    arena = Arena(starts, settings.n_envs, horizon=settings.horizon, seed=seed, stays=settings.stays)
    env = ArenaVecEnv(arena, side_effect_cost=settings.side_effect_cost)
    return env, PPOLearner(env, settings.ppo, seed=seed, start=warm)


class _Watcher:
    """Evaluates after rollouts, keeps the best policy and says when it is time to stop."""

    def __init__(
        self, env: Any, validation: Starts, *, settings: TrainSettings, seed: int, heard: Callable[[Point], None]
    ) -> None:
        self.env, self.validation, self.settings, self.seed, self.heard = env, validation, settings, seed, heard
        self.curve: list[Point] = []
        self.policy: Policy | None = None
        self.best = Point(0, 0.0, -1.0, float("inf"), 0.0, 0, 0.0)
        self.since_best = self.good = 0
        self.began = time.monotonic()

    def __call__(self, learner: Any, steps: int) -> bool:
        last = self.curve[-1].environment_steps if self.curve else 0
        if steps - last < self.settings.evaluate_every:
            return True
        self.evaluate(learner, steps)
        return self.good < self.settings.confirmations and self.since_best < self.settings.patience

    def evaluate(self, learner: Any, steps: int) -> None:
        policy = learner.policy()
        chosen = self.settings
        reached, taken = success_of(policy, self.validation, horizon=chosen.horizon, seed=self.seed, stays=chosen.stays)
        rate = self.env.successes / max(1, self.env.episodes)
        self.env.successes = self.env.episodes = 0
        seconds = round(time.monotonic() - self.began, 3)
        slowest = float(np.quantile(taken[reached], 0.99)) if reached.any() else 0.0
        point = Point(steps, rate, float(reached.mean()), float(taken.mean()), slowest, len(reached), seconds)
        self.curve.append(point)
        self.heard(point)
        self.good = self.good + 1 if point.validation_success >= self.settings.target_success else 0
        better = (point.validation_success, -point.validation_steps) > (
            self.best.validation_success,
            -self.best.validation_steps,
        )
        self.since_best = 0 if better else self.since_best + 1
        if better:
            self.best, self.policy = point, policy
