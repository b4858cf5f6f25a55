"""What a prompt says of a screen: task, past, elements. Read from its text alone; all of it is data."""

import difflib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

KINDS = ("text area", "textbox", "checkbox", "radio", "dropdown", "button", "link", "tab", "icon", "shape", "text")
FIELDS = ("textbox", "text area")
_ELEMENT = re.compile(r"^(.{0,400}): \[(\d{1,4}), (\d{1,4}), (\d{1,4}), (\d{1,4})\]$")
_LOOKALIKES = str.maketrans("0o1li|5s8b2z6g9q", "oollllssbbzzgggg")
ALIKE = 0.8
"""Likeness from which one word may be a misreading of another."""


@dataclass(frozen=True, slots=True)
class SeenElement:
    """An element of the screen: kind, its words, place [x0, y0, x1, y1], and the description of its looks."""

    kind: str
    text: str
    place: tuple[int, int, int, int]
    look: str = ""

    @property
    def middle(self) -> tuple[int, int]:
        """Where to click."""
        return (self.place[0] + self.place[2]) // 2, (self.place[1] + self.place[3]) // 2

    @property
    def x(self) -> int:
        """Horizontal middle."""
        return self.middle[0]

    @property
    def y(self) -> int:
        """Vertical middle."""
        return self.middle[1]

    @property
    def is_checked(self) -> bool:
        """Whether it is ticked."""
        return "checked" in self.look.split()


@dataclass(frozen=True, slots=True)
class Situation:
    """A task in the middle: its words, the elements on the screen, the commands of earlier answers."""

    task: str
    elements: tuple[SeenElement, ...]
    done: tuple[str, ...] = ()

    @property
    def quotations(self) -> tuple[str, ...]:
        """The task's texts in quotation marks."""
        return tuple(re.findall(r'"([^"]{1,200})"', self.task))

    @property
    def lower(self) -> str:
        """The task in lower case."""
        return self.task.lower()

    def of_kind(self, *kinds: str) -> list[SeenElement]:
        """The elements of some kinds, from top to bottom."""
        return [each for each in self.elements if each.kind in kinds]

    def find_named(self, words: str, *kinds: str) -> SeenElement | None:
        """The element that these words name best: the same words, then nearly the same, then words within a line."""
        pool = [each for each in self.elements if each.text and (not kinds or each.kind in kinds)]
        exact = [each for each in pool if each.text.strip() == words]
        same = exact or [each for each in pool if plain(each.text) == plain(words)]
        if same:
            return min(same, key=lambda each: KINDS.index(each.kind))
        close = [(likeness(each.text, words), each) for each in pool]
        best = max(close, key=lambda pair: pair[0], default=(0.0, None))
        if best[1] is not None and best[0] >= ALIKE:
            return best[1]
        return next((part for each in pool if (part := within(each, words)) is not None), None)

    def submit(self) -> SeenElement | None:
        """The button that ends the task."""
        buttons = self.of_kind("button")
        for words in (*self.quotations, "Submit", "Search", "Login", "Go!", "OK", "Send", "Done"):
            is_meant = plain(words) in self.lower or words in ("Submit", "OK", "Go!")
            for each in (*buttons, *(self.of_kind("text") if words == "Submit" else ())):
                if is_meant and plain(each.text) == plain(words):
                    return each
        return buttons[-1] if len(buttons) == 1 else None


def plain(words: str) -> str:
    """Lower-case letters and digits only."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", words.lower()).split())


@functools.lru_cache(maxsize=4096)
def likeness(one: str, other: str) -> float:
    """How alike two texts are in [0, 1], with letters that are easily misread for each other taken as equal."""
    a, b = (plain(each).replace(" ", "").translate(_LOOKALIKES).replace("rn", "m") for each in (one, other))
    if not a or not b:
        return 0.0
    return 0.99 if a == b else difflib.SequenceMatcher(None, a, b).ratio()


def within(line: SeenElement, words: str) -> SeenElement | None:
    """The part of a line of text that holds some words, if all letters are equally wide."""
    parts = words.split()
    have = [(match[0], match.start(), match.end()) for match in re.finditer(r"\S+", line.text)]
    for first in range(len(have) - len(parts) + 1):
        stretch = have[first : first + len(parts)]
        if all(alike(word, other) for (word, _, _), other in zip(stretch, parts, strict=True)):
            wide = (line.place[2] - line.place[0]) / max(len(line.text), 1)
            x0, x1 = line.place[0] + round(stretch[0][1] * wide), line.place[0] + round(stretch[-1][2] * wide)
            return replace(line, text=words, place=(x0, line.place[1], x1, line.place[3]))
    return None


def alike(one: str, other: str) -> bool:
    """Whether two single words are equal up to punctuation and misread letters."""
    return plain(one) == plain(other) != "" or (min(len(one), len(other)) > 3 and likeness(one, other) > 0.9)


def read_situation(prompt: str) -> Situation:
    """What the user's turn of the prompt `screen` says; what can't be read is left out."""
    past = prompt.partition("\nPast commands:\n")[2].partition("\nObservation ")[0].splitlines()
    found = [_ELEMENT.match(row.strip()) for row in _block(prompt, "Observation ")]
    return Situation(
        " ".join(_block(prompt, "Task:")),
        tuple(_element(*match.groups()) for match in found if match),
        tuple(row.partition(". ")[2] for row in past if row[:1].isdigit()),
    )


def _block(prompt: str, heading: str) -> Sequence[str]:
    """The lines in the fence after a heading."""
    lines = prompt.splitlines()
    start = next((n for n, row in enumerate(lines) if row.startswith(heading)), None)
    if start is None or start + 1 >= len(lines):
        return ()
    fence = lines[start + 1].rstrip("abcdefghijklmnopqrstuvwxyz")
    return lines[start + 2 : next((n for n in range(start + 2, len(lines)) if lines[n] == fence), len(lines))]


def _element(name: str, *place: str) -> SeenElement:
    before, _, rest = name.partition("'")
    text, _, after = rest.rpartition("'")
    named = f"{before} {after}".replace("containing the text", "").replace("empty ", "").partition(" on ")[0]
    words = " ".join(named.split())
    kind = next((kind for kind in KINDS if words.endswith(kind)), "text" if not words else "icon")
    x0, y0, x1, y1 = map(int, place)
    return SeenElement(kind, text, (x0, y0, x1, y1), words.removesuffix(kind).strip())
