"""The robot runs a skill until its check fires, its attempts are spent or the episode is over, and no further."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdg.deduction.robot import (
    MAX_FRUITLESS_ATTEMPTS,
    MAX_SAME_MOMENTS,
    PATIENCE,
    Robot,
    describe_argument,
)
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import Object
from sdg.envs.babyai.world import BabyAIWorld
from sdg.gate.executor import Command, IllegalCommand
from sdg.skills.subgoal import CheckFunction
from tests.shared.scripted_skills import Constant, ScriptedSkill, Walker, scripted_skills

SEED = 2_000_000
REASONS = BABYAI.persistence.reasons


def robot_in(level: str, seed: int = SEED, attempts: int = 5, **skills: ScriptedSkill) -> tuple[Robot, BabyAIWorld]:
    world = BabyAIWorld(level)
    world.reset(seed)
    robot = Robot(
        world, dict(skills) or scripted_skills(), domain=BABYAI, rng=np.random.default_rng(0), attempts=attempts
    )
    return robot, world


def spinning(check: str, horizon: int = 4) -> ScriptedSkill:
    """A skill that turns left and ends by the given check."""

    class Spinning(ScriptedSkill):
        def check(self, argument: str) -> CheckFunction:
            return CheckFunction("check", f"def check():\n    {check}\n")

    return Spinning("discover", Constant(0), horizon)


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_going_to_the_goal_solves_the_level(seed: int) -> None:
    robot, world = robot_in("GoToLocal", seed)
    thing = world.mission.removeprefix("go to ")
    assert robot.perform(Command("discover", thing)).reached
    done = robot.perform(Command("go_next_to", thing))
    assert done.reached
    assert robot.ending.done
    assert world.steps == len(robot.actions) <= world.max_steps


def test_the_episodes_actions_replay_to_the_same_end() -> None:
    robot, world = robot_in("PickupLoc")
    robot.perform(Command("pick", world.mission.removeprefix("pick up ")))
    again = BabyAIWorld("PickupLoc")
    again.reset(SEED)
    results = [again.step(action) for action in robot.actions]
    assert [result.done for result in results] == [False] * (len(results) - 1) + [True]
    assert results[-1].success == robot.ending.done


def test_what_is_so_already_takes_no_step() -> None:
    robot, world = robot_in("GoToLocal", discover=spinning("return True"))
    performed = robot.perform(Command("discover", "the red ball"))
    assert (performed.reached, performed.steps, performed.attempts) == (True, 0, 0)
    assert world.steps == 0


def test_attempts_times_horizon_bounds_a_skill_that_fails() -> None:
    robot, _ = robot_in("GoToLocal", attempts=3, discover=spinning("return False", horizon=4))
    robot.perform(Command("discover", "the red ball"))
    del robot.actions[:]
    performed = robot.perform(Command("discover", "object"))
    assert (performed.reached, performed.steps, performed.attempts) == (False, 12, 3)
    assert robot.actions == [0] * 12
    assert not robot.ending.over


def test_the_check_ends_the_skill_at_once_and_counts_from_its_own_beginning() -> None:
    robot, _ = robot_in("GoToLocal", discover=spinning("return get_steps() - get_start_steps() == 3"))
    for _ in range(2):
        performed = robot.perform(Command("discover", "the red ball"))
        assert (performed.reached, performed.steps, performed.attempts) == (True, 3, 1)


def test_what_was_never_seen_is_given_up_when_nothing_new_comes_into_view() -> None:
    robot, _ = robot_in("GoToLocal", attempts=5, discover=spinning("return False", horizon=30))
    performed = robot.perform(Command("discover", "the purple door"))
    # Turning on the spot shows new cells three times at most; further attempts show none.
    assert performed.attempts == 1 + MAX_FRUITLESS_ATTEMPTS
    assert 0 <= performed.steps - performed.attempts * PATIENCE <= 3
    assert performed.note == REASONS["unseen"]
    roaming = replace(spinning("return False", horizon=30), takes_argument=False)
    robot, _ = robot_in("GoToLocal", attempts=2, discover=roaming)
    assert robot.perform(Command("discover")).steps == 60


def test_a_check_that_fails_on_what_it_sees_has_not_fired() -> None:
    robot, _ = robot_in("GoToLocal", attempts=1, discover=spinning("return [True][3 - get_steps()]", horizon=9))
    performed = robot.perform(Command("discover", "the red ball"))
    assert (performed.reached, performed.steps) == (True, 3)


def test_the_time_limit_ends_everything() -> None:
    robot, world = robot_in("GoToLocal", attempts=1000, discover=spinning("return False"))
    performed = robot.perform(Command("discover", "object"))
    assert performed.steps == world.max_steps == len(robot.actions)
    assert robot.ending.out_of_time
    assert not robot.ending.done
    more = robot.perform(Command("discover", "the red ball"))
    assert (more.reached, more.steps) == (False, 0)
    assert world.steps == world.max_steps


def test_attempts_draw_fresh_randomness() -> None:
    drawn: list[float] = []

    class Drawing:
        def act(self, memory: object, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
            drawn.append(float(rng.random()))
            return 0

    skill = replace(spinning("return False", horizon=2), policy=Drawing())
    robot, _ = robot_in("GoToLocal", attempts=4, discover=skill)
    robot.perform(Command("discover", "object"))
    assert len(set(drawn)) == 8 * 16


def test_what_led_back_gives_way_to_another_action() -> None:
    class Wavering:
        def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
            there_or_back = int(memory.pose[row, 2]) % 2
            return 2 if rng.random() > 0.95 else there_or_back

    skill = replace(spinning("return False", horizon=10), policy=Wavering())
    robot, _ = robot_in("GoToLocal", attempts=1, discover=skill)
    robot.perform(Command("discover", "object"))
    assert set(robot.actions) == {0, 1, 2}


def test_skills_are_told_their_target() -> None:
    told: list[list[int]] = []

    class Listening:
        def act(self, memory: object, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
            told.append(target.tolist())
            return 0

    skill = replace(spinning("return False", horizon=1), policy=Listening())
    robot, _ = robot_in("GoToLocal", attempts=1, discover=skill)
    robot.perform(Command("discover", "a grey key on your left #7"))
    assert told == [[1, 5, 1, 7]] * 16


@pytest.mark.parametrize(
    "command",
    [Command("fly", "the ball"), Command("pick"), Command("pick", "the happy ball"), Command("pick", "x" * 9999)],
)
def test_illegal_commands_do_nothing(command: Command) -> None:
    robot, world = robot_in("GoToLocal")
    with pytest.raises(IllegalCommand):
        robot.perform(command)
    assert world.steps == 0


def test_arguments_are_text_or_records() -> None:
    robot, _ = robot_in("GoToLocal")
    record = robot.observe().elements[0]
    assert isinstance(record, Object)
    assert describe_argument(record, BABYAI) == f"{record.name} #{record.id}"
    assert describe_argument("  the red ball ", BABYAI) == "the red ball"
    for wrong in (None, 3, (1, 2), [record], "", " ", "x" * 201, {"a": 1}):
        with pytest.raises(IllegalCommand):
            describe_argument(wrong, BABYAI)


def test_what_is_seen_is_read_once_a_step() -> None:
    robot, _ = robot_in("GoToLocal", discover=spinning("return get_steps() - get_start_steps() == 1"))
    assert robot.perception() is robot.perception()
    before = robot.perception()
    robot.perform(Command("discover", "the red ball"))
    assert robot.perception() is not before


def test_an_attempt_that_ends_in_another_room_is_the_last() -> None:
    roaming = replace(spinning("return False", horizon=60), policy=Walker(None))
    robot, world = robot_in("BossLevel", attempts=5, discover=roaming)
    performed = robot.perform(Command("discover", "the grey ball #39"))
    assert world.perception().functions()["get_current_room"]() != 0
    assert (performed.reached, performed.attempts, performed.note) == (False, 1, REASONS["strayed"])


def test_what_is_known_to_lie_in_another_room_is_given_up_when_nothing_new_comes_into_view() -> None:
    roaming = replace(spinning("return False", horizon=60), policy=Walker(None))
    robot, world = robot_in("BossLevel", attempts=5, roam=roaming, discover=spinning("return False", horizon=8))
    robot.perform(Command("roam", "the grey ball #39"))
    here = world.perception().functions()["get_current_room"]()
    things = [thing for thing in world.perception().get_observed_objects() if thing.type != "door"]
    behind = next(thing for thing in things if thing.room != here)
    performed = robot.perform(Command("discover", f"{behind.name} #{behind.id}"))
    assert (performed.reached, performed.note) == (False, REASONS["elsewhere"])
    assert performed.attempts < 5


def test_an_attempt_at_what_lies_elsewhere_ends_when_it_goes_in_circles() -> None:
    roaming = replace(spinning("return False", horizon=60), policy=Walker(None))
    around = Constant(0)
    turning = replace(spinning("return False", horizon=60), policy=around)
    robot, world = robot_in("BossLevel", attempts=1, roam=roaming, discover=turning)
    robot.perform(Command("roam", "the grey ball #39"))
    here = world.perception().functions()["get_current_room"]()
    things = [thing for thing in world.perception().get_observed_objects() if thing.type != "door"]
    behind = next(thing for thing in things if thing.room != here)
    robot.perform(Command("discover", f"{behind.name} #{behind.id}"))
    assert around.asked == 4 * (MAX_SAME_MOMENTS - 1) * 16
