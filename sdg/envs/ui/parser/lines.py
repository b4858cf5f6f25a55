"""Lines of text mended: cut where they hold more than one; and on whole pages what finders leave out.

Text finders join what lies on one level. A line is cut at gaps no space is as wide as, and around a ring or a frame
that stands higher or lower than its letters: that is a radio button or a checkbox, not an O. They look for words and
pass over a digit by itself, a single letter, a star; and the detector takes an empty band for a text field.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage

from sdg.envs.box import Box
from sdg.envs.ui.parser.detector import Detection
from sdg.envs.ui.parser.ocr import LEAST_CONFIDENCE, TextLine, read_line

GAP = 0.9
"""Widths of a gap, in heights of the line, from which it parts two texts; a space has a third."""
INKED = 40
"""Difference from the line's ground, of 255, from which a pixel is ink."""
AROUND = 4
"""Pixels above and below a line in which a tick's frame may stand out."""
SIDES = (10, 26)
"""Pixels of a tick's side, least and most."""
MIN_EDGE = 60
"""Difference of neighbouring pixels, of 255, that counts as an edge."""
HIGH, WIDE = (4, 32), (3, 120)
"""Pixels of what may be a letter or a word, least and most."""
APART = 7
"""Pixels across which edges belong to one word."""
CERTAIN = {True: 0.8, False: 0.6}
"""Least confidence for a single letter, and for more."""
MAX_READ = 60
"""Pieces of a screen that are read at most; each takes a few milliseconds."""
MAX_ALIKE = 2
"""Pieces of one width at one place across; more of them are a dashed line."""
FRAMES, DASHES = frozenset("口曰日回囗□"), str.maketrans("一—", "--")
"""Letters as which an empty frame is read by itself, and those as which a minus is."""
MIN_FRAME_SHARE = 0.6
"""Share of a side along which a field has an edge."""
NEAR = 5
"""Pixels from a detected side within which its edge may lie."""


def cut_lines(
    picture: np.ndarray, lines: Sequence[TextLine], detections: Sequence[Detection], least: float = LEAST_CONFIDENCE
) -> tuple[list[TextLine], list[Detection]]:
    """The lines of a picture, RGB u8 (h, w, 3), cut, where it is as sure; and ticks in them that weren't detected."""
    cut: list[TextLine] = []
    ticks: list[Detection] = []
    for line in lines:
        runs = _runs(picture, Box(*line.box))
        drawn = [tick for run in runs if (tick := _tick(picture, run, runs))]
        ticks += [tick for tick in drawn if not any(holds(known.box, tick.box) for known in detections)]
        detected = [known for known in detections if known.kind in ("checkbox", "radio") and holds(line.box, known.box)]
        marks = [tick.box for tick in (*drawn, *detected)]
        letters = [run for run in runs if not any(holds(mark, run) for mark in marks)]
        texts = _parts(letters, runs, Box(*line.box))
        if len(texts) == 1 and not marks:
            cut.append(line)
        else:
            cut += [part for box in texts if (part := read_line(picture, box, least))]
    return cut, ticks


def holds(outer: Sequence[int], inner: Sequence[int], around: int = AROUND) -> bool:
    """Whether the middle of a box lies in another one, or up to so many pixels above or below it."""
    left, top, right, bottom = outer
    return Box(left, top - around, right, bottom + around).has_point(*Box(*inner).centre)


def _runs(picture: np.ndarray, line: Box) -> list[Box]:
    """Boxes of what has ink in a line, parted by columns without any; letters for the most."""
    band = line.grown(0, AROUND)
    ink = _ink(picture, band, ground=line)
    inked_columns = line.moved(-band.left, -band.top).pixels_of(ink).any(axis=0)
    edges = np.flatnonzero(np.diff(np.pad(inked_columns.astype(np.int8), 1)))
    runs = []
    for left, right in edges.reshape(-1, 2).tolist():
        rows = np.flatnonzero(ink[:, left:right].any(axis=1)).tolist()
        runs.append(Box(left, rows[0], right, rows[-1] + 1).moved(band.left, band.top))
    return runs


def _ink(picture: np.ndarray, box: Box, *, ground: Box) -> np.ndarray:
    """Bool (h, w): which pixels of a box differ from the colour that is in the middle of those of `ground`."""
    colour = np.median(ground.pixels_of(picture).reshape(-1, 3), axis=0)
    return np.asarray((np.abs(box.pixels_of(picture).astype(np.int16) - colour) > INKED).any(axis=2))


def _tick(picture: np.ndarray, run: Box, runs: Sequence[Box]) -> Detection | None:
    """A square run that stands out of the letters beside it, and is drawn all around."""
    letters = [letter for letter in runs if letter != run]
    if not letters or abs(run.width - run.height) > 2 or not SIDES[0] <= run.width <= SIDES[1]:
        return None
    above = np.median([letter.top for letter in letters]) - run.top
    below = run.bottom - np.median([letter.bottom for letter in letters])
    if below < 1 or max(above, 0) + below < 2:
        return None
    gap = min((letter.left - run.right for letter in letters if letter.left >= run.right), default=0)
    ink = _ink(picture, run, ground=Box(run.right, run.top, run.right + max(gap, 1), run.bottom))
    sides = (ink[:2].any(0), ink[-2:].any(0), ink[:, :2].any(1), ink[:, -2:].any(1))
    drawn_around = min(float(side.mean()) for side in sides)
    if gap < 3 or drawn_around < 0.3:
        return None
    middle = ink[run.height // 3 : -(run.height // 3), run.width // 3 : -(run.width // 3)]
    kind = "checkbox" if ink[:2, :2].any() and ink[-2:, -2:].any() and drawn_around > 0.7 else "radio"
    return Detection(kind, run, bool(middle.mean() > 0.2), False, 1.0)


def _parts(letters: Sequence[Box], runs: Sequence[Box], line: Box) -> list[Box]:
    """The boxes of texts: letters without a wide gap, or anything that isn't a letter, between them."""
    texts: list[Box] = []
    signs = [run for run in runs if run not in letters]
    for letter in letters:
        end = texts[-1].right if texts else 0
        is_near = bool(texts) and letter.left - end < GAP * line.height
        if is_near and not any(end <= sign.left < letter.left for sign in signs):
            texts[-1] = texts[-1]._replace(right=letter.right)
        else:
            texts.append(line._replace(left=letter.left, right=letter.right))
    return texts


def read_left_out(picture: np.ndarray, lines: Sequence[TextLine], detections: Sequence[Detection]) -> list[TextLine]:
    """Texts of a picture, RGB u8 (h, w, 3), that no line has: pieces with edges, read one by one."""
    edges = edges_of(picture)
    known = [(line.box, 3) for line in lines]
    known += [(detection.box, 2) for detection in detections if detection.is_mark]
    for box, margin in known:
        Box(*box).grown(margin, margin).pixels_of(edges)[:] = False
    glyphs, _ = ndimage.label(edges, np.ones((3, 3)))
    boxes = _boxes(glyphs)
    inner = [*(line.box for line in lines), *boxes]
    small = [
        0,
        *(_is_letters(box) and not any(box != other and holds(box, other, 0) for other in inner) for box in boxes),
    ]
    words, _ = ndimage.label(ndimage.binary_dilation(np.array(small, bool)[glyphs], np.ones((1, APART))))
    pieces = [box for box in _boxes(words, APART // 2) if _is_letters(box)]
    spans = [(box.left, box.right) for box in pieces]
    pieces = [box for box in pieces if spans.count((box.left, box.right)) <= MAX_ALIKE]
    read = [line for box in pieces[:MAX_READ] if (line := read_line(picture, box))]
    sure = [line for line in read if line.confidence >= CERTAIN[len(line.text) == 1] and line.text not in FRAMES]
    return [replace(line, text=line.text.translate(DASHES)) if len(line.text) == 1 else line for line in sure]


def is_framed(picture: np.ndarray, box: Sequence[int]) -> bool:
    """Whether a box has edges along three of its sides at least."""
    x0, y0, x1, y1 = box
    left, top = max(x0 - NEAR, 0), max(y0 - NEAR, 0)
    edges = edges_of(picture[top : y1 + NEAR, left : x1 + NEAR])
    rows = edges[:, x0 - left : x1 - left].mean(axis=1)
    columns = edges[y0 - top : y1 - top].mean(axis=0)
    sides = (rows[: 2 * NEAR], rows[-2 * NEAR :], columns[: 2 * NEAR], columns[-2 * NEAR :])
    return sum(bool(len(side)) and bool(side.max() >= MIN_FRAME_SHARE) for side in sides) >= 3


def pieces_of(edges: np.ndarray, joined: int) -> list[Box]:
    """Boxes of what hangs together of edges, bool (h, w), with so many pixels around each that join it to others."""
    labels, _ = ndimage.label(ndimage.binary_dilation(edges, np.ones((2 * joined + 1,) * 2)), np.ones((3, 3)))
    return _boxes(labels, joined, joined)


def filled_pieces(ink: np.ndarray) -> Iterator[tuple[Box, np.ndarray, np.ndarray]]:
    """The box of each piece of ink, bool (h, w), that hangs together; in it, bool masks of its ink, and with holes
    filled."""
    labels, _ = ndimage.label(ink, np.ones((3, 3)))
    for number, box in enumerate(_boxes(labels), 1):
        own = box.pixels_of(labels) == number
        yield box, own, ndimage.binary_fill_holes(own)


def edges_of(picture: np.ndarray) -> np.ndarray:
    """Bool (h, w): where the lightest or the darkest colour value differs from a neighbour's."""
    edges = np.zeros(picture.shape[:2], bool)
    for values in (picture.max(axis=2), picture.min(axis=2)):
        highest = ndimage.grey_dilation(values, (3, 3)).astype(np.int16)
        edges |= highest - ndimage.grey_erosion(values, (3, 3)) > MIN_EDGE
    return edges


def _boxes(labels: np.ndarray, across: int = 0, down: int = 0) -> list[Box]:
    """The box of each label from 1 on, without the pixels that were added at either end across and down."""
    spans = ndimage.find_objects(labels)
    return [Box(x.start + across, y.start + down, x.stop - across, y.stop - down) for y, x in spans]


def _is_letters(box: Box) -> bool:
    return HIGH[0] <= box.height <= HIGH[1] and WIDE[0] <= box.width <= WIDE[1]
