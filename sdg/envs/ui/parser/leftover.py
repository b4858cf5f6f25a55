"""What finders leave out on whole pages: single letters, digits between buttons, stars; and fields that aren't there.

Text finders look for words and pass over a digit by itself; the detector takes an empty band for a text field.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage

from sdg.envs.box import Box
from sdg.envs.ui.parser.detector import Detection
from sdg.envs.ui.parser.lines import holds
from sdg.envs.ui.parser.ocr import TextLine, read_line

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


def read_left_out(picture: np.ndarray, lines: Sequence[TextLine], found: Sequence[Detection]) -> list[TextLine]:
    """Texts of a picture, RGB u8 (h, w, 3), that no line has: pieces with edges, read one by one."""
    edges = edges_of(picture)
    known = [(line.box, 3) for line in lines]
    known += [(mark.box, 2) for mark in found if mark.kind in ("checkbox", "radio") or mark.kind.endswith("icon")]
    for box, margin in known:
        Box(*box).grown(margin, margin).pixels_of(edges)[:] = False
    glyphs, _ = ndimage.label(edges, np.ones((3, 3)))
    boxes = _boxes(glyphs)
    inner = [*(line.box for line in lines), *boxes]
    small = [
        0,
        *(_is_letters(box) and not any(box != part and holds(box, part, 0) for part in inner) for box in boxes),
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
    rows, columns = edges[:, x0 - left : x1 - left].mean(axis=1), edges[y0 - top : y1 - top].mean(axis=0)
    sides = (rows[: 2 * NEAR], rows[-2 * NEAR :], columns[: 2 * NEAR], columns[-2 * NEAR :])
    return sum(bool(len(side)) and bool(side.max() >= MIN_FRAME_SHARE) for side in sides) >= 3


def pieces_of(edges: np.ndarray, joined: int) -> list[Box]:
    """Boxes of what hangs together of edges, bool (h, w), with so many pixels around each that join it to others."""
    labels, _ = ndimage.label(ndimage.binary_dilation(edges, np.ones((2 * joined + 1,) * 2)), np.ones((3, 3)))
    return _boxes(labels, joined, joined)


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
