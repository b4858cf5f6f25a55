"""Rectangles on a screen."""

import json

import numpy as np

from sdg.envs.box import Box

CARD = Box(10, 20, 50, 40)


def test_a_box_is_a_plain_tuple_for_its_callers() -> None:
    assert CARD == (10, 20, 50, 40)
    assert json.dumps(CARD) == "[10, 20, 50, 40]"


def test_sizes_and_middles() -> None:
    assert CARD.width == 40
    assert CARD.height == 20
    assert CARD.area == 800
    assert CARD._replace(right=51).middle == (30, 30)
    assert CARD._replace(right=51).centre == (30.5, 30)


def test_right_and_bottom_are_not_part_of_a_box() -> None:
    assert CARD.has_point(10, 20)
    assert not CARD.has_point(50, 30)
    assert not CARD.has_point(30, 40)


def test_a_box_contains_itself_and_none_that_sticks_out() -> None:
    assert CARD.contains(CARD)
    assert CARD.contains((12, 20, 50, 30))
    assert not CARD.contains((12, 19, 50, 30))


def test_an_intersection_has_negative_sides_where_boxes_are_apart() -> None:
    assert CARD.intersection((30, 30, 90, 90)) == (30, 30, 50, 40)
    apart = CARD.intersection((57, 20, 60, 40))
    assert apart.width == -7
    assert apart.area == 0


def test_overlap_is_intersection_over_union() -> None:
    assert CARD.overlap(CARD) == 1
    assert CARD.overlap((10, 20, 30, 40)) == 0.5
    assert CARD.overlap((60, 20, 90, 40)) == 0


def test_a_box_moves_and_grows_but_not_beyond_the_upper_left_corner() -> None:
    assert CARD.moved(-10, 5) == (0, 25, 40, 45)
    assert CARD.grown(15, 2) == (0, 18, 65, 42)


def test_pixels_of_a_picture_are_a_view() -> None:
    picture = np.zeros((60, 60, 3), np.uint8)
    CARD.pixels_of(picture)[:] = 1
    assert picture.sum() == 3 * CARD.area
