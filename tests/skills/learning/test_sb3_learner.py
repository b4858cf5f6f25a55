"""stable-baselines3's PPO as a learner: in a world without a batch, with rewards that are rare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdg.envs.domain import Domain
from sdg.envs.domains import domain
from sdg.envs.world import StepResult
from sdg.skills.learning.by_hand import SkillSpec, learn_library
from sdg.skills.learning.sb3 import SB3, ContinuedPractice
from sdg.skills.learning.train import TrainSettings
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction
from tests.envs.corridor import RIGHT, Corridor, CorridorDomain

CORRIDOR = domain("tests.envs.corridor:CORRIDOR")
SETTINGS = TrainSettings(
    n_envs=8,
    horizon=12,
    evaluate_every=1024,
    validation_starts=40,
    side_effect_cost=0.0,
    learner="sb3",
    ppo={"n_steps": 64, "batch_size": 256, "learning_rate": 3e-3},
)
MOVED = CheckFunction("moved", "def moved():\n    return get_position() >= 3\n")
NEVER = CheckFunction("never", "def never():\n    return get_position() > 1000\n")
STEPPED = CheckFunction("stepped", "def stepped():\n    return get_steps() >= get_start_steps() + 2\n")


def starts(check: CheckFunction, count: int = 20, on: Domain = CORRIDOR) -> Starts:
    rows = on.begin(on.layouts("Visit", list(range(count))), np.arange(count))
    return Starts(rows, np.tile(on.language.row(""), (count, 1)), (check,), np.zeros(count, np.int64))


def test_nothing_is_learned_without_a_reward() -> None:
    learner = SB3.practise(starts(NEVER), SETTINGS, seed=0, init_policy=None)
    before = learner.policy().weights
    assert learner.learn(2048, callback=lambda *_: True) == 2048
    after = learner.policy().weights
    assert all(np.array_equal(before[name], after[name]) for name in before)


class _Pit(Corridor):
    """A corridor with a pit from three cells to the right of the start on: who falls in has failed."""

    def step(self, action: Any) -> StepResult:
        result = super().step(action)
        is_in_pit = self.state.at - self.state.start >= 3
        return StepResult(0.0, terminated=True, truncated=False) if is_in_pit else result


class _PitDomain(CorridorDomain):
    world = _Pit


@pytest.mark.parametrize("world", [CORRIDOR, _PitDomain()], ids=["floor", "pit"])
def test_a_step_that_ends_the_task_as_failed_reaches_nothing(world: Domain) -> None:
    pool = starts(MOVED, on=world)
    env = PracticeEnv(pool, len(pool), horizon=5, seed=0)
    env.restore(np.arange(len(pool)), np.arange(len(pool)))
    for _ in range(3):
        fired, over, succeeded = env.step(np.full(len(pool), RIGHT))
    has_moved = env.reward(env.memory, np.zeros(len(pool), np.int64))
    assert has_moved.sum() > len(pool) / 2
    assert fired.tolist() == (has_moved & (world is CORRIDOR)).tolist()
    assert (over & ~succeeded).tolist() == (has_moved & (world is not CORRIDOR)).tolist()


def test_what_was_learned_is_gone_on_from() -> None:
    learner = SB3.practise(starts(MOVED), SETTINGS, seed=0, init_policy=None)
    learner.learn(1024, callback=lambda *_: True)
    learned = learner.policy()
    again = SB3.practise(starts(MOVED), SETTINGS, seed=1, init_policy=learned).policy()
    assert all(np.array_equal(learned.weights[name], again.weights[name]) for name in learned.weights)
    narrow = replace(SETTINGS, ppo={"hidden": (8, 8)})
    with pytest.raises(ValueError, match="no array w1"):
        SB3.practise(starts(MOVED), narrow, seed=1, init_policy=learned)


def test_half_of_the_successes_are_gone_on_from() -> None:
    env = ContinuedPractice(starts(STEPPED), 64, horizon=10, seed=0)
    everyone = np.arange(64)
    env.restore_random(everyone)
    for _ in range(2):
        fired, _, _ = env.step(np.zeros(64, np.int64))
    assert fired.all()
    env.restore_random(everyone)
    clocks = np.array([env.rows.perception(row).functions()["get_steps"]() for row in everyone])
    assert set(clocks.tolist()) == {0, 2}
    assert 16 < (clocks == 2).sum() < 48
    assert not env.reward(env.memory, np.zeros(64, np.int64)).any()
    assert not env.age.any()


def test_skills_follow_one_another() -> None:
    specs = [
        SkillSpec("go_right", "go right", MOVED, 12, 8192),
        SkillSpec(
            "go_on",
            "go on",
            CheckFunction("on", "def on():\n    return get_position() >= 5\n"),
            8,
            4096,
            after=("go_right",),
        ),
    ]
    library = learn_library(CORRIDOR, "Visit", specs, settings=SETTINGS, seed=0, training_starts=60)
    assert library.domain == "tests.envs.corridor:CORRIDOR"
    assert library["go_right"].learner == "sb3"
    assert library["go_on"].environment_steps <= 4096
    with pytest.raises(ValueError, match="put it first"):
        learn_library(CORRIDOR, "Visit", specs[::-1], settings=SETTINGS, seed=0)
