"""Features of an action on a phone's screen, for learned guards: from the UI tree alone."""

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
        """The elements on the screen."""
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
            float(any(element.focused for element in elements)),
            float(any("scrollable" in element.look for element in elements)),
            min(len(elements), 40) / 40,
            min(len(label), 10) / 10,
        ]
        return np.array(
            here if after is None else here + self._effects(target, label, argument, before, after), np.float32
        )

    def _effects(
        self, target: ScreenElement | None, label: set[str], argument: str, before: SeenPhone, after: SeenPhone
    ) -> list[float]:
        old = {element.id: element for element in before.tree.elements}
        new = {element.id: element for element in after.tree.elements}
        fresh = [element for number, element in new.items() if number not in old]
        again = new.get(target.id) if target else None
        title = _title(after)
        others = [(old[number], new[number]) for number in old if number in new and number != (target and target.id)]
        moved = [then.box[1] - now.box[1] for then, now in others]
        changed = [then.text != now.text or then.checked != now.checked for then, now in others]
        shift = np.median(moved) if others else 0.0
        direction = next((sign for way, sign in (("up", 1), ("down", -1)) if argument.startswith(way)), 0)
        shown = {word for element in fresh for word in _words(element.text)}
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
            float(any(typed == element.text for element in after.tree.elements if element.kind == "textbox")),
            float(before.tree.package != after.tree.package),
            float(title == _title(before)),
            len(old.keys() & new.keys()) / max(len(new), 1),
            float(np.sign(shift)) * direction,
            float(np.mean([distance == shift for distance in moved] or [False])),
            float(np.mean(changed or [False])),
            float(len(after.tree.elements) < len(before.tree.elements)),
        ]


def _title(screen: SeenPhone) -> str:
    """The first text on a screen; "" for none."""
    return next((element.text for element in screen.tree.elements if element.kind == "text"), "")


def _target(argument: str, elements: Sequence[ScreenElement]) -> ScreenElement | None:
    """The element that an action names, or the innermost one at its point; None for neither."""
    match = _PLACE.match(argument)
    if match is None:
        return None
    if match["element"]:
        return next((element for element in elements if element.id == int(match["element"])), None)
    x, y = int(match["x"]), int(match["y"])
    there = [element for element in elements if Box(*element.box).has_point(x, y)]
    return there[-1] if there else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
