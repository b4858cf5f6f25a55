"""A rectangle on a screen. Records have plain tuples [left, top, right, bottom]; `Box(*record.box)` calculates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Box(NamedTuple):
    """Its sides in pixels; right and bottom aren't part of it. Another box may be any four numbers."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Pixels from left to right."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self.bottom - self.top

    @property
    def area(self) -> int:
        """Pixels in it; 0 for an empty one."""
        return max(self.width, 0) * max(self.height, 0)

    @property
    def middle(self) -> tuple[int, int]:
        """The pixel (x, y) in the middle."""
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    @property
    def centre(self) -> tuple[float, float]:
        """The exact middle (x, y), which may lie between pixels."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def has_point(self, x: float, y: float) -> bool:
        """Whether a point lies in it."""
        return self.left <= x < self.right and self.top <= y < self.bottom

    def contains(self, other: Sequence[int]) -> bool:
        """Whether another box lies in it; edges may be the same."""
        return self.intersection(other) == tuple(other)

    def intersection(self, other: Sequence[int]) -> "Box":
        """What both cover; where they are apart, its width or height is the gap, negative."""
        left, top, right, bottom = other
        return Box(max(self.left, left), max(self.top, top), min(self.right, right), min(self.bottom, bottom))

    def overlap(self, other: Sequence[int]) -> float:
        """Intersection over union, in [0, 1]."""
        common = self.intersection(other).area
        return common / max(self.area + Box(*other).area - common, 1)

    def moved(self, across: int, down: int) -> "Box":
        """The same size at another place."""
        return Box(self.left + across, self.top + down, self.right + across, self.bottom + down)

    def grown(self, across: int, down: int) -> "Box":
        """With more pixels on each side, but none above or left of the screen."""
        return Box(max(self.left - across, 0), max(self.top - down, 0), self.right + across, self.bottom + down)

    def pixels_of(self, picture: np.ndarray) -> np.ndarray:
        """The part of a picture (h, w, ...) that lies in it, as a view."""
        return picture[self.top : self.bottom, self.left : self.right]
