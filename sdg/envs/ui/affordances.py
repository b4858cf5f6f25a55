"""Features of a command on a screen, for learned guards: from pixels and parsed elements alone.

Commands are stepwise ones in words, `click the 'Submit' button`, `type 'abc' into the textbox beside 'Name'`, or those
at coordinates (`sdg.envs.ui.commands`), whose target is what lies at the point.
"""

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from sdg.envs.box import Box
from sdg.envs.defaults import PlainPerception
from sdg.envs.domain import Affordances
from sdg.envs.ui.captions import (
    KINDS,
    LOOKS,
    Match,
    Phrase,
    alike,
    alike_page,
    at_point,
    caption_of,
    matches,
    phrase_of,
)
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.effects import changes, effects
from sdg.envs.ui.parser.screen import ScreenElement

CLICK, TYPE = "click", "type"
POINTING = ("CLICK_COORDS", "DBLCLICK_COORDS")
TYPING = "TYPE_TEXT"


@dataclass(frozen=True, eq=False)
class SeenScreen(PlainPerception):
    """A screenshot, RGB u8 (320, 320, 3), and its parsed elements (`sdg.envs.world.Perception`); programs ask it
    nothing."""

    picture: np.ndarray
    parsed: Sequence[ScreenElement]

    def elements(self) -> Sequence[ScreenElement]:
        """The parsed elements."""
        return self.parsed

    def describe(self) -> str:
        """The elements, a line each."""
        return "\n".join(map(str, self.parsed))


class ScreenAffordances(Affordances):
    """Features of a command on a screen, and of its success (`sdg.envs.domain.Affordances`). Nothing on a screen is
    certain enough to refuse by a rule."""

    def shortfall(self, asks: AbstractSet[str], argument: str, before: SeenScreen, after: SeenScreen) -> str | None:
        """A screen on which no pixel changed shows no effect; nothing else is certain."""
        return None if changes(before.picture, after.picture).any() else "nothing on the screen changed"

    def features(
        self, asks: AbstractSet[str], argument: str, before: SeenScreen, after: SeenScreen | None = None
    ) -> np.ndarray:
        """f32 (41,) of a command on a screen; with `after` f32 (n + 1, k) of what is different then: a row for each
        element, the command's target first, and one for none of them (`sdg.envs.ui.effects`)."""
        phrase, fits = asked_for(asks, argument, before.parsed)
        if after is None:
            return np.array(_likeness_of_name(phrase, fits, before.parsed), np.float32)
        target = fits[0].element if fits else ScreenElement(0, "shape", "", (0, 0, SCREEN, SCREEN))
        elements = (target, *(element for element in before.parsed if element is not target))
        return effects(before.picture, after.picture, elements, after.parsed, phrase.typed)


def asked_for(asks: AbstractSet[str], argument: str, elements: Sequence[ScreenElement]) -> tuple[Phrase, list[Match]]:
    """The phrase of a command and the elements of a screen, the likeliest target first."""
    if asks & set(POINTING):
        return _named_by_point(_point(argument), elements)
    if TYPING in asks:
        return _named_by(next((element for element in elements if element.focused), None), elements, typed=argument)
    phrase = phrase_of(argument, types=TYPE in asks)
    return phrase, matches(phrase, elements)


def box_meant(asks: AbstractSet[str], argument: str, elements: Sequence[ScreenElement]) -> tuple[int, ...]:
    """The box [x0, y0, x1, y1] of the element that a command means most likely; () on an empty screen."""
    return next((match.element.box for match in asked_for(asks, argument, elements)[1]), ())


def near(asks: AbstractSet[str], argument: str, *screens: SeenScreen) -> tuple[str, list[SeenScreen]]:
    """The square of `SCREEN` pixels around a command's target, of each of some screens, and the argument in it; screens
    of that size stay what they are."""
    high, wide = screens[0].picture.shape[:2]
    if (high, wide) == (SCREEN, SCREEN):
        return argument, list(screens)
    is_point = bool(asks & set(POINTING))
    x, y = _point(argument) if is_point else Box(*(box_meant(asks, argument, screens[0].parsed) or (0, 0, 0, 0))).middle
    left = max(min(x - SCREEN // 2, wide - SCREEN), 0)
    top = max(min(y - SCREEN // 2, high - SCREEN), 0)
    window = Box(left, top, left + SCREEN, top + SCREEN)
    return f"{x - left},{y - top}" if is_point else argument, [_cut(screen, window) for screen in screens]


def _cut(screen: SeenScreen, window: Box) -> SeenScreen:
    """What a window shows of a screen, and the parts of elements that lie in it."""
    picture = window.pixels_of(screen.picture)
    high, wide = picture.shape[:2]
    picture = np.pad(picture, ((0, SCREEN - high), (0, SCREEN - wide), (0, 0)), mode="edge")
    parts = [(element, window.intersection(element.box)) for element in screen.parsed]
    elements = [replace(element, box=part.moved(-window.left, -window.top)) for element, part in parts if part.area]
    return SeenScreen(picture, elements)


def resolve(argument: str, elements: Sequence[ScreenElement]) -> Sequence[ScreenElement]:
    """The elements that a phrase names to the letter, letters that look alike aside."""
    phrase = phrase_of(argument, types=" into " in argument)
    return [match.element for match in matches(phrase, elements) if match.kind and match.look and match.loose == 1]


def _point(argument: str) -> tuple[int, int]:
    x, y = (int(part) for part in argument.split(","))
    return x, y


def _named_by_point(point: tuple[int, int], elements: Sequence[ScreenElement]) -> tuple[Phrase, list[Match]]:
    element = at_point(point, elements)
    if element is None:  # bare ground: a spot of its own
        x, y = point
        element = ScreenElement(0, "shape", "", (max(x - 8, 0), max(y - 8, 0), min(x + 8, SCREEN), min(y + 8, SCREEN)))
        elements = (*elements, element)
    return _named_by(element, elements)


def _named_by(
    element: ScreenElement | None, elements: Sequence[ScreenElement], *, typed: str | None = None
) -> tuple[Phrase, list[Match]]:
    if element is None:
        return Phrase("textbox", "", typed=typed), matches(Phrase("textbox", ""), elements)
    caption = caption_of(element, elements)
    phrase = Phrase(caption.kind, caption.words, caption.look, typed)
    return phrase, sorted(matches(phrase, elements), key=lambda match: match.element is not element)


def _likeness_of_name(phrase: Phrase, fits: Sequence[Match], elements: Sequence[ScreenElement]) -> list[float]:
    """Features that say whether the suitable element is there."""
    suitable = [match for match in fits if match.kind and match.look]
    page = alike_page(elements)
    words = [alike(word) for word in phrase.words.split()]
    return [
        *(
            max((getattr(match, how) for match in some), default=0.0)
            for some in (suitable, fits)
            for how in ("literal", "loose", "part")
        ),
        float(fits[0].kind) if fits else 0.0,
        float(fits[0].look) if fits else 0.0,
        fits[1].score if len(fits) > 1 else 0.0,
        float(not phrase.words or alike(phrase.words) in page),
        sum(word in page for word in words) / len(words) if words else 1.0,
        min(len(phrase.words) / 20, 2.0),
        float(bool(phrase.words)),
        float(bool(phrase.kind)),
        float(bool(phrase.look)),
        min(len(suitable) / 5, 2.0),
        min(sum(match.kind for match in fits) / 5, 2.0),
        min(len(elements) / 30, 2.0),
        float(phrase.typed is not None),
        *(float(phrase.kind == kind) for kind in KINDS),
        *(float(phrase.look == look) for look in LOOKS),
    ]
