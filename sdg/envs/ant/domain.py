"""The ant as a domain: its levels, perception functions, descriptions and policies' inputs.

Policies see the body turned so that the asked direction is +x, in one of four equal frames. The ant's four legs are
alike, so a body that is turned by a quarter is the same body with its legs numbered otherwise. A row is shown in the
frame in which it faces within 45 degrees of the asked direction: frame k has the leg `j + k` in the place of leg j.
What is learned in one of the four is known in all. Ankles bend the other way in the legs 2 and 3, which `BENDS` undoes.
"""

import math
from typing import Any

import numpy as np

from sdg.envs.ant.language import DIRECTION, NOTHING, AntLanguage
from sdg.envs.ant.perception import AntPerception, Cell, Direction, Maze, Pose, Spot
from sdg.envs.ant.world import LEVELS, Ant
from sdg.envs.defaults import PlainDomain, PlainInputs
from sdg.envs.domain import Perceivable, Persistence, prompt_texts
from sdg.envs.world_rows import world_of

AHEAD = 0.9
"""Metres ahead that have to be free for a step in a direction to be possible."""
BENDS = np.array([1.0, -1.0, -1.0, 1.0])
MOTORS = (2, 3, 4, 5, 6, 7, 0, 1)
"""Numbers of the motors of hip and ankle, leg by leg."""
HORIZON = 60
"""Steps to which the age of a subgoal is scaled."""
AROUND = np.array([(r * math.cos(a), r * math.sin(a)) for r in (0.9, 1.8) for a in np.arange(8) * math.pi / 4])
"""Places around the body, metres in the asked frame, that are said to be wall or not."""
QUARTERS = np.array([[[c, -s, 0], [s, c, 0], [0, 0, 1]] for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))], float)
"""Turns about the body's own upward axis, by frame."""
LEGS = np.array([[(leg + frame) % 4 for leg in range(4)] for frame in range(4)])
"""The leg in the place of each leg, by frame."""
SIGNS = np.stack([np.ones(4), BENDS], axis=1)


class AntInputs(PlainInputs):
    """Height, orientation and speeds in the asked frame, joints, progress and age of the subgoal, walls around."""

    size, actions = 35 + len(AROUND), 8
    bounds = np.array([[-1.0] * 8, [1.0] * 8], np.float32)

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row, around -1..1; returns the frame 0..3."""
        world: Any = world_of(memory, row)
        perception: AntPerception = world.perception()
        direction = perception.bearing(*map(int, target)) or 0.0
        turn = np.array([[math.cos(direction), math.sin(direction)], [-math.sin(direction), math.cos(direction)]])
        frame = round((direction - math.radians(perception.pose.yaw)) / (math.pi / 2)) % 4
        quarter, legs = QUARTERS[frame], LEGS[frame]
        qpos, qvel = world.data.qpos, world.data.qvel
        body = world.data.xmat[world.torso].reshape(3, 3) @ quarter
        body[:2] = turn @ body[:2]
        way = turn @ (qpos[:2] - (world.began.x, world.began.y))
        out[0], out[1:10] = qpos[2] - 0.5, body.ravel()
        out[10:12], out[12] = turn @ qvel[:2], qvel[2]
        out[13:16] = (quarter.T @ qvel[3:6]) / 3
        out[16:24] = (qpos[7:].reshape(4, 2) * SIGNS)[legs].ravel()
        out[24:32] = (qvel[6:].reshape(4, 2) * SIGNS)[legs].ravel() / 5
        out[32:34] = np.clip(2 * way, -2, 2)
        out[34] = min((world.steps - world.began.steps) / HORIZON, 2)
        out[35:] = world.maze.are_walls(qpos[:2] + AROUND @ turn)
        return frame

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Torques f32 (n, 8) of the legs of each row's frame as torques of the ant's motors."""
        torques = np.empty_like(actions, np.float32)
        for row, frame in enumerate(frames):
            legs = np.empty((4, 2), np.float32)
            legs[LEGS[frame]] = actions[row].reshape(4, 2)
            torques[row, MOTORS] = (legs * SIGNS).ravel()
        return torques


class AntPersistence(Persistence):
    """The whole maze is known; new is a place where the ant has not been (`sdg.envs.domain.Persistence`)."""

    def knowledge(self, memory: Any) -> int:
        """How many squares of one metre the ant has been in."""
        return len(world_of(memory, 0).own.squares)  # type: ignore[attr-defined]

    def is_possible(self, perception: AntPerception, argument: str) -> bool:
        """Whether the ant stands on its legs and no wall is right ahead."""
        if not perception.is_upright():
            return False
        target = AntLanguage().row(argument)
        if target[0] == NOTHING:
            return True
        bearing, (x, y) = perception.bearing(*map(int, target)), perception.get_position()
        if bearing is None or (target[0] != DIRECTION and perception.distance(argument) < AHEAD):
            return bearing is not None
        place = np.array([[x + AHEAD * math.cos(bearing), y + AHEAD * math.sin(bearing)]])
        return not perception.maze.are_walls(place).any()


class AntDomain(PlainDomain):
    """The domain `ant` (`sdg.envs.domain.Domain`)."""

    name = "ant"
    world, level_names = Ant, tuple(LEVELS)
    language, inputs, persistence = AntLanguage(), AntInputs(), AntPersistence()
    perceivable = Perceivable(
        AntPerception(Maze(((False,),)), Pose(0, 0, 0, 1, 0), Pose(0, 0, 0, 1, 0), (), ()).functions(),
        (Spot, Cell, Direction),
        "Lengths are in metres, angles in degrees counterclockwise from east (the x axis). A thing is a spot (`red "
        "spot`, `green spot`, `blue spot`, `yellow spot`; where none of them is, `goal`) or a cell (`cell 1 3`: row 1 "
        "from the north, column 3 from the west); functions take its name or its record. Spot has name, x, y, row, "
        "column, visited; Cell has name, x, y, row, column; Direction has name, degrees.",
        for_checks=frozenset({"nearer", "moved"}),
        gauge="distance",
    )
    texts = prompt_texts("sdg.envs.ant.prompts")


ANT = AntDomain()
