"""What an action does: the robot turns, walks, takes, drops and opens, as kernels over one row of the state."""

import numpy as np

from sdg.envs.babyai.cells import BALL, BOX, DOOR_CLOSED, DOOR_LOCKED, DOOR_OPEN, EMPTY, KEY, KIND_MASK, MAX_OBJECTS
from sdg.envs.babyai.engine.state import FORWARD
from sdg.envs.kernels import inner_kernel

N_ACTIONS = 7
"""left, right, forward, pickup, drop, toggle, done (which does nothing)."""


_TURN = np.array([3, 1, 0, 0, 0, 0, 0], np.uint8)
"""By action: quarter turns to the right."""


def _kinds(*kinds: int) -> int:
    return sum(1 << kind for kind in kinds)


_HAPPENS = np.array(
    [
        0,
        0,
        _kinds(EMPTY, DOOR_OPEN),
        _kinds(KEY, BALL, BOX),
        _kinds(EMPTY),
        _kinds(DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED, BOX),
        0,
    ],
    np.int64,
)
"""By action: bits of the kinds of cell ahead on which it can have an effect."""


@inner_kernel
def object_at(row, spot):  # type: ignore[no-untyped-def]
    """Index of the object or door at a spot of an environment, -1 if there is none."""
    for k in range(MAX_OBJECTS):
        if row.where[k] == spot:
            return k
    return -1


@inner_kernel
def _pick_up(row, front):  # type: ignore[no-untyped-def]
    if row.carried:
        return
    k = object_at(row, front)
    row.carried, row.where[k], row.cells[front], row.moved = k + 1, 0, EMPTY, 1


@inner_kernel
def _drop(row, front):  # type: ignore[no-untyped-def]
    number = row.carried
    if number == 0:
        return
    row.carried, row.where[number - 1], row.cells[front], row.moved = 0, front, row.code[number - 1], 1


@inner_kernel
def _toggle(row, front, kind, colour):  # type: ignore[no-untyped-def]
    if kind == DOOR_OPEN:
        row.cells[front] = DOOR_CLOSED | colour
    elif kind == DOOR_CLOSED:
        row.cells[front] = DOOR_OPEN | colour
    elif kind == DOOR_LOCKED:
        number = row.carried
        if number and row.code[number - 1] == KEY | colour:
            row.cells[front] = DOOR_OPEN | colour
    else:
        box = object_at(row, front)
        content = row.inside[box]
        row.where[box], row.cells[front], row.moved = 0, EMPTY, 1
        if content:
            row.where[content - 1], row.cells[front] = front, row.code[content - 1]


@inner_kernel
def act_row(row, action):  # type: ignore[no-untyped-def]
    """Carry out one action (0..6) in an environment; nothing is judged and the clock does not move.

    Written with few branches: which action comes is what a processor cannot foresee, that nothing happens is likely.
    """
    direction = row.direction
    spot = np.int64(row.spot)
    front = spot + FORWARD[direction]
    code = row.cells[front]
    kind = code & KIND_MASK
    happens = (_HAPPENS[action] >> kind) & 1
    row.direction = (direction + _TURN[action]) & 3
    row.spot = front if happens & (action == 2) else spot
    if happens & (action > 2):
        if action == 3:
            _pick_up(row, front)
        elif action == 4:
            _drop(row, front)
        else:
            _toggle(row, front, kind, code - kind)
