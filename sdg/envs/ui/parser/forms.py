"""The forms of what is drawn: rectangles, circles, and how many corners other outlines have."""

from collections.abc import Sequence

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.parser.lines import filled_pieces

MAX_INK = 240
"""The darkest colour value below which a pixel is ink."""
FULL, ROUND, HALF = 0.93, 0.785, 0.5
"""Shares of its rectangle that a rectangle, a circle and a triangle fill."""
MIN_SIDE, MIN_HOLLOW, MIN_CONVEX = 40, 1.5, 0.9
"""MIN_SIDE: pixels of an outline across and down. MIN_HOLLOW: its area, filled, over that of its ink. MIN_CONVEX: the
share of its convex hull that it fills."""
MAX_CORNERS, MIN_CORNER, MIN_LEFT = 7, 0.06, 0.85
"""MAX_CORNERS: that are counted. MIN_CORNER: the share of the area that goes with a corner: 0.108 of a regular polygon
with 7. MIN_LEFT: the share that is left without smaller corners; less of what is round."""
_ANGLES = np.linspace(0, 2 * np.pi, 360, endpoint=False)
DIRECTIONS = np.stack([np.sin(_ANGLES), np.cos(_ANGLES)])
"""f64 (2, 360)."""


def form_of(picture: np.ndarray, box: Sequence[int]) -> str:
    """ "rectangle", "circle", "triangle" or "" for none of them, by how the ink of a box lies in it."""
    ink: np.ndarray = Box(*box).pixels_of(picture).min(axis=2) < MAX_INK
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if len(rows) < 5 or len(columns) < 5:
        return ""
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # Outlines are filled from both sides, row by row.
    filled = np.maximum.accumulate(ink, axis=1) & np.maximum.accumulate(ink[:, ::-1], axis=1)[:, ::-1]
    share, widths = float(filled.mean()), filled.mean(axis=1)
    top, bottom = widths[: len(widths) // 4].mean(), widths[-(len(widths) // 4) :].mean()
    if share >= FULL:
        return "rectangle"
    if abs(share - ROUND) < 0.07 and abs(top - bottom) < 0.2:
        return "circle"
    return "triangle" if abs(share - HALF) < 0.12 and abs(top - bottom) > 0.4 else ""


def find_outlines(picture: np.ndarray, taken: Sequence[Sequence[int]]) -> list[tuple[Box, str]]:
    """Closed outlines of a picture, RGB u8 (h, w, 3), that touch no box that is `taken`, each with its form."""
    outlines = []
    for box, ink, filled in filled_pieces(picture.min(axis=2) < MAX_INK):
        is_outline = min(box.width, box.height) >= MIN_SIDE and filled.sum() > MIN_HOLLOW * ink.sum()
        if is_outline and not any(box.intersection(other).area for other in taken):
            corners = count_corners(filled & ~ink)
            outlines.append((box, f"{corners}-cornered" if corners else form_of(picture, box)))
    return outlines


def count_corners(filled: np.ndarray) -> int:
    """The corners, 3 to `MAX_CORNERS`, of what a mask, bool (h, w), fills; 0 for what is round or has dents."""
    hull = _hull(np.argwhere(filled).astype(float))
    whole = _area(hull)
    if filled.sum() < MIN_CONVEX * whole:
        return 0
    while len(hull) > 3:
        losses = [_area(hull) - _area(np.delete(hull, n, axis=0)) for n in range(len(hull))]
        if min(losses) >= MIN_CORNER * whole:
            break
        hull = np.delete(hull, int(np.argmin(losses)), axis=0)
    return len(hull) if len(hull) <= MAX_CORNERS and _area(hull) > MIN_LEFT * whole else 0


def _hull(points: np.ndarray) -> np.ndarray:
    """The points f64 (n, 2) that lie farthest in one of `DIRECTIONS`, in their order around."""
    farthest = points[(points @ DIRECTIONS).argmax(axis=0)]
    return farthest[(farthest != np.roll(farthest, 1, axis=0)).any(axis=1)]


def _area(corners: np.ndarray) -> float:
    """The area of a polygon, by its corners f64 (n, 2)."""
    y, x = corners.T
    return abs(float(np.dot(y, np.roll(x, 1)) - np.dot(x, np.roll(y, 1)))) / 2
