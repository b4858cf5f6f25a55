"""What elements of a screen are called, and which of them a phrase means: `the 'Submit' button`, `the trash icon`.

A caption is an element's kind and words: its own, or for fields and ticks those written beside it. Phrases come from
models and screens; they are compared as text, never carried out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from sdg.envs.box import Box
from sdg.envs.ui.parser.detector import ICONS
from sdg.envs.ui.parser.icons import NAMES
from sdg.envs.ui.parser.screen import COLOURS, ScreenElement

KINDS = ("button", "textbox", "text area", "checkbox", "radio", "dropdown", "link", "tab", "icon", "shape", "text")
LOOKS = (*COLOURS, "black", "white", "grey")
NEAR_X, NEAR_Y = 70, 24
"""Pixels, across and down, within which a label lies from its field."""
SAME_NAME = 0.2
"""Differences of scores up to which elements are namesakes: one letter that was read wrongly."""
MAX_CHARS = 120
"""Characters of a phrase and of a caption that are compared."""
_KIND_WORDS = {
    "button": "button", "textbox": "textbox", "field": "textbox", "area": "text area", "checkbox": "checkbox",
    "radio": "radio", "option": "radio", "dropdown": "dropdown", "list": "dropdown", "link": "link", "tab": "tab",
    "icon": "icon", "shape": "shape", "text": "text", "words": "text",
}  # fmt: skip
KIN = frozenset({("link", "text"), ("textbox", "text area")})
"""What may be called by another kind: (kind asked for, kind of the element)."""
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "5": "s", "8": "b", "2": "z"})


@dataclass(frozen=True, slots=True)
class Caption:
    """What an element is called: kind (of `KINDS`), words ("" for none), colour ("" where that tells nothing)."""

    kind: str
    words: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """How well an element fits a phrase: likeness of the words as they are written, of letters that look alike, and
    whether the words are part of the element's (each in [0, 1], 1 for a phrase without words); kind and colour as
    asked; `score`."""

    element: ScreenElement
    caption: Caption
    literal: float
    loose: float
    part: float
    kind: bool
    look: bool

    @property
    def score(self) -> float:
        """How well the element fits: the best has the highest."""
        return max(self.literal, self.loose, 0.95 * self.part) + 0.3 * self.kind + 0.3 * self.look


def caption_of(element: ScreenElement, elements: Sequence[ScreenElement]) -> Caption:
    """What an element is called among those of its screen."""
    if element.kind.endswith("icon"):
        return Caption("icon", element.kind.removesuffix("icon").strip())
    if element.kind == "shape":
        return Caption("shape", element.text, element.look)
    if element.kind in ("checkbox", "radio"):
        return Caption(element.kind, _beside(element, elements, right=True) or _beside(element, elements, right=False))
    if element.kind in ("textbox", "text area"):
        label = _beside(element, elements, right=False) or _above(element, elements) or element.text
        return Caption(element.kind, label)
    return Caption(element.kind, element.text)


def _beside(element: ScreenElement, elements: Sequence[ScreenElement], *, right: bool) -> str:
    """The label on the right or left of an element; "" for none."""
    box = Box(*element.box)
    labels = []
    for text in (element for element in elements if element.kind in ("text", "link") and element.text):
        label = Box(*text.box)
        gap = label.left - box.right if right else box.left - label.right
        is_level = box.intersection(label).height > 0.5 * min(box.height, label.height)
        if is_level and -max(6, label.width // 3) <= gap <= NEAR_X:  # a detected box may begin inside its label
            labels.append((gap, text.text))
    return min(labels, default=(0, ""))[1]


def _above(element: ScreenElement, elements: Sequence[ScreenElement]) -> str:
    """The label above an element; "" for none."""
    box = Box(*element.box)
    texts = [text for text in elements if text.kind == "text" and box.intersection(text.box).width > 0]
    labels = [(box.top - Box(*text.box).bottom, text.text) for text in texts]
    return min((label for label in labels if -4 <= label[0] <= NEAR_Y), default=(0, ""))[1]


@dataclass(frozen=True, slots=True)
class Phrase(Caption):
    """What a command names: kind ("" for any), words, colour; `typed` is what is to be typed, None for no typing;
    `beside` are words that lie nearer to what is meant than to its namesakes."""

    typed: str | None = None
    beside: str = ""


def phrase_of(argument: str, *, types: bool = False) -> Phrase:
    """A phrase such as `the 'Ok' button`; with `types` the first quotation is what is to be typed.

    What stands between quotation marks is words; of the rest the known kinds, colours and icons count.
    """
    parts = argument[: 4 * MAX_CHARS].split("'")
    quoted = [part.strip() for part in parts[1::2]]
    rest = " ".join(parts[::2]).lower()
    typed = None
    if types:
        typed = quoted.pop(0) if quoted else ""
    unquoted = [word.strip(".,:;()") for word in rest.split()]
    kinds = [_KIND_WORDS[word] for word in unquoted if word in _KIND_WORDS]
    look = next((word for word in unquoted if word in LOOKS), "")
    icons = next((name for name in sorted(NAMES, key=len)[::-1] if f" {name} icon" in f" {rest}"), "")
    words = quoted[0] if quoted else icons or next((word for word in unquoted if word in ICONS), "")
    beside = quoted[1] if len(quoted) > 1 and "beside" in unquoted else ""
    return Phrase(kinds[-1] if kinds else "", words, look, typed, beside)


def matches(phrase: Phrase, elements: Sequence[ScreenElement]) -> list[Match]:
    """How each element fits a phrase, the best first."""
    fits = [_match(phrase, element, caption_of(element, elements)) for element in elements]
    fits.sort(key=lambda match: -match.score)
    if phrase.beside:
        anchor = matches(Phrase("", phrase.beside), elements)[0].element.box
        namesakes = sum(match.score > fits[0].score - SAME_NAME for match in fits)
        fits[:namesakes] = sorted(fits[:namesakes], key=lambda match: _gap(match.element.box, anchor))
    return fits


def _gap(box: Sequence[int], anchor: Sequence[int]) -> int:
    """Pixels between two boxes, across and down together."""
    common = Box(*box).intersection(anchor)
    return max(-common.width, 0) + max(-common.height, 0)


def _match(phrase: Phrase, element: ScreenElement, caption: Caption) -> Match:
    kind = not phrase.kind or phrase.kind == caption.kind or (phrase.kind, caption.kind) in KIN
    look = not phrase.look or phrase.look == caption.look
    if not phrase.words:
        return Match(element, caption, 1.0, 1.0, 1.0, kind, look)
    literal = likeness(" ".join(phrase.words.lower().split()), " ".join(caption.words.lower().split()))
    words, label = alike(phrase.words), alike(caption.words)
    return Match(element, caption, literal, likeness(words, label), float(bool(words) and words in label), kind, look)


def alike(words: str) -> str:
    """Words without spaces and marks, letters that look alike made one."""
    letters = (letter for letter in words[:MAX_CHARS].lower() if letter.isalnum() or letter in "|!+-<>@$%=*/")
    return "".join(letters).translate(_ALIKE)


def alike_page(elements: Sequence[ScreenElement]) -> str:
    """All words of a screen in reading order, as `alike` makes them."""
    return "".join(alike(element.text) for element in elements)


def likeness(a: str, b: str) -> float:
    """How alike two texts are, in [0, 1]."""
    a, b = a[:MAX_CHARS], b[:MAX_CHARS]
    if not a or not b or a == b:
        return float(a == b)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > 0.3 else 0.0


def at_point(point: tuple[int, int], elements: Sequence[ScreenElement]) -> ScreenElement | None:
    """The smallest element that a point lies in."""
    there = [element for element in elements if Box(*element.box).has_point(*point)]
    return min(there, key=lambda element: Box(*element.box).area, default=None)
