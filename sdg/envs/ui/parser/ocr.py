"""Text lines of a screenshot, by RapidOCR (PP-OCR, whose weights lie in its package); the one door to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

LEAST_CONFIDENCE = 0.5
LARGEST = 1600
"""Pixels of a picture's longer side beyond which it is made smaller for finding lines."""
LEAST_SHAPE = [3, 48, 96]
"""What a line is widened to at least before it is read: most texts of a screen are a word or two."""
MARGIN = 0.28
"""Share of a line's height that the text detector leaves as margin on each side; boxes are given without it."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text, its box [x0, y0, x1, y1] in pixels (half open) and how sure the recogniser is, in [0, 1]."""

    text: str
    box: tuple[int, int, int, int]
    confidence: float


_ONE_AT_A_TIME = Lock()
"""The engine keeps what it is at in itself, and what it was asked to use, too."""


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Det.limit_side_len": LARGEST,
            "Det.limit_type": "max",
            "Rec.rec_batch_num": 1,
            "Rec.rec_img_shape": LEAST_SHAPE,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def read_lines(picture: np.ndarray) -> Sequence[TextLine]:
    """The text lines of a picture, RGB u8 (height, width, 3), sorted by y, then x."""
    with _ONE_AT_A_TIME:
        found = _engine()(np.ascontiguousarray(picture[:, :, ::-1]), use_det=True, use_cls=False, use_rec=True)
    if found.boxes is None:
        return ()
    lines = [
        TextLine(text.strip(), _without_margin(corners), float(score))
        for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
        if score >= LEAST_CONFIDENCE and text.strip()
    ]
    return tuple(sorted(lines, key=lambda line: (line.box[1], line.box[0])))


def read_line(picture: np.ndarray, box: tuple[int, int, int, int]) -> TextLine | None:
    """What stands in a box of a picture that one line lies in; None for nothing."""
    x0, y0, x1, y1 = box
    part = picture[max(y0 - 2, 0) : y1 + 2, max(x0 - 3, 0) : x1 + 3, ::-1]
    with _ONE_AT_A_TIME:
        found = _engine()(np.ascontiguousarray(part), use_det=False, use_cls=False, use_rec=True)
    if not found.txts or not found.txts[0].strip() or found.scores[0] < LEAST_CONFIDENCE:
        return None
    return TextLine(found.txts[0].strip(), box, float(found.scores[0]))


def _without_margin(corners: np.ndarray) -> tuple[int, int, int, int]:
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    inset = MARGIN * (y1 - y0) / 2
    return round(x0 + inset), round(y0 + inset), round(x1 - inset), round(y1 - inset)
