"""What changed between two screens, in a line for a model that no longer sees the first one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.effects import changes
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.world import Observation

MIN_CHANGED, MIN_REPAINTED, MIN_STILL = 0.01, 0.2, 0.8
"""Shares of an element's pixels from which it may be new or gone, and from which it looks different; share of two boxes
that both cover if it stayed where it was."""
MAX_NAMED, MAX_CHARS = 5, 40
"""Elements that are named of each kind, and characters of a name."""


def what_changed(before: Observation, after: Observation) -> str:
    """`new 'Saved'; gone 'Find' button; repainted 'knots' tab`, or "nothing".

    Only elements where pixels changed are compared, because text is read a little differently each time. Raises
    AttributeError for observations without pictures or places.
    """
    then, now = cast(np.ndarray, before.image), cast(np.ndarray, after.image)
    if then.shape != now.shape:
        return "the size of the screen"
    changed = changes(then, now)
    if not changed.any():
        return "nothing"
    old, new = cast(Sequence[ScreenElement], before.elements), cast(Sequence[ScreenElement], after.elements)

    def share(element: ScreenElement) -> float:
        box = Box(*element.box)
        return float(box.pixels_of(changed).mean()) if box.area else 0.0

    parts = {
        "new": _without(new, old, share),
        "gone": _without(old, new, share),
        "repainted": [
            element
            for element in new
            if share(element) > MIN_REPAINTED and any(_same_place(element, before, MIN_STILL) for before in old)
        ],
    }
    names = Counter(element.name for element in new)
    phrases = [f"{word} {_list(elements, names)}" for word, elements in parts.items() if elements]
    return "; ".join(phrases) or "something without words"


def _without(
    elements: Iterable[ScreenElement], others: Sequence[ScreenElement], share: Callable[[ScreenElement], float]
) -> list[ScreenElement]:
    """The changed elements whose name the other screen lacks; those without words are known by their places."""
    known = {_key(element) for element in others if "'" in element.name}
    return [
        element
        for element in elements
        if share(element) > MIN_CHANGED
        and _key(element) not in known
        and ("'" in element.name or not any(_same_place(element, other) for other in others))
    ]


def _key(element: ScreenElement) -> str:
    return "".join(filter(str.isalnum, element.name.lower()))


def _same_place(after: ScreenElement, before: ScreenElement, least: float = 0.5) -> bool:
    """Whether two elements have the same name and place: `least` is the share that both boxes cover."""
    now, then = Box(*after.box), Box(*before.box)
    return now.intersection(then).area > least * max(now.area, then.area) and _key(after) == _key(before)


def _list(elements: Sequence[ScreenElement], names: Mapping[str, int]) -> str:
    """The names of elements, those with words first; with the place where several have the same name."""
    some = sorted(elements, key=lambda element: "'" not in element.name)[:MAX_NAMED]
    more = f" and {len(elements) - MAX_NAMED} more" if len(elements) > MAX_NAMED else ""
    texts = [
        element.name[:MAX_CHARS] + (f": {[*element.box]}" if names[element.name] > 1 or "'" not in element.name else "")
        for element in some
    ]
    return ", ".join(texts) + more
