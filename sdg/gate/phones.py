"""The guard of phones: what the elements on the screen and the two pictures say for certain about an action.

Learned and model guards come after it in a chain; `ConfirmGuard` handles presses that can't be undone.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from sdg.envs.phone.affordances import PhoneAffordances
from sdg.envs.world import Element, Observation
from sdg.gate.executor import Command, Verdict
from sdg.gate.learned import SHIPPED, LearnedGuard, usages_of

PLACE = SHIPPED.parent / "phone.json"
"""The learned guards that come with the package; `python -m training.phones` makes them again."""
JUDGED = ("Tap", "Long Press", "Type", "Swipe")
"""Actions that the learned guards judge; others pass."""
ELEMENT = re.compile(r"element (\d{1,4})\b")
"""How a command names its target: `Tap("element 7 'Save' button")`."""
_PASSED = Verdict(True, "no rule speaks against it", source="phone")
_refuse = partial(Verdict, False, source="phone")


class PhoneGuard:
    """Feasible: the element is on the screen, is enabled and can be pressed; there is a focused field to type into.
    Complete: something on the screen changed, or what was typed stands in a field."""

    source = "phone"
    kind = "rules"

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a command that can't succeed on this screen."""
        fields = [element for element in observation.elements if getattr(element, "kind", "") == "textbox"]
        if command.name == "Type" and fields and not any(getattr(field, "focused", False) for field in fields):
            return _refuse("no field has the focus: tap the field first")
        number = ELEMENT.match(command.argument)
        if number is None or command.name not in ("Tap", "Long Press", "Swipe"):
            return _PASSED
        target = element_of(command, observation.elements)
        if target is None:
            return _refuse(f"there is no element {number[1]} on this screen")
        if "disabled" in str(getattr(target, "look", "")).split():
            return _refuse(f"{target.name} is disabled")
        if command.name == "Tap" and getattr(target, "kind", "") in ("text", "list"):
            return _refuse(f"{target.name} can't be pressed: it only shows something")
        return _PASSED

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Rejects an action that changed nothing; Wait and finish are always complete."""
        if command.name in ("Wait", "finish"):
            return _PASSED
        if command.name == "Type" and before.elements:
            texts = " ".join(str(getattr(element, "text", "")) for element in after.elements)
            is_hidden = any("password" in str(getattr(element, "look", "")).split() for element in after.elements)
            if " ".join(command.argument.split()) not in texts and not is_hidden:
                return _refuse("what was typed stands in no field")
        is_same = before is after or (before.text == after.text and _has_same_picture(before, after))
        return _refuse("nothing on the screen changed") if is_same else _PASSED


def _has_same_picture(before: Observation, after: Observation) -> bool:
    return isinstance(before.image, np.ndarray) and np.array_equal(before.image, after.image)  # type: ignore[arg-type]


def element_of(command: Command, elements: Sequence[Element]) -> Element | None:
    """The element that a command names by number; None if it names none, or an absent one."""
    number = ELEMENT.match(command.argument)
    return next((element for element in elements if number is not None and element.id == int(number[1])), None)


class LearnedPhoneGuard(LearnedGuard):
    """The learned guards of phones: will an action change the screen, and does the screen look like its effect."""

    source = "phone-learned"

    def __init__(self, *, place: Path = PLACE) -> None:
        super().__init__(usages_of(JUDGED), PhoneAffordances(), place=place)
