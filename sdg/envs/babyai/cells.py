"""One byte a cell: how a BabyAI grid is coded in the engine, in packed views and in memory; their sizes and actions.

A code is `kind | colour << 4`. Door states are kinds of their own, so that a code says everything a view says about a
cell. `TRIPLES` decodes a code to minigrid's (type, colour, state) and `CODES` encodes the other way.
"""

import numpy as np
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX

UNSEEN, EMPTY, WALL, FLOOR = 0, 1, 2, 3
DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED = 4, 5, 6
KEY, BALL, BOX, GOAL, LAVA = 7, 8, 9, 10, 11

MAX_SIZE = 22
"""Cells a side of the largest grid (3 x 3 rooms of 8)."""
MAX_OBJECTS = 40
"""Objects and doors that a layout or a memory can hold; the largest registered level has 38."""
VIEW = 7
"""Cells a side of the view; the robot is at (3, 6) and looks towards decreasing j."""
LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)

KIND_MASK = 0x0F
COLOUR_SHIFT = 4

COLOURS: tuple[str, ...] = tuple(sorted(COLOR_TO_IDX, key=COLOR_TO_IDX.__getitem__))
"""Colour names by their minigrid index."""

TYPES: tuple[str, ...] = ("door", "key", "ball", "box")
"""Types that missions can name, by the index that targets and perception use."""

TYPE_OF_KIND = np.full(16, -1, np.int8)
"""Kind -> index into TYPES, or -1 for what missions cannot name."""
TYPE_OF_KIND[[DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED]] = 0
TYPE_OF_KIND[[KEY, BALL, BOX]] = [1, 2, 3]

_MINIGRID = {
    UNSEEN: ("unseen", 0),
    EMPTY: ("empty", 0),
    WALL: ("wall", 0),
    FLOOR: ("floor", 0),
    DOOR_OPEN: ("door", 0),
    DOOR_CLOSED: ("door", 1),
    DOOR_LOCKED: ("door", 2),
    KEY: ("key", 0),
    BALL: ("ball", 0),
    BOX: ("box", 0),
    GOAL: ("goal", 0),
    LAVA: ("lava", 0),
}

TRIPLES = np.zeros((256, 3), np.uint8)
"""(256, 3): code -> minigrid's (type, colour, state)."""
CODES = np.zeros((11, 6, 3), np.uint8)
"""(type, colour, state) -> code; 0 where minigrid has no such cell."""

for _kind, (_name, _state) in _MINIGRID.items():
    for _colour in range(len(COLOURS)):
        _code = _kind | _colour << COLOUR_SHIFT
        TRIPLES[_code] = (OBJECT_TO_IDX[_name], _colour, _state)
        CODES[OBJECT_TO_IDX[_name], _colour, _state] = _code


def encode(image: np.ndarray) -> np.ndarray:
    """Pack a minigrid image (..., 3) uint8 into codes (...) uint8."""
    return CODES[image[..., 0], image[..., 1], image[..., 2]]


def decode(codes: np.ndarray) -> np.ndarray:
    """Unpack codes (...) uint8 into a minigrid image (..., 3) uint8."""
    return TRIPLES[codes]
