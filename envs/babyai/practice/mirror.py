"""Seen in the mirror: a room and its mirror image ask for the same skill, with left for right.

What a skill is about is always shown on the robot's right (where nothing is marked, what was not seen yet): the map is
mirrored where that takes a mirror, and so are the turns that the policy answers with. Half of the situations that a
policy would have to learn one by one are then the same as the other half (symmetries of a Markov decision process:
Ravindran and Barto, 2001; van der Pol et al., 2020).
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import KIND_MASK, UNSEEN
from sdg.envs.babyai.perception.description import matches
from sdg.envs.babyai.perception.memory import LEFT, RIGHT, Memory
from sdg.envs.kernels import inner_kernel, kernel, wide

AS_IT_IS, MIRRORED = 1, -1
"""Sides: what a row's distances to the right are multiplied by."""


@kernel
def side_of(memory: Memory, i: int, target: np.ndarray, reach: int) -> int:
    """AS_IT_IS or MIRRORED for row i and its `target` int16 (4,); unseen cells count up to `reach` cells away."""
    x, y, direction = memory.pose[i, 0], memory.pose[i, 1], memory.pose[i, 2]
    rx = -1 if direction == 1 else 1 if direction == 3 else 0
    ry = 1 if direction == 0 else -1 if direction == 2 else 0
    balance = 0
    for k in range(wide(memory.n_objects[i])):
        ox, oy = memory.at[i, k, 0], memory.at[i, k, 1]
        if ox >= 0 and matches(memory, i, k, target):
            balance += (ox - x) * rx + (oy - y) * ry
    if balance == 0:
        balance = _unseen(memory, i, x, y, rx, ry, reach)
    return AS_IT_IS if balance >= 0 else MIRRORED


@inner_kernel
def _unseen(memory: Memory, i: int, x: int, y: int, rx: int, ry: int, reach: int) -> int:
    """How many more cells were not seen on the right than on the left; what lies off the map never is."""
    size, balance = memory.cells.shape[1], 0
    for dx in range(-reach, reach + 1):
        for dy in range(-reach, reach + 1):
            right = dx * rx + dy * ry
            gx, gy = x + dx, y + dy
            known = 0 <= gx < size and 0 <= gy < size and memory.cells[i, gx, gy] & KIND_MASK != UNSEEN
            if not known and right != 0:
                balance += 1 if right > 0 else -1
    return balance


def swap_turns(actions: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The actions (n,) that are meant by actions chosen for rows as their `sides` (n,) show them; its own inverse."""
    return np.where((sides == MIRRORED) & (actions <= RIGHT), LEFT + RIGHT - actions, actions)


def swap_logits(logits: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The same for logits (n, 6), as a new array."""
    out, turned = logits.copy(), sides == MIRRORED
    out[turned, LEFT], out[turned, RIGHT] = logits[turned, RIGHT], logits[turned, LEFT]
    return out
