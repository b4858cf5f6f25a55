"""What elements are called, which of them a phrase means, and what a screen says about a command."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.ui.affordances import CLICK, TYPE, ScreenAffordances, SeenScreen, box_meant, resolve
from sdg.envs.ui.captions import Caption, Phrase, alike, caption_of, likeness, matches, phrase_of
from sdg.envs.ui.parser.screen import ScreenElement

ELEMENTS = (
    ScreenElement(1, "text", "User name", (4, 10, 90, 30)),
    ScreenElement(2, "textbox", "", (4, 34, 200, 60)),
    ScreenElement(3, "checkbox", "", (4, 80, 30, 106)),
    ScreenElement(4, "text", "l0ve", (40, 82, 90, 104)),
    ScreenElement(5, "trash icon", "", (250, 10, 270, 34)),
    ScreenElement(6, "shape", "", (250, 80, 290, 120), look="red"),
    ScreenElement(7, "button", "Submit", (4, 200, 100, 240)),
)
BLANK = np.full((320, 320, 3), 255, np.uint8)


@pytest.mark.parametrize(
    ("number", "caption"),
    [
        (2, Caption("textbox", "User name")),
        (3, Caption("checkbox", "l0ve")),
        (5, Caption("icon", "trash")),
        (6, Caption("shape", "", "red")),
        (7, Caption("button", "Submit")),
    ],
)
def test_an_element_is_called_by_its_words_or_those_beside_it(number: int, caption: Caption) -> None:
    assert caption_of(ELEMENTS[number - 1], ELEMENTS) == caption


@pytest.mark.parametrize(
    ("argument", "phrase", "number"),
    [
        ("the 'Submit' button", Phrase("button", "Submit"), 7),
        ("'submit'", Phrase("", "submit"), 7),
        ("the checkbox beside 'love'", Phrase("checkbox", "love"), 3),
        ("the trash icon", Phrase("icon", "trash"), 5),
        ("the shape that is red", Phrase("shape", "", "red"), 6),
        ("the textbox beside 'User name'", Phrase("textbox", "User name"), 2),
        ("the text 'User name'", Phrase("text", "User name"), 1),
    ],
)
def test_a_phrase_means_the_element_that_fits_best(argument: str, phrase: Phrase, number: int) -> None:
    assert phrase_of(argument) == phrase
    assert matches(phrase, ELEMENTS)[0].element.id == number
    assert box_meant({CLICK}, argument, ELEMENTS) == ELEMENTS[number - 1].box
    assert [element.id for element in resolve(argument, ELEMENTS)] == [number]


def test_what_is_to_be_typed_is_told_from_where() -> None:
    phrase = phrase_of("'a button' into the textbox beside 'User name'", types=True)
    assert phrase == Phrase("textbox", "User name", typed="a button")
    assert phrase_of("nothing", types=True).typed == ""


def test_hostile_phrases_are_text_and_cheap() -> None:
    assert phrase_of("'" * 100_000).kind == ""
    assert phrase_of("x" * 100_000) == Phrase("", "")
    assert likeness("a" * 100_000, "b" * 100_000) == 0
    assert len(alike("|" * 100_000)) < 200
    assert matches(Phrase("", "a"), ()) == []


def test_letters_that_look_alike_are_one() -> None:
    assert alike("L0ve It!") == alike("love  1tl")
    assert alike("abc") != alike("abd")


def test_features_tell_what_is_there_from_what_is_not_and_have_one_length() -> None:
    sense, now = ScreenAffordances(), SeenScreen(BLANK, ELEMENTS)
    there, missing = (sense.features({CLICK}, f"the '{word}' button", now) for word in ("Submit", "Cancel"))
    assert there.shape == missing.shape == sense.features({CLICK}, "the 'Ok' button", SeenScreen(BLANK, ())).shape
    assert there[0] == 1 > missing[0]
    for asks, argument in (("CLICK_COORDS", "300,300"), ("TYPE_TEXT", "abc"), (TYPE, "'a' into the textbox")):
        assert sense.features({asks}, argument, now).shape == there.shape
        after = sense.features({asks}, argument, now, now)
        nothing = sense.features({CLICK}, "x", SeenScreen(BLANK, ()), now)
        assert after.shape[1] == nothing.shape[1], "a row for each element and for none"
        assert len(after) >= len(ELEMENTS) + 1 > len(nothing) == 2
        assert np.isfinite(after).all()


def test_a_change_at_the_target_and_one_elsewhere_differ() -> None:
    sense, before = ScreenAffordances(), SeenScreen(BLANK, ELEMENTS)
    shots = []
    for box in (ELEMENTS[6].box, ELEMENTS[5].box):
        picture = BLANK.copy()
        picture[box[1] : box[3], box[0] : box[2]] = 120
        shots.append(sense.features({CLICK}, "the 'Submit' button", before, SeenScreen(picture, ELEMENTS)))
    assert shots[0][0, 0] > 0.6 > shots[1][0, 0] == 0, "the target's row is the first"
    assert sense.shortfall({CLICK}, "x", before, before) == "nothing on the screen changed"


def test_words_beside_tell_namesakes_apart() -> None:
    cards = [
        ScreenElement(3 * n + k, kind, words, (200 * n, 40 * k, 200 * n + 150, 40 * k + 30))
        for n, lamp in enumerate(("Blue lamp", "Garden spot", "Lantern"))
        for k, (kind, words) in enumerate((("text", lamp), ("text", "9 EUR"), ("button", "Add to cart")))
    ]
    for n, lamp in enumerate(("Blue lamp", "Garden spot", "Lantern")):
        assert box_meant({CLICK}, f"the 'Add to cart' button beside '{lamp}'", cards) == cards[3 * n + 2].box


def test_a_field_that_begins_inside_its_label_has_that_label() -> None:
    form = (
        ScreenElement(1, "text", "First name", (20, 82, 98, 100)),
        ScreenElement(2, "textbox", "", (84, 73, 298, 109)),
        ScreenElement(3, "text", "Last name", (20, 126, 96, 144)),
        ScreenElement(4, "textbox", "", (98, 117, 298, 154)),
    )
    assert box_meant({TYPE}, "'Ann' into the field beside 'First name'", form) == form[1].box
    assert box_meant({TYPE}, "'Lee' into the field beside 'Last name'", form) == form[3].box
