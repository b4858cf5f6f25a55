"""Actions that change nothing: what the remembered map says of the cell ahead and of the hand, as a mask for policies.

A policy that plays walks into no wall that it has seen (masking of invalid actions: Huang and Ontanon, 2020). Practice
is not masked: there a policy learns from what it tried.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import (
    BALL,
    BOX,
    COLOUR_SHIFT,
    DOOR_CLOSED,
    DOOR_LOCKED,
    DOOR_OPEN,
    EMPTY,
    KEY,
    KIND_MASK,
    UNSEEN,
    WALL,
)
from sdg.envs.babyai.perception.memory import DROP, FORWARD, PICKUP, TOGGLE, Memory
from sdg.envs.kernels import kernel

NEVER = np.float32(-1e9)
"""Logit of an action that isn't taken."""


@kernel
def mask_noop_actions(memory: Memory, i: int, logits: np.ndarray) -> None:
    """Set the logits (6,) of actions that would change nothing in row i to NEVER; turning always changes something."""
    x, y, direction = memory.pose[i, 0], memory.pose[i, 1], memory.pose[i, 2]
    ax = x + (1 if direction == 0 else -1 if direction == 2 else 0)
    ay = y + (1 if direction == 1 else -1 if direction == 3 else 0)
    size = memory.cells.shape[1]
    code = memory.cells[i, ax, ay] if 0 <= ax < size and 0 <= ay < size else WALL
    kind = code & KIND_MASK
    if kind == UNSEEN:
        return
    held = memory.code[i, memory.carried[i]] if memory.carried[i] >= 0 else 0
    thing = kind == KEY or kind == BALL or kind == BOX
    if thing or kind == WALL or kind == DOOR_CLOSED or kind == DOOR_LOCKED:
        logits[FORWARD] = NEVER
    if not thing or held > 0:
        logits[PICKUP] = NEVER
    if kind != EMPTY or held == 0:
        logits[DROP] = NEVER
    opens = held & KIND_MASK == KEY and held >> COLOUR_SHIFT == code >> COLOUR_SHIFT
    if not (kind == DOOR_OPEN or kind == DOOR_CLOSED or kind == BOX or (kind == DOOR_LOCKED and opens)):
        logits[TOGGLE] = NEVER


@kernel
def mask_noop_actions_of_rows(memory: Memory, logits: np.ndarray) -> None:
    """The same for all rows: logits (n, 6)."""
    for i in range(logits.shape[0]):
        mask_noop_actions(memory, i, logits[i])
