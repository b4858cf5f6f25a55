"""What one BabyAI environment is made of, as arrays: N environments in a `State`, M ready layouts in `Layouts`.

Grids are kept with a border of grey walls (minigrid's `Grid.slice` shows walls outside the grid), so that a view never
has to ask whether a cell exists. Positions are *spots*: one number, `(x + PAD) * SIDE + (y + PAD)`; 0 is nowhere.
A row of a `State` is complete by itself: it can be copied into any other engine, whatever bank that one has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from envs.babyai.cells import COLOUR_SHIFT, WALL

MAX_SIZE = 22
"""Cells a side of the largest grid (3 x 3 rooms of 8)."""
MAX_OBJECTS = 40
"""Objects and doors a layout can hold; the largest registered level has 38."""
PAD = 5
"""Width of the border: a robot stands at 1 or more and sees 6 cells ahead, so 5 cells lie outside."""
SIDE = 32
"""Cells a side with the border (PAD + MAX_SIZE + PAD)."""
OUTSIDE = WALL | 5 << COLOUR_SHIFT
"""Code of a grey wall, which is what lies outside a grid."""
N_CLAUSES = 4
"""Most clauses of a mission: "A and B, then C and D"."""


class State(NamedTuple):
    """N environments. Leading axis N everywhere; rows are independent of each other and of any bank."""

    cells: np.ndarray  # u8 [N, 1024] code at each spot, the robot itself not drawn
    where: np.ndarray  # u16 [N, 40] spot of each object and door now; 0 = held, in a box, or gone
    listed: np.ndarray  # u16 [N, 40] spot at the last refresh of the verifier (at reset and on drop actions only)
    code: np.ndarray  # u8 [N, 40] code of each object (doors: as at reset)
    inside: np.ndarray  # u8 [N, 40] object index + 1 of what a box holds, 0 = nothing
    spot: np.ndarray  # u16 [N] where the robot stands
    direction: np.ndarray  # u8 [N] 0 right (x + 1), 1 down (y + 1), 2 left, 3 up
    carried: np.ndarray  # u8 [N] object index + 1 of what it carries, 0 = nothing
    steps: np.ndarray  # i32 [N] steps since reset
    max_steps: np.ndarray  # i32 [N] the time limit that scales the reward
    program: np.ndarray  # u8 [N, 12] the mission's shape, see envs/babyai/verifier.py
    targets: np.ndarray  # u64 [N, 4, 2] sets of object indices of each clause (bit k = object k), fixed at reset
    done: np.ndarray  # u8 [N, 6] parts done: side a, side b, clauses 0..3
    held_before: np.ndarray  # u8 [N, 4] what was carried when each clause was last verified (index + 1)
    room_size: np.ndarray  # u8 [N]
    width: np.ndarray  # u8 [N]
    height: np.ndarray  # u8 [N]
    layout: np.ndarray  # i32 [N] row of the bank the episode began from


class Layouts(NamedTuple):
    """M layouts as minigrid made them. Leading axis M everywhere."""

    cells: np.ndarray  # u8 [M, 22, 22] code at (x, y); grey walls outside the grid
    where: np.ndarray  # u16 [M, 40] spot of each object and door; 0 = inside a box, or no such object
    code: np.ndarray  # u8 [M, 40]
    inside: np.ndarray  # u8 [M, 40]
    spot: np.ndarray  # u16 [M]
    direction: np.ndarray  # u8 [M]
    carried: np.ndarray  # u8 [M] index + 1 of what is carried from the start; still drawn in `cells`, see reset_row
    max_steps: np.ndarray  # i32 [M]
    program: np.ndarray  # u8 [M, 12]
    targets: np.ndarray  # u64 [M, 4, 2]
    room_size: np.ndarray  # u8 [M]
    width: np.ndarray  # u8 [M]
    height: np.ndarray  # u8 [M]
    columns: np.ndarray  # u8 [M] columns of rooms
    mission: np.ndarray  # i32 [M] index of the mission's text


_STATE_SHAPES: dict[str, tuple[type, tuple[int, ...]]] = {
    "cells": (np.uint8, (SIDE * SIDE,)),
    "where": (np.uint16, (MAX_OBJECTS,)),
    "listed": (np.uint16, (MAX_OBJECTS,)),
    "code": (np.uint8, (MAX_OBJECTS,)),
    "inside": (np.uint8, (MAX_OBJECTS,)),
    "spot": (np.uint16, ()),
    "direction": (np.uint8, ()),
    "carried": (np.uint8, ()),
    "steps": (np.int32, ()),
    "max_steps": (np.int32, ()),
    "program": (np.uint8, (12,)),
    "targets": (np.uint64, (N_CLAUSES, 2)),
    "done": (np.uint8, (2 + N_CLAUSES,)),
    "held_before": (np.uint8, (N_CLAUSES,)),
    "room_size": (np.uint8, ()),
    "width": (np.uint8, ()),
    "height": (np.uint8, ()),
    "layout": (np.int32, ()),
}

LAYOUT_SHAPES: dict[str, tuple[type, tuple[int, ...]]] = {
    "cells": (np.uint8, (MAX_SIZE, MAX_SIZE)),
    **{name: _STATE_SHAPES[name] for name in ("where", "code", "inside", "spot", "direction", "carried", "max_steps")},
    **{name: _STATE_SHAPES[name] for name in ("program", "targets", "room_size", "width", "height")},
    "columns": (np.uint8, ()),
    "mission": (np.int32, ()),
}


def create(n: int) -> State:
    """N empty environments; each row must be reset before it is stepped."""
    state = State(**{name: np.zeros((n, *shape), dtype) for name, (dtype, shape) in _STATE_SHAPES.items()})
    state.cells[:] = OUTSIDE
    state.spot[:] = spot_of(1, 1)
    state.max_steps[:] = 1
    return state


def create_layouts(m: int) -> Layouts:
    """M empty layouts, to be filled in."""
    layouts = Layouts(**{name: np.zeros((m, *shape), dtype) for name, (dtype, shape) in LAYOUT_SHAPES.items()})
    layouts.cells[:] = OUTSIDE
    return layouts


def copy_rows(source: State, rows: np.ndarray, target: State, target_rows: np.ndarray) -> None:
    """Copy whole environments, for instance to keep them (any two states, the same one included)."""
    for from_array, to_array in zip(source, target, strict=True):
        to_array[target_rows] = from_array[rows]


def nbytes_per_row(state: State) -> int:
    """Bytes of state that one environment takes."""
    return sum(array.nbytes for array in state) // max(1, len(state.spot))


def spot_of(x: int, y: int) -> int:
    """The spot of grid position (x, y)."""
    return (x + PAD) * SIDE + y + PAD


@njit(cache=True, nogil=True, inline="always")
def spot_x(spot):  # type: ignore[no-untyped-def]
    """Grid x of a spot."""
    return (np.int64(spot) >> 5) - PAD


@njit(cache=True, nogil=True, inline="always")
def spot_y(spot):  # type: ignore[no-untyped-def]
    """Grid y of a spot."""
    return (np.int64(spot) & 31) - PAD


@njit(cache=True, nogil=True)
def pose_row(state, i, pose):  # type: ignore[no-untyped-def]
    """Write x, y, direction of row i into pose[0:3]."""
    pose[0] = spot_x(state.spot[i])
    pose[1] = spot_y(state.spot[i])
    pose[2] = state.direction[i]


@njit(cache=True, nogil=True)
def copy_row(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy environment i of one state into row j of another, inside a kernel."""
    target.cells[j] = source.cells[i]
    target.where[j] = source.where[i]
    target.listed[j] = source.listed[i]
    target.code[j] = source.code[i]
    target.inside[j] = source.inside[i]
    target.spot[j] = source.spot[i]
    target.direction[j] = source.direction[i]
    target.carried[j] = source.carried[i]
    target.steps[j] = source.steps[i]
    target.max_steps[j] = source.max_steps[i]
    target.program[j] = source.program[i]
    target.targets[j] = source.targets[i]
    target.done[j] = source.done[i]
    target.held_before[j] = source.held_before[i]
    target.room_size[j] = source.room_size[i]
    target.width[j] = source.width[i]
    target.height[j] = source.height[i]
    target.layout[j] = source.layout[i]
