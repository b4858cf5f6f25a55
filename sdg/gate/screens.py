"""Guards for screens: learned ones over pixels and the parsed screen, and a question to a person before what can't be
undone. Commands are in words (`click`, `type`) or at coordinates; the page's source is never looked at.

Answers keep the form of ResponsibleTA's own models: `<s_feasibility> 1 </s_feasibility>` (section 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import numpy as np

from sdg.envs.perception import Observation
from sdg.envs.ui.affordances import CLICK, POINTING, TYPE, TYPING, ScreenAffordances, SeenScreen, asked_for, place_of
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.gate.learned import COMPLETENESS, FEASIBILITY, SHIPPED, LearnedGuard
from sdg.gate.rules import Usage
from sdg.gate.verdict import Command, Verdict

PLACE = SHIPPED.parent / "screens.json"
"""The guards that come with the package; `sdg train-guards --world ui` makes them anew."""
JUDGED = (CLICK, TYPE, *POINTING, TYPING)
"""Commands that something was learned of; others pass."""
LEAST_CHANCE: Mapping[bool, float] = {True: 0.5, False: 0.1}
"""Chances below which a verdict is no, for commands in words and for coordinates: a bare place may mean anything."""
FINAL = frozenset({"send", "buy", "purchase", "pay", "order", "checkout", "delete", "remove", "erase", "trash"})
"""Words on an element whose press isn't done without a person's yes."""
MOST_LABEL_WORDS = 3
"""Words of a label; what says more is prose."""


class ScreenGuard(LearnedGuard):
    """The learned guards of screens: is what a command names there, and does its effect show."""

    source = "screens"

    def __init__(self, *, place: Path = PLACE) -> None:
        super().__init__({}, ScreenAffordances(), place=place)
        self.usages = USAGES

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses what names nothing on the screen. Raises ValueError for an observation without a screenshot."""
        return super().feasible(command, seen(observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Doubts what left no trace at its target. Raises ValueError for observations without screenshots."""
        return super().complete(command, seen(before), seen(after))

    def least_chance(self, verb: str, command: Command) -> float:
        """Half for commands in words; coordinates are refused only where there is next to no hope."""
        return LEAST_CHANCE[command.name in (CLICK, TYPE)]


class _Usages(dict[str, Usage]):
    def __missing__(self, name: str) -> Usage:
        return Usage()


USAGES = _Usages({name: Usage(asks=frozenset({name})) for name in JUDGED})


def seen(observation: Observation) -> Observation:
    """The observation with its screen as a snapshot. Raises ValueError for one without a screenshot."""
    if isinstance(observation.perception, SeenScreen):
        return observation
    if not isinstance(observation.image, np.ndarray):
        raise ValueError("an observation without its screenshot can't be judged")
    screen = SeenScreen(observation.image, cast(tuple[ScreenElement, ...], observation.elements))
    return Observation(observation.text, observation.image, observation.elements, screen)


class ConfirmGuard:
    """Asks before a press that can't be undone; `confirm` is asked in words and says whether to go on.

    Without one the answer is no. `asked` counts the questions.
    """

    source = "confirmation"
    kind = "rules"

    def __init__(self, confirm: Callable[[str], bool] | None = None) -> None:
        self._confirm, self.asked = confirm, 0

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a final press that nobody agrees to."""
        label = final_label(command, observation)
        if not label:
            return Verdict(True, "nothing final", source=self.source)
        self.asked += 1
        if self._confirm is not None and self._confirm(f"{command} presses {label}: go on?") is True:
            return Verdict(True, f"{label} was confirmed", source=self.source)
        return Verdict(False, f"{label} can't be undone and wasn't confirmed", source=self.source)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """What was done isn't asked about."""
        return Verdict(True, "nothing to confirm", source=self.source)


def final_label(command: Command, observation: Observation) -> str:
    """What a command would press for good: its element's name, or the command's own words; "" for anything else."""
    if command.name not in (CLICK, *POINTING):
        return ""
    elements = cast(tuple[ScreenElement, ...], observation.elements)
    phrase, found = asked_for({command.name}, command.argument, elements)
    labels = [phrase.words, *([found[0].caption.words] if found else [])]
    for label in labels:
        words = label.lower().replace("!", " ").replace(".", " ").split()
        if len(words) <= MOST_LABEL_WORDS and FINAL & set(words):
            return f"{label[:60]!r}"
    return ""


def answered(verb: str, verdict: Verdict) -> str:
    """A verdict as the paper's models say it."""
    token = {FEASIBILITY: "s_feasibility", COMPLETENESS: "s_completeness"}[verb]
    return f"<{token}> {int(verdict.passed)} </{token}>"


def located(command: Command, observation: Observation) -> str:
    """Where the element lies that a command means, [x0, y0, x1, y1] in pixels, as the paper's models say it."""
    found = place_of({command.name}, command.argument, cast(tuple[ScreenElement, ...], observation.elements))
    return f"<locate_element> {list(found)} </locate_element>"
