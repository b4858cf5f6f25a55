"""Worked examples of screen tasks, made anew: `python -m training.screen_expert.exemplars`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sdg.envs.ui.browser import Browser
from sdg.envs.ui.domain import UIWorld
from sdg.envs.ui.tasks import SEEN
from sdg.experiments.bench.screens.exemplars import PLACE, Exemplar
from sdg.experiments.bench.screens.truth import true_parser
from sdg.experiments.play.desktop import ScreenDesktop
from sdg.gate.executor import OpenGate
from sdg.screen_agent.agent import Work, read_answer
from training.screen_expert.scripts import Scripted

FIRST_SEED = 900_000
"""Seeds of examples begin here; evaluated ones are small numbers."""
TRIES = 20
MOST_TURNS = 4

_FORWARD = "Who sent it is looked for; forward is below the opened message; then name and send."
WHY: Mapping[str, str] = {
    "bisect-angle": "A point on the line that halves the angle at the blue point is clicked; any distance will do.",
    "choose-date": "The calendar opens when the field is clicked; its arrows turn months, then the day is clicked.",
    "circle-center": "The middle of the circle is the middle of its coordinates.",
    "click-button": "The button with these words is clicked in its middle.",
    "click-button-sequence": "Both buttons are there, so both clicks can be given at once, in order.",
    "click-checkboxes": "Each checkbox lies to the left of its words; those named are clicked, then Submit.",
    "click-checkboxes-large": "Each checkbox lies to the left of its words; all of them fit into one answer.",
    "click-checkboxes-soft": "Words that mean the same are looked for, and their checkboxes clicked.",
    "click-checkboxes-transfer": "Only the checkboxes that are named are clicked, then Submit.",
    "click-collapsible": "Submit may only show when the section is open, so the section comes first.",
    "click-collapsible-2": "Where the words aren't on the screen, sections are opened one after another.",
    "click-color": "The shape with that colour is clicked.",
    "click-dialog": "The x is the close icon of the dialog.",
    "click-dialog-2": "The button of the dialog with these words is clicked; x is the close icon.",
    "click-option": "The radio button to the left of the words is clicked, then Submit.",
    "click-shades": "All shapes of that hue are clicked, light and dark ones, then Submit.",
    "click-shape": "Size, colour and kind must all fit; a lone character is a letter or a digit.",
    "click-tab": "The tab with these words is clicked.",
    "click-tab-2": "Where the link isn't on this tab, the next tab is opened and looked at.",
    "click-tab-2-hard": "Where the link isn't on this tab, the tabs are opened one after another.",
    "click-test-2": "The button with these words is clicked.",
    "click-widget": "An element of that kind is clicked; a text widget is a textbox.",
    "copy-paste": "All of the text area is marked and copied, then pasted into the textbox.",
    "count-sides": "A shape has as many sides as corners; the button with the number is clicked.",
    "drag-box": "The smaller square is pressed and let go in the middle of the larger one.",
    "drag-circle": "The circle is pressed and let go some way off in that direction.",
    "drag-items": "The entry is pressed and let go a little beyond the entry whose position it takes.",
    "drag-shapes": "Each shape of that kind is dragged to a place of its own inside the frame.",
    "email-inbox": "The list scrolls; what is wanted is in the message's row, or below it once its sender is clicked.",
    "email-inbox-forward-nl": _FORWARD,
    "email-inbox-forward-nl-turk": _FORWARD,
    "email-inbox-nl-turk": "Who sent it is looked for, then what is wanted: star, trash, reply or forward.",
    "enter-text": "The textbox is clicked, the text typed, Submit clicked.",
    "enter-text-2": "The text is typed with the letters in the case that is wanted.",
    "enter-text-dynamic": "The textbox is clicked, the text typed as it is, Submit clicked.",
    "find-midpoint": "The middle between two points has the mean of their coordinates.",
    "find-word": "Words are counted along the lines, from the left, without their punctuation.",
    "focus-text": "A click gives the textbox the focus.",
    "focus-text-2": "Textboxes are counted from top to bottom.",
    "identify-shape": "A lone digit is a number, a lone character a letter, else its outline tells.",
    "login-user": "Fields have their names above them; placeholders in braces are typed as they are.",
    "login-user-popup": "Fields are filled; where a popup comes between, it is cancelled and the rest done then.",
    "multi-layouts": "Each field has its name beside or above it, in an order that changes.",
    "multi-orderings": "Each field has its name beside or above it, in an order that changes.",
    "navigate-tree": "Where it isn't on the screen, folders are opened at their plus until it is, then it is clicked.",
    "read-table": "The value stands to the right of its name in the same line.",
    "resize-textarea": "The corner at the lower right is dragged, inwards to make it smaller.",
    "scroll-text-2": "Many scrolls over the text in one answer reach its end, then Submit.",
    "search-engine": "Three results a page; the nth one is on page (n - 1) / 3 + 1, its title is the link.",
    "simple-algebra": "The equation is solved for x.",
    "simple-arithmetic": "The sum is done and its result typed.",
    "social-media": "The icons below the user's post belong to it; rarer buttons are behind the three dots.",
    "social-media-some": "The button is pressed on so many posts of the user; others may lie further down.",
    "terminal": "A click gives the terminal the focus; ls names the files, rm deletes one.",
    "text-transform": "The letters are read one by one and typed.",
    "tic-tac-toe": "A free cell is taken that wins or hinders; the other side moves in between.",
    "use-autocomplete": "The start is typed, the list opens, the entry with the right end is clicked.",
    "use-colorwheel": "The field takes the colour's code as six digits; a click elsewhere closes the picker.",
    "visual-addition": "All blocks are counted and the number typed.",
}
"""Task -> what a person would say about how to do it."""


def make_exemplar(browser: Browser, task: str) -> Exemplar | None:
    """The first solved episode of a looked-at task, short enough to be shown; None where none is."""
    for seed in range(FIRST_SEED, FIRST_SEED + TRIES):
        world = UIWorld(task, browser=browser)
        world.reset(seed)
        desktop = ScreenDesktop(world, parser=true_parser(browser), lazy=False)
        turns = turns_of(desktop, task)
        if turns is not None and len(turns) <= MOST_TURNS:
            head = {"task": task, "seed": seed, "instruction": world.mission, "why": WHY[task]}
            return head | {"turns": turns}
    return None


def turns_of(desktop: ScreenDesktop, task: str) -> list[dict[str, Any]] | None:
    """The turns of the scripts on a desktop: what they saw and their commands; None where they don't solve the task."""
    work, turns = Work(desktop, OpenGate()), []
    model = Scripted(task, lambda: desktop.screenshot)
    while (question := work.question()) is not None:
        reply = model.complete(question)
        turns.append({"observation": desktop.observe().text, "commands": _commands(reply.text)})
        work.answer(reply)
    return turns if work.result().success else None


def _commands(reply: str) -> tuple[dict[str, Any], ...]:
    try:
        return tuple(read_answer(reply).commands)
    except ValueError:
        return ()


def main(tasks: Sequence[str] = SEEN) -> None:
    """Make them all and write them to the file of the package."""
    with Browser() as browser:
        exemplars = [make_exemplar(browser, task) for task in tasks]
    solved = [exemplar for exemplar in exemplars if exemplar is not None]
    PLACE.write_text(json.dumps(solved, indent=1) + "\n")


if __name__ == "__main__":
    main()
