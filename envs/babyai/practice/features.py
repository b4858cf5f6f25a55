"""What a skill's policy sees: relabelled cells of the remembered map, around the robot and turned to its heading.

Every input says something about one cell that was seen (or that it was not seen), about what the robot carries, or
about where it has been since the subgoal began: where two ways round are as good, going one way and coming back is what
a policy without that memory does. There are no path or distance planes. The skill's argument is *marked in the map*: a
cell is 1 where a remembered object matches it.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import (
    BALL,
    BOX,
    COLOUR_SHIFT,
    DOOR_CLOSED,
    DOOR_LOCKED,
    DOOR_OPEN,
    EMPTY,
    FLOOR,
    GOAL,
    KEY,
    KIND_MASK,
    UNSEEN,
)
from sdg.envs.babyai.perception.description import matches
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.mirror import side_of
from sdg.envs.kernels import inner_kernel, kernel, wide

NO_TARGET = (-1, -1, 0, 99)
"""The target of a skill without an argument: no object has this id, so nothing is marked."""

FAR = 7
"""Radius of the planes that say where to go: a whole 8x8 room from any of its cells."""
NEAR = 4
"""Radius of the planes that say what is in the way."""
FAR_SIDE, NEAR_SIDE = 2 * FAR + 1, 2 * NEAR + 1
FAR_PLANES = 3
NEAR_PLANES = 5
SCALARS = 4
HEADINGS = 4
SIZE = FAR_PLANES * FAR_SIDE**2 + NEAR_PLANES * NEAR_SIDE**2 + SCALARS + HEADINGS
"""Length of the input vector; every entry is 0 or 1."""

_TARGET, _UNSEEN, _UNEXPLORED = (p * FAR_SIDE**2 for p in range(FAR_PLANES))
_NEAR = FAR_PLANES * FAR_SIDE**2
_FREE, _CLOSED, _LOCKED, _OBJECT, _TRAIL = (_NEAR + p * NEAR_SIDE**2 for p in range(NEAR_PLANES))
_SCALARS = _NEAR + NEAR_PLANES * NEAR_SIDE**2
_HEADINGS = _SCALARS + SCALARS

MOSTLY_ON = slice(_UNSEEN, _UNSEEN + FAR_SIDE**2)
"""The only inputs that are 1 more often than 0: cells never seen."""


@kernel
def write_features(memory: Memory, i: int, target: np.ndarray, side: int, out: np.ndarray) -> None:
    """Write the inputs of row i for `target` int16 (4,), seen from this `side` (1 or -1), into `out` uint8 (SIZE,)."""
    out[:] = 0
    x, y, direction = memory.pose[i, 0], memory.pose[i, 1], memory.pose[i, 2]
    fx, fy = 0, 0
    if direction == 0:
        fx = 1
    elif direction == 1:
        fy = 1
    elif direction == 2:
        fx = -1
    else:
        fy = -1
    rx, ry = -side * fy, side * fx
    _write_map(memory, i, (x, y, fx, fy, rx, ry), out)
    for turn in range(HEADINGS):
        out[_HEADINGS + turn] = (memory.trail[i, x, y] >> ((direction + side * turn) % 4)) & 1
    carried = wide(memory.carried[i])
    for k in range(wide(memory.n_objects[i])):
        ox, oy = memory.at[i, k, 0], memory.at[i, k, 1]
        if ox < 0:
            continue
        ahead = (ox - x) * fx + (oy - y) * fy
        right = (ox - x) * rx + (oy - y) * ry
        if abs(ahead) > FAR or abs(right) > FAR:
            continue
        cell = (ahead + FAR) * FAR_SIDE + right + FAR
        if matches(memory, i, k, target):
            out[_TARGET + cell] = 1
        if _leads_somewhere_new(memory, i, k):
            out[_UNEXPLORED + cell] = 1
    if carried >= 0:
        out[_SCALARS] = 1
        out[_SCALARS + 1] = matches(memory, i, carried, target)
        kind = memory.code[i, carried] & KIND_MASK
        out[_SCALARS + 2] = kind == KEY
    out[_SCALARS + 3] = memory.room[i] >= 0 and (memory.visited_before[i] >> memory.room[i]) & 1


@inner_kernel
def _write_map(memory: Memory, i: int, frame: tuple[int, int, int, int, int, int], out: np.ndarray) -> None:
    x, y, fx, fy, rx, ry = frame
    size = memory.cells.shape[1]
    carried_colour = -1
    if memory.carried[i] >= 0 and memory.code[i, memory.carried[i]] & KIND_MASK == KEY:
        carried_colour = memory.code[i, memory.carried[i]] >> COLOUR_SHIFT
    for ahead in range(-FAR, FAR + 1):
        for right in range(-FAR, FAR + 1):
            gx, gy = x + ahead * fx + right * rx, y + ahead * fy + right * ry
            code = UNSEEN
            if 0 <= gx < size and 0 <= gy < size:
                code = memory.cells[i, gx, gy]
            kind = code & KIND_MASK
            if kind == UNSEEN:
                out[_UNSEEN + (ahead + FAR) * FAR_SIDE + right + FAR] = 1
            if abs(ahead) > NEAR or abs(right) > NEAR:
                continue
            cell = (ahead + NEAR) * NEAR_SIDE + right + NEAR
            out[_TRAIL + cell] = code != UNSEEN and memory.trail[i, gx, gy] > 0
            if kind == EMPTY or kind == FLOOR or kind == DOOR_OPEN or kind == GOAL:
                out[_FREE + cell] = 1
            elif kind == DOOR_CLOSED or (kind == DOOR_LOCKED and code >> COLOUR_SHIFT == carried_colour):
                out[_CLOSED + cell] = 1
            elif kind == DOOR_LOCKED:
                out[_LOCKED + cell] = 1
            elif kind == KEY or kind == BALL or kind == BOX:
                out[_OBJECT + cell] = 1


@inner_kernel
def _leads_somewhere_new(memory: Memory, i: int, k: int) -> bool:
    """Whether object k is a door with a room on one of its sides that was not visited."""
    kind = memory.code[i, k] & KIND_MASK
    if kind != DOOR_OPEN and kind != DOOR_CLOSED and kind != DOOR_LOCKED:
        return False
    x, y, pitch, columns = memory.at[i, k, 0], memory.at[i, k, 1], memory.pitch[i], memory.columns[i]
    if x % pitch == 0:
        one, other = (y // pitch) * columns + x // pitch - 1, (y // pitch) * columns + x // pitch
    else:
        one, other = (y // pitch - 1) * columns + x // pitch, (y // pitch) * columns + x // pitch
    visited = memory.visited[i]
    return not ((visited >> one) & 1 and (visited >> other) & 1)


@kernel
def write_batch(memory: Memory, targets: np.ndarray, sides: np.ndarray, out: np.ndarray) -> None:
    """Inputs of all rows for `targets` int16 (n, 4) into `out` uint8 (n, SIZE), their sides into `sides` int64 (n,)."""
    for i in range(out.shape[0]):
        sides[i] = side_of(memory, i, targets[i], FAR)
        write_features(memory, i, targets[i], sides[i], out[i])
