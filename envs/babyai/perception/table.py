"""What perception says, as numbers: compiled accessors over memory rows, in the start frame.

`BabyAIPerception` makes its records from `fill_table`, and checks that are lowered to kernels read the same accessors,
so both say the same by construction. `i` is a memory row and `k` an object's id; colours and types are indices into
`cells.COLOURS` and `cells.TYPES`, statuses into `STATUSES`.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import COLOUR_SHIFT, DOOR_OPEN, KIND_MASK, TYPE_OF_KIND, UNSEEN
from sdg.envs.babyai.perception.description import is_located, to_start_frame
from sdg.envs.babyai.perception.memory import MAX_ROOMS, MAX_SIZE, Memory
from sdg.envs.babyai.perception.tracking import GONE, HELD, ahead, is_door, is_passable, lattice_rooms
from sdg.envs.kernels import inner_kernel, row_kernel, wide

STATUSES: tuple[str, ...] = ("", "open", "closed", "locked")

FIELDS: tuple[str, ...] = (
    "id", "type", "color", "x", "y", "start_x", "start_y", "distance", "facing", "visible", "held", "room", "status",
    "explored", "picked_up_at", "dropped_at", "opened_at", "one_room", "other_room", "passed_at",
)  # fmt: skip
"""Columns of the table, one row an object, in order."""

FACTS: tuple[str, ...] = (
    "n_objects", "x", "y", "front_x", "front_y", "room", "carried", "facing", "visited", "visited_before", "steps",
    "began_at", "n_rooms", "unseen",
)  # fmt: skip
"""What is true of the robot, in order; `visited` and `visited_before` have a bit per room *number*."""


@inner_kernel
def exists(memory: Memory, i: int, k: int) -> bool:
    """Whether id k was given and its object is still in the world (an opened box isn't)."""
    return bool(k >= 0 and k < memory.n_objects[i] and memory.at[i, k, 0] != GONE)


@inner_kernel
def is_held(memory: Memory, i: int, k: int) -> bool:
    """Whether the robot carries object k."""
    return bool(memory.at[i, k, 0] == HELD)


@inner_kernel
def is_visible(memory: Memory, i: int, k: int) -> bool:
    """Whether object k is in the view now (the carried one is)."""
    return bool(memory.seen_at[i, k] == memory.steps[i])


@inner_kernel
def type_of(memory: Memory, i: int, k: int) -> int:
    """Index into cells.TYPES."""
    return int(TYPE_OF_KIND[memory.code[i, k] & KIND_MASK])


@inner_kernel
def color_of(memory: Memory, i: int, k: int) -> int:
    """Index into cells.COLOURS."""
    return int(memory.code[i, k] >> COLOUR_SHIFT)


@inner_kernel
def status_of(memory: Memory, i: int, k: int) -> int:
    """Index into STATUSES: 0 for what is not a door."""
    code = memory.code[i, k]
    return int((code & KIND_MASK) - DOOR_OPEN + 1) if is_door(code) else 0


@inner_kernel
def grid_position(memory: Memory, i: int, k: int) -> tuple[int, int]:
    """Grid (x, y) of object k; the robot's own when it is held."""
    if memory.at[i, k, 0] == HELD:
        return int(memory.pose[i, 0]), int(memory.pose[i, 1])
    return int(memory.at[i, k, 0]), int(memory.at[i, k, 1])


@inner_kernel
def position(memory: Memory, i: int, k: int) -> tuple[int, int]:
    """Start-frame (x, y) of object k."""
    x, y = grid_position(memory, i, k)
    return to_start_frame(memory, i, x, y)


@inner_kernel
def start_position(memory: Memory, i: int, k: int) -> tuple[int, int]:
    """Start-frame (x, y) where object k was first seen."""
    return to_start_frame(memory, i, wide(memory.home[i, k, 0]), wide(memory.home[i, k, 1]))


@inner_kernel
def distance(memory: Memory, i: int, k: int) -> int:
    """Manhattan distance in cells from the robot to object k, 0 when held."""
    x, y = grid_position(memory, i, k)
    return abs(x - memory.pose[i, 0]) + abs(y - memory.pose[i, 1])


@inner_kernel
def front_cell(memory: Memory, i: int) -> tuple[int, int]:
    """Grid (x, y) of the cell ahead of the robot."""
    dx, dy = ahead(int(memory.pose[i, 2]))
    return memory.pose[i, 0] + dx, memory.pose[i, 1] + dy


@inner_kernel
def is_faced(memory: Memory, i: int, k: int) -> bool:
    """Whether object k lies in the cell ahead of the robot."""
    x, y = front_cell(memory, i)
    return bool(memory.at[i, k, 0] == x and memory.at[i, k, 1] == y)


@inner_kernel
def facing(memory: Memory, i: int) -> int:
    """Id of the object or door in the cell ahead, -1 for nothing."""
    x, y = front_cell(memory, i)
    if x < 0 or y < 0 or x >= MAX_SIZE or y >= MAX_SIZE:
        return -1
    return int(memory.ids[i, x, y]) - 1


@inner_kernel
def robot_position(memory: Memory, i: int) -> tuple[int, int]:
    """Start-frame (x, y) of the robot."""
    return to_start_frame(memory, i, wide(memory.pose[i, 0]), wide(memory.pose[i, 1]))


@inner_kernel
def front_position(memory: Memory, i: int) -> tuple[int, int]:
    """Start-frame (x, y) of the cell ahead of the robot."""
    x, y = front_cell(memory, i)
    return to_start_frame(memory, i, x, y)


@inner_kernel
def current_room(memory: Memory, i: int) -> int:
    """Number of the room the robot is in."""
    return int(memory.room_order[i, memory.room[i]])


@inner_kernel
def unseen_cells(memory: Memory, i: int) -> int:
    """How many cells of the room that the robot is in it has never seen, walls and doors included, corners not."""
    pitch, columns, room = int(memory.pitch[i]), int(memory.columns[i]), int(memory.room[i])
    left, top = room % columns * pitch, room // columns * pitch
    unseen = 0
    for x in range(left, min(left + pitch + 1, MAX_SIZE)):
        for y in range(top, min(top + pitch + 1, MAX_SIZE)):
            corner = (x == left or x == left + pitch) and (y == top or y == top + pitch)
            unseen += memory.cells[i, x, y] == UNSEEN and not corner
    return unseen


@inner_kernel
def room_of(memory: Memory, i: int, k: int) -> int:
    """Number of the room object k lies in; a door: that it was first seen from."""
    if memory.at[i, k, 0] == HELD:
        return current_room(memory, i)
    pitch = int(memory.pitch[i])
    x, y = int(memory.at[i, k, 0]), int(memory.at[i, k, 1])
    if x % pitch == 0 or y % pitch == 0:  # a door, or a thing put down where a wall was left out
        return int(memory.room_order[i, memory.seen_from[i, k]])
    return int(memory.room_order[i, (y // pitch) * memory.columns[i] + x // pitch])


@inner_kernel
def rooms_of(memory: Memory, i: int, k: int) -> tuple[int, int]:
    """Numbers of the rooms on both sides of door k, that it was first seen from first; twice `room_of` for others."""
    room = room_of(memory, i, k)
    if not is_door(memory.code[i, k]):
        return room, room
    here, there = lattice_rooms(memory, i, int(memory.at[i, k, 0]), int(memory.at[i, k, 1]))
    one, other = int(memory.room_order[i, here]), int(memory.room_order[i, there])
    return (other, one) if other == room else (one, other)


@inner_kernel
def is_explored(memory: Memory, i: int, k: int) -> bool:
    """Whether object k is a door and the rooms on both its sides were visited since reset or the last forget."""
    if not is_door(memory.code[i, k]):
        return False
    here, there = lattice_rooms(memory, i, int(memory.at[i, k, 0]), int(memory.at[i, k, 1]))
    if here == there:
        return False
    visited = int(memory.visited[i])
    return bool((visited >> here) & 1 == 1 and (visited >> there) & 1 == 1)


@inner_kernel
def room_numbers(memory: Memory, i: int, lattice_bits: int) -> int:
    """Bits per lattice room (`visited`, `visited_before`) to bits per room number."""
    numbers = 0
    for room in range(MAX_ROOMS):
        if (int(lattice_bits) >> room) & 1 and memory.room_order[i, room] >= 0:
            numbers |= 1 << int(memory.room_order[i, room])
    return numbers


@row_kernel
def is_free_cell(cells: np.ndarray, start: np.ndarray, x: int, y: int) -> bool:
    """`is_free` of one row's map (u8[22, 22]) and pose at reset (i8[3])."""
    dx, dy = ahead(int(start[2]))
    grid_x, grid_y = start[0] + y * dx - x * dy, start[1] + y * dy + x * dx
    if grid_x < 0 or grid_y < 0 or grid_x >= MAX_SIZE or grid_y >= MAX_SIZE:
        return False
    return is_passable(cells[grid_x, grid_y])


@inner_kernel
def is_free(memory: Memory, i: int, x: int, y: int) -> bool:
    """Whether the start-frame cell (x, y) was seen and can be walked on, as far as is known."""
    return is_free_cell(memory.cells[i], memory.start[i], x, y)


@inner_kernel
def fill_row(memory: Memory, i: int, k: int, row: np.ndarray) -> None:
    """Write the FIELDS of object k to `row` (i16[20])."""
    row[0], row[1], row[2] = k, type_of(memory, i, k), color_of(memory, i, k)
    row[3], row[4] = position(memory, i, k)
    row[5], row[6] = start_position(memory, i, k)
    row[7], row[8] = distance(memory, i, k), is_faced(memory, i, k)
    row[9], row[10] = is_visible(memory, i, k), is_held(memory, i, k)
    row[11], row[12], row[13] = room_of(memory, i, k), status_of(memory, i, k), is_explored(memory, i, k)
    row[14], row[15] = memory.picked_up_at[i, k], memory.dropped_at[i, k]
    row[16] = memory.opened_at[i, k]
    row[17], row[18] = rooms_of(memory, i, k)
    row[19] = memory.passed_at[i, k]


@inner_kernel
def fill_table(memory: Memory, i: int, table: np.ndarray) -> int:
    """Write the FIELDS of all that is known and in the world to `table` (i16[MAX_OBJECTS, 20]); the rows written."""
    n = 0
    for k in range(wide(memory.n_objects[i])):
        if memory.at[i, k, 0] != GONE:
            fill_row(memory, i, k, table[n])
            n += 1
    return n


@inner_kernel
def fill_facts(memory: Memory, i: int, facts: np.ndarray) -> None:
    """Write the FACTS of row i to `facts` (i32[14])."""
    facts[0] = memory.n_objects[i]
    facts[1], facts[2] = robot_position(memory, i)
    facts[3], facts[4] = front_position(memory, i)
    facts[5], facts[6], facts[7] = current_room(memory, i), memory.carried[i], facing(memory, i)
    facts[8] = room_numbers(memory, i, wide(memory.visited[i]))
    facts[9] = room_numbers(memory, i, wide(memory.visited_before[i]))
    facts[10], facts[11], facts[12] = memory.steps[i], memory.began_at[i], memory.n_rooms[i]
    facts[13] = unseen_cells(memory, i)


@row_kernel
def take_snapshot(memory: Memory, i: int, table: np.ndarray, located: np.ndarray, facts: np.ndarray) -> int:
    """What perception may be asked of row i beside its map: the number of rows written to `table` and `located`.

    `located` (u8[MAX_OBJECTS]) has a bit per location word that holds: 1 left, 2 right, 4 front, 8 behind.
    """
    n = fill_table(memory, i, table)
    fill_facts(memory, i, facts)
    for row in range(n):
        located[row] = 0
        for location in range(1, 5):
            if is_located(memory, i, wide(table[row, 0]), location):
                located[row] |= 1 << (location - 1)
    return n
