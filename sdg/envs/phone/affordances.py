"""What a phone's screen says about an action: facts in numbers for guards that learn, from the UI tree alone."""

import re
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from sdg.envs.box import Box
from sdg.envs.defaults import PlainPerception
from sdg.envs.domain import Affordances
from sdg.envs.phone.actions import FORMS
from sdg.envs.phone.tree import UiTree
from sdg.envs.ui.parser.screen import ScreenElement

KINDS = ("button", "checkbox", "radio", "textbox", "list", "icon", "text")
_PLACE = re.compile(r"element (?P<element>\d{1,4})\b|(?P<x>\d{1,5}),(?P<y>\d{1,5})\b")


@dataclass(frozen=True, eq=False)
class SeenPhone(PlainPerception):
    """A screen's tree as a snapshot (`sdg.envs.world.Perception`); programs ask it nothing."""

    tree: UiTree

    def elements(self) -> Sequence[ScreenElement]:
        """What is on the screen."""
        return self.tree.elements

    def describe(self) -> str:
        """The elements, a line each."""
        return str(self.tree)


class PhoneAffordances(Affordances):
    """Features of an action on a phone, for the learned guards (`sdg.envs.domain.Affordances`); what is certain is in
    `sdg.gate.phones.PhoneGuard`."""

    def features(
        self, asks: AbstractSet[str], argument: str, before: SeenPhone, after: SeenPhone | None = None
    ) -> np.ndarray:
        """f32 (27,) of an action on a screen; with `after` f32 (43,) of what it changed."""
        elements = before.tree.elements
        target = _target(argument, elements)
        label = _words(target.text) if target else _words(argument)
        look = target.look.split() if target else []
        here = [
            *(float(name in asks) for name in FORMS),
            *(float(target is not None and target.kind == kind) for kind in KINDS),
            *(float(word in look) for word in ("long-press", "scrollable", "selected", "disabled")),
            float(target is not None),
            float(target is not None and target.checked),
            float(target is not None and target.focused),
            float(any(each.focused for each in elements)),
            float(any("scrollable" in each.look for each in elements)),
            min(len(elements), 40) / 40,
            min(len(label), 10) / 10,
        ]
        return np.array(
            here if after is None else here + self._effects(target, label, argument, before, after), np.float32
        )

    def _effects(
        self, target: ScreenElement | None, label: set[str], argument: str, before: SeenPhone, after: SeenPhone
    ) -> list[float]:
        old, new = ({each.id: each for each in seen.tree.elements} for seen in (before, after))
        fresh = [each for number, each in new.items() if number not in old]
        again = new.get(target.id) if target else None
        title, was = (
            next((each.text for each in seen.tree.elements if each.kind == "text"), "") for seen in (after, before)
        )
        both = [(old[number], new[number]) for number in old if number in new and number != (target and target.id)]
        shift = np.median([one.box[1] - other.box[1] for one, other in both]) if both else 0.0
        shown = {word for each in fresh for word in _words(each.text)}
        typed = " ".join(argument.split())
        return [
            float(str(before.tree) == str(after.tree)),
            len(old.keys() & new.keys()) / max(len(old), 1),
            min(len(fresh), 20) / 20,
            len(label & _words(title)) / max(len(label), 1),
            len(label & shown) / max(len(label), 1),
            float(again is not None),
            float(again is not None and target is not None and again.checked != target.checked),
            float(again is not None and again.focused),
            float(any(typed == each.text for each in after.tree.elements if each.kind == "textbox")),
            float(before.tree.package != after.tree.package),
            float(title == was),
            len(old.keys() & new.keys()) / max(len(new), 1),
            float(np.sign(shift)) * (1 if argument.startswith("up") else -1 if argument.startswith("down") else 0),
            float(np.mean([one.box[1] - other.box[1] == shift for one, other in both] or [False])),
            float(np.mean([one.text != other.text or one.checked != other.checked for one, other in both] or [False])),
            float(len(after.tree.elements) < len(before.tree.elements)),
        ]


def _target(argument: str, elements: Sequence[ScreenElement]) -> ScreenElement | None:
    """The element that an action names, or the innermost one at its point; None for neither."""
    match = _PLACE.match(argument)
    if match is None:
        return None
    if match["element"]:
        return next((each for each in elements if each.id == int(match["element"])), None)
    point = int(match["x"]), int(match["y"])
    there = [element for element in elements if Box(*element.box).has_point(*point)]
    return there[-1] if there else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
