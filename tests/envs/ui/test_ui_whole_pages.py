"""What is seen on whole pages alone: lone digits, stars, fields that aren't there, and grounds that tell a state."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sdg.envs.ui.parser.lines import is_framed, read_left_out
from sdg.envs.ui.parser.screen import ScreenElement, parse, telling_grounds

pytest.importorskip("rapidocr")


def draw_words(*words: tuple[str, tuple[int, int]], boxes: tuple[tuple[int, int, int, int], ...] = ()) -> np.ndarray:
    image = Image.new("RGB", (600, 200), "white")
    draw = ImageDraw.Draw(image)
    for box in boxes:
        draw.rectangle(box, outline=(90, 90, 90))
    for text, place in words:
        draw.text(place, text, fill=(20, 20, 20), font=ImageFont.load_default(16))
    return np.asarray(image)


def test_a_digit_between_two_buttons_is_read() -> None:
    picture = draw_words(("7", (110, 52)), boxes=((60, 48, 90, 74), (140, 48, 170, 74)))
    (line,) = read_left_out(picture, [], [])
    assert line.text == "7"
    assert 105 <= line.box[0] < line.box[2] <= 125


def test_what_a_line_has_already_is_not_read_again() -> None:
    picture = draw_words(("7", (110, 52)))
    left_out = read_left_out(picture, [], [])
    assert read_left_out(picture, left_out, []) == []


def test_a_dashed_line_is_no_row_of_digits() -> None:
    assert read_left_out(draw_words(boxes=tuple((300, 10 * n, 302, 10 * n + 5) for n in range(15))), [], []) == []


def test_a_field_has_a_frame() -> None:
    picture = draw_words(("Opening hours", (60, 52)), boxes=((300, 50, 420, 76),))
    assert is_framed(picture, (302, 48, 421, 77))
    assert not is_framed(picture, (50, 44, 250, 80))


def test_the_chosen_of_two_tabs_is_told_by_its_ground() -> None:
    picture = np.full((100, 300, 3), 255, np.uint8)
    picture[20:50, 10:60] = (0, 60, 200)
    picture[20:50, 62:112] = (230, 230, 230)
    tabs = [(10, 20, 60, 50), (62, 20, 112, 50)]
    assert sorted(telling_grounds(picture, ["tab", "tab"], tabs)) == [0, 1]
    picture[20:50, 62:112] = (0, 60, 200)
    assert telling_grounds(picture, ["tab", "tab"], tabs) == {}, "all alike tell nothing"


def test_a_ground_is_written_after_the_kind() -> None:
    assert ScreenElement(1, "tab", "Fri", (0, 0, 9, 9), ground="blue").name == "'Fri' tab on blue"


def test_a_page_of_the_benchmarks_size_is_read_as_before() -> None:
    picture = np.full((320, 320, 3), 255, np.uint8)
    picture[20:50, 10:60] = (0, 60, 200)
    assert all(not element.ground for element in parse(picture).elements)
