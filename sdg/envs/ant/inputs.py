"""What the ant's policies see: the body turned so that the asked direction is +x, in one of four equal frames.

The ant's four legs are alike, so a body that is turned by a quarter is the same body with its legs numbered otherwise.
A row is shown in the frame in which it faces within 45 degrees of the asked direction: frame k has the leg `j + k` in
the place of leg j. What is learned in one of the four is known in all. Ankles bend the other way in the legs 2 and 3,
which `BENDS` undoes.
"""

import math
from typing import Any

import numpy as np

from sdg.envs.ant.perception import AntPerception
from sdg.envs.defaults import PlainInputs
from sdg.envs.world_rows import world_of

BENDS = np.array([1.0, -1.0, -1.0, 1.0])
MOTORS = (2, 3, 4, 5, 6, 7, 0, 1)
"""Of hip and ankle of the legs 1 to 4: the numbers of their motors."""
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
        out[0], out[1:10], out[10:12], out[12] = qpos[2] - 0.5, body.ravel(), turn @ qvel[:2], qvel[2]
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
