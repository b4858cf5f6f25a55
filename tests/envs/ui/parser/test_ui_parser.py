"""The screen parser's parts: maps to detections, text merged into its element, lines in the paper's form."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.box import Box
from sdg.envs.ui.boxes import TrueElement
from sdg.envs.ui.parser.detector import Detection, decode
from sdg.envs.ui.parser.ocr import TextLine
from sdg.envs.ui.parser.screen import colour_of, merge
from training.parser.detector import targets
from training.parser.pages import made_up_page

WHITE = np.full((320, 320, 3), 255, np.uint8)


def test_what_the_targets_say_is_what_is_decoded() -> None:
    elements = [
        TrueElement("button", "Ok", (4, 46, 70, 90)),
        TrueElement("checkbox", "", (100, 100, 126, 126), checked=True),
        TrueElement("textbox", "", (20, 200, 260, 240), focused=True),
        TrueElement("icon", "star", (230, 50, 256, 74)),
    ]
    heat, rest = targets(elements)
    maps = np.concatenate([np.log((heat + 1e-6) / (1 - heat + 1e-6)), rest[:4], np.where(rest[4:6] > 0, 5.0, -5.0)])
    decoded = {element.kind: element for element in decode(maps.astype(np.float32))}
    assert set(decoded) == {"button", "checkbox", "textbox", "star icon"}
    for element in elements:
        kind = "star icon" if element.kind == "icon" else element.kind
        assert Box(*decoded[kind].box).overlap(element.box) > 0.9
    assert decoded["checkbox"].checked
    assert decoded["textbox"].focused
    assert not decoded["button"].checked


def test_a_coloured_letter_is_a_shape_with_its_colour() -> None:
    picture = WHITE.copy()
    picture[60:76, 40:52], picture[100:116, 40:52] = (255, 255, 0), (0, 0, 238)
    lines = [TextLine("G", (40, 60, 52, 76), 0.9), TextLine("2", (40, 100, 52, 116), 0.9)]
    assert [str(element) for element in merge(picture, [], lines).elements] == [
        "'G' yellow shape: [40, 60, 52, 76]",
        "'2': [40, 100, 52, 116]",
    ]


def test_text_belongs_to_the_smallest_element_that_holds_it() -> None:
    detections = [
        Detection("button", (4, 46, 69, 90), False, False, 0.9),
        Detection("textbox", (4, 100, 283, 147), False, True, 0.9),
        Detection("checkbox", (10, 200, 36, 226), True, False, 0.9),
    ]
    lines = [
        TextLine("Ok", (20, 56, 50, 80), 0.99),
        TextLine("it's here", (10, 110, 100, 130), 0.99),
        TextLine("v", (12, 202, 30, 222), 0.6),
        TextLine("brave", (50, 200, 110, 226), 0.99),
    ]
    text = str(merge(WHITE, detections, lines))
    assert text.splitlines() == [
        "OCR:",
        "'brave': [50, 200, 110, 226]",
        "",
        "Object Detector:",
        "'Ok' button: [4, 46, 69, 90]",
        "focused textbox containing the text 'it’s here': [4, 100, 283, 147]",
        "checked checkbox: [10, 200, 36, 226]",
    ]


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((255, 0, 0), "red"),
        ((0, 128, 0), "green"),
        ((0, 0, 255), "blue"),
        ((255, 255, 0), "yellow"),
        ((128, 128, 128), "grey"),
        ((0, 0, 0), "black"),
        ((255, 0, 255), "magenta"),
        ((0, 255, 255), "cyan"),
    ],
)
def test_colours_have_names(colour: tuple[int, int, int], name: str) -> None:
    picture = WHITE.copy()
    picture[20:60, 20:60] = colour
    assert colour_of(picture, (10, 10, 70, 70)) == name


def test_nothing_there_is_white() -> None:
    assert colour_of(WHITE, (10, 10, 70, 70)) == "white"


def test_made_up_pages_are_the_same_for_a_seed() -> None:
    assert made_up_page(7) == made_up_page(7)
    assert len({made_up_page(seed) for seed in range(20)}) == 20
