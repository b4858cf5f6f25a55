"""Lines of text cut where they hold more than one: labels side by side, and boxes to tick that were read as letters.

Text finders join what lies on one level. A line is cut at gaps no space is as wide as, and around a ring or a frame
that stands higher or lower than its letters: that is a radio button or a checkbox, not an O.
"""

from collections.abc import Sequence

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.parser.detector import Detection
from sdg.envs.ui.parser.ocr import LEAST_CONFIDENCE, TextLine, read_line

WIDE = 0.9
"""Widths of a gap, in heights of the line, from which it parts two texts; a space has a third."""
INKED = 40
"""Difference from the line's ground, of 255, from which a pixel is ink."""
AROUND = 4
"""Pixels above and below a line in which a tick's frame may stand out."""
SIDES = (10, 26)
"""Pixels of a tick's side, least and most."""


def cut_lines(
    picture: np.ndarray, lines: Sequence[TextLine], found: Sequence[Detection], least: float = LEAST_CONFIDENCE
) -> tuple[list[TextLine], list[Detection]]:
    """The lines of a picture, RGB u8 (h, w, 3), cut, where it is as sure; and the ticks in them that `found` lacks."""
    cut: list[TextLine] = []
    ticks: list[Detection] = []
    for line in lines:
        runs = _runs(picture, Box(*line.box))
        drawn = [tick for run in runs if (tick := _tick(picture, run, runs))]
        ticks += [tick for tick in drawn if not any(holds(known.box, tick.box) for known in found)]
        detected = [known for known in found if known.kind in ("checkbox", "radio") and holds(line.box, known.box)]
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
    ground = np.median(line.pixels_of(picture).reshape(-1, 3), axis=0)
    ink = (np.abs(band.pixels_of(picture).astype(np.int16) - ground) > INKED).any(axis=2)
    inked_columns = line.moved(-band.left, -band.top).pixels_of(ink).any(axis=0)
    edges = np.flatnonzero(np.diff(np.pad(inked_columns.astype(np.int8), 1)))
    runs = []
    for left, right in edges.reshape(-1, 2).tolist():
        rows = np.flatnonzero(ink[:, left:right].any(axis=1)).tolist()
        runs.append(Box(left, rows[0], right, rows[-1] + 1).moved(band.left, band.top))
    return runs


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
    beside = Box(run.right, run.top, run.right + max(gap, 1), run.bottom)
    ground = np.median(beside.pixels_of(picture).reshape(-1, 3), axis=0)
    ink = (np.abs(run.pixels_of(picture).astype(np.int16) - ground) > INKED).any(axis=2)
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
        is_near = bool(texts) and letter.left - end < WIDE * line.height
        if is_near and not any(end <= sign.left < letter.left for sign in signs):
            texts[-1] = texts[-1]._replace(right=letter.right)
        else:
            texts.append(line._replace(left=letter.left, right=letter.right))
    return texts
