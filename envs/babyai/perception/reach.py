"""Where the robot could walk from where it stands: a flood of the map that it remembers."""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import UNSEEN
from sdg.envs.babyai.perception.memory import MAX_SIZE
from sdg.envs.babyai.perception.tracking import ahead, is_passable
from sdg.envs.kernels import row_kernel


@row_kernel
def flood(cells: np.ndarray, x: int, y: int, steps: np.ndarray, queue: np.ndarray) -> int:
    """Steps from grid cell (x, y) to each of a map u8[22, 22] into `steps` (i16[22, 22]); -1 where no free way leads.

    `queue` (i16[484]) is room to work in. Returns how many neighbours of the cells that were reached were never seen.
    """
    steps[:] = -1
    steps[x, y] = 0
    queue[0] = x * MAX_SIZE + y
    first, last, unseen = 0, 1, 0
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
                unseen += 1
            if is_passable(code):
                steps[a, b] = steps[x, y] + 1
                queue[last] = a * MAX_SIZE + b
                last += 1
    return unseen
