"""What the robot has seen: a map, objects with identity, and the rooms it has been in, from views alone.

`begin` and `observe` are given what the robot itself is given (its view, its heading, the action it took) and never the
world, so what perception says of a memory is honest by construction. Movement is dead reckoning; what was picked up,
put down or opened is told from how the view changed. One compiled kernel serves the batch engine and a single
environment alike; docs/architecture.md lists the fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from envs.babyai.cells import (
    BOX,
    COLOUR_SHIFT,
    DOOR_LOCKED,
    DOOR_OPEN,
    EMPTY,
    FLOOR,
    GOAL,
    KIND_MASK,
    LAVA,
    UNSEEN,
)

MAX_SIZE = 22
"""Longest side of a grid, in cells."""
MAX_OBJECTS = 40
"""Objects and doors a memory holds; one more is seen on the map but gets no identity."""
MAX_ROOMS = 16
VIEW = 7
"""Side of the view; the robot stands at (3, 6) in it and looks towards decreasing j."""

HELD, GONE = -1, -2
"""Both coordinates in `at` of a carried object, and of one that left the world (an opened box)."""

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
_STEPS_END = 32_767  # the step counters are int16


class Memory(NamedTuple):
    """N memories as arrays with a leading environment axis; positions are grid coordinates (x, y)."""

    cells: np.ndarray
    ids: np.ndarray
    n_objects: np.ndarray
    code: np.ndarray
    at: np.ndarray
    home: np.ndarray
    seen_from: np.ndarray
    seen_at: np.ndarray
    picked_up_at: np.ndarray
    dropped_at: np.ndarray
    opened_at: np.ndarray
    pose: np.ndarray
    start: np.ndarray
    carried: np.ndarray
    pitch: np.ndarray
    room: np.ndarray
    columns: np.ndarray
    room_order: np.ndarray
    n_rooms: np.ndarray
    visited: np.ndarray
    visited_before: np.ndarray
    steps: np.ndarray
    began_at: np.ndarray


def create(n: int) -> Memory:
    """n empty memories; call `begin` on a row before anything else."""
    if n < 1:
        raise ValueError(f"a memory has at least one row, not {n}")
    objects, rows = (n, MAX_OBJECTS), (n,)
    return Memory(
        cells=np.zeros((n, MAX_SIZE, MAX_SIZE), np.uint8),
        ids=np.zeros((n, MAX_SIZE, MAX_SIZE), np.uint8),
        n_objects=np.zeros(rows, np.int16),
        code=np.zeros(objects, np.uint8),
        at=np.full((*objects, 2), GONE, np.int8),
        home=np.full((*objects, 2), GONE, np.int8),
        seen_from=np.zeros(objects, np.int8),
        seen_at=np.full(objects, -1, np.int16),
        picked_up_at=np.full(objects, -1, np.int16),
        dropped_at=np.full(objects, -1, np.int16),
        opened_at=np.full(objects, -1, np.int16),
        pose=np.zeros((n, 3), np.int8),
        start=np.zeros((n, 3), np.int8),
        carried=np.full(rows, -1, np.int16),
        pitch=np.ones(rows, np.int8),
        room=np.zeros(rows, np.int8),
        columns=np.ones(rows, np.int8),
        room_order=np.full((n, MAX_ROOMS), -1, np.int8),
        n_rooms=np.zeros(rows, np.int8),
        visited=np.zeros(rows, np.uint16),
        visited_before=np.zeros(rows, np.uint16),
        steps=np.zeros(rows, np.int16),
        began_at=np.zeros(rows, np.int16),
    )


def copy_rows(
    source: Memory, rows: Sequence[int] | np.ndarray, target: Memory, target_rows: Sequence[int] | np.ndarray
) -> None:
    """Copy `rows` of `source` onto `target_rows` of `target`; slices and masks work as in numpy."""
    for here, there in zip(source, target, strict=True):
        there[target_rows] = here[rows]


@njit(cache=True, inline="always")
def ahead(direction):
    """Unit step (dx, dy) in grid coordinates of direction 0 = +x, 1 = +y, 2 = -x, 3 = -y."""
    return (1 - direction) * ((direction + 1) & 1), (2 - direction) * (direction & 1)


@njit(cache=True, inline="always")
def is_thing(code):
    """Whether a cell code is an object or a door."""
    kind = code & KIND_MASK
    return kind >= DOOR_OPEN and kind <= BOX


@njit(cache=True, inline="always")
def is_door(code):
    """Whether a cell code is a door in any state."""
    kind = code & KIND_MASK
    return kind >= DOOR_OPEN and kind <= DOOR_LOCKED


@njit(cache=True, inline="always")
def is_passable(code):
    """Whether the robot can step onto a cell with this code (minigrid's `can_overlap`)."""
    kind = code & KIND_MASK
    return kind == EMPTY or kind == FLOOR or kind == DOOR_OPEN or kind == GOAL or kind == LAVA


@njit(cache=True, inline="always")
def _same_thing(code, other):
    if code >> COLOUR_SHIFT != other >> COLOUR_SHIFT:
        return False
    return code == other or (is_door(code) and is_door(other))


@njit(cache=True)
def _add(memory, i, code, x, y):
    """A new object first seen at (x, y); its index, or -1 when the memory is full."""
    k = memory.n_objects[i]
    if k >= MAX_OBJECTS:
        return -1
    memory.n_objects[i] = k + 1
    memory.code[i, k] = code
    memory.at[i, k, 0] = x
    memory.at[i, k, 1] = y
    memory.home[i, k, 0] = x
    memory.home[i, k, 1] = y
    memory.seen_from[i, k] = memory.room[i]
    memory.seen_at[i, k] = memory.steps[i]
    memory.picked_up_at[i, k] = -1
    memory.dropped_at[i, k] = -1
    memory.opened_at[i, k] = -1
    return np.int64(k)


@njit(cache=True)
def _take(memory, i, k):
    """Object k leaves its cell for the robot's hand."""
    x, y = memory.at[i, k, 0], memory.at[i, k, 1]
    if x >= 0:
        memory.ids[i, x, y] = 0
        memory.cells[i, x, y] = EMPTY
    memory.at[i, k, 0] = HELD
    memory.at[i, k, 1] = HELD
    memory.carried[i] = k


@njit(cache=True)
def _unseen_pickup(memory, i, code):
    """What is held although nothing was picked up: the one like thing remembered, or something new.

    In PutNext*Carrying the first view shows the object in its cell although the robot carries it already.
    """
    found = -1
    if memory.steps[i] == 1:
        for k in range(memory.n_objects[i]):
            if memory.code[i, k] == code:
                found = k if found < 0 else -2
    if found < 0:
        found = _add(memory, i, code, memory.pose[i, 0], memory.pose[i, 1])
        if found >= 0:
            memory.at[i, found, 0] = HELD
    if found >= 0:
        _take(memory, i, found)


@njit(cache=True)
def _hand(memory, i, view, action, front_x, front_y):
    """Tell from the hand, cell (3, 6) of the view, what was picked up or put down."""
    in_hand = view[3, 6]
    k = np.int64(memory.carried[i])
    if k < 0 and is_thing(in_hand):
        there = np.int64(memory.ids[i, front_x, front_y]) - 1
        if action == PICKUP and there >= 0 and memory.code[i, there] == in_hand and view[3, 5] != in_hand:
            _take(memory, i, there)
            memory.picked_up_at[i, there] = memory.steps[i]
        else:
            _unseen_pickup(memory, i, in_hand)
    elif k >= 0 and not is_thing(in_hand):
        memory.at[i, k, 0] = front_x
        memory.at[i, k, 1] = front_y
        memory.ids[i, front_x, front_y] = k + 1
        memory.cells[i, front_x, front_y] = memory.code[i, k]
        memory.dropped_at[i, k] = memory.steps[i]
        memory.carried[i] = -1
    if memory.carried[i] >= 0:
        memory.seen_at[i, memory.carried[i]] = memory.steps[i]


@njit(cache=True)
def _see(memory, i, x, y, code):
    """Bring the remembered cell (x, y) up to a code that is in view now."""
    k = np.int64(memory.ids[i, x, y]) - 1
    memory.cells[i, x, y] = code
    if k >= 0:
        before = memory.code[i, k]
        if is_thing(code) and _same_thing(code, before):
            memory.seen_at[i, k] = memory.steps[i]
            if code != before:
                memory.code[i, k] = code
                if code & KIND_MASK == DOOR_OPEN:
                    memory.opened_at[i, k] = memory.steps[i]
            return
        memory.at[i, k, 0] = GONE
        memory.at[i, k, 1] = GONE
        memory.ids[i, x, y] = 0
    if is_thing(code):
        memory.ids[i, x, y] = _add(memory, i, code, x, y) + 1


@njit(cache=True)
def _look(memory, i, view):
    """Write everything in view onto the map; the robot's own cell shows its hand instead and is left alone."""
    dx, dy = ahead(np.int64(memory.pose[i, 2]))
    for j in range(VIEW):
        far = 6 - j
        x = memory.pose[i, 0] + far * dx + 3 * dy
        y = memory.pose[i, 1] + far * dy - 3 * dx
        for side in range(VIEW):
            code = view[side, j]
            if code != UNSEEN and x >= 0 and x < MAX_SIZE and y >= 0 and y < MAX_SIZE and not (far == 0 and side == 3):
                if is_thing(code) or memory.cells[i, x, y] != code:
                    _see(memory, i, x, y, code)
            x -= dy
            y += dx


@njit(cache=True)
def _enter(memory, i):
    """Note the room the robot stands in; a cell on the lattice (a doorway) belongs to none."""
    pitch = np.int64(memory.pitch[i])
    x, y = np.int64(memory.pose[i, 0]), np.int64(memory.pose[i, 1])
    if x % pitch == 0 or y % pitch == 0:
        return
    room = (y // pitch) * memory.columns[i] + x // pitch
    memory.room[i] = room
    memory.visited[i] |= np.uint16(1 << room)
    if memory.room_order[i, room] < 0:
        memory.room_order[i, room] = memory.n_rooms[i]
        memory.n_rooms[i] += 1


@njit(cache=True)
def begin(memory, i, view, pose, room_size, width, height):
    """Start an episode in row i: view u8[7, 7], pose (x, y, direction), sizes in cells. ValueError when it can't fit."""
    pitch = room_size - 1
    if pitch < 1 or width > MAX_SIZE or height > MAX_SIZE:
        raise ValueError("grids have rooms of at least 2 cells a side and at most 22 cells a side")
    if ((width - 1) // pitch) * ((height - 1) // pitch) > MAX_ROOMS:
        raise ValueError("a memory holds at most 16 rooms")
    memory.cells[i] = UNSEEN
    memory.ids[i] = 0
    memory.n_objects[i] = 0
    memory.carried[i] = -1
    memory.steps[i] = 0
    memory.began_at[i] = 0
    for axis in range(3):
        memory.pose[i, axis] = pose[axis]
        memory.start[i, axis] = pose[axis]
    memory.pitch[i] = pitch
    memory.columns[i] = (width - 1) // pitch
    memory.room_order[i] = -1
    memory.n_rooms[i] = 0
    memory.visited[i] = 0
    _enter(memory, i)
    memory.visited_before[i] = memory.visited[i]
    memory.cells[i, pose[0], pose[1]] = EMPTY
    if is_thing(view[3, 6]):
        _unseen_pickup(memory, i, view[3, 6])
    _look(memory, i, view)


@njit(cache=True)
def _advance(memory, i, view, x, y):
    """Step onto (x, y) if that is where a step forward has led."""
    code = memory.cells[i, x, y]
    moved = is_passable(code)
    if memory.steps[i] == 1 and memory.carried[i] < 0 and is_thing(code) and view[3, 6] == code:
        moved = view[3, 5] != code  # the first view showed what the robot holds already: see _unseen_pickup
    if moved:
        memory.pose[i, 0] = x
        memory.pose[i, 1] = y


@njit(cache=True)
def observe(memory, i, view, direction, action):
    """One step of row i: the action taken (0..6), the view u8[7, 7] and the direction (0..3) that came of it."""
    if memory.steps[i] < _STEPS_END:
        memory.steps[i] += 1
    dx, dy = ahead(np.int64(memory.pose[i, 2]))
    front_x = min(max(memory.pose[i, 0] + dx, 0), MAX_SIZE - 1)
    front_y = min(max(memory.pose[i, 1] + dy, 0), MAX_SIZE - 1)
    if action == FORWARD:
        _advance(memory, i, view, front_x, front_y)
    memory.pose[i, 2] = direction
    _hand(memory, i, view, action, front_x, front_y)
    _look(memory, i, view)
    _enter(memory, i)


@njit(cache=True)
def begin_subgoal(memory, i):
    """The current subgoal of row i begins now."""
    memory.began_at[i] = memory.steps[i]
    memory.visited_before[i] = memory.visited[i]


@njit(cache=True)
def forget_visited_rooms(memory, i):
    """Forget which rooms were visited, but for the one the robot is in."""
    memory.visited[i] = np.uint16(1 << np.int64(memory.room[i]))
