"""Perception in numbers: compiled accessors over memory rows, in the start frame.

`BabyAIPerception` makes its records from `fill_table`, and checks over many rows (`practice/batch_world.py`) read it,
so both say the same by construction. `i` is a memory row and `k` an object's id; colours and types are
indices into `cells.COLOURS` and `cells.TYPES`, statuses into `STATUSES`.
"""

import numpy as np

from sdg.envs.babyai.cells import COLOUR_SHIFT, DOOR_OPEN, KIND_MASK, MAX_SIZE, TYPE_OF_KIND, UNSEEN
from sdg.envs.babyai.perception.description import is_located, to_start_frame
from sdg.envs.babyai.perception.memory import MAX_ROOMS, Memory
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
"""Facts about the robot, in order; `visited` and `visited_before` have a bit per room *number*."""


@inner_kernel
def front_cell(memory: Memory, i: int) -> tuple[int, int]:
    """Grid (x, y) of the cell ahead of the robot."""
    dx, dy = ahead(wide(memory.pose[i, 2]))
    return memory.pose[i, 0] + dx, memory.pose[i, 1] + dy


@inner_kernel
def code_at(memory: Memory, i: int, x: int, y: int, outside: int) -> int:
    """The remembered code of grid cell (x, y); `outside` beyond the map."""
    inside = x >= 0 and y >= 0 and x < MAX_SIZE and y < MAX_SIZE
    return wide(memory.cells[i, x, y]) if inside else outside


@inner_kernel
def unseen_cells(memory: Memory, i: int) -> int:
    """How many cells of the room that the robot is in it has never seen, walls and doors included, corners not."""
    pitch, columns, room = int(memory.pitch[i]), int(memory.columns[i]), int(memory.room[i])
    left, top = room % columns * pitch, room // columns * pitch
    count = 0
    for x in range(left, min(left + pitch + 1, MAX_SIZE)):
        for y in range(top, min(top + pitch + 1, MAX_SIZE)):
            corner = (x == left or x == left + pitch) and (y == top or y == top + pitch)
            count += memory.cells[i, x, y] == UNSEEN and not corner
    return count


@inner_kernel
def is_explored(memory: Memory, i: int, k: int) -> bool:
    """Whether object k is a door and the rooms on both its sides were visited since reset or the last forget."""
    if not is_door(memory.code[i, k]):
        return False
    here, there = lattice_rooms(memory, i, int(memory.at[i, k, 0]), int(memory.at[i, k, 1]))
    both = (1 << here) | (1 << there)
    return bool(here != there and int(memory.visited[i]) & both == both)


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
def fill_row(memory: Memory, i: int, k: int, row: np.ndarray) -> None:
    """Write the FIELDS of object k to `row` (i16[20]); a carried object lies where the robot stands."""
    code, pitch = memory.code[i, k], int(memory.pitch[i])
    x, y, door = int(memory.at[i, k, 0]), int(memory.at[i, k, 1]), is_door(code)
    robot_x, robot_y, front = int(memory.pose[i, 0]), int(memory.pose[i, 1]), front_cell(memory, i)
    # A door, or a thing put down where a wall was left out, is of the room that it was first seen from.
    is_held, room = x == HELD, wide(memory.seen_from[i, k])
    if is_held:
        x, y, room = robot_x, robot_y, wide(memory.room[i])
    elif x % pitch != 0 and y % pitch != 0:
        room = (y // pitch) * memory.columns[i] + x // pitch
    here, there = lattice_rooms(memory, i, x, y) if door else (room, room)
    number, one, other = memory.room_order[i, room], memory.room_order[i, here], memory.room_order[i, there]
    row[0], row[1], row[2] = k, TYPE_OF_KIND[code & KIND_MASK], code >> COLOUR_SHIFT
    row[3], row[4] = to_start_frame(memory, i, x, y)
    row[5], row[6] = to_start_frame(memory, i, wide(memory.home[i, k, 0]), wide(memory.home[i, k, 1]))
    row[7], row[8] = abs(x - robot_x) + abs(y - robot_y), x == front[0] and y == front[1]
    row[9], row[10], row[11] = memory.seen_at[i, k] == memory.steps[i], is_held, number
    row[12], row[13] = (code & KIND_MASK) - DOOR_OPEN + 1 if door else 0, is_explored(memory, i, k)
    row[14], row[15], row[16] = memory.picked_up_at[i, k], memory.dropped_at[i, k], memory.opened_at[i, k]
    row[17], row[18] = (other, one) if other == number else (one, other)
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
    """Write the FACTS of row i to `facts` (i32[14]); `facing` is the id of what lies ahead, -1 for nothing."""
    x, y = front_cell(memory, i)
    inside = x >= 0 and y >= 0 and x < MAX_SIZE and y < MAX_SIZE
    facts[0], facts[12], facts[13] = memory.n_objects[i], memory.n_rooms[i], unseen_cells(memory, i)
    facts[1], facts[2] = to_start_frame(memory, i, wide(memory.pose[i, 0]), wide(memory.pose[i, 1]))
    facts[3], facts[4] = to_start_frame(memory, i, x, y)
    facts[5], facts[6] = memory.room_order[i, memory.room[i]], memory.carried[i]
    facts[7] = int(memory.ids[i, x, y]) - 1 if inside else -1
    facts[8] = room_numbers(memory, i, wide(memory.visited[i]))
    facts[9] = room_numbers(memory, i, wide(memory.visited_before[i]))
    facts[10], facts[11] = memory.steps[i], memory.began_at[i]


@row_kernel
def take_snapshot(memory: Memory, i: int, table: np.ndarray, located: np.ndarray, facts: np.ndarray) -> int:
    """Write the facts of row i beside its map; returns the number of rows written to `table` and `located`.

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


@row_kernel
def flood(cells: np.ndarray, x: int, y: int, steps: np.ndarray, queue: np.ndarray) -> int:
    """Steps from grid cell (x, y) to each of a map u8[22, 22] into `steps` (i16[22, 22]); -1 where no free way leads.

    `queue` (i16[484]) is room to work in. Returns how many neighbours of the cells that were reached were never seen.
    """
    steps[:] = -1
    steps[x, y] = 0
    queue[0] = x * MAX_SIZE + y
    first, last, n_unseen = 0, 1, 0
    while first < last:
        x, y = queue[first] // MAX_SIZE, queue[first] % MAX_SIZE
        first += 1
        for direction in range(4):
            dx, dy = ahead(direction)
            a, b = x + dx, y + dy
            if a < 0 or b < 0 or a >= MAX_SIZE or b >= MAX_SIZE or steps[a, b] != -1:
                continue
            code = cells[a, b]
            if code == UNSEEN:
                n_unseen += 1
            if is_passable(code):
                steps[a, b] = steps[x, y] + 1
                queue[last] = a * MAX_SIZE + b
                last += 1
    return n_unseen
