"""The ant's worlds: AntMaze as it is registered, instructions and who judges them, frames, what broken physics ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium_robotics", reason="the extra `mujoco` isn't installed")

import gymnasium
import mujoco

from sdg.deduction.planner import Prompts
from sdg.deduction.program import Scope, run_program
from sdg.deduction.robot import Robot
from sdg.envs.ant.domain import ANT
from sdg.envs.ant.language import CELL, COLOURS, DIRECTION
from sdg.envs.ant.world import NEAR, Ant, draw_task, stages_of
from sdg.envs.instructions import seeds
from sdg.envs.world import PlainObservation
from sdg.gate.executor import Command, GatedExecutor, OpenGate
from sdg.gate.rules import RulesGuard, Usage

TORQUES = np.random.default_rng(7).uniform(-1, 1, (20, 8)).astype(np.float32)


def open_ant(level: str = "Spots_UMaze", seed: int = 5) -> Ant:
    world = Ant(level)
    world.reset(seed)
    return world


def stand(world: Ant, x: float, y: float, *, upside_down: bool = False) -> None:
    """Put the body there and let no time pass but one step's."""
    world.data.qvel[:] = 0
    world.data.qpos[:7] = (x, y, 0.75, *((0, 1, 0, 0) if upside_down else (1, 0, 0, 0)))
    mujoco.mj_forward(world.model, world.data)


@pytest.mark.parametrize(("level", "steps"), [("UMaze", 700), ("Medium", 1000), ("Large", 1000)])
def test_antmaze_is_the_registered_one(level: str, steps: int) -> None:
    env: Any = gymnasium.make(f"AntMaze_{level}-v5").unwrapped
    world = open_ant(f"AntMaze_{level}-v5", seed=11)
    env.reset(seed=11)
    assert world.max_steps == steps
    assert np.array_equal(world.data.qpos, env.data.qpos)
    assert world.spots[0][1:] == tuple(env.goal)
    for torques in TORQUES:
        world.step(torques)
        *_, info = env.step(torques)
    assert np.array_equal(world.data.qpos, env.data.qpos)
    x, y = world.perception().get_position()
    assert world.maze.cell(x, y) == tuple(env.maze.cell_xy_to_rowcol(np.array([x, y])))
    assert (int(x), int(y)) in world.own.squares, "the squares of a metre that it was in"
    stand(world, env.goal[0] + NEAR - 0.1, env.goal[1])
    assert not info["success"]
    assert world.step(TORQUES[0] * 0).success


def test_a_restored_moment_goes_on_as_the_first_did() -> None:
    world = open_ant()
    for torques in TORQUES[:5]:
        world.step(torques)
    snapshot = world.keep()
    first = [world.step(torques) and world.data.qpos.tolist() for torques in TORQUES]
    restored = open_ant("Spots_UMaze", seed=6)
    restored.restore(snapshot)
    assert [restored.step(torques) and restored.data.qpos.tolist() for torques in TORQUES] == first
    assert (restored.mission, restored.spots, restored.steps) == (world.mission, world.spots, world.steps)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_body_turned_by_a_quarter_sees_and_does_the_same(turns: int) -> None:
    def play(frame: int) -> tuple[np.ndarray, list[int]]:
        world, rotations, frames = open_ant(), [], []
        legs = np.array([[0.1, 0.7], [0.2, 0.9], [-0.1, 0.6], [0.3, 1.0]])
        bends = np.array([[1, 1], [1, -1], [1, -1], [1, 1]])
        world.data.qpos[:2], world.data.qpos[7:] = (-4, 4), (np.roll(legs, frame, axis=0) * bends).ravel()
        world.data.qpos[3:7] = np.cos(frame * np.pi / 4), 0, 0, -np.sin(frame * np.pi / 4)
        mujoco.mj_forward(world.model, world.data)
        world.begin_subgoal()
        for torques in TORQUES:
            out = np.zeros(ANT.inputs.size, np.float32)
            frames.append(ANT.inputs.write_row(world, 0, np.array([DIRECTION, 0]), out))
            rotations.append(out)
            world.step(ANT.inputs.actions_to_world(torques[None], np.array(frames[-1:]))[0])
        return np.stack(rotations), frames

    (straight, frames), (turned, others) = play(0), play(turns)
    np.testing.assert_allclose(straight, turned, atol=1e-5)
    assert others == [(frame + turns) % 4 for frame in frames]


def test_spots_count_in_their_order() -> None:
    world = open_ant()
    world.set_instruction("visit the blue spot, then the red one")
    places = {COLOURS[number]: (x, y) for number, x, y in world.spots}
    assert world.max_steps == 1400
    for colour, done in (("red", False), ("blue", False), ("green", False), ("red", True)):
        stand(world, *places[colour])
        assert world.step(TORQUES[0] * 0).success is done
    world = open_ant()
    world.set_instruction("go to a spot that isn't red")
    stand(world, *places["red"])
    assert not world.step(TORQUES[0] * 0).success
    stand(world, *places["yellow"])
    assert world.step(TORQUES[0] * 0).success
    with pytest.raises(ValueError, match="can't judge 'dance'"):
        open_ant().set_instruction("dance")


def test_what_evaluation_combines_no_training_instruction_does() -> None:
    def drawn(split: str) -> set[str]:
        return {opened.mission for seed in seeds(split, count=60) if (opened := reset(world, seed))}

    def reset(world: Ant, seed: int) -> Ant:
        world.reset(seed)
        return world

    world = Ant("Spots_UMaze")
    known_texts, unseen = drawn("training") | drawn("grounding"), drawn("evaluation")
    assert all("go to the" in text for text in known_texts & unseen)
    assert len(known_texts) > 12
    assert len(unseen) > 8
    rng = np.random.default_rng(0)
    assert all(stages_of(draw_task(rng, unseen=n % 2 == 0)) for n in range(50))


def test_progress_counts_from_when_the_subgoal_began() -> None:
    world = open_ant()
    stand(world, -4, 4)
    world.begin_subgoal()
    stand(world, -3, 5)
    perception = world.perception()
    assert perception.moved("east") == pytest.approx(1)
    assert perception.moved("direction 225") == pytest.approx(-(2**0.5))
    assert perception.nearer("cell 1 2") == pytest.approx(4 - 10**0.5)
    assert perception.direction_to(-3, 9).name == "direction 90"
    with pytest.raises(ValueError, match="no such place"):
        perception.distance("goal")


@pytest.mark.parametrize("cell", ["cell 5 1", "cell 1 5", "the cell 99 99"])
def test_what_lies_outside_the_maze_is_not_there(cell: str) -> None:
    world = open_ant("Spots_UMaze")
    perception = world.perception()
    for ask in (perception.distance, perception.nearer):
        with pytest.raises(ValueError, match="no such place"):
            ask(cell)
    assert not ANT.persistence.is_possible(perception, cell)
    assert perception.distance("cell 4 4") > 0, "the last corner"


@pytest.mark.parametrize("level", ["Spots_UMaze", "Spots_Medium", "Spots_Large"])
def test_a_way_goes_around_walls_and_grows_shorter_along_it(level: str) -> None:
    world = open_ant(level)
    maze = world.maze
    for start in maze.free[:: len(maze.free) // 4]:
        for goal in maze.free:
            places = [maze.centre(*start), *maze.way(maze.centre(*start), maze.centre(*goal))]
            steps = [np.linspace(start, end, 30) for start, end in pairwise(places)]
            assert not maze.are_walls(np.concatenate(steps)).any()
            assert places[-1] == maze.centre(*goal)
    start, goal = maze.free[0], maze.free[-1]
    stand(world, *maze.centre(*start))
    world.begin_subgoal()
    before = 0.0
    for place in maze.way(maze.centre(*start), maze.centre(*goal)):
        stand(world, *place)
        assert world.perception().nearer(f"cell {goal[0]} {goal[1]}") > before
        before = world.perception().nearer(f"cell {goal[0]} {goal[1]}")
    stand(world, *maze.centre(*start))
    x, y = maze.way(maze.centre(*start), maze.centre(*goal))[0]
    bearing = world.perception().bearing(CELL, 100 * goal[0] + goal[1])
    assert bearing == pytest.approx(np.arctan2(y - maze.centre(*start)[1], x - maze.centre(*start)[0]))


def test_nothing_is_possible_on_its_back_or_into_a_wall() -> None:
    world, possible = open_ant(), ANT.persistence.is_possible
    stand(world, -4, 2.8)
    assert possible(world.perception(), "north")
    assert not possible(world.perception(), "south")
    stand(world, -4, 4, upside_down=True)
    assert not possible(world.perception(), "north")
    assert not possible(world.perception(), "")


@pytest.mark.parametrize("breaks", ["nan", "unstable", "outside"])
def test_a_broken_simulation_ends_the_episode_as_failed(breaks: str) -> None:
    world = open_ant()
    if breaks == "nan":
        world.data.qpos[0] = np.nan
    elif breaks == "unstable":
        world.data.qvel[:] = 1e12
    else:
        stand(world, 500, 0)
    result = world.step(TORQUES[0])
    assert result.terminated
    assert not result.success
    with pytest.raises(ValueError, match="finite torques"):
        world.step(np.full(8, np.nan))


def test_a_program_may_call_its_variable_what_only_checks_are_told_of() -> None:
    source = "def program():\n    moved = get_position()\n    for nearer in moved:\n        pass\n"
    robot = Robot(open_ant(), {}, domain=ANT, rng=np.random.default_rng(0))
    ran = run_program(source, Scope(robot, GatedExecutor(robot, OpenGate())), budget=10_000)
    assert ran.error == ""
    rules = Prompts(ANT).rules((), budget=10_000, attempts=1)
    assert "moved(" not in rules
    assert "## An example" not in rules
    assert "gives up after one try and returns False" in rules
    assert "gives up after a few tries" in Prompts(ANT).rules((), budget=10_000, attempts=2)


@pytest.mark.parametrize("place", ["direction 30", "northeast", "cell 1 1"])
def test_a_skill_that_was_practised_with_spots_may_be_asked_for_any_place(place: str) -> None:
    world = ANT.open("AntMaze_UMaze-v5")
    world.reset(0)
    rules = RulesGuard({"walk": Usage(True, needs_seen_target=True)}, resolve=ANT.language.resolve)
    observation = PlainObservation("", world.perception().elements())
    assert rules.feasible(Command("walk", place), observation).passed
    assert not rules.feasible(Command("walk", "red spot"), observation).passed
