"""What one BabyAI environment is made of: N environments are a structured array, and so are M ready layouts.

One environment is one row, a contiguous record that kernels take as a pointer and that can be copied whole into any
other engine, whatever bank that one has. From Python, `state.spot`, `state.carried` and so on are arrays with leading
axis N (views, so they can be written).

Grids are kept with a border of grey walls (minigrid's `Grid.slice` shows walls outside the grid), so that a view never
has to ask whether a cell exists. Positions are *spots*: one number, `(x + PAD) * SIDE + (y + PAD)`; 0 is nowhere.
"""

from typing import Any

import numpy as np

from sdg.envs.babyai.cells import (
    COLOUR_SHIFT,
    DOOR_CLOSED,
    DOOR_LOCKED,
    EMPTY,
    KIND_MASK,
    MAX_OBJECTS,
    MAX_SIZE,
    VIEW,
    WALL,
)
from sdg.envs.kernels import inner_kernel

PAD = 5
"""Width of the border: a robot stands at 1 or more and sees 6 cells ahead, so 5 cells lie outside."""
SIDE = 32
"""Cells a side with the border (PAD + MAX_SIZE + PAD)."""
OUTSIDE = WALL | 5 << COLOUR_SHIFT
"""Code of a grey wall, which is what lies outside a grid."""
N_CLAUSES = 4
"""Most clauses of a mission: "A and B, then C and D"."""
PROGRAM_SIZE = 12
"""Bytes of a mission's program."""

GRID = slice(PAD * SIDE, (PAD + MAX_SIZE) * SIDE)
"""The spots that a layout stores: columns x = 0..21 with their borders above and below."""

_SHARED_FIELDS: list[tuple[Any, ...]] = [
    ("targets", np.uint64, (N_CLAUSES, 2)),  # sets of object indices of each clause (bit k = object k), fixed at reset
    ("max_steps", np.int32),  # the time limit, which also scales the reward
    ("where", np.uint16, (MAX_OBJECTS,)),  # spot of each object and door; 0 = held, in a box, or gone
    ("spot", np.uint16),  # where the robot stands
    ("code", np.uint8, (MAX_OBJECTS,)),  # code of each object (doors: as at reset)
    ("inside", np.uint8, (MAX_OBJECTS,)),  # object index + 1 of what a box holds, 0 = nothing
    ("program", np.uint8, (PROGRAM_SIZE,)),  # the mission's shape, see envs/babyai/engine/verifier.py
    ("direction", np.uint8),  # 0 right (x + 1), 1 down (y + 1), 2 left, 3 up
    ("carried", np.uint8),  # object index + 1 of what it carries, 0 = nothing
    ("room_size", np.uint8),
    ("width", np.uint8),
    ("height", np.uint8),
    ("columns", np.uint8),  # columns of rooms
]

LAYOUT = np.dtype(
    [
        *_SHARED_FIELDS,
        ("mission", np.int32),  # index of the mission's text
        ("cells", np.uint8, (MAX_SIZE * SIDE,)),  # code at spots GRID, the robot not drawn
    ],
    align=True,
)
"""One layout as minigrid made it. What is `carried` from the start still lies at its `where`: see `reset_row`."""

ROW = np.dtype(
    [
        ("cells", np.uint8, (SIDE * SIDE,)),  # code at each spot, the robot not drawn
        *_SHARED_FIELDS,
        ("layout", np.int32),  # row of the bank the episode began from
        ("steps", np.int32),  # steps since reset
        ("listed", np.uint16, (MAX_OBJECTS,)),  # `where` when the verifier last refreshed it: at reset, on drop actions
        ("done", np.uint8, (2 + N_CLAUSES,)),  # parts of the mission done: side a, side b, clauses 0..3
        ("held_before", np.uint8, (N_CLAUSES,)),  # `carried` when each clause was last verified
        ("moved", np.uint8),  # 1 = an object changed its spot since the verifier last refreshed `listed`
        ("unused", np.uint8, (33,)),  # fills up the last cache line
    ],
    align=True,
)
"""One environment."""

State = np.recarray
"""N environments: a record array of dtype ROW, shape (N,)."""


def create(n: int) -> State:
    """N empty environments; each row must be reset before it is stepped."""
    buffer = np.zeros((n + 1) * ROW.itemsize, np.uint8)
    start = -buffer.ctypes.data % 64
    state = buffer[start : start + n * ROW.itemsize].view(ROW).view(np.recarray)
    state.cells[:] = OUTSIDE
    state.spot[:] = spot_of(1, 1)
    state.max_steps[:] = 1
    return state


def spot_of(x: int, y: int) -> int:
    """The spot of grid position (x, y)."""
    return (x + PAD) * SIDE + y + PAD


@inner_kernel
def pose_of(row, pose):  # type: ignore[no-untyped-def]
    """Write x, y, direction of an environment into pose[0:3] (inside kernels: row = state[i])."""
    pose[0] = (np.int64(row.spot) >> 5) - PAD
    pose[1] = (np.int64(row.spot) & 31) - PAD
    pose[2] = row.direction


FORWARD = np.array([SIDE, 1, -SIDE, -1], np.int64)
"""How the spot changes with a step, by direction."""
RIGHT = np.array([1, -SIDE, -1, SIDE], np.int64)
"""How the spot changes with a step to the robot's right, by direction."""

OPAQUE = np.array([code & KIND_MASK in (WALL, DOOR_CLOSED, DOOR_LOCKED) for code in range(256)], np.uint64)
"""By code: 1 if nothing can be seen behind it."""
# Unsigned indices spare numba the test for negative ones in the innermost loops; -32 wraps round as it should.
_AHEAD, _RIGHT = FORWARD.astype(np.uint64), RIGHT.astype(np.uint64)


def _light_table() -> np.ndarray:
    """(16384, 2) uint8: by `lit | opaque << 7`, the lit cells of this row and those it lights in the next one."""
    lit, opaque = (np.arange(1 << 14) >> np.arange(2 * VIEW)[:, None] & 1).astype(bool).reshape(2, VIEW, -1)
    next_lit = np.zeros_like(lit)
    for cells, step in ((range(VIEW - 1), 1), (range(VIEW - 1, 0, -1), -1)):
        for i in cells:
            shines = lit[i] & ~opaque[i]
            lit[i + step] |= shines
            next_lit[[i, i + step]] |= shines
    return np.packbits([lit, next_lit], axis=1, bitorder="little")[:, 0].T.copy()


LIGHT = _light_table()


@inner_kernel
def view_row(row, views, k):  # type: ignore[no-untyped-def]
    """Draw the view of an environment (a row of the state) into views[k] (uint8 [7, 7], packed codes)."""
    cells = row.cells
    ahead, right = _AHEAD[row.direction], _RIGHT[row.direction]
    start = np.uint64(row.spot) - np.uint64(3) * right
    lit = np.uint64(1 << 3)
    for j in range(VIEW - 1, -1, -1):
        spot = start
        opaque = np.uint64(0)
        for i in range(VIEW):
            opaque |= OPAQUE[cells[spot]] << np.uint64(i)
            spot += right
        case = lit | opaque << np.uint64(VIEW)
        visible_bits = LIGHT[case, 0]
        spot = start
        for i in range(VIEW):
            views[k, i, j] = cells[spot] * ((visible_bits >> i) & np.uint8(1))  # times 0 is UNSEEN
            spot += right
        lit = np.uint64(LIGHT[case, 1])
        start += ahead
    number = row.carried
    views[k, 3, 6] = row.code[number - 1] if number else np.uint8(EMPTY)
