"""Lines of text mended: cut where they hold more than one; and on whole pages what finders leave out.

Text finders join what lies on one level. A line is cut at gaps no space is as wide as, and around a ring or a frame
that stands higher or lower than its letters: that is a radio button or a checkbox, not an O. They look for words and
pass over a digit by itself, a single letter, a star; and the detector takes an empty band for a text field.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage

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
EDGE = 60
"""Difference of neighbouring pixels, of 255, that counts as an edge."""
HIGH, WIDE = (4, 32), (3, 120)
"""Pixels of what may be a letter or a word, least and most."""
APART = 7
"""Pixels across which edges belong to one word."""
CERTAIN = {True: 0.8, False: 0.6}
"""Least confidence for a single letter, and for more."""
MOST_READ = 60
"""Pieces of a screen that are read at most; each takes a few milliseconds."""
MOST_ALIKE = 2
"""Pieces of one width at one place across; more of them are a dashed line."""
FRAMES, DASHES = frozenset("口曰日回囗□"), str.maketrans("一—", "--")
"""Letters as which an empty frame is read by itself, and those as which a minus is."""
FRAMED = 0.6
"""Share of a side along which a field has an edge."""
NEAR = 5
"""Pixels from a detected side within which its edge may lie."""
Run = tuple[int, int, int, int]


def cut_lines(
    picture: np.ndarray, lines: Sequence[TextLine], found: Sequence[Detection], least: float = LEAST_CONFIDENCE
) -> tuple[list[TextLine], list[Detection]]:
    """The lines of a picture, RGB u8 (h, w, 3), cut, where it is as sure; and the ticks in them that `found` lacks."""
    cut: list[TextLine] = []
    ticks: list[Detection] = []
    for line in lines:
        runs = _runs(picture, line.box)
        rings = [tick for run in runs if (tick := _tick(picture, run, runs))]
        ticks += [each for each in rings if not any(holds(other.box, each.box) for other in found)]
        marks = [each.box for each in rings] + [
            each.box for each in found if each.kind in ("checkbox", "radio") and holds(line.box, each.box)
        ]
        parts = _parts([run for run in runs if not any(holds(mark, run) for mark in marks)], runs, line.box)
        if len(parts) == 1 and not marks:
            cut.append(line)
        else:
            cut += [read for box in parts if (read := read_line(picture, box, least))]
    return cut, ticks


def holds(outer: Sequence[int], inner: Sequence[int], around: int = AROUND) -> bool:
    """Whether the middle of a box lies in another one, or up to so many pixels above or below it."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x < outer[2] and outer[1] - around <= y < outer[3] + around


def _runs(picture: np.ndarray, box: Sequence[int]) -> list[Run]:
    """Boxes of what has ink in a line, parted by columns without any; letters for the most."""
    x0, y0, x1, y1 = box
    top = max(y0 - AROUND, 0)
    band = picture[top : y1 + AROUND, x0:x1].astype(np.int16)
    ink = (np.abs(band - np.median(picture[y0:y1, x0:x1].reshape(-1, 3), axis=0)) > INKED).any(axis=2)
    columns = np.flatnonzero(np.diff(np.pad(ink[y0 - top : y1 - top].any(axis=0).astype(np.int8), 1)))
    found = []
    for left, right in columns.reshape(-1, 2):
        rows = np.flatnonzero(ink[:, left:right].any(axis=1))
        found.append((x0 + int(left), top + int(rows[0]), x0 + int(right), top + int(rows[-1]) + 1))
    return found


def _tick(picture: np.ndarray, run: Run, runs: Sequence[Run]) -> Detection | None:
    """A square run that stands out of the letters beside it, and is drawn all around."""
    x0, y0, x1, y1 = run
    letters = [each for each in runs if each != run]
    wide, high = x1 - x0, y1 - y0
    if not letters or abs(wide - high) > 2 or not SIDES[0] <= wide <= SIDES[1]:
        return None
    tops, bottoms = (np.array([each[side] for each in letters]) for side in (1, 3))
    if max(np.median(tops) - y0, 0) + max(y1 - np.median(bottoms), 0) < 2 or y1 < np.median(bottoms) + 1:
        return None
    gap = min((each[0] - x1 for each in letters if each[0] >= x1), default=0)
    part = picture[y0:y1, x0:x1].astype(np.int16)
    ink = (np.abs(part - np.median(picture[y0:y1, x1 : x1 + max(gap, 1)].reshape(-1, 3), axis=0)) > INKED).any(axis=2)
    middle = slice(high // 3, -(high // 3)), slice(wide // 3, -(wide // 3))
    around = min(
        float(side.mean()) for side in (ink[:2].any(0), ink[-2:].any(0), ink[:, :2].any(1), ink[:, -2:].any(1))
    )
    if gap < 3 or around < 0.3:
        return None
    kind = "checkbox" if ink[:2, :2].any() and ink[-2:, -2:].any() and around > 0.7 else "radio"
    return Detection(kind, run, bool(ink[middle].mean() > 0.2), False, 1.0)


def _parts(letters: Sequence[Run], runs: Sequence[Run], box: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """The boxes of texts: letters without a wide gap, or anything that isn't a letter, between them."""
    parts: list[list[Run]] = []
    for run in letters:
        near = bool(parts) and run[0] - parts[-1][-1][2] < GAP * (box[3] - box[1])
        if near and not any(parts[-1][-1][2] <= other[0] < run[0] for other in runs if other not in letters):
            parts[-1].append(run)
        else:
            parts.append([run])
    return [(part[0][0], box[1], part[-1][2], box[3]) for part in parts]


def read_left_out(picture: np.ndarray, lines: Sequence[TextLine], found: Sequence[Detection]) -> list[TextLine]:
    """Texts of a picture, RGB u8 (h, w, 3), that no line has: pieces with edges, read one by one."""
    edges = edges_of(picture)
    known = [(each.box, 3) for each in lines]
    known += [(each.box, 2) for each in found if each.kind in ("checkbox", "radio") or each.kind.endswith("icon")]
    for (x0, y0, x1, y1), more in known:
        edges[max(y0 - more, 0) : y1 + more, max(x0 - more, 0) : x1 + more] = False
    glyphs, _ = ndimage.label(edges, np.ones((3, 3)))
    boxes = _boxes(glyphs)
    inner = [*(each.box for each in lines), *boxes]
    small = [
        0,
        *(_is_letters(box) and not any(box != each and holds(box, each, 0) for each in inner) for box in boxes),
    ]
    words, _ = ndimage.label(ndimage.binary_dilation(np.array(small, bool)[glyphs], np.ones((1, APART))))
    pieces = [box for box in _boxes(words, APART // 2) if _is_letters(box)]
    columns = [(box[0], box[2]) for box in pieces]
    pieces = [box for box in pieces if columns.count((box[0], box[2])) <= MOST_ALIKE]
    read = [line for box in pieces[:MOST_READ] if (line := read_line(picture, box))]
    sure = [line for line in read if line.confidence >= CERTAIN[len(line.text) == 1] and line.text not in FRAMES]
    return [replace(line, text=line.text.translate(DASHES)) if len(line.text) == 1 else line for line in sure]


def is_framed(picture: np.ndarray, box: Sequence[int]) -> bool:
    """Whether a box has edges along three of its sides at least."""
    x0, y0, x1, y1 = box
    left, top = max(x0 - NEAR, 0), max(y0 - NEAR, 0)
    edges = edges_of(picture[top : y1 + NEAR, left : x1 + NEAR])
    rows, columns = edges[:, x0 - left : x1 - left].mean(axis=1), edges[y0 - top : y1 - top].mean(axis=0)
    sides = (rows[: 2 * NEAR], rows[-2 * NEAR :], columns[: 2 * NEAR], columns[-2 * NEAR :])
    return sum(bool(len(side)) and bool(side.max() >= FRAMED) for side in sides) >= 3


def pieces_of(edges: np.ndarray, joined: int) -> list[tuple[int, int, int, int]]:
    """Boxes of what hangs together of edges, bool (h, w), with so many pixels around each that join it to others."""
    labels, _ = ndimage.label(ndimage.binary_dilation(edges, np.ones((2 * joined + 1,) * 2)), np.ones((3, 3)))
    return _boxes(labels, joined, joined)


def edges_of(picture: np.ndarray) -> np.ndarray:
    """Bool (h, w): where the lightest or the darkest colour value differs from a neighbour's."""
    found = np.zeros(picture.shape[:2], bool)
    for values in (picture.max(axis=2), picture.min(axis=2)):
        found |= ndimage.grey_dilation(values, (3, 3)).astype(np.int16) - ndimage.grey_erosion(values, (3, 3)) > EDGE
    return found


def _boxes(labels: np.ndarray, wide: int = 0, high: int = 0) -> list[tuple[int, int, int, int]]:
    """The box of each label from 1 on, without so many pixels at either end that were added across and down."""
    return [(x.start + wide, y.start + high, x.stop - wide, y.stop - high) for y, x in ndimage.find_objects(labels)]


def _is_letters(box: Sequence[int]) -> bool:
    return HIGH[0] <= box[3] - box[1] <= HIGH[1] and WIDE[0] <= box[2] - box[0] <= WIDE[1]
