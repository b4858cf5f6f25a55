"""Which thing is which: the robot's things keep their identity while it carries them about.

Compiled parts of `envs/babyai/perception/memory.py`. A thing that isn't carried is known by its cell, because only
the robot moves things: what was picked up is what lay ahead, and what is put down lies ahead.

Views show kinds and colours, never identities: two red balls look the same. The assumption that only the robot moves
things settles which is which wherever a thing stays in its cell or in the hand. It fails in two cases. A box that is
opened out of view of its contents: what appears in the cell is new, the box is gone. And a thing that the robot holds
at the first view (`recall_carried`): if several like things are in view, none of them is taken for it, and the thing in
the hand becomes a new one, so that one thing may be remembered twice, but never two things as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sdg.envs.babyai.cells import (
    BOX,
    COLOUR_SHIFT,
    DOOR_LOCKED,
    DOOR_OPEN,
    EMPTY,
    FLOOR,
    GOAL,
    KIND_MASK,
    LAVA,
    MAX_OBJECTS,
    PICKUP,
)
from sdg.envs.kernels import inner_kernel, wide

if TYPE_CHECKING:
    from sdg.envs.babyai.perception.memory import Memory

MAX_ROOMS = 16
HELD, GONE = -1, -2
"""Both coordinates in `at` of a carried object, and of one that left the world (an opened box)."""


@inner_kernel
def ahead(direction: int) -> tuple[int, int]:
    """Unit step (dx, dy) in grid coordinates of direction 0 = +x, 1 = +y, 2 = -x, 3 = -y."""
    return (1 - direction) * ((direction + 1) & 1), (2 - direction) * (direction & 1)


@inner_kernel
def is_thing(code: int) -> bool:
    """Whether a cell code is an object or a door."""
    kind = code & KIND_MASK
    return kind >= DOOR_OPEN and kind <= BOX


@inner_kernel
def is_door(code: int) -> bool:
    """Whether a cell code is a door in any state."""
    kind = code & KIND_MASK
    return kind >= DOOR_OPEN and kind <= DOOR_LOCKED


@inner_kernel
def is_passable(code: int) -> bool:
    """Whether the robot can step onto a cell with this code (minigrid's `can_overlap`)."""
    kind = code & KIND_MASK
    return kind == EMPTY or kind == FLOOR or kind == DOOR_OPEN or kind == GOAL or kind == LAVA


@inner_kernel
def lattice_rooms(memory: Memory, i: int, x: int, y: int) -> tuple[int, int]:
    """The lattice rooms on both sides of grid cell (x, y), the same twice where it lies within one."""
    pitch, columns = int(memory.pitch[i]), int(memory.columns[i])
    there = (y // pitch) * columns + x // pitch
    if x % pitch == 0 and x > 0 and x // pitch < columns:
        return there - 1, there
    if x % pitch == 0 or y % pitch != 0 or y == 0 or there >= MAX_ROOMS:
        return min(there, MAX_ROOMS - 1), min(there, MAX_ROOMS - 1)
    return there - columns, there


@inner_kernel
def number_room(memory: Memory, i: int, room: int) -> None:
    """Give a lattice room the next number, if it has none: rooms are numbered as they become known."""
    if memory.room_order[i, room] < 0:
        memory.room_order[i, room] = memory.n_rooms[i]
        memory.n_rooms[i] += 1


@inner_kernel
def _add(memory: Memory, i: int, code: int, x: int, y: int) -> int:
    """A new object first seen at (x, y); its index, or -1 when the memory is full: then it is on the map alone."""
    k = memory.n_objects[i]
    if k >= MAX_OBJECTS:
        return -1
    memory.n_objects[i] = k + 1
    memory.code[i, k], memory.seen_from[i, k], memory.seen_at[i, k] = code, memory.room[i], memory.steps[i]
    memory.at[i, k, 0], memory.at[i, k, 1], memory.home[i, k, 0], memory.home[i, k, 1] = x, y, x, y
    memory.picked_up_at[i, k] = memory.dropped_at[i, k] = memory.opened_at[i, k] = memory.passed_at[i, k] = -1
    here, there = lattice_rooms(memory, i, x, y)
    number_room(memory, i, here)
    number_room(memory, i, there)
    return int(k)


@inner_kernel
def _take(memory: Memory, i: int, k: int) -> None:
    """Object k leaves its cell for the robot's hand."""
    x, y = memory.at[i, k, 0], memory.at[i, k, 1]
    if x >= 0:
        memory.ids[i, x, y], memory.cells[i, x, y] = 0, EMPTY
    memory.at[i, k, 0], memory.at[i, k, 1], memory.carried[i] = HELD, HELD, k


@inner_kernel
def recall_carried(memory: Memory, i: int, code: int) -> None:
    """The thing in the hand that was never picked up: the only like thing remembered, or a new one.

    In PutNext*Carrying the first view shows the object in its cell although the robot carries it already.
    """
    number = -1
    if memory.steps[i] == 1:
        for k in range(wide(memory.n_objects[i])):
            if memory.code[i, k] == code:
                number = k if number < 0 else -2
    if number < 0:
        number = _add(memory, i, code, wide(memory.pose[i, 0]), wide(memory.pose[i, 1]))
        if number >= 0:
            memory.at[i, number, 0] = HELD
    if number >= 0:
        _take(memory, i, number)


@inner_kernel
def follow_hand(memory: Memory, i: int, view: np.ndarray, action: int, front_x: int, front_y: int) -> None:
    """Note the thing that was picked up or put down, told from the hand, cell (3, 6) of the view."""
    in_hand, k = view[3, 6], int(memory.carried[i])
    if k < 0:
        there = int(memory.ids[i, front_x, front_y]) - 1
        if action == PICKUP and there >= 0 and memory.code[i, there] == in_hand and view[3, 5] != in_hand:
            _take(memory, i, there)
            memory.picked_up_at[i, there] = memory.steps[i]
        else:
            recall_carried(memory, i, in_hand)
    else:
        memory.at[i, k, 0], memory.at[i, k, 1], memory.carried[i] = front_x, front_y, -1
        memory.ids[i, front_x, front_y], memory.cells[i, front_x, front_y] = k + 1, memory.code[i, k]
        memory.dropped_at[i, k] = memory.steps[i]


@inner_kernel
def see(memory: Memory, i: int, x: int, y: int, code: int) -> None:
    """Bring the remembered cell (x, y) up to a code that is in view now."""
    k, memory.cells[i, x, y] = int(memory.ids[i, x, y]) - 1, code
    if k >= 0:
        before = memory.code[i, k]
        is_same_door = is_door(code) and is_door(before) and code >> COLOUR_SHIFT == before >> COLOUR_SHIFT
        if is_same_door or (is_thing(code) and code == before):
            memory.seen_at[i, k] = memory.steps[i]
            if code != before:
                memory.code[i, k] = code
                if code & KIND_MASK == DOOR_OPEN:
                    memory.opened_at[i, k] = memory.steps[i]
            return
        memory.at[i, k, 0], memory.at[i, k, 1], memory.ids[i, x, y] = GONE, GONE, 0
    if is_thing(code):
        memory.ids[i, x, y] = _add(memory, i, code, x, y) + 1
