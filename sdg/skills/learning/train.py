"""Training one skill on the subgoals of its cluster (SDG, section 4.4): PPO, held-out starts, the best policy kept."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdg.skills.checks.reward import BatchReward
from sdg.skills.learners import LEARNERS, Practice, policy_of
from sdg.skills.policy.network import Policy, round_weights
from sdg.skills.practice.env import success_of
from sdg.skills.practice.starts import Starts, are_possible, join
from sdg.skills.settings import Count, NotNegative, Size

VALIDATION, ROLL_INS, REPLAYS = "validation", "roll-ins", "replays"
"""Uses of environment steps besides practice."""

HELD_OUT, PRACTICE = "held out", "practice"
"""Which starts chose a policy."""


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Practice of one skill. It ends at `total_timesteps`, or when `target_success` of the held-out starts succeed in
    `confirmations` evaluations in a row, or after `patience` evaluations without a gain."""

    total_timesteps: Count = 60_000
    """most environment steps (of round 2, where there are rounds)"""
    n_envs: Size = 256
    """environments in which a skill learns at once"""
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
    """subtracted from the reward for each thing that changes on the way"""
    require_same_place: bool = False
    """whether a check counts only in the part of the world in which the attempt began"""
    learner: str = "ppo"
    """learner of skills: a key of sdg.skills.learners.LEARNERS, or module:attribute"""
    ppo: dict[str, Any] = field(default_factory=dict)
    """the learner's own settings that differ from its defaults, such as {batch_size: 256}"""
    network: dict[str, Any] = field(default_factory=dict)
    """sizes of its network that differ from its defaults, such as {width: 128}"""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a learning curve: rates in [0, 1], the mean steps of held-out episodes and the steps that sufficed
    for 99 % of their successes."""

    environment_steps: int
    train_success: float
    validation_success: float
    validation_steps: float
    steps_99: float
    episodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SkillEvaluation:
    """A finished policy's results within `horizon` steps from `episodes` starts that decided nothing, each played once.

    `success_known` is the rate in [0, 1] over starts where what was perceived doesn't rule the subgoal out, without the
    `left_out` others; None where none is left.
    """

    success_rate: float
    episodes: int
    horizon: int
    success_known: float | None
    left_out: int


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """The weights of the best policy on held-out starts, its curve and what it cost: plain data, for any process.

    `other_steps` are environment steps besides practice, by purpose (`validation`, `roll-ins`, `replays`); `measured`
    is None where too few starts were left to measure it.
    `judged_on` is HELD_OUT, or PRACTICE where there were too few held-out starts even to choose by.
    """

    weights: Mapping[str, np.ndarray]
    curve: tuple[Point, ...]
    environment_steps: int
    best: Point
    other_steps: Mapping[str, int] = field(default_factory=dict)
    measured: SkillEvaluation | None = None
    judged_on: str = HELD_OUT


def open_starts(starts: Starts) -> Starts:
    """The starts whose check isn't true already; at the others there is nothing to learn."""
    return starts.take(np.flatnonzero(~are_done(starts)))


def join_open(parts: Iterable[Starts | None]) -> Starts | None:
    """The open starts of all parts; None without any."""
    open_parts = [open_part for part in parts if part is not None and len(open_part := open_starts(part))]
    return join(open_parts) if open_parts else None


def are_done(starts: Starts) -> np.ndarray:
    """bool (M,): whether each start's check is true already."""
    return BatchReward(starts.checks, starts.domain)(starts.memory, starts.check_of)


def measure(
    policy: Policy, starts: Starts, settings: TrainSettings, *, horizon: int, seed: int
) -> tuple[SkillEvaluation, int]:
    """Play every start once with sampled actions; returns the results and the environment steps taken."""
    reached, steps = success_of(
        policy, starts, horizon=horizon, seed=seed, require_same_place=settings.require_same_place
    )
    possible = are_possible(starts.rows, starts.targets, range(len(starts)))
    success_known = float(reached[possible].mean()) if possible.any() else None
    return (
        SkillEvaluation(float(reached.mean()), len(starts), horizon, success_known, left_out=int((~possible).sum())),
        int(steps.sum()),
    )


def train(
    starts: Starts,
    validation: Starts,
    settings: TrainSettings,
    *,
    seed: int,
    init_policy: Policy | None = None,
    good_enough: float | None = None,
    on_evaluation: Callable[[Point], None] = lambda point: None,
) -> TrainingResult:
    """Learn on `starts`; the callback `on_evaluation` gets each point of the curve. Raises ValueError without starts.

    With `good_enough` the first policy is evaluated, too, and kept as it is if it succeeds that often.
    """
    if not len(starts) or not len(validation):
        raise ValueError("a skill needs starts to practise on and to be judged on; this one has none")
    learner = LEARNERS.get(settings.learner).practise(starts, settings, seed=seed, init_policy=init_policy)
    watcher = _Evaluation(validation, settings=settings, seed=seed, on_evaluation=on_evaluation)
    steps = 0
    if good_enough is not None:
        watcher.evaluate(learner, steps)
    if good_enough is None or watcher.best.validation_success < good_enough:
        steps = learner.learn(settings.total_timesteps, callback=watcher)
    if not watcher.curve or watcher.curve[-1].environment_steps < steps:
        watcher.evaluate(learner, steps)
    assert watcher.policy is not None
    return TrainingResult(
        watcher.policy.weights, tuple(watcher.curve), steps, watcher.best, {VALIDATION: watcher.steps}
    )


class _Evaluation:
    """Evaluates after rollouts, keeps the best policy and says when it is time to stop."""

    def __init__(
        self,
        validation: Starts,
        *,
        settings: TrainSettings,
        seed: int,
        on_evaluation: Callable[[Point], None],
    ) -> None:
        self.validation, self.settings, self.seed = validation, settings, seed
        self.on_evaluation = on_evaluation
        self.curve: list[Point] = []
        self.policy: Policy | None = None
        self.best = Point(0, 0.0, -1.0, float("inf"), 0.0, 0, 0.0)
        self.since_best = self.good_in_a_row = self.steps = 0
        self.started_at = time.monotonic()

    def __call__(self, learner: Practice, steps: int) -> bool:
        if steps - (self.curve[-1].environment_steps if self.curve else 0) < self.settings.evaluate_every:
            return True
        self.evaluate(learner, steps)
        return self.good_in_a_row < self.settings.confirmations and self.since_best < self.settings.patience

    def evaluate(self, learner: Practice, steps: int) -> None:
        settings = self.settings
        # Judge what will be stored: weights rounded to half the space.
        policy = policy_of(round_weights(learner.policy().weights), self.validation.domain, settings.learner)
        reached, lengths = success_of(
            policy,
            self.validation,
            horizon=settings.horizon,
            seed=self.seed,
            require_same_place=settings.require_same_place,
        )
        self.steps += int(lengths.sum())
        point = Point(
            environment_steps=steps,
            train_success=learner.env.successes / max(1, learner.env.episodes),
            validation_success=float(reached.mean()),
            validation_steps=float(lengths.mean()),
            steps_99=float(np.quantile(lengths[reached], 0.99)) if reached.any() else 0.0,
            episodes=len(reached),
            seconds=round(time.monotonic() - self.started_at, 3),
        )
        learner.env.successes = learner.env.episodes = 0
        self.curve.append(point)
        self.on_evaluation(point)
        is_good = point.validation_success >= self.settings.target_success
        self.good_in_a_row = self.good_in_a_row + 1 if is_good else 0
        self.since_best += 1
        if (point.validation_success, -point.validation_steps) > (
            self.best.validation_success,
            -self.best.validation_steps,
        ):
            self.best = point
            self.policy = policy
            self.since_best = 0
