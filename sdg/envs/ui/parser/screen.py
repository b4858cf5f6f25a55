"""A screenshot as the paper's lines: elements and text, merged, each with its box, sorted by y.

`'Ok' button: [4, 46, 69, 90]`, `text area containing the text '...': [...]`. What is written on a screen is data: it is
quoted, kept to one line and cut.
"""

import colorsys
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.parser.detector import Detection, detect
from sdg.envs.ui.parser.icons import find_icons
from sdg.envs.ui.parser.lines import cut_lines, is_framed, read_left_out
from sdg.envs.ui.parser.ocr import LEAST_CONFIDENCE, TextLine, read_lines
from sdg.envs.ui.parser.scripts import languages_of, read_again

FIELDS = ("textbox", "text area", "dropdown")
INSIDE = 0.6
"""Share of a text's area that lies in an element that it belongs to."""
MOST_TEXT, LETTERS = 300, 2
COLOURS = {"red": 0, "orange": 30, "yellow": 60, "green": 120, "cyan": 180, "blue": 240, "purple": 280, "magenta": 300}
"""Hue in degrees of the colours that are named."""
INKS = {
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "purple": (128, 0, 128),
    "pink": (255, 192, 203),
    "black": (0, 0, 0),
    "orange": (255, 165, 0),
    "grey": (128, 128, 128),
    "cyan": (0, 255, 255),
    "magenta": (255, 0, 255),
    "lime": (0, 255, 0),
}
"""Colours that have a name of their own; others go by their hue."""
NEAR = 24
"""Sum of differences up to which a colour is one of them."""
PRESSED = ("button", "tab", "link")
"""Kinds whose ground may tell a state even where it is the page's."""
DIFFERENT = 24
"""Sum of differences of the three colour values from which two grounds are different."""
GAP = (48, 24)
"""Pixels, across and down, within which elements are neighbours."""
ALIGNED = 8
"""Pixels by which the left sides of neighbours one below the other may differ."""


@dataclass(frozen=True, slots=True)
class ScreenElement:
    """An element as an agent may see it. `kind` is a detector's kind, or "text"; `look` a colour where that tells;
    `ground` the colour it stands on, where its neighbours stand on another."""

    id: int
    kind: str
    text: str
    box: tuple[int, int, int, int]
    checked: bool = False
    focused: bool = False
    look: str = ""
    held: bool = False
    ground: str = ""

    @property
    def name(self) -> str:
        """What it is, in the paper's words, and on what ground where that tells."""
        return f"{self._what} on {self.ground}" if self.ground else self._what

    @property
    def _what(self) -> str:
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
    """The elements of a screenshot, RGB u8 (h, w, 3); of pages larger than MiniWoB++'s lines are cut where they hold
    more than one text, and what the finders left out is read."""
    found, read = detect(picture), read_lines(picture, least=0.0)
    lines = [line for line in read if line.confidence >= LEAST_CONFIDENCE]
    if picture.shape[:2] == (SCREEN, SCREEN):
        return merge(picture, found, lines)
    languages = languages_of(picture, read)
    found = [each for each in found if each.kind not in FIELDS or is_framed(picture, each.box)]
    cut, ticks = cut_lines(picture, read, found, 0.0) if languages else cut_lines(picture, lines, found)
    cut = read_again(picture, cut, languages)
    cut, found = find_icons(picture, cut, [*found, *ticks])
    elements = merge(picture, found, [*cut, *read_left_out(picture, cut, found)]).elements
    grounds = telling_grounds(picture, [each.kind for each in elements], [each.box for each in elements])
    named = {n: name for n, ground in grounds.items() if (name := name_colour(ground)) != "white"}
    return Screen(tuple(replace(each, ground=named.get(n, "")) for n, each in enumerate(elements)))


def merge(picture: np.ndarray, detections: Sequence[Detection], lines: Sequence[TextLine]) -> Screen:
    """Elements with the text that lies in them; text that lies in none stays by itself."""
    words: list[list[TextLine]] = [[] for _ in detections]
    alone: list[TextLine] = []
    for line in lines:
        holders = [(_area(each.box), n) for n, each in enumerate(detections) if _share(line.box, each.box) >= INSIDE]
        (words[min(holders)[1]] if holders else alone).append(line)
    found = [_element(picture, each, inside) for each, inside in zip(detections, words, strict=True)]
    found += [_written(picture, line) for line in alone]
    found.sort(key=lambda each: (each.box[1], each.box[0]))
    return Screen(tuple(replace(each, id=number) for number, each in enumerate(found, 1)))


def _element(picture: np.ndarray, found: Detection, inside: Sequence[TextLine]) -> ScreenElement:
    drawn = found.kind.endswith("icon") or found.kind in ("checkbox", "radio")  # a star or a tick isn't text
    text = "" if drawn else " ".join(line.text for line in inside)
    look = f"{colour_of(picture, found.box)} {form_of(picture, found.box)}".strip() if found.kind == "shape" else ""
    return ScreenElement(0, found.kind, text, found.box, found.checked, found.focused, look)


def _written(picture: np.ndarray, line: TextLine) -> ScreenElement:
    """A line of text; a letter or two in a colour of their own are a shape, as pages draw them. Links are blue."""
    ink = colour_of(picture, line.box) if len(line.text) <= LETTERS else ""
    if ink in COLOURS and ink not in ("blue", "purple"):
        return ScreenElement(0, "shape", line.text, line.box, look=ink)
    return ScreenElement(0, "text", line.text, line.box)


def colour_of(picture: np.ndarray, box: Sequence[int]) -> str:
    """The name of the colour that most of a box has, white aside: "red", "grey", "black"; "white" for an empty one."""
    pixels = picture[box[1] : box[3], box[0] : box[2]].reshape(-1, 3)
    inked = pixels[(pixels < 240).any(axis=1)]
    if len(inked) < 0.04 * max(len(pixels), 1):
        return "white"
    coarse, counts = np.unique(inked // 32, axis=0, return_counts=True)
    return name_colour(inked[(inked // 32 == coarse[counts.argmax()]).all(axis=1)].mean(axis=0))


def name_colour(most: np.ndarray) -> str:
    """The name of a colour, RGB in [0, 255]."""
    near = min(INKS, key=lambda name: float(np.abs(most - INKS[name]).sum()))
    hue, saturation, value = colorsys.rgb_to_hsv(*(most / 255))
    if np.abs(most - INKS[near]).sum() < NEAR:
        return near
    if value < 0.2 or saturation < 0.2:
        return "black" if value < 0.2 else "white" if value > 0.93 else "grey"
    return min(COLOURS, key=lambda name: min(abs(360 * hue - COLOURS[name]), 360 - abs(360 * hue - COLOURS[name])))


def telling_grounds(picture: np.ndarray, kinds: Sequence[str], boxes: Sequence[Sequence[int]]) -> dict[int, np.ndarray]:
    """The grounds, RGB, of those boxes of a picture, RGB u8 (h, w, 3), that have a neighbour with another ground.

    Left out are those on the page's own ground, and neighbours there that are only text.
    """
    page = _ground(picture, (0, 0, picture.shape[1], picture.shape[0]))
    asked = [n for n, kind in enumerate(kinds) if kind in (*PRESSED, "text")]
    grounds = {n: _ground(picture, boxes[n]) for n in asked}
    own = [n for n in asked if _differ(grounds[n], page)]
    beside = [n for n in asked if n in own or kinds[n] in PRESSED]
    return {
        n: grounds[n]
        for n in own
        if any(_differ(grounds[n], grounds[other]) and _are_neighbours(boxes[n], boxes[other]) for other in beside)
    }


def _ground(picture: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """The colour that most of a box has."""
    x0, y0, x1, y1 = box
    pixels = picture[y0:y1, x0:x1].reshape(-1, 3)
    if not len(pixels):
        return np.zeros(3, int)
    codes = (pixels // 8).astype(int) @ np.array([1024, 32, 1])
    return np.median(pixels[codes == np.bincount(codes).argmax()], axis=0).astype(int)


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(one - other).sum() >= DIFFERENT)


def _are_neighbours(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether they lie close to each other in a row, or in a column with the same left side."""
    across, down = (max(one[n], other[n]) - min(one[n + 2], other[n + 2]) for n in (0, 1))
    in_row = 2 * -down > max(one[3] - one[1], other[3] - other[1]) and 0 <= across + 4 <= GAP[0]
    in_column = abs(one[0] - other[0]) <= ALIGNED and 0 <= down + 4 <= GAP[1]
    return in_row or in_column


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
    top, bottom = widths[: len(widths) // 4].mean(), widths[-(len(widths) // 4) :].mean()
    round_ = abs(share - ROUND) < 0.07 and abs(top - bottom) < 0.2
    three = abs(share - HALF) < 0.12 and abs(top - bottom) > 0.4
    return "rectangle" if share >= FULL else "circle" if round_ else "triangle" if three else ""


def _area(box: Sequence[int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _share(inner: Sequence[int], outer: Sequence[int]) -> float:
    wide, high = min(inner[2], outer[2]) - max(inner[0], outer[0]), min(inner[3], outer[3]) - max(inner[1], outer[1])
    return max(wide, 0) * max(high, 0) / max(_area(inner), 1)


@lru_cache(maxsize=2)
def picture_of(png: bytes) -> np.ndarray:
    """A screenshot's pixels, RGB u8 (h, w, 3), read-only; the last two stay decoded, since each is asked for often."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


PAINT = (120, 120, 120)


def draw_marks(picture: np.ndarray, elements: Sequence[ScreenElement]) -> np.ndarray:
    """The picture, RGB u8 (h, w, 3), with a frame around each element and its number at the upper left corner."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for each in elements:
        x0, y0, x1, y1 = each.box
        draw.rectangle((x0, y0, max(x1 - 1, x0), max(y1 - 1, y0)), outline=(220, 0, 90))
        draw.rectangle((x0, y0, x0 + 6 * len(str(each.id)) + 3, y0 + 11), fill=(220, 0, 90))
        draw.text((x0 + 2, y0), str(each.id), fill=(255, 255, 255))
    return np.asarray(image)


def painted_over(picture: np.ndarray, boxes: Iterable[Sequence[int]]) -> np.ndarray:
    """The picture without what stands in some boxes [x0, y0, x1, y1]."""
    clean = picture.copy()
    for x0, y0, x1, y1 in boxes:
        clean[y0:y1, x0:x1] = PAINT
    return clean


def png_of(picture: np.ndarray, *, compression: int = 6) -> bytes:
    """A picture as PNG; compression 0 to 9, of which 1 takes a third of the time."""
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "PNG", compress_level=compression)
    return out.getvalue()


def draw_caption(picture: np.ndarray, words: str, point: tuple[int, int] | None = None) -> Image.Image:
    """A frame of a film: the picture, RGB u8 (h, w, 3), a ring around a point, and some words below it."""
    wide, high = picture.shape[1], picture.shape[0]
    image = Image.new("RGB", (wide, high + 22), (30, 30, 40))
    image.paste(Image.fromarray(picture))
    draw = ImageDraw.Draw(image)
    if point is not None:
        for radius in (12, 13, 14):
            draw.ellipse(
                (point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius), outline=(220, 0, 90)
            )
    draw.text((6, high + 5), words.encode("latin-1", "replace").decode("latin-1")[: wide // 6], fill=(255, 255, 255))
    return image
