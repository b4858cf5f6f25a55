"""A prompt's content about a screen: task, past, elements. Read from its text alone; all of it is data."""

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
        return [element for element in self.elements if element.kind in kinds]

    def find_named(self, words: str, *kinds: str) -> SeenElement | None:
        """The element that these words name best: the same words, then nearly the same, then words within a line."""
        pool = [element for element in self.elements if element.text and (not kinds or element.kind in kinds)]
        exact = [element for element in pool if element.text.strip() == words]
        same = exact or [element for element in pool if bare_text(element.text) == bare_text(words)]
        if same:
            return min(same, key=lambda element: KINDS.index(element.kind))
        close = [(similarity(element.text, words), element) for element in pool]
        best = max(close, key=lambda pair: pair[0], default=(0.0, None))
        if best[1] is not None and best[0] >= ALIKE:
            return best[1]
        return next((piece for line in pool if (piece := part_of_line(line, words)) is not None), None)

    def submit(self) -> SeenElement | None:
        """The button that ends the task."""
        buttons = self.of_kind("button")
        for words in (*self.quotations, "Submit", "Search", "Login", "Go!", "OK", "Send", "Done"):
            is_meant = bare_text(words) in self.lower or words in ("Submit", "OK", "Go!")
            for element in (*buttons, *(self.of_kind("text") if words == "Submit" else ())):
                if is_meant and bare_text(element.text) == bare_text(words):
                    return element
        return buttons[-1] if len(buttons) == 1 else None


def bare_text(words: str) -> str:
    """Lower-case letters and digits only."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", words.lower()).split())


@functools.lru_cache(maxsize=4096)
def similarity(text: str, other_text: str) -> float:
    """How alike two texts are in [0, 1], with letters that are easily misread for one another taken as equal."""
    a = _without_lookalikes(text)
    b = _without_lookalikes(other_text)
    if not a or not b:
        return 0.0
    return 0.99 if a == b else difflib.SequenceMatcher(None, a, b).ratio()


def _without_lookalikes(text: str) -> str:
    return bare_text(text).replace(" ", "").translate(_LOOKALIKES).replace("rn", "m")


def part_of_line(line: SeenElement, words: str) -> SeenElement | None:
    """The part of a line of text that holds some words, if all letters are equally wide."""
    wanted = words.split()
    matches = list(re.finditer(r"\S+", line.text))
    left, top, right, bottom = line.place
    letter_width = (right - left) / max(len(line.text), 1)
    for first in range(len(matches) - len(wanted) + 1):
        stretch = matches[first : first + len(wanted)]
        if all(is_same_word(match[0], word) for match, word in zip(stretch, wanted, strict=True)):
            begin = left + round(stretch[0].start() * letter_width)
            end = left + round(stretch[-1].end() * letter_width)
            return replace(line, text=words, place=(begin, top, end, bottom))
    return None


def is_same_word(word: str, other_word: str) -> bool:
    """Whether two single words are equal up to punctuation and misread letters."""
    return bare_text(word) == bare_text(other_word) != "" or (
        min(len(word), len(other_word)) > 3 and similarity(word, other_word) > 0.9
    )


def read_situation(prompt: str) -> Situation:
    """The content of the user's turn of the prompt `screen`; lines that can't be read are left out."""
    past = prompt.partition("\nPast commands:\n")[2].partition("\nObservation ")[0].splitlines()
    matches = [_ELEMENT.match(row.strip()) for row in _block(prompt, "Observation ")]
    return Situation(
        " ".join(_block(prompt, "Task:")),
        tuple(_element(*match.groups()) for match in matches if match),
        tuple(row.partition(". ")[2] for row in past if row[:1].isdigit()),
    )


def _block(prompt: str, heading: str) -> Sequence[str]:
    """The lines in the fence after a heading."""
    match = re.search(rf"^{heading}.*\n(`+)[a-z]*\n((?:.*\n)*?)\1$", prompt, re.MULTILINE)
    return match[2].splitlines() if match else ()


def _element(name: str, *place: str) -> SeenElement:
    before, _, rest = name.partition("'")
    text, _, after = rest.rpartition("'")
    description = f"{before} {after}".replace("containing the text", "").replace("empty ", "").partition(" on ")[0]
    words = " ".join(description.split())
    kind = next((kind for kind in KINDS if words.endswith(kind)), "text" if not words else "icon")
    x0, y0, x1, y1 = map(int, place)
    return SeenElement(kind, text, (x0, y0, x1, y1), words.removesuffix(kind).strip())
