"""The shipped examples of screen tasks come out of the scripts again: on the recorded screens, and in a browser."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import Any, cast

import numpy as np
import pytest

from sdg.envs.ui.browser import Browser, what_is_missing
from sdg.envs.ui.parser.screen import Screen, ScreenElement, png_of
from sdg.envs.ui.tasks import SEEN
from sdg.experiments.bench.screens.exemplars import MAX_ELEMENTS, MAX_REPEATS, Exemplar, exemplars, write_out
from sdg.experiments.play.desktop import ScreenDesktop
from training.screen_expert.exemplars import WHY, make_exemplar, turns_of

SHIPPED = exemplars()
DRAWN = ("count-sides", "tic-tac-toe")
"""Tasks whose scripts read the picture, which isn't recorded."""


class RecordingModel(Screen):
    """A screen of which the text is known."""

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "elements", tuple[ScreenElement, ...]())

    def __str__(self) -> str:
        return str(self.text)  # type: ignore[attr-defined]


class RecordedWorld:
    """The task of an example: the next screen comes after as many commands as were given on this one."""

    def __init__(self, exemplar: Exemplar) -> None:
        self.mission = exemplar["instruction"]
        self._turns, self._given = exemplar["turns"], 0
        self._ends = list(accumulate(len(turn["commands"]) for turn in self._turns))

    @property
    def done(self) -> bool:
        """Whether all commands of the example were given."""
        return self._given >= self._ends[-1]

    @property
    def reward(self) -> float:
        """Solved, once it is done."""
        return float(self.done)

    def step(self, command: object) -> None:
        """Count a command."""
        self._given += 1

    def screenshot(self) -> bytes:
        """A picture that says which screen it is."""
        return png_of(np.full((320, 320, 3), bisect_right(self._ends, self._given), np.uint8))

    def parse(self, picture: np.ndarray) -> Screen:
        """The recorded text of a screen."""
        return RecordingModel(self._turns[min(int(picture[0, 0, 0]), len(self._turns) - 1)]["observation"])


def plain(turns: object) -> Any:
    """As the file has it."""
    return json.loads(json.dumps(turns))


def test_every_task_that_may_be_looked_at_has_a_reason_and_an_example() -> None:
    assert {*SHIPPED} == {*WHY} == {*SEEN}
    assert {task: each["why"] for task, each in SHIPPED.items()} == dict(WHY)


@pytest.mark.parametrize("task", sorted({*SHIPPED} - {*DRAWN}))
def test_the_scripts_give_the_shipped_commands_on_the_shipped_screens(task: str) -> None:
    world = RecordedWorld(SHIPPED[task])
    desktop = ScreenDesktop(cast(Any, world), parser=world.parse, lazy=False)
    assert plain(turns_of(desktop, task)) == SHIPPED[task]["turns"]


@pytest.mark.browser
@pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")
def test_examples_that_were_made_in_a_browser_are_the_shipped_ones() -> None:
    with Browser() as browser:
        for task in DRAWN:
            assert plain(make_exemplar(browser, task)) == SHIPPED[task]


def test_a_written_example_leaves_out_elements_but_never_a_pressed_one() -> None:
    lines = [f"'entry {number}' link: [10, {10 * number}, 90, {10 * number + 8}]" for number in range(20)]
    press = {"name": "CLICK_COORDS", "args": {"coords": [50, 154]}}
    turn = {"observation": "\n".join(["OCR:", *lines]), "commands": [press]}
    text = write_out({"task": "a", "seed": 0, "instruction": "Press it.", "why": "It's asked for.", "turns": [turn]})
    assert [line for line in text.splitlines() if line in lines] == [*lines[:MAX_ELEMENTS], lines[15]]
    assert f"({20 - MAX_ELEMENTS - 1} more)" in text


def test_a_written_example_shows_its_first_and_last_screen_and_few_equal_commands() -> None:
    scroll = {"name": "SCROLL_DOWN_COORDS", "args": {"coords": [50, 54]}}
    turns = [{"observation": f"screen {number}", "commands": [scroll] * 9} for number in range(4)]
    text = write_out({"task": "a", "seed": 0, "instruction": "Read it.", "why": "It's long.", "turns": turns})
    assert [number for number in range(4) if f"screen {number}" in text] == [0, 3]
    assert text.count("It's long.") == 1
    assert text.count(json.dumps(scroll)) == 4 * MAX_REPEATS
    assert text.count("(SCROLL_DOWN_COORDS 9 times in all)") == 4
