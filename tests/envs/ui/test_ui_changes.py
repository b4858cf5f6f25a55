"""What changed between two screens, in a line; and that a model is told of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sdg.envs.ui.changes import what_changed
from sdg.envs.ui.effects import share_changed
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import OpenGate
from sdg.llm.model import Completion, Message, Sampling
from sdg.screen_agent.agent import MAX_THOUGHT_CHARS, Work
from tests.sdg.screen_agent.test_ui_agent import Pad, Says, press

BLANK = np.full((100, 200, 3), 255, np.uint8)
SAVE = ScreenElement(1, "button", "Save", (10, 10, 60, 30))
FIND = ScreenElement(2, "button", "Find", (110, 10, 160, 30))
OTHER_SAVE = ScreenElement(2, "button", "Save", (110, 40, 160, 60))
BOX = ScreenElement(3, "shape", "", (10, 40, 60, 60), look="rectangle")


def screen(*elements: ScreenElement, inked: tuple[ScreenElement, ...] = ()) -> Observation:
    picture = BLANK.copy()
    for x0, y0, x1, y1 in (element.box for element in inked):
        picture[y0:y1, x0:x1] = 0
    return PlainObservation("", picture, elements)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (screen(SAVE), screen(SAVE), "nothing"),
        (screen(SAVE), screen(SAVE, FIND, inked=(FIND,)), "new 'Find' button"),
        (screen(SAVE, FIND), screen(SAVE, inked=(FIND,)), "gone 'Find' button"),
        (screen(SAVE, FIND), screen(SAVE, FIND, inked=(FIND,)), "repainted 'Find' button"),
        (screen(SAVE), screen(SAVE, FIND), "nothing"),
        (screen(), screen(inked=(SAVE,)), "something without words"),
        (screen(SAVE), screen(SAVE, FIND, inked=(SAVE,)), "repainted 'Save' button"),
        (
            screen(SAVE, OTHER_SAVE),
            screen(SAVE, OTHER_SAVE, inked=(OTHER_SAVE,)),
            "repainted 'Save' button: [110, 40, 160, 60]",
        ),
        (
            screen(SAVE),
            screen(BOX, FIND, SAVE, inked=(BOX, FIND)),
            "new 'Find' button, rectangle shape: [10, 40, 60, 60]",
        ),
    ],
)
def test_what_changed_is_named(before: Observation, after: Observation, said: str) -> None:
    assert what_changed(before, after) == said


def test_text_that_only_moved_or_is_read_otherwise_is_not_new() -> None:
    moved = ScreenElement(1, "button", "Sa ve", (10, 40, 60, 60))
    assert what_changed(screen(SAVE, inked=(SAVE,)), screen(moved, inked=(moved,))) == "something without words"


def test_a_tick_without_words_is_known_by_its_place() -> None:
    off = [ScreenElement(n, "checkbox", "", (10, 20 * n, 20, 20 * n + 10)) for n in (1, 2)]
    on = ScreenElement(1, "checkbox", "", off[0].box, checked=True)
    changes = what_changed(screen(*off), screen(on, off[1], inked=(on,)))
    assert changes == f"new checked checkbox: {list(on.box)}; gone checkbox: {list(on.box)}"


def test_many_changes_are_counted() -> None:
    many = tuple(ScreenElement(n, "text", f"row {n}", (10, 5 * n, 90, 5 * n + 4)) for n in range(12))
    assert what_changed(screen(), screen(*many, inked=many)).endswith("'row 4' and 7 more")


def test_a_model_is_told_once_a_screen_what_changed() -> None:
    screens = [screen(SAVE), screen(SAVE, FIND, inked=(FIND,)), screen(SAVE, FIND, inked=(FIND,))]

    class Changing(Pad):
        def observe(self) -> Observation:
            return screens[min(len(self.pressed), 2)]

    model = Says(press("B"), press("C"), press("A"))
    work = Work(Changing(), OpenGate(), changes=what_changed)
    while work.take_turn(model):
        pass
    assert "Changed" not in model.asked[0]
    assert "(Changed since observation 1: new 'Find' button)" in model.asked[1]
    assert "(Changed since observation 2: nothing)" in model.asked[2]
    assert "observation 1" not in model.asked[2]


def test_the_prompt_says_how_long_a_plan_is_kept() -> None:
    questions: list[str] = []

    class Kept(Says):
        def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
            questions.append(messages[0].content)
            return super().complete(messages, sampling=sampling)

    Work(Pad(), OpenGate()).take_turn(Kept(press("A")))
    assert f"in {MAX_THOUGHT_CHARS} characters at most" in questions[0]


def test_a_part_that_one_picture_has_less_of_is_another() -> None:
    then, now = np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8, 3), np.uint8)
    now[:2], now[3] = 200, 40
    assert share_changed(then, now, least=40) == 0.25
    assert share_changed(then, now[:6], least=40) == share_changed(then[9:], now[9:], least=40) == 1.0
