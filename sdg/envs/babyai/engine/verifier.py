"""Is the mission done? BabyAI's verifier as a small program over object sets that are fixed at reset.

`program` u8 [12]: root (SINGLE, BEFORE, AFTER), root strict, side a joined by "and", side b joined, kinds of clauses
0..3, strictness of clauses 0..3. Side a has clauses 0 and 1, side b clauses 2 and 3. `targets` u64 [4, 2]: the objects
a clause speaks of (bit k = object k); the second set is what PutNext puts next to.

Ported quirks of minigrid 3.2: positions are refreshed only on a drop action (even a failed one), so going to where an
object was picked up, or to a box that was opened away, still succeeds; what a clause believes was carried before is
what it saw when it was last verified; "and" ignores the failure of its parts.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from sdg.envs.babyai.cells import DOOR_CLOSED, DOOR_LOCKED, DOOR_OPEN, DROP, KIND_MASK, MAX_OBJECTS, PICKUP, TOGGLE
from sdg.envs.babyai.engine.state import FORWARD, SIDE
from sdg.envs.kernels import inner_kernel

SINGLE, BEFORE, AFTER = 0, 1, 2
NO_CLAUSE, GO_TO, OPEN, PICK_UP, PUT_NEXT = 0, 1, 2, 3, 4
CONTINUE, SUCCESS, FAILURE = 0, 1, 2

ROOT, ROOT_STRICT, JOINED, KINDS, STRICT = 0, 1, 2, 4, 8
"""Offsets into a program."""


def _lowest_bit(typingctx, value):  # type: ignore[no-untyped-def]
    """Index of the lowest set bit of a uint64 that is not zero."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


lowest_bit: Any = intrinsic(_lowest_bit)


@inner_kernel
def _any_near(places, members, spot, gap):  # type: ignore[no-untyped-def]
    """Does any of these objects have its place at this spot (`gap` 0) or one step from it (`gap` 1)?"""
    while members:
        away = abs(np.int64(places[lowest_bit(members)]) - np.int64(spot))
        if away == gap or away == gap * SIDE:
            return True
        members &= members - np.uint64(1)
    return False


@inner_kernel
def _contains(members, number):  # type: ignore[no-untyped-def]
    """Is the object of index number - 1 in this set? (number 0 is nothing)"""
    return number != 0 and (members >> np.uint64(number - 1)) & np.uint64(1) != 0


@inner_kernel
def _verify_clause(row, clause, action, front):  # type: ignore[no-untyped-def]
    kind, members = row.program[KINDS + clause], row.targets[clause, 0]
    if kind == GO_TO:
        return SUCCESS if _any_near(row.listed, members, front, 0) else CONTINUE
    strict = row.program[STRICT + clause] != 0
    if kind == OPEN:
        if action != TOGGLE:
            return CONTINUE
        ahead = row.cells[front] & KIND_MASK
        if ahead == DOOR_OPEN and _any_near(row.where, members, front, 0):
            return SUCCESS
        is_door = ahead == DOOR_OPEN or ahead == DOOR_CLOSED or ahead == DOOR_LOCKED
        return FAILURE if strict and is_door else CONTINUE
    before, after = row.held_before[clause], row.carried
    row.held_before[clause] = after
    if kind == PICK_UP:
        if action != PICKUP:
            return CONTINUE
        if before == 0 and _contains(members, after):
            return SUCCESS
        return FAILURE if strict and after != 0 else CONTINUE
    if strict and action == PICKUP and after != 0:
        return FAILURE
    if action != DROP or not _contains(members, before):
        return CONTINUE
    dropped_at = row.where[before - 1]
    if dropped_at != 0 and _any_near(row.listed, row.targets[clause, 1], dropped_at, 1):
        return SUCCESS
    return CONTINUE


@inner_kernel
def _verify_side(row, side, action, front):  # type: ignore[no-untyped-def]
    """One side of "then" / "after": a clause, or two joined by "and" (each latched once done; failures ignored)."""
    first = 2 * side
    if not row.program[JOINED + side]:
        return _verify_clause(row, first, action, front)
    for clause in range(first, first + 2):
        if not row.done[2 + clause]:
            row.done[2 + clause] = _verify_clause(row, clause, action, front) == SUCCESS
    return SUCCESS if row.done[2 + first] and row.done[3 + first] else CONTINUE


@inner_kernel
def verify_row(row, action):  # type: ignore[no-untyped-def]
    """Judge an environment (a row of the state) after `action` was carried out: CONTINUE, SUCCESS or FAILURE."""
    if (action == DROP) & (row.moved != 0):
        for k in range(MAX_OBJECTS):
            row.listed[k] = row.where[k]
        row.moved = 0
    front = np.int64(row.spot) + FORWARD[row.direction]
    root = row.program[ROOT]
    if root == SINGLE:
        return _verify_side(row, 0, action, front)
    earlier = 0 if root == BEFORE else 1
    if not row.done[earlier]:
        verdict = _verify_side(row, earlier, action, front)
        if verdict == FAILURE:
            return FAILURE
        if verdict != SUCCESS:
            if row.program[ROOT_STRICT] and _verify_side(row, 1 - earlier, action, front) == SUCCESS:
                return FAILURE
            return CONTINUE
        row.done[earlier] = 1
    return _verify_side(row, 1 - earlier, action, front)
