"""What wordless icons are called: a small network over what is drawn, whatever its size and colours.

Pages show trash cans, magnifiers and gears without a word, and each set of icons draws them its own way. Of a piece of
a screenshot only the ink counts, how far each pixel differs from the ground, cut to its edges and made one size.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from sdg.envs.box import Box
from sdg.envs.ui.parser.detector import Detection, block, load_network
from sdg.envs.ui.parser.lines import edges_of, holds, pieces_of
from sdg.envs.ui.parser.ocr import TextLine, read_line

NAMES = (
    *("star", "heart", "trash", "search", "reply", "share", "more", "close", "left", "right", "up", "down", "back"),
    *("forward", "plus", "minus", "folder", "file", "menu", "settings", "home", "user", "users", "add user", "cart"),
    *("bell", "calendar", "edit", "download", "upload", "camera", "microphone", "lock", "unlock", "eye", "hidden"),
    *("play", "pause", "mail", "phone", "filter", "refresh", "copy", "info", "help", "check", "link", "pin", "image"),
    *("clock", "send", "print", "save", "attach", "like", "dislike", "chat", "bookmark", "logout", "undo", "redo"),
    *("grid", "list", "sun", "moon", "external", "volume", "mute", "globe", "tag", "flag", "gift", "code", "warning"),
    *("video", "expand", "shrink", "sort", "cloud", "key", "wallet", "card", "bag", "chart", "shield", "bulb", "wifi"),
    *("bluetooth", "battery", "power", "smile", "headphones", "book", "briefcase"),
)
"""What an icon may be called."""
SIDE = 32
"""Pixels of a side of what the network sees."""
INK = 0.25
"""Share of the strongest difference from the ground from which a pixel is ink."""
FAINT = 24
"""Difference from the ground, of 255, below which nothing is drawn at all."""
SURE, SURER, NEVER = 0.5, 0.85, 2.0
"""Least probability for a name, for one of a piece that was read with a text or found as a tick, and for none."""
MARKS = ("check", "close", "minus", "plus")
"""Names of what is drawn in boxes that are ticked; a piece of such a name that lies there is no icon."""
LARGER = 0.005
"""How much surer a piece counts for each pixel of its height: what is drawn in an icon isn't one by itself."""
MIN_OVERLAP = 0.3
"""Intersection over union from which two boxes are of one thing."""
MIN_TEXT_WIDTH = 4
"""Pixels that a text is wide."""
SIDES, SLIM, JOINED = (8, 52), 5, 2
"""Pixels of an icon's longer side, least and most; how often as long as the other it is at most; pixels around
edges that join them."""
LETTERS = 2
"""Letters of a text that may be an icon's misread ones."""
ALIKE = frozenset("xX×+-<>?!i")
"""Letters that stay what was read, because icons look like them."""
WEIGHTS, CARD = "icons.safetensors", "icons.json"


def network() -> Any:
    """The network, untrained: ink f32 (n, 1, SIDE, SIDE) -> logits (n, 1 + names), the first for "none of these"."""
    from torch import nn

    return nn.Sequential(
        block(1, 16),
        block(16, 32, stride=2),
        block(32, 32),
        block(32, 64, stride=2),
        block(64, 64),
        block(64, 96, stride=2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(96 * (SIDE // 8) ** 2, 1 + len(NAMES)),
    )


def ink_of(picture: np.ndarray, box: Sequence[int]) -> np.ndarray | None:
    """What is drawn in a box [x0, y0, x1, y1] of a picture, RGB u8 (h, w, 3): its ink as u8 (SIDE, SIDE), cut to its
    edges, in the middle of a square; None where nothing is. The ground is what most of the box's rim has."""
    piece = picture[max(box[1], 0) : box[3], max(box[0], 0) : box[2]].astype(np.int16)
    if min(piece.shape[:2]) < 3:
        return None
    rim = np.concatenate([piece[0], piece[-1], piece[:, 0], piece[:, -1]])
    differs = np.abs(piece - np.median(rim, axis=0)).max(axis=2)
    strongest = float(differs.max())
    if strongest < FAINT:
        return None
    rows, columns = (np.flatnonzero((differs > INK * strongest).any(axis=axis)) for axis in (1, 0))
    cut = differs[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] * (255 / strongest)
    side = max(cut.shape)
    square = np.zeros((side, side), np.uint8)
    top, left = ((side - length) // 2 for length in cut.shape)
    square[top : top + cut.shape[0], left : left + cut.shape[1]] = cut
    inner = SIDE - 4
    way = Image.Resampling.BOX if side > SIDE else Image.Resampling.BILINEAR
    sized = Image.fromarray(square).resize((inner, inner), way)
    return np.pad(np.asarray(sized), 2)


def find_icons(
    picture: np.ndarray, lines: Sequence[TextLine], detections: Sequence[Detection]
) -> tuple[list[TextLine], list[Detection]]:
    """The lines and elements of a picture, RGB u8 (h, w, 3), with its icons that have a name as elements; what was read
    of an icon is no text any more."""
    edges = edges_of(picture)
    marks = [detection for detection in detections if detection.is_mark]
    pieces = [*pieces_of(edges, 0), *pieces_of(edges, JOINED)]
    boxes = [*(Box(*mark.box) for mark in marks), *filter(_is_sized, pieces)]
    ticks = [mark.box for mark in marks if not mark.kind.endswith("icon")]
    candidates = [*zip(name_icons(picture, [box.grown(2, 2) for box in boxes]), boxes, strict=True)]
    icons: list[Detection] = []
    for (name, share), box in sorted(candidates, key=lambda row: -row[0][1] - LARGER * row[1].height):
        on_ticks = (NEVER if name in MARKS else SURER for tick in ticks if holds(tick, box))
        least = max([SURE, *(_least_in(line, box) for line in lines), *on_ticks])
        if name and share >= least and not any(holds(i.box, box, 0) or holds(box, i.box, 0) for i in icons):
            icons.append(Detection(f"{name} icon", box, False, False, share))
    others = [detection for detection in detections if not any(_is_drawn_as(detection, icon) for icon in icons)]
    rest = (_without(picture, line, [icon.box for icon in icons if holds(line.box, icon.box)]) for line in lines)
    return [line for line in rest if line], [*others, *icons]


def _is_sized(box: Box) -> bool:
    short, long = sorted((box.width, box.height))
    return SIDES[0] <= long <= SIDES[1] and long <= SLIM * short


def _is_drawn_as(detection: Detection, icon: Detection) -> bool:
    """Whether the detector took an icon for something drawn."""
    is_drawn = detection.is_mark or detection.kind == "shape"
    return is_drawn and Box(*detection.box).overlap(icon.box) >= MIN_OVERLAP


def _least_in(line: TextLine, box: Sequence[int]) -> float:
    """The least probability for a piece by a line: it may be all that was read there, or lie at either end."""
    if not holds(line.box, box) or (len(line.text) <= LETTERS and line.text not in ALIKE):
        return 0.0
    at_an_end = box[0] <= line.box[0] + 3 or box[2] >= line.box[2] - 3
    return SURER if at_an_end and line.text not in ALIKE else NEVER


def _without(picture: np.ndarray, line: TextLine, icons: Sequence[Sequence[int]]) -> TextLine | None:
    """A line read again without its icons; None where nothing is left."""
    x0, y0, x1, y1 = line.box
    for left, _, right, _ in icons:
        x0, x1 = (max(x0, right + 1), x1) if left - x0 <= x1 - right else (x0, min(x1, left - 1))
    if line.is_foreign:
        return replace(line, box=(x0, y0, max(x1, x0 + 1), y1))
    if not icons:
        return line
    return read_line(picture, (x0, y0, x1, y1)) if x1 - x0 >= MIN_TEXT_WIDTH else None


def name_icons(picture: np.ndarray, boxes: Sequence[Sequence[int]]) -> list[tuple[str, float]]:
    """For part box of a picture the likeliest name, "" for none of them, and its probability in [0, 1]."""
    import torch

    names = [("", 1.0)] * len(boxes)
    inks = {n: ink for n, box in enumerate(boxes) if (ink := ink_of(picture, box)) is not None}
    if inks:
        with torch.inference_mode():
            drawn = torch.from_numpy(np.stack(list(inks.values()))[:, None]).float() / 255
            shares = load_network(network, WEIGHTS)(drawn).softmax(1)
        for n, (share, name) in zip(inks, zip(*(part.tolist() for part in shares.max(1)), strict=True), strict=True):
            names[n] = ("", *NAMES)[name], share
    return names
