"""A screenshot as the paper's lines: elements and text, merged, each with its box, sorted by y.

`'Ok' button: [4, 46, 69, 90]`, `text area containing the text '...': [...]`. What is written on a screen is data: it is
quoted, kept to one line and cut.
"""

from __future__ import annotations

import colorsys
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdg.envs.ui.parser.detector import Detection, detect
from sdg.envs.ui.parser.ocr import TextLine, read_lines

FIELDS = ("textbox", "text area", "dropdown")
INSIDE = 0.6
"""Share of a text's area that lies in an element that it belongs to."""
MOST_TEXT = 300
COLOURS = {
    "red": 0, "orange": 30, "yellow": 60, "green": 120, "cyan": 180, "blue": 240, "purple": 280, "magenta": 300
}  # fmt: skip
"""Hue in degrees of the colours that are named."""
INKS = {
    "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "purple": (128, 0, 128),
    "pink": (255, 192, 203), "black": (0, 0, 0), "orange": (255, 165, 0), "grey": (128, 128, 128),
    "cyan": (0, 255, 255), "magenta": (255, 0, 255), "lime": (0, 255, 0),
}  # fmt: skip
"""Colours that have a name of their own; others go by their hue."""
NEAR = 24
"""Sum of differences up to which a colour is one of them."""


@dataclass(frozen=True, slots=True)
class ScreenElement:
    """An element as an agent may see it. `kind` is a detector's kind, or "text"; `look` a colour where that tells."""

    id: int
    kind: str
    text: str
    box: tuple[int, int, int, int]
    checked: bool = False
    focused: bool = False
    look: str = ""
    held: bool = False

    @property
    def name(self) -> str:
        """What it is, in the paper's words."""
        state = [word for word, has in (("checked", self.checked), ("focused", self.focused)) if has]
        what = " ".join((*state, *([self.look] if self.look else []), self.kind))
        words = self.text.replace("'", "’")[:MOST_TEXT]
        if self.kind in FIELDS:
            return f"{what} containing the text '{words}'" if words else f"empty {what}"
        if self.kind == "text":
            return f"'{words}'"
        return f"'{words}' {what}" if words else what

    @property
    def middle(self) -> tuple[int, int]:
        """The point (x, y) to click."""
        return (self.box[0] + self.box[2]) // 2, (self.box[1] + self.box[3]) // 2

    def __str__(self) -> str:
        return f"{self.name}: {list(self.box)}"


@dataclass(frozen=True, slots=True)
class Screen:
    """A parsed screenshot: its elements, sorted by y, then x."""

    elements: tuple[ScreenElement, ...]

    def __str__(self) -> str:
        text = [str(each) for each in self.elements if each.kind == "text"]
        rest = [str(each) for each in self.elements if each.kind != "text"]
        return "\n".join(["OCR:", *(text or ["(nothing)"]), "", "Object Detector:", *(rest or ["(nothing)"])])


def parse(picture: np.ndarray) -> Screen:
    """The elements of a screenshot, RGB u8 (320, 320, 3)."""
    return merge(picture, detect(picture), read_lines(picture))


def merge(picture: np.ndarray, detections: Sequence[Detection], lines: Sequence[TextLine]) -> Screen:
    """Elements with the text that lies in them; text that lies in none stays by itself."""
    words: list[list[TextLine]] = [[] for _ in detections]
    alone: list[TextLine] = []
    for line in lines:
        holders = [(_area(each.box), n) for n, each in enumerate(detections) if _share(line.box, each.box) >= INSIDE]
        (words[min(holders)[1]] if holders else alone).append(line)
    found = [_element(picture, each, inside) for each, inside in zip(detections, words, strict=True)]
    found += [ScreenElement(0, "text", line.text, line.box) for line in alone]
    found.sort(key=lambda each: (each.box[1], each.box[0]))
    return Screen(tuple(replace(each, id=number) for number, each in enumerate(found, 1)))


def _element(picture: np.ndarray, found: Detection, inside: Sequence[TextLine]) -> ScreenElement:
    text = " ".join(line.text for line in inside)
    if found.kind.endswith("icon") or found.kind in ("checkbox", "radio"):
        text = ""  # a star or a tick isn't text
    look = f"{colour_of(picture, found.box)} {form_of(picture, found.box)}".strip() if found.kind == "shape" else ""
    return ScreenElement(0, found.kind, text, found.box, found.checked, found.focused, look)


def colour_of(picture: np.ndarray, box: Sequence[int]) -> str:
    """The name of the colour that most of a box has, white aside: "red", "grey", "black"; "white" for an empty one."""
    pixels = picture[box[1] : box[3], box[0] : box[2]].reshape(-1, 3)
    inked = pixels[(pixels < 240).any(axis=1)]
    if len(inked) < 0.04 * max(len(pixels), 1):
        return "white"
    coarse, counts = np.unique(inked // 32, axis=0, return_counts=True)
    most = inked[(inked // 32 == coarse[counts.argmax()]).all(axis=1)].mean(axis=0)
    near = min(INKS, key=lambda name: float(np.abs(most - INKS[name]).sum()))
    if np.abs(most - INKS[near]).sum() < NEAR:
        return near
    hue, saturation, value = colorsys.rgb_to_hsv(*(most / 255))
    if value < 0.2:
        return "black"
    if saturation < 0.2:
        return "white" if value > 0.93 else "grey"
    return min(COLOURS, key=lambda name: min(abs(360 * hue - COLOURS[name]), 360 - abs(360 * hue - COLOURS[name])))


FULL, ROUND, HALF = 0.93, 0.785, 0.5
"""Shares of its rectangle that a rectangle, a circle and a triangle fill."""


def form_of(picture: np.ndarray, box: Sequence[int]) -> str:
    """ "rectangle", "circle", "triangle" or "" for none of them, by how the ink of a box lies in it."""
    ink: np.ndarray = picture[box[1] : box[3], box[0] : box[2]].min(axis=2) < 240
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if len(rows) < 5 or len(columns) < 5:
        return ""
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # Outlines are filled from both sides, row by row.
    filled = np.maximum.accumulate(ink, axis=1) & np.maximum.accumulate(ink[:, ::-1], axis=1)[:, ::-1]
    share, widths = float(filled.mean()), filled.mean(axis=1)
    if share >= FULL:
        return "rectangle"
    top, bottom = widths[: len(widths) // 4].mean(), widths[-(len(widths) // 4) :].mean()
    if abs(share - ROUND) < 0.07 and abs(top - bottom) < 0.2:
        return "circle"
    if abs(share - HALF) < 0.12 and abs(top - bottom) > 0.4:
        return "triangle"
    return ""


def _area(box: Sequence[int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _share(inner: Sequence[int], outer: Sequence[int]) -> float:
    wide, high = min(inner[2], outer[2]) - max(inner[0], outer[0]), min(inner[3], outer[3]) - max(inner[1], outer[1])
    return max(wide, 0) * max(high, 0) / max(_area(inner), 1)


def picture_of(png: bytes) -> np.ndarray:
    """A screenshot's pixels, RGB u8 (h, w, 3)."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
