"""Outlines that are drawn on a canvas, and how many corners they have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.parser.forms import find_outlines

MIDDLE = (160, 110)
SHARP = 3


def drawn(corners: int, *, radius: float, turned: float, width: int) -> np.ndarray:
    """The outline of a regular polygon, RGB u8 (SCREEN, SCREEN, 3)."""
    image = Image.new("RGB", (SHARP * SCREEN, SHARP * SCREEN), "white")
    angles = [turned + 2 * math.pi * n / corners for n in range(corners)]
    across, down = MIDDLE
    points = [(SHARP * (across + radius * math.cos(a)), SHARP * (down + radius * math.sin(a))) for a in angles]
    ImageDraw.Draw(image).line([*points, *points[:2]], fill="black", width=SHARP * width, joint="curve")
    return np.asarray(image.resize((SCREEN, SCREEN), Image.Resampling.BILINEAR))


@pytest.mark.parametrize("corners", range(3, 8))
def test_the_corners_of_outlines_are_counted(corners: int) -> None:
    rng = np.random.default_rng(corners)
    for _ in range(20):
        radius, turned = rng.uniform(40, 75), rng.uniform(0, 2 * math.pi)
        picture = drawn(corners, radius=radius, turned=turned, width=int(rng.integers(3, 6)))
        ((box, form),) = find_outlines(picture, [])
        assert form == f"{corners}-cornered"
        assert box.has_point(*MIDDLE)


@pytest.mark.parametrize("radius", range(30, 80, 7))
def test_a_circle_has_no_corners(radius: int) -> None:
    ((_, form),) = find_outlines(drawn(90, radius=radius, turned=0.3, width=4), [])
    assert form == "circle"


def test_what_an_element_lies_in_or_on_is_no_outline() -> None:
    picture = drawn(5, radius=60, turned=0, width=4)
    assert not find_outlines(picture, [(150, 100, 170, 120)])
    assert find_outlines(picture, [(0, 250, 40, 290)])


def test_small_and_filled_shapes_are_no_outlines() -> None:
    picture = drawn(5, radius=15, turned=0, width=3).copy()
    picture[200:280, 200:280] = 0
    assert not find_outlines(picture, [])
