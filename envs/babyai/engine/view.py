"""The robot's 7x7 view, exactly as minigrid draws it: walls and shut doors hide what lies behind them.

minigrid's `Grid.process_vis` goes through the view row by row, from the robot's own row away from it. What a row passes
on depends only on which of its seven cells are already lit and which are opaque, so all 128 x 128 cases are in a table.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import DOOR_CLOSED, DOOR_LOCKED, EMPTY, KIND_MASK, WALL
from sdg.envs.babyai.engine.state import SIDE
from sdg.envs.kernels import inner_kernel

VIEW = 7
"""Cells a side of the view; the robot is at (3, 6) and looks towards decreasing j."""
FORWARD = np.array([SIDE, 1, -SIDE, -1], np.int64)
"""How the spot changes with a step, by direction."""
RIGHT = np.array([1, -SIDE, -1, SIDE], np.int64)
"""How the spot changes with a step to the robot's right, by direction."""

_OPAQUE = np.array([code & KIND_MASK in (WALL, DOOR_CLOSED, DOOR_LOCKED) for code in range(256)], np.uint64)
"""By code: 1 if nothing can be seen behind it."""
# Unsigned indices spare numba the test for negative ones in the innermost loops; -32 wraps round as it should.
_AHEAD, _RIGHT = FORWARD.astype(np.uint64), RIGHT.astype(np.uint64)


def _light_table() -> np.ndarray:
    """(16384, 2) uint8: by `lit | opaque << 7`, the lit cells of this row and those it lights in the next one."""
    table = np.zeros((1 << 14, 2), np.uint8)
    for case in range(1 << 14):
        lit = [bool(case >> i & 1) for i in range(VIEW)]
        opaque = [bool(case >> (VIEW + i) & 1) for i in range(VIEW)]
        following = [False] * VIEW
        for cells, step in ((range(VIEW - 1), 1), (range(VIEW - 1, 0, -1), -1)):
            for i in cells:
                if lit[i] and not opaque[i]:
                    lit[i + step] = following[i + step] = following[i] = True
        table[case, 0] = sum(1 << i for i in range(VIEW) if lit[i])
        table[case, 1] = sum(1 << i for i in range(VIEW) if following[i])
    return table


_LIGHT = _light_table()


@inner_kernel
def view_row(row, views, k):  # type: ignore[no-untyped-def]
    """Draw the view of an environment (a row of the state) into views[k] (uint8 [7, 7], packed codes)."""
    cells = row.cells
    ahead, right = _AHEAD[row.direction], _RIGHT[row.direction]
    start = np.uint64(row.spot) - np.uint64(3) * right
    lit = np.uint64(1 << 3)
    for j in range(VIEW - 1, -1, -1):
        spot = start
        opaque = np.uint64(0)
        for i in range(VIEW):
            opaque |= _OPAQUE[cells[spot]] << np.uint64(i)
            spot += right
        case = lit | opaque << np.uint64(VIEW)
        shown = _LIGHT[case, 0]
        spot = start
        for i in range(VIEW):
            views[k, i, j] = cells[spot] * ((shown >> i) & np.uint8(1))  # times 0 is UNSEEN
            spot += right
        lit = np.uint64(_LIGHT[case, 1])
        start += ahead
    held = row.carried
    views[k, 3, 6] = row.code[held - 1] if held else np.uint8(EMPTY)
