"""Text lines of a screenshot, by RapidOCR (PP-OCR, whose weights lie in its package); the one door to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from sdg.envs.box import Box

LEAST_CONFIDENCE = 0.5
LARGEST = 1600
"""Pixels of a picture's longer side beyond which it is made smaller for finding lines."""
LEAST_SHAPE = [3, 48, 96]
"""What a line is widened to at least before it is read: most texts of a screen are a word or two."""
MARGIN = 0.28
"""Share of a line's height that the text detector leaves as margin on each side; boxes are given without it."""
UNREAD = "\ufffd"
"""The text of a box of which no letter is read, within the engine."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text, its box [x0, y0, x1, y1] in pixels (half open) and how sure the recogniser is, in [0, 1]; whether
    it is in letters that RapidOCR lacks."""

    text: str
    box: tuple[int, int, int, int]
    confidence: float
    is_foreign: bool = False


_ONE_AT_A_TIME = Lock()
"""One call at a time, because the engine stores its current picture and options in itself."""


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    class Engine(RapidOCR):  # type: ignore[misc]
        """Keeps the boxes of texts of which it can't read a letter."""

        def recognize_txt(self, images: Any) -> Any:
            read: Any = super().recognize_txt(images)
            read.txts = read.txts and tuple(text if text.strip() else UNREAD for text in read.txts)
            return read

    return Engine(
        params={
            "Global.log_level": "critical",
            "Global.text_score": 0.0,
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
    """The text lines of a picture, RGB u8 (height, width, 3), sorted by y, then x; also those of which nothing is read,
    with "" and 0."""
    with _ONE_AT_A_TIME:
        output = _engine()(np.ascontiguousarray(picture[:, :, ::-1]), use_det=True, use_cls=False, use_rec=True)
    if output.boxes is None:
        return ()
    lines = [
        _line(text, _without_margin(corners), score)
        for corners, text, score in zip(output.boxes, output.txts, output.scores, strict=True)
    ]
    return tuple(sorted(lines, key=lambda line: (line.box[1], line.box[0])))


def read_line(picture: np.ndarray, box: tuple[int, int, int, int], least: float = LEAST_CONFIDENCE) -> TextLine | None:
    """What stands in a box of a picture that one line lies in; None for nothing that is as sure."""
    piece = Box(*box).grown(3, 2).pixels_of(picture)[:, :, ::-1]
    with _ONE_AT_A_TIME:
        output = _engine()(np.ascontiguousarray(piece), use_det=False, use_cls=False, use_rec=True)
    line = _line(output.txts[0], box, output.scores[0]) if output.txts else None
    return line if line and line.confidence >= least else None


def _line(text: str, box: tuple[int, int, int, int], score: float) -> TextLine:
    return TextLine("", box, 0.0) if text == UNREAD else TextLine(text.strip(), box, float(score))


def _without_margin(corners: np.ndarray) -> tuple[int, int, int, int]:
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    inset = MARGIN * (y1 - y0) / 2
    return round(x0 + inset), round(y0 + inset), round(x1 - inset), round(y1 - inset)
