"""The robot's memory: a map, objects with identity, and the rooms it has been in, from views alone.

`begin` and `observe` are given what the robot itself is given (its view, its heading, the action it took) and never the
world, so what perception says of a memory is honest by construction. Movement is dead reckoning; what was picked up,
put down or opened is inferred from how the view changed. One compiled kernel serves the batch engine and a single
environment alike; docs/reference/babyai.md lists the fields.
"""

from typing import NamedTuple

import numpy as np

from sdg.envs.babyai.cells import EMPTY, FORWARD, MAX_OBJECTS, MAX_SIZE, UNSEEN, VIEW
from sdg.envs.babyai.perception.tracking import (
    GONE,
    MAX_ROOMS,
    ahead,
    follow_hand,
    is_door,
    is_passable,
    is_thing,
    number_room,
    recall_carried,
    see,
)
from sdg.envs.kernels import inner_kernel, row_kernel

Pose = tuple[int, int, int] | np.ndarray

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
    passed_at: np.ndarray
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
    trail: np.ndarray


def create(n: int) -> Memory:
    """n empty memories; call `begin` on a row before anything else."""
    if n < 1:
        raise ValueError(f"a memory has at least one row, not {n}")
    objects = (n, MAX_OBJECTS)
    return Memory(
        cells=np.zeros((n, MAX_SIZE, MAX_SIZE), np.uint8),
        ids=np.zeros((n, MAX_SIZE, MAX_SIZE), np.uint8),
        n_objects=np.zeros(n, np.int16),
        code=np.zeros(objects, np.uint8),
        at=np.full((*objects, 2), GONE, np.int8),
        home=np.full((*objects, 2), GONE, np.int8),
        seen_from=np.zeros(objects, np.int8),
        seen_at=np.full(objects, -1, np.int16),
        picked_up_at=np.full(objects, -1, np.int16),
        dropped_at=np.full(objects, -1, np.int16),
        opened_at=np.full(objects, -1, np.int16),
        passed_at=np.full(objects, -1, np.int16),
        pose=np.zeros((n, 3), np.int8),
        start=np.zeros((n, 3), np.int8),
        carried=np.full(n, -1, np.int16),
        pitch=np.ones(n, np.int8),
        room=np.zeros(n, np.int8),
        columns=np.ones(n, np.int8),
        room_order=np.full((n, MAX_ROOMS), -1, np.int8),
        n_rooms=np.zeros(n, np.int8),
        visited=np.zeros(n, np.uint16),
        visited_before=np.zeros(n, np.uint16),
        steps=np.zeros(n, np.int16),
        began_at=np.zeros(n, np.int16),
        trail=np.zeros((n, MAX_SIZE, MAX_SIZE), np.uint8),
    )


@inner_kernel
def _look(memory: Memory, i: int, view: np.ndarray) -> None:
    """Write everything in view onto the map; the robot's own cell shows its hand instead and is left alone."""
    cells, ids, seen_at = memory.cells[i], memory.ids[i], memory.seen_at[i]
    steps = memory.steps[i]
    dx, dy = ahead(int(memory.pose[i, 2]))
    for j in range(VIEW):
        far = 6 - j
        x, y = memory.pose[i, 0] + far * dx + 3 * dy, memory.pose[i, 1] + far * dy - 3 * dx
        for side in range(VIEW):
            code = view[side, j]
            inside = x >= 0 and x < MAX_SIZE and y >= 0 and y < MAX_SIZE
            if code != UNSEEN and inside and not (far == 0 and side == 3):
                if code != cells[x, y]:
                    see(memory, i, x, y, code)
                elif ids[x, y] > 0:
                    seen_at[ids[x, y] - 1] = steps
            x, y = x - dy, y + dx


@inner_kernel
def _enter(memory: Memory, i: int) -> None:
    """Note the room the robot stands in; a cell on the lattice (a doorway) belongs to none."""
    pitch = int(memory.pitch[i])
    x, y = int(memory.pose[i, 0]), int(memory.pose[i, 1])
    if x % pitch == 0 or y % pitch == 0:
        return
    room = (y // pitch) * memory.columns[i] + x // pitch
    memory.room[i] = room
    memory.visited[i] |= np.uint16(1 << room)
    number_room(memory, i, room)


@inner_kernel
def _tread(memory: Memory, i: int) -> None:
    """Note the heading in the cell where the robot stands: bit d of its trail is set for direction d."""
    memory.trail[i, memory.pose[i, 0], memory.pose[i, 1]] |= np.uint8(1 << int(memory.pose[i, 2]))


@row_kernel
def begin(memory: Memory, i: int, view: np.ndarray, pose: Pose, room_size: int, width: int, height: int) -> None:
    """Start an episode in row i from its first view u8[7, 7] and pose (x, y, direction); sizes in cells.

    ValueError when such a grid doesn't fit.
    """
    pitch = room_size - 1
    if pitch < 1 or width > MAX_SIZE or height > MAX_SIZE:
        raise ValueError("grids have rooms of at least 2 cells a side and at most 22 cells a side")
    if ((width - 1) // pitch) * ((height - 1) // pitch) > MAX_ROOMS:
        raise ValueError("a memory holds at most 16 rooms")
    memory.cells[i] = UNSEEN
    memory.ids[i] = memory.trail[i] = 0
    memory.room_order[i] = -1
    memory.n_objects[i] = memory.steps[i] = memory.began_at[i] = memory.n_rooms[i] = memory.visited[i] = 0
    memory.carried[i], memory.pitch[i], memory.columns[i] = -1, pitch, (width - 1) // pitch
    for axis in range(3):
        memory.pose[i, axis] = memory.start[i, axis] = pose[axis]
    _enter(memory, i)
    memory.visited_before[i] = memory.visited[i]
    _tread(memory, i)
    memory.cells[i, pose[0], pose[1]] = EMPTY
    if is_thing(view[3, 6]):
        recall_carried(memory, i, view[3, 6])
    _look(memory, i, view)


@inner_kernel
def _advance(memory: Memory, i: int, view: np.ndarray, x: int, y: int) -> None:
    """Step onto (x, y) if that is where a step forward has led.

    Nothing reports whether a step succeeded: the map decides. The cell ahead was in the last view, so what the map says
    of it is true, except for the thing that was already held at the first view.
    """
    code = memory.cells[i, x, y]
    has_moved = is_passable(code)
    if memory.steps[i] == 1 and memory.carried[i] < 0 and is_thing(code) and view[3, 6] == code:
        has_moved = view[3, 5] != code  # the first view showed what the robot holds already: see recall_carried
    if has_moved:
        memory.pose[i, 0], memory.pose[i, 1] = x, y


@row_kernel
def observe(memory: Memory, i: int, view: np.ndarray, direction: int, action: int) -> None:
    """One step of row i: the action taken (0..6), the view u8[7, 7] and the direction (0..3) that came of it.

    The order matters. The position is updated first, from what the map said of the cell ahead before this view (the
    view itself is drawn from the new place, and can't be laid onto the map before that is known). Then the heading, the
    hand (what was picked up leaves its cell before the view says that the cell is empty; otherwise it would count as
    gone), the view, and the room last, because a door's passage is told by the room changing.
    """
    if memory.steps[i] < _STEPS_END:
        memory.steps[i] += 1
    dx, dy = ahead(int(memory.pose[i, 2]))
    from_x, from_y = int(memory.pose[i, 0]), int(memory.pose[i, 1])
    front_x = min(max(memory.pose[i, 0] + dx, 0), MAX_SIZE - 1)
    front_y = min(max(memory.pose[i, 1] + dy, 0), MAX_SIZE - 1)
    if action == FORWARD:
        _advance(memory, i, view, front_x, front_y)
    memory.pose[i, 2] = direction
    _tread(memory, i)
    if is_thing(view[3, 6]) != (memory.carried[i] >= 0):
        follow_hand(memory, i, view, action, front_x, front_y)
    if memory.carried[i] >= 0:
        memory.seen_at[i, memory.carried[i]] = memory.steps[i]
    _look(memory, i, view)
    before = memory.room[i]
    _enter(memory, i)
    if memory.room[i] != before and is_door(memory.cells[i, from_x, from_y]):
        memory.passed_at[i, memory.ids[i, from_x, from_y] - 1] = memory.steps[i]


@row_kernel
def begin_subgoal(memory: Memory, i: int) -> None:
    """The current subgoal of row i begins now."""
    memory.began_at[i], memory.visited_before[i] = memory.steps[i], memory.visited[i]
    memory.trail[i] = 0
    _tread(memory, i)


@row_kernel
def forget_visited_rooms(memory: Memory, i: int) -> None:
    """Forget which rooms were visited, but for the one the robot is in."""
    memory.visited[i] = np.uint16(1 << int(memory.room[i]))
