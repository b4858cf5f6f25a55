"""Numbers drawn on a screenshot, one for each element, and places painted over, for models that see."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image, ImageDraw

from sdg.envs.ui.parser.screen import ScreenElement

PAINT = (120, 120, 120)


def marked(picture: np.ndarray, elements: Sequence[ScreenElement]) -> np.ndarray:
    """The picture, RGB u8 (h, w, 3), with a frame around each element and its number at the upper left corner."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    for each in elements:
        x0, y0, x1, y1 = each.box
        draw.rectangle((x0, y0, max(x1 - 1, x0), max(y1 - 1, y0)), outline=(220, 0, 90))
        wide = 6 * len(str(each.id)) + 3
        draw.rectangle((x0, y0, x0 + wide, y0 + 11), fill=(220, 0, 90))
        draw.text((x0 + 2, y0), str(each.id), fill=(255, 255, 255))
    return np.asarray(image)


def painted_over(picture: np.ndarray, boxes: Iterable[Sequence[int]]) -> np.ndarray:
    """The picture without what stands in some boxes [x0, y0, x1, y1]."""
    clean = picture.copy()
    for x0, y0, x1, y1 in boxes:
        clean[y0:y1, x0:x1] = PAINT
    return clean


def png_of(picture: np.ndarray) -> bytes:
    """A picture as PNG."""
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "PNG")
    return out.getvalue()
