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

from sdg.envs.box import Box
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.parser.detector import Detection, detect
from sdg.envs.ui.parser.forms import find_outlines, form_of
from sdg.envs.ui.parser.icons import find_icons
from sdg.envs.ui.parser.lines import cut_lines, is_framed, read_left_out
from sdg.envs.ui.parser.ocr import LEAST_CONFIDENCE, TextLine, read_lines
from sdg.envs.ui.parser.scripts import languages_of, read_again

FIELDS = ("textbox", "text area", "dropdown")
INSIDE = 0.6
"""Share of a text's area that lies in an element that it belongs to."""
MAX_TEXT_CHARS, LETTERS = 300, 2
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
MAX_DIFFERENCE = 24
"""Sum of differences up to which a colour is one of them."""
PRESSED = ("button", "tab", "link")
"""Kinds whose ground may tell a state even where it is the page's."""
MIN_DIFFERENCE = 24
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", (*self.box,))  # a guard lets programs read plain tuples alone

    @property
    def name(self) -> str:
        """What it is, in the paper's words, and on what ground where that tells."""
        return f"{self._what} on {self.ground}" if self.ground else self._what

    @property
    def _what(self) -> str:
        state = [word for word, has in (("checked", self.checked), ("focused", self.focused)) if has]
        what = " ".join((*state, *([self.look] if self.look else []), self.kind))
        words = self.text.replace("'", "’")[:MAX_TEXT_CHARS]
        if self.kind in FIELDS:
            return f"{what} containing the text '{words}'" if words else f"empty {what}"
        if self.kind == "text":
            return f"'{words}'"
        return f"'{words}' {what}" if words else what

    @property
    def middle(self) -> tuple[int, int]:
        """The point (x, y) to click."""
        return Box(*self.box).middle

    def __str__(self) -> str:
        return f"{self.name}: {list(self.box)}"


@dataclass(frozen=True, slots=True)
class Screen:
    """A parsed screenshot: its elements, sorted by y, then x."""

    elements: tuple[ScreenElement, ...]

    def __str__(self) -> str:
        text = [str(element) for element in self.elements if element.kind == "text"]
        rest = [str(element) for element in self.elements if element.kind != "text"]
        return "\n".join(["OCR:", *(text or ["(nothing)"]), "", "Object Detector:", *(rest or ["(nothing)"])])


def parse(picture: np.ndarray) -> Screen:
    """The elements of a screenshot, RGB u8 (h, w, 3); on MiniWoB++'s pages outlines are found that the detector left
    out; on larger ones lines are cut where they hold more than one text, and what the finders left out is read."""
    detections = detect(picture)
    read = read_lines(picture)
    lines = [line for line in read if line.confidence >= LEAST_CONFIDENCE]
    if picture.shape[:2] == (SCREEN, SCREEN):
        return add_outlines(picture, merge(picture, detections, lines))
    languages = languages_of(picture, read)
    detections = [found for found in detections if found.kind not in FIELDS or is_framed(picture, found.box)]
    cut, ticks = cut_lines(picture, read, detections, 0.0) if languages else cut_lines(picture, lines, detections)
    cut = read_again(picture, cut, languages)
    cut, detections = find_icons(picture, cut, [*detections, *ticks])
    elements = merge(picture, detections, [*cut, *read_left_out(picture, cut, detections)]).elements
    grounds = telling_grounds(picture, [element.kind for element in elements], [element.box for element in elements])
    colours = {n: colour for n, ground in grounds.items() if (colour := name_colour(ground)) != "white"}
    return Screen(tuple(replace(element, ground=colours.get(n, "")) for n, element in enumerate(elements)))


def merge(picture: np.ndarray, detections: Sequence[Detection], lines: Sequence[TextLine]) -> Screen:
    """Elements with the text that lies in them; text that lies in none stays by itself."""
    boxes = [Box(*detection.box) for detection in detections]
    words: list[list[TextLine]] = [[] for _ in detections]
    alone: list[TextLine] = []
    for line in lines:
        holders = [(box.area, n) for n, box in enumerate(boxes) if _share(line.box, box) >= INSIDE]
        texts = words[min(holders)[1]] if holders else alone
        texts.append(line)
    elements = [_element(picture, detection, inside) for detection, inside in zip(detections, words, strict=True)]
    return numbered([*elements, *(_element_of_text(picture, line) for line in alone)])


def numbered(elements: Sequence[ScreenElement]) -> Screen:
    """A screen of these elements, sorted and numbered from 1."""
    in_order = sorted(elements, key=lambda element: (element.box[1], element.box[0]))
    return Screen(tuple(replace(element, id=number) for number, element in enumerate(in_order, 1)))


def add_outlines(picture: np.ndarray, screen: Screen) -> Screen:
    """The screen with closed outlines, as a canvas shows them, in which and under which no element lies."""
    outlines = find_outlines(picture, [element.box for element in screen.elements])
    drawn = [ScreenElement(0, "shape", "", box, look=_look_of(picture, box, form)) for box, form in outlines]
    return numbered([*screen.elements, *drawn])


def _look_of(picture: np.ndarray, box: Sequence[int], form: str) -> str:
    return f"{colour_of(picture, box)} {form}".strip()


def _element(picture: np.ndarray, detection: Detection, inside: Sequence[TextLine]) -> ScreenElement:
    kind, box = detection.kind, detection.box
    text = "" if detection.is_mark else " ".join(line.text for line in inside)  # a star or a tick isn't text
    look = _look_of(picture, box, form_of(picture, box)) if kind == "shape" else ""
    return ScreenElement(0, kind, text, box, detection.checked, detection.focused, look)


def _element_of_text(picture: np.ndarray, line: TextLine) -> ScreenElement:
    """A line of text; a letter or two in a colour of their own are a shape, as pages draw them. Links are blue."""
    ink = colour_of(picture, line.box) if len(line.text) <= LETTERS else ""
    if ink in COLOURS and ink not in ("blue", "purple"):
        return ScreenElement(0, "shape", line.text, line.box, look=ink)
    return ScreenElement(0, "text", line.text, line.box)


def colour_of(picture: np.ndarray, box: Sequence[int]) -> str:
    """The name of the colour that most of a box has, white aside: "red", "grey", "black"; "white" for an empty one."""
    pixels = Box(*box).pixels_of(picture).reshape(-1, 3)
    inked = pixels[(pixels < 240).any(axis=1)]
    if len(inked) < 0.04 * max(len(pixels), 1):
        return "white"
    coarse, counts = np.unique(inked // 32, axis=0, return_counts=True)
    return name_colour(inked[(inked // 32 == coarse[counts.argmax()]).all(axis=1)].mean(axis=0))


def name_colour(most: np.ndarray) -> str:
    """The name of a colour, RGB in [0, 255]."""
    near = min(INKS, key=lambda name: float(np.abs(most - INKS[name]).sum()))
    hue, saturation, value = colorsys.rgb_to_hsv(*(most / 255))
    if np.abs(most - INKS[near]).sum() < MAX_DIFFERENCE:
        return near
    if value < 0.2:
        return "black"
    if saturation < 0.2:
        return "white" if value > 0.93 else "grey"
    return min(COLOURS, key=lambda name: min(abs(360 * hue - COLOURS[name]), 360 - abs(360 * hue - COLOURS[name])))


def telling_grounds(picture: np.ndarray, kinds: Sequence[str], boxes: Sequence[Sequence[int]]) -> dict[int, np.ndarray]:
    """The grounds, RGB, of those boxes of a picture, RGB u8 (h, w, 3), that have a neighbour with another ground.

    Left out are those on the page's own ground, and neighbours there that are only text.
    """
    page = _ground(picture, (0, 0, picture.shape[1], picture.shape[0]))
    telling = [n for n, kind in enumerate(kinds) if kind in (*PRESSED, "text")]
    grounds = {n: _ground(picture, boxes[n]) for n in telling}
    own = [n for n in telling if _differ(grounds[n], page)]
    neighbours = [n for n in telling if n in own or kinds[n] in PRESSED]
    return {
        n: grounds[n]
        for n in own
        if any(_differ(grounds[n], grounds[m]) and _are_neighbours(boxes[n], boxes[m]) for m in neighbours)
    }


def _ground(picture: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """The colour that most of a box has."""
    pixels = Box(*box).pixels_of(picture).reshape(-1, 3)
    if not len(pixels):
        return np.zeros(3, int)
    codes = (pixels // 8).astype(int) @ np.array([1024, 32, 1])
    return np.median(pixels[codes == np.bincount(codes).argmax()], axis=0).astype(int)


def _differ(ground: np.ndarray, beside: np.ndarray) -> bool:
    return bool(np.abs(ground - beside).sum() >= MIN_DIFFERENCE)


def _are_neighbours(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether they lie close to each other in a row, or in a column with the same left side."""
    box, neighbour = Box(*first), Box(*second)
    common = box.intersection(neighbour)  # negative sides are gaps
    in_row = 2 * common.height > max(box.height, neighbour.height) and 0 <= 4 - common.width <= GAP[0]
    in_column = abs(box.left - neighbour.left) <= ALIGNED and 0 <= 4 - common.height <= GAP[1]
    return in_row or in_column


def _share(inner: Sequence[int], outer: Sequence[int]) -> float:
    """Which share of a box lies in another."""
    return Box(*inner).intersection(outer).area / max(Box(*inner).area, 1)


@lru_cache(maxsize=2)
def picture_of(png: bytes) -> np.ndarray:
    """A screenshot's pixels, RGB u8 (h, w, 3), read-only; the last two stay decoded, since each is asked for often."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


PAINT = (120, 120, 120)


def draw_marks(picture: np.ndarray, elements: Sequence[ScreenElement]) -> np.ndarray:
    """The picture, RGB u8 (h, w, 3), with a frame around each element and its number at the upper left corner."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for element in elements:
        x0, y0, x1, y1 = element.box
        draw.rectangle((x0, y0, max(x1 - 1, x0), max(y1 - 1, y0)), outline=(220, 0, 90))
        draw.rectangle((x0, y0, x0 + 6 * len(str(element.id)) + 3, y0 + 11), fill=(220, 0, 90))
        draw.text((x0 + 2, y0), str(element.id), fill=(255, 255, 255))
    return np.asarray(image)


def painted_over(picture: np.ndarray, boxes: Iterable[Sequence[int]]) -> np.ndarray:
    """The picture without what stands in some boxes [x0, y0, x1, y1]."""
    clean = picture.copy()
    for box in boxes:
        Box(*box).pixels_of(clean)[:] = PAINT
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
