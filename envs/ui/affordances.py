"""What a screen says about a command: facts in numbers for guards that learn, from pixels and parsed elements alone.

Commands are stepwise ones in words, `click the 'Submit' button`, `type 'abc' into the textbox beside 'Name'`, or those
at coordinates (`sdg.envs.ui.commands`), whose target is what lies at the point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from sdg.envs.ui.captions import (
    KINDS,
    LOOKS,
    Match,
    Phrase,
    alike,
    alike_page,
    at_point,
    caption_of,
    likeness,
    matches,
    phrase_of,
)
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.parser.detector import overlap
from sdg.envs.ui.parser.screen import ScreenElement

CLICK, TYPE = "click", "type"
POINTING = ("CLICK_COORDS", "DBLCLICK_COORDS")
TYPING = "TYPE_TEXT"
CHANGED = 24
"""Difference of a colour value, of 255, from which a pixel counts as changed."""
MARGIN = 4
"""Pixels around an element that count as its own: rings of focus are drawn outside."""


@dataclass(frozen=True, eq=False)
class SeenScreen:
    """A screenshot, RGB u8 (320, 320, 3), and its parsed elements (`sdg.envs.perception.Perception`)."""

    picture: np.ndarray
    parsed: Sequence[ScreenElement]

    def elements(self) -> Sequence[ScreenElement]:
        """What was parsed."""
        return self.parsed

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """None: screens aren't asked by programs."""
        return {}

    def describe(self) -> str:
        """The elements, a line each."""
        return "\n".join(map(str, self.parsed))


class ScreenAffordances:
    """What speaks for a command on a screen, and for its having come about (`sdg.envs.domain.Affordances`)."""

    def obstacle(self, asks: AbstractSet[str], argument: str, seen: SeenScreen) -> str:
        """Nothing is certain enough on a screen to refuse without being learned."""
        return ""

    def shortfall(self, asks: AbstractSet[str], argument: str, before: SeenScreen, after: SeenScreen) -> str | None:
        """What can be told for certain: a screen on which not one pixel changed shows no effect."""
        return "nothing on the screen changed" if not _changes(before, after).any() else None

    def features(
        self, asks: AbstractSet[str], argument: str, before: SeenScreen, after: SeenScreen | None = None
    ) -> np.ndarray:
        """f32 (41,) of a command on a screen; with `after` f32 (51,) of what is different then and of its target."""
        phrase, found = asked_for(asks, argument, before.parsed)
        said = _named(phrase, found, before.parsed)
        return np.array(said if after is None else _differences(phrase, found, before, after), np.float32)


def asked_for(asks: AbstractSet[str], argument: str, elements: Sequence[ScreenElement]) -> tuple[Phrase, list[Match]]:
    """The phrase of a command and the elements of a screen, the likeliest target first."""
    if asks & set(POINTING):
        return _named_by_point(_point(argument), elements)
    if TYPING in asks:
        focused = next((each for each in elements if each.focused), None)
        return _named_by(focused, elements, typed=argument)
    phrase = phrase_of(argument, types=TYPE in asks)
    return phrase, matches(phrase, elements)


def place_of(asks: AbstractSet[str], argument: str, elements: Sequence[ScreenElement]) -> tuple[int, ...]:
    """The box [x0, y0, x1, y1] of the element that a command means most likely; () on an empty screen."""
    found = asked_for(asks, argument, elements)[1]
    return found[0].element.box if found else ()


def resolve(argument: str, elements: Sequence[ScreenElement]) -> Sequence[ScreenElement]:
    """The elements that a phrase names to the letter, letters that look alike aside."""
    phrase = phrase_of(argument, types=" into " in argument)
    return [each.element for each in matches(phrase, elements) if each.kind and each.look and each.loose == 1]


def _point(argument: str) -> tuple[int, int]:
    x, y = (int(part) for part in argument.split(","))
    return x, y


def _named_by_point(point: tuple[int, int], elements: Sequence[ScreenElement]) -> tuple[Phrase, list[Match]]:
    there = at_point(point, elements)
    if there is None:  # bare ground: a spot of its own
        x, y = point
        there = ScreenElement(0, "shape", "", (max(x - 8, 0), max(y - 8, 0), min(x + 8, SCREEN), min(y + 8, SCREEN)))
        elements = (*elements, there)
    return _named_by(there, elements)


def _named_by(
    there: ScreenElement | None, elements: Sequence[ScreenElement], *, typed: str | None = None
) -> tuple[Phrase, list[Match]]:
    if there is None:
        return Phrase("textbox", "", typed=typed), matches(Phrase("textbox", ""), elements)
    called = caption_of(there, elements)
    phrase = Phrase(called.kind, called.words, called.look, typed)
    found = matches(phrase, elements)
    return phrase, sorted(found, key=lambda each: each.element is not there)


def _named(phrase: Phrase, found: Sequence[Match], elements: Sequence[ScreenElement]) -> list[float]:
    """What speaks for the named thing's being there."""
    same = [each for each in found if each.kind and each.look]
    page = alike_page(elements)
    words = [alike(word) for word in phrase.words.split()]
    known = sum(word in page for word in words) / len(words) if words else 1.0
    fits = [*_best(same), *_best(found)]
    return [
        *fits,
        float(found[0].kind) if found else 0.0,
        float(found[0].look) if found else 0.0,
        found[1].score if len(found) > 1 else 0.0,
        float(not phrase.words or alike(phrase.words) in page),
        known,
        min(len(phrase.words) / 20, 2.0),
        float(bool(phrase.words)),
        float(bool(phrase.kind)),
        float(bool(phrase.look)),
        min(len(same) / 5, 2.0),
        min(sum(each.kind for each in found) / 5, 2.0),
        min(len(elements) / 30, 2.0),
        float(phrase.typed is not None),
        *(float(phrase.kind == kind) for kind in KINDS),
        *(float(phrase.look == look) for look in LOOKS),
    ]


def _best(found: Sequence[Match]) -> tuple[float, float, float]:
    return (
        max((each.plain for each in found), default=0.0),
        max((each.loose for each in found), default=0.0),
        max((each.part for each in found), default=0.0),
    )


def _changes(before: SeenScreen, after: SeenScreen) -> np.ndarray:
    """Bool (320, 320): which pixels are different."""
    return (np.abs(before.picture.astype(np.int16) - after.picture) > CHANGED).any(axis=2)


def _within(changed: np.ndarray, box: Sequence[int], margin: int = MARGIN) -> np.ndarray:
    x0, y0, x1, y1 = box
    return changed[max(y0 - margin, 0) : y1 + margin, max(x0 - margin, 0) : x1 + margin]


def _share(changed: np.ndarray, box: Sequence[int]) -> float:
    inside = _within(changed, box)
    return float(inside.mean()) if inside.size else 0.0


def _differences(phrase: Phrase, found: Sequence[Match], before: SeenScreen, after: SeenScreen) -> list[float]:
    """What is different after a command, at its target and elsewhere."""
    changed = _changes(before, after)
    if not found:
        return [0.0] * (len(KINDS) + 40)
    best, count = found[0], int(changed.sum())
    there, box = best.element, best.element.box
    inside = int(_within(changed, box).sum())
    rivals = [each for each in found[1:] if overlap(each.element.box, box) < 0.3]
    shares = [_share(changed, each.element.box) for each in rivals]
    alike_shares = [share for share, each in zip(shares, rivals, strict=True) if each.caption.kind == best.caption.kind]
    own, most, most_alike = _share(changed, box), max(shares, default=0.0), max(alike_shares, default=0.0)
    centre_x, centre_y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    ys, xs = np.nonzero(changed)
    if count:
        nearest = float(np.min(np.maximum(_gap(xs, box[0], box[2]), _gap(ys, box[1], box[3])))) / SCREEN
        away_x, away_y = abs(float(xs.mean()) - centre_x) / SCREEN, abs(float(ys.mean()) - centre_y) / SCREEN
    else:
        nearest = away_x = away_y = 1.0
    now, others = _counterpart(there, after.parsed), _counterparts(rivals, after.parsed)
    words = best.caption.words or phrase.words
    return [
        own,
        float(inside > 0),
        inside / count if count else 0.0,
        float(count > 0),
        min(np.log1p(count) / 12, 1.0),
        most,
        most_alike,
        float(own > most),
        float(own > most_alike),
        own - most_alike,
        sum(share > own for share in shares) / 5,
        sum(share > 0.01 for share in alike_shares) / 5,
        nearest,
        away_x,
        away_y,
        float(now is not None),
        float(there.checked),
        float(now is not None and now.checked),
        float(now is not None and now.checked != there.checked),
        float(there.focused),
        float(now is not None and now.focused),
        float(now is not None and now.focused and not there.focused),
        float(any(new.focused and not old.focused for old, new in others)),
        float(any(new.checked != old.checked for old, new in others)),
        float(any(new.focused for _, new in others)),
        float(now is not None and alike(now.text) != alike(there.text)),
        min(sum(alike(new.text) != alike(old.text) for old, new in others) / 5, 2.0),
        *_typed(phrase.typed, there, now, others),
        *_kept(words, before.parsed, after.parsed),
        best.score,
        rivals[0].score if rivals else 0.0,
        best.score - (rivals[0].score if rivals else 0.0),
        float(phrase.typed is not None),
        *(float(best.caption.kind == kind) for kind in KINDS),
    ]


def _gap(values: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.maximum(np.maximum(low - values, values - high), 0)


def _counterpart(there: ScreenElement, elements: Sequence[ScreenElement]) -> ScreenElement | None:
    """The element that lies on the next screen where one lay."""
    most, found = 0.4, None
    for each in elements:
        share = overlap(each.box, there.box)
        if share > most + 0.2 * (each.kind != there.kind):
            most, found = share, each
    return found


def _counterparts(
    rivals: Sequence[Match], elements: Sequence[ScreenElement]
) -> list[tuple[ScreenElement, ScreenElement]]:
    pairs = [(each.element, _counterpart(each.element, elements)) for each in rivals]
    return [(old, new) for old, new in pairs if new is not None]


def _typed(
    typed: str | None,
    there: ScreenElement,
    now: ScreenElement | None,
    others: Sequence[tuple[ScreenElement, ScreenElement]],
) -> tuple[float, float, float]:
    """How much of what was to be typed stands in the target now, stood in it before, and stands elsewhere now."""
    if not typed:
        return 0.0, 0.0, 0.0
    asked = alike(typed)
    return (
        _holds(asked, now.text if now else ""),
        _holds(asked, there.text),
        max((_holds(asked, new.text) for old, new in others if alike(old.text) != alike(new.text)), default=0.0),
    )


def _holds(asked: str, text: str) -> float:
    has = alike(text)
    return 1.0 if asked and asked in has else likeness(asked, has)


def _kept(
    words: str, before: Sequence[ScreenElement], after: Sequence[ScreenElement]
) -> tuple[float, float, float, float, float, float]:
    """Whether the target's words stand on the next screen; shares of words that are new, gone, and the numbers."""
    old, new = {alike(each.text) for each in before} - {""}, {alike(each.text) for each in after} - {""}
    asked = alike(words)
    return (
        float(bool(asked) and any(asked in each for each in new)),
        float(bool(asked) and any(asked in each for each in new - old)),
        len(new - old) / max(len(new), 1),
        len(old - new) / max(len(old), 1),
        min(len(before) / 30, 2.0),
        min(len(after) / 30, 2.0),
    )
