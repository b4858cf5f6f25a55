"""What changed between two screens, in a line for a model that no longer sees the first one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.effects import changes
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.world import Observation

LEAST, REPAINTED, STILL = 0.01, 0.2, 0.8
"""Shares of an element's pixels from which it may be new or gone, and from which it looks different; share of two boxes
that both cover if it stayed where it was."""
MOST_NAMED, MOST_CHARS = 5, 40
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
            each for each in new if share(each) > REPAINTED and any(_same_place(each, other, STILL) for other in old)
        ],
    }
    names = Counter(each.name for each in new)
    said = [f"{word} {_named(found, names)}" for word, found in parts.items() if found]
    return "; ".join(said) or "something without words"


def _without(
    some: Iterable[ScreenElement], others: Sequence[ScreenElement], share: Callable[[ScreenElement], float]
) -> list[ScreenElement]:
    """Those that the other screen hasn't got, wherever it has them; without words they are known by their places."""
    known = {_key(each) for each in others if "'" in each.name}
    return [
        each
        for each in some
        if share(each) > LEAST
        and _key(each) not in known
        and ("'" in each.name or not any(_same_place(each, other) for other in others))
    ]


def _key(each: ScreenElement) -> str:
    return "".join(filter(str.isalnum, each.name.lower()))


def _same_place(one: ScreenElement, other: ScreenElement, least: float = 0.5) -> bool:
    """Whether they are called the same, and lie in the same place: `least` is the share that both boxes cover."""
    then, now = Box(*one.box), Box(*other.box)
    return then.intersection(now).area > least * max(then.area, now.area) and _key(one) == _key(other)


def _named(elements: Sequence[ScreenElement], names: Mapping[str, int]) -> str:
    """Their names, those with words first; where a screen has a name more than once, so is the place."""
    some = sorted(elements, key=lambda each: "'" not in each.name)[:MOST_NAMED]
    more = f" and {len(elements) - MOST_NAMED} more" if len(elements) > MOST_NAMED else ""
    texts = [
        each.name[:MOST_CHARS] + (f": {[*each.box]}" if names[each.name] > 1 or "'" not in each.name else "")
        for each in some
    ]
    return ", ".join(texts) + more
