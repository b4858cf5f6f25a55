"""Wordless icons get a name on whole pages, whatever their colours; letters get none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from sdg.envs.ui.browser import NoBrowser, open_browser
from sdg.envs.ui.captions import phrase_of
from sdg.envs.ui.parser.detector import load_network
from sdg.envs.ui.parser.icons import NAMES, WEIGHTS, find_icons, ink_of, name_icons, network
from sdg.envs.ui.parser.screen import parse, picture_of

DRAWN = {
    "menu": "<path d='M3 6h18M3 12h18M3 18h18'/>",
    "search": "<circle cx='10' cy='10' r='7'/><path d='M15 15l6 6'/>",
    "check": "<path d='M4 12l6 6L20 6'/>",
    "pause": "<path d='M8 5v14M16 5v14'/>",
    "download": "<path d='M12 3v12M7 10l5 5 5-5M4 20h16'/>",
    "mail": "<path d='M3 5h18v14H3zM3 6l9 7 9-7'/>",
    "play": "<path d='M6 4l14 8-14 8z'/>",
    "bookmark": "<path d='M6 3h12v18l-6-5-6 5z'/>",
    "home": "<path d='M3 11l9-8 9 8M5 9v12h14V9M10 21v-7h4v7'/>",
}  # fmt: skip


def page_of_icons(ground: str, ink: str) -> np.ndarray:
    """The icons in a row, 24 pixels wide and 60 apart, from (20, 20) on, as a screenshot."""
    icons = "".join(
        f"<svg style='position:absolute;top:20px;left:{20 + 60 * n}px' width=24 height=24 viewBox='0 0 24 24' "
        f"fill=none stroke='{ink}' stroke-width=2>{path}</svg>"
        for n, path in enumerate(DRAWN.values())
    )
    return screenshot(
        f"<body style='background:{ground};color:{ink};font:16px sans-serif'>{icons}"
        "<p style='margin-top:60px'>Seven words about nothing, for the reader"
    )


def screenshot(html: str) -> np.ndarray:
    """A page of 700 by 200 pixels."""
    pytest.importorskip("playwright")
    pytest.importorskip("rapidocr")
    try:
        with open_browser() as browser:
            page = browser.new_page(viewport={"width": 700, "height": 200})
            page.set_content(html)
            return picture_of(page.screenshot())
    except NoBrowser as error:
        pytest.skip(str(error))


def test_a_ticked_box_is_no_icon() -> None:
    screen = parse(screenshot("<body style='font:15px sans-serif;zoom:2'><input type=checkbox checked> Send me news"))
    (tick,) = [element for element in screen.elements if element.box[0] < 60 and element.kind != "text"]
    assert (tick.kind, tick.checked) == ("checkbox", True)


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#222222"), ("#1e2a38", "#ffe9a8")])
def test_icons_without_words_have_names_on_a_page(ground: str, ink: str) -> None:
    first_row = [element for element in parse(page_of_icons(ground, ink)).elements if element.box[1] < 50]
    kinds = {element.middle[0] // 60: element.kind for element in first_row}
    right = [kinds.get(n) == f"{name} icon" for n, name in enumerate(DRAWN)]
    assert sum(right) >= len(DRAWN) - 1, kinds


def test_letters_and_blank_pieces_are_no_icons() -> None:
    image = Image.new("RGB", (400, 60), "white")
    for n, letter in enumerate("BRSgm4W"):
        ImageDraw.Draw(image).text((20 + 50 * n, 20), letter, fill="black", font=ImageFont.load_default(18))
    picture = np.asarray(image)
    assert find_icons(picture, [], []) == ([], [])
    assert name_icons(picture, [(0, 0, 10, 10)]) == [("", 1.0)]


def test_ink_is_the_same_in_other_colours() -> None:
    rng = np.random.default_rng(0)
    drawn = np.full((30, 30), 255, np.uint8)
    drawn[8:22, 8:22] = 255 * rng.integers(0, 2, (14, 14))
    light = np.repeat(drawn[..., None], 3, axis=2)
    inked, inverted = ink_of(light, (0, 0, 30, 30)), ink_of(255 - light, (0, 0, 30, 30))
    assert inked is not None
    assert inverted is not None
    assert np.array_equal(inked, inverted)


def test_the_weights_are_for_these_names() -> None:
    assert load_network(network, WEIGHTS)[-1].out_features == network()[-1].out_features == 1 + len(NAMES)


def test_a_phrase_may_name_any_of_them() -> None:
    assert phrase_of("the add user icon").words == "add user"
    assert phrase_of("the menu icon").words == "menu"
    assert phrase_of("the list 'menu icon' button").words == "menu icon"
