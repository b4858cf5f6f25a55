"""On what ground elements stand that have others beside them: pages tell the chosen tab, day or row by it."""

from collections.abc import Sequence

import numpy as np

from sdg.envs.box import Box

PRESSED = ("button", "tab", "link")
"""Kinds whose ground may tell a state even where it is the page's."""
MIN_DIFFERENCE = 24
"""Sum of differences of the three colour values from which two grounds are different."""
GAP = (48, 24)
"""Pixels, across and down, within which elements are neighbours."""
ALIGNED = 8
"""Pixels by which the left sides of neighbours one below the other may differ."""


def telling_grounds(picture: np.ndarray, kinds: Sequence[str], boxes: Sequence[Sequence[int]]) -> dict[int, np.ndarray]:
    """The grounds, RGB, of those boxes of a picture, RGB u8 (h, w, 3), that have a neighbour with another ground.

    Left out are those on the page's own ground, and neighbours there that are only text.
    """
    page = _ground(picture, (0, 0, picture.shape[1], picture.shape[0]))
    telling = [n for n, kind in enumerate(kinds) if kind in (*PRESSED, "text")]
    grounds = {n: _ground(picture, boxes[n]) for n in telling}
    own = [n for n in telling if _differ(grounds[n], page)]
    neighbours = [n for n in telling if n in own or kinds[n] in PRESSED]
    return {
        n: grounds[n]
        for n in own
        if any(_differ(grounds[n], grounds[m]) and _are_neighbours(boxes[n], boxes[m]) for m in neighbours)
    }


def _ground(picture: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """The colour that most of a box has."""
    pixels = Box(*box).pixels_of(picture).reshape(-1, 3)
    if not len(pixels):
        return np.zeros(3, int)
    codes = (pixels // 8).astype(int) @ np.array([1024, 32, 1])
    return np.median(pixels[codes == np.bincount(codes).argmax()], axis=0).astype(int)


def _differ(ground: np.ndarray, beside: np.ndarray) -> bool:
    return bool(np.abs(ground - beside).sum() >= MIN_DIFFERENCE)


def _are_neighbours(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether they lie close to each other in a row, or in a column with the same left side."""
    box, neighbour = Box(*first), Box(*second)
    common = box.intersection(neighbour)  # negative sides are gaps
    in_row = 2 * common.height > max(box.height, neighbour.height) and 0 <= 4 - common.width <= GAP[0]
    in_column = abs(box.left - neighbour.left) <= ALIGNED and 0 <= 4 - common.height <= GAP[1]
    return in_row or in_column
