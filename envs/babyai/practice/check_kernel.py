"""BabyAI's check machine: one compiled kernel that runs lowered checks over memory rows (`envs/check_machine.py`).

What perception says is read from the accessors of `envs/babyai/perception/table.py` that perception itself is made of.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import COLOUR_SHIFT, KIND_MASK, TYPE_OF_KIND
from sdg.envs.babyai.perception.description import is_located
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.table import (
    color_of,
    current_room,
    distance,
    exists,
    facing,
    front_position,
    is_explored,
    is_faced,
    is_free,
    is_held,
    is_visible,
    position,
    robot_position,
    room_numbers,
    room_of,
    rooms_of,
    start_position,
    status_of,
    type_of,
    unseen_cells,
)
from sdg.envs.babyai.perception.tracking import GONE, MAX_OBJECTS
from sdg.envs.check_machine import (
    ABSOLUTE,
    ADD,
    AND,
    BIT,
    CHECK,
    COUNT,
    FACT,
    FALSE,
    FAULT,
    FIELD,
    FLOOR,
    FREE,
    IN_MASK,
    JUMP,
    JUMP_EQ,
    JUMP_EQ_C,
    JUMP_GE_C,
    JUMP_GT_C,
    JUMP_LE,
    JUMP_LT,
    JUMP_NE,
    LEAST,
    LOAD,
    MATCHES,
    MODULO,
    MOST,
    MOVE,
    MULTIPLY,
    N_ORDERS,
    N_REGISTERS,
    NEXT_BIT,
    NEXT_MATCH,
    NEXT_OBJECT,
    NO_TEXT,
    OR,
    POPCOUNT,
    RETURN,
    SLOT,
    SORT,
    SUBTRACT,
)  # fmt: skip
from sdg.envs.kernels import inlined_kernel, inner_kernel, row_kernel, wide

SCRATCH = N_REGISTERS + N_ORDERS * (MAX_OBJECTS + 1)
"""Length of the i64 scratch array that `evaluate_row` works in."""

FIELD_NAMES: tuple[str, ...] = (
    "id", "type", "color", "x", "y", "start_x", "start_y", "distance", "facing", "visible", "held", "room", "status",
    "explored", "picked_up_at", "dropped_at", "opened_at", "name", "one_room", "other_room", "passed_at",
)  # fmt: skip
"""Operand c of FIELD: register a = that field of the object in register b. `name` is color * 4 + type."""

FACT_NAMES: tuple[str, ...] = (
    "x", "y", "front_x", "front_y", "carried", "facing", "room", "steps", "began_at", "visited", "visited_before",
    "unseen",
)  # fmt: skip
"""Operand b of FACT: register a = that fact about the robot."""


@inlined_kernel
def _field(memory: Memory, i: int, k: int, field: int) -> int:
    if field == 8:
        return int(is_faced(memory, i, k))
    if field == 17:
        return color_of(memory, i, k) * 4 + type_of(memory, i, k)
    if field == 10:
        return int(is_held(memory, i, k))
    if field == 3:
        return position(memory, i, k)[0]
    if field == 4:
        return position(memory, i, k)[1]
    if field == 7:
        return distance(memory, i, k)
    if field == 1:
        return type_of(memory, i, k)
    if field == 2:
        return color_of(memory, i, k)
    if field == 12:
        return status_of(memory, i, k)
    return _rare_field(memory, i, k, field)


@inner_kernel
def _rare_field(memory: Memory, i: int, k: int, field: int) -> int:
    if field == 14:
        return int(memory.picked_up_at[i, k])
    if field == 15:
        return int(memory.dropped_at[i, k])
    if field == 16:
        return int(memory.opened_at[i, k])
    if field == 20:
        return int(memory.passed_at[i, k])
    if field == 18:
        return rooms_of(memory, i, k)[0]
    if field == 19:
        return rooms_of(memory, i, k)[1]
    if field == 13:
        return int(is_explored(memory, i, k))
    if field == 11:
        return room_of(memory, i, k)
    if field == 9:
        return int(is_visible(memory, i, k))
    if field == 5:
        return start_position(memory, i, k)[0]
    if field == 6:
        return start_position(memory, i, k)[1]
    return k


@inlined_kernel
def _fact(memory: Memory, i: int, fact: int) -> int:
    if fact == 4:
        return int(memory.carried[i])
    if fact == 5:
        return facing(memory, i)
    if fact == 6:
        return current_room(memory, i)
    if fact == 7:
        return int(memory.steps[i])
    if fact == 8:
        return int(memory.began_at[i])
    if fact == 9:
        return room_numbers(memory, i, wide(memory.visited[i]))
    if fact == 10:
        return room_numbers(memory, i, wide(memory.visited_before[i]))
    if fact == 11:
        return unseen_cells(memory, i)
    if fact < 2:
        return robot_position(memory, i)[fact]
    return front_position(memory, i)[fact - 2]


@inlined_kernel
def _matches(memory: Memory, i: int, k: int, target: np.ndarray) -> bool:
    """`description.matches` for an id that is known to be in range."""
    code = memory.code[i, k]
    if target[0] >= 0 and TYPE_OF_KIND[code & KIND_MASK] != target[0]:
        return False
    if target[1] >= 0 and code >> COLOUR_SHIFT != target[1]:
        return False
    if memory.at[i, k, 0] == GONE or (target[3] >= 0 and k != target[3]):
        return False
    return bool(target[2] == 0 or is_located(memory, i, k, wide(target[2])))


@inlined_kernel
def _next_match(memory: Memory, i: int, k: int, target: np.ndarray) -> int:
    """The next id after k that matches, -1 when there is none."""
    for other in range(k + 1, wide(memory.n_objects[i])):
        if _matches(memory, i, other, target):
            return other
    return -1


@inlined_kernel
def _next_object(memory: Memory, i: int, k: int) -> int:
    for other in range(k + 1, wide(memory.n_objects[i])):
        if memory.at[i, other, 0] != GONE:
            return other
    return -1


@inner_kernel
def _sort(memory: Memory, i: int, target: np.ndarray, out: np.ndarray, base: int) -> None:
    """Write the number of matches to out[base] and their ids behind it, nearest first and ties by id."""
    n = 0
    for k in range(wide(memory.n_objects[i])):
        if _matches(memory, i, k, target):
            far, at = distance(memory, i, k), n
            while at > 0 and distance(memory, i, out[base + at]) > far:
                out[base + at + 1] = out[base + at]
                at -= 1
            out[base + at + 1] = k
            n += 1
    out[base] = n


@inlined_kernel
def _count(memory: Memory, i: int, target: np.ndarray, most: int) -> int:
    """How many objects match, counted up to `most`."""
    n = 0
    for k in range(wide(memory.n_objects[i])):
        if _matches(memory, i, k, target):
            n += 1
            if n >= most:
                break
    return n


@inner_kernel
def _slot(target: np.ndarray, part: int) -> int:
    """A parameter as the index that a field is compared with; part 2 is a whole name."""
    if part < 2:
        return int(target[part])
    return int(target[1]) * 4 + int(target[0]) if target[0] >= 0 and target[1] >= 0 else NO_TEXT


@inner_kernel
def _popcount(bits: int) -> int:
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@inner_kernel
def _arithmetic(op: int, a: int, b: int) -> int:
    if op == MULTIPLY:
        return a * b
    if op == LEAST:
        return min(a, b)
    if op == MOST:
        return max(a, b)
    if op == FLOOR:
        return a // b if b != 0 else 0
    if op == MODULO:
        return a % b if b != 0 else 0
    if op == AND:
        return a & b
    if op == OR:
        return a | b
    return a & ~b


@inlined_kernel
def _holds(op: int, a: int, b: int) -> bool:
    if op == JUMP_EQ:
        return a == b
    if op == JUMP_NE:
        return a != b
    if op == JUMP_LT:
        return a < b
    if op == JUMP_LE:
        return a <= b
    if op == JUMP_GT_C:
        return a > b
    return a >= b


@inlined_kernel
def _walk(memory: Memory, i: int, op: int, k: int, b: int, targets: np.ndarray, r: np.ndarray) -> int:
    """The next of what a loop runs over, -1 at its end. k is what it stands at, or how many were seen (NEXT_SORTED)."""
    if op == NEXT_MATCH:
        return _next_match(memory, i, k, targets[i, b])
    if op == NEXT_OBJECT:
        return _next_object(memory, i, k)
    if op == NEXT_BIT:
        for bit in range(k + 1, 32):
            if (r[b] >> bit) & 1:
                return bit
        return -1
    base = N_REGISTERS + b * (MAX_OBJECTS + 1)
    return k + 1 if k + 1 < r[base] else -1


@inner_kernel
def _compute(memory: Memory, i: int, op: int, b: int, c: int, targets: np.ndarray, r: np.ndarray) -> int:
    """The value of an operation that is neither a jump nor a loop."""
    if op == SLOT:
        return _slot(targets[i, b], c)
    if op == FREE:
        return int(is_free(memory, i, r[b], r[c]))
    if op == IN_MASK:
        return (c >> r[b]) & 1 if r[b] >= 0 and r[b] < 31 else 0
    if op == BIT:
        return (r[b] >> r[c]) & 1 if r[c] >= 0 and r[c] < 32 else 0
    if op == MATCHES:
        return int(exists(memory, i, r[b]) and _matches(memory, i, r[b], targets[i, c]))
    if op == POPCOUNT:
        return _popcount(r[b])
    return _arithmetic(op, r[b], r[c])


@inner_kernel
def evaluate_row(memory: Memory, i: int, code: np.ndarray, start: int, targets: np.ndarray, r: np.ndarray) -> int:
    """FALSE, TRUE or FAULT: the program that begins at code[start] (i32 (M, 4)) about memory row i.

    `targets` i16 (N, N_SLOTS, 4) has the parameters of every row; `r` i64 (SCRATCH,) is scratch space.
    """
    pc = start
    while True:
        op, a, b, c = code[pc, 0], code[pc, 1], code[pc, 2], code[pc, 3]
        pc += 1
        if op >= JUMP_EQ and op <= JUMP_GE_C:
            other = r[b] if op < JUMP_EQ_C else b
            if op >= JUMP_EQ_C and op < JUMP_GT_C:
                op -= JUMP_EQ_C - JUMP_EQ
            if _holds(op, r[a], other):
                pc += c
        elif op == FIELD:
            r[a] = _field(memory, i, r[b], c)
        elif op == ADD:
            r[a] = r[b] + r[c]
        elif op == SUBTRACT:
            r[a] = r[b] - r[c]
        elif op == ABSOLUTE:
            r[a] = abs(r[b])
        elif op == COUNT:
            r[a] = _count(memory, i, targets[i, b], c)
        elif op == FACT:
            r[a] = _fact(memory, i, b)
        elif op >= NEXT_OBJECT and op <= NEXT_BIT and op != SORT:
            r[a] = _walk(memory, i, op, r[a], b, targets, r)
            if r[a] < 0:
                pc += c
        elif op == RETURN:
            return a
        elif op == JUMP:
            pc += c
        elif op == LOAD:
            r[a] = b
        elif op == MOVE:
            r[a] = r[b] if c < 0 else r[N_REGISTERS + c * (MAX_OBJECTS + 1) + 1 + r[b]]
        elif op == CHECK:
            if r[a] < 0:
                return FAULT
        elif op == SORT:
            _sort(memory, i, targets[i, b], r, N_REGISTERS + a * (MAX_OBJECTS + 1))
        else:
            r[a] = _compute(memory, i, op, b, c, targets, r)


@row_kernel
def evaluate_rows(
    memory: Memory, code: np.ndarray, starts: np.ndarray, program_of: np.ndarray, targets: np.ndarray, r: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Write FALSE, TRUE or FAULT to `out` i8 (N,): program_of[i] (i64; -1 is FALSE) about memory row i."""
    for i in range(len(program_of)):
        program = program_of[i]
        out[i] = evaluate_row(memory, i, code, starts[program], targets, r) if program >= 0 else FALSE
