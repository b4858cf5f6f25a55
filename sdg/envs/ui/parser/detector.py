"""A small network that finds elements on a screenshot: kinds, boxes, and whether each is checked or has the focus.

A centre-point detector ("Objects as Points", arXiv 1904.07850): each cell of a map a quarter of the screenshot's size
says for each kind whether an element's centre lies there, and at the centre how far its four sides are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from PIL import Image

from sdg.envs.box import Box
from sdg.envs.ui.commands import SCREEN

ICONS = ("star", "trash", "search", "reply", "forward", "retweet", "heart", "share", "more", "close", "left", "right",
         "updown", "plus", "minus", "folder", "file", "resize", "back")  # fmt: skip
"""What an icon may be; one that is none of these is just an icon."""
KINDS = (
    *("button", "textbox", "text area", "checkbox", "radio", "dropdown", "tab", "shape", "icon"),
    *(f"{name} icon" for name in ICONS),
)
"""What is found by its looks; links and text are read instead."""
STRIDE, GRAIN = 4, 8
"""Pixels to a cell of the maps; pixels that the sides of a picture are made a multiple of."""
THRESHOLD = 0.35
OVERLAP = 0.5
"""Of two boxes that overlap as much (intersection over union) the surer one stays."""
ENLARGED = 1.25
"""Ordinary pages are written smaller than the tasks that the detector learned from: they are looked at twice."""
WEIGHTS, CARD = "detector.safetensors", "detector.json"


@dataclass(frozen=True, slots=True)
class Detection:
    """An element found by its looks: its kind (of `KINDS`), box [x0, y0, x1, y1] in pixels, states, score in [0, 1]."""

    kind: str
    box: tuple[int, int, int, int]
    checked: bool
    focused: bool
    score: float

    @property
    def is_mark(self) -> bool:
        """Whether it is drawn where text could stand: an icon, a checkbox or a radio button."""
        return self.kind.endswith("icon") or self.kind in ("checkbox", "radio")


def block(into: int, out: int, *, size: int = 3, stride: int = 1, dilation: int = 1) -> Any:
    """A convolution that keeps a picture's size but for its stride, normalised over the batch, and a ReLU."""
    from torch import nn

    convolution = nn.Conv2d(into, out, size, stride, padding=dilation * (size // 2), dilation=dilation, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.ReLU(inplace=True))


def network() -> Any:
    """The network, untrained: u8 pictures (n, 3, 320, 320) -> maps (n, kinds + 4 + 2, 80, 80), 0.2M parameters.

    Where an element lies is told at a quarter of the size, what it is by its surroundings at an eighth.
    """
    import torch
    from torch import nn

    class Around(nn.Module):
        """What lies around each place, seen from twice as far, beside what lies at it."""

        def __init__(self) -> None:
            super().__init__()
            self.wide = nn.Sequential(
                block(24, 64, stride=2),
                *(block(64, 64, dilation=dilation) for dilation in (1, 2, 4, 6)),
                block(64, 24, size=1),
                nn.Upsample(scale_factor=2, mode="nearest"),
            )

        def forward(self, near: Any) -> Any:
            return torch.cat([near, self.wide(near)], dim=1)

    model: Any = nn.Sequential(
        nn.PixelUnshuffle(2),
        block(12, 24, stride=2),
        block(24, 24),
        Around(),
        block(48, 32),
        nn.Conv2d(32, len(KINDS) + 6, 1),
    )
    return model.to(memory_format=torch.channels_last)


def detect(picture: np.ndarray) -> Sequence[Detection]:
    """The elements of a picture, RGB u8 (h, w, 3), the surest first."""
    scales = (1.0,) if picture.shape[:2] == (SCREEN, SCREEN) else (1.0, ENLARGED)
    detections = [detection for scale in scales for detection in _detect_at(picture, scale)]
    return suppress(sorted(detections, key=lambda detection: -detection.score))


def _detect_at(picture: np.ndarray, scale: float) -> Sequence[Detection]:
    import torch

    high, wide = (round(scale * side) for side in picture.shape[:2])
    if scale != 1:
        picture = np.asarray(Image.fromarray(picture).resize((wide, high), Image.Resampling.BILINEAR))
    whole = np.pad(picture, ((0, -high % GRAIN), (0, -wide % GRAIN), (0, 0)), mode="edge")
    with torch.inference_mode():
        maps = load_network(network, WEIGHTS)(as_input(whole[None]))[0].numpy()
    return [replace(detection, box=tuple(round(side / scale) for side in detection.box)) for detection in decode(maps)]  # type: ignore[arg-type]


def as_input(pictures: np.ndarray) -> Any:
    """Pictures u8 (n, h, w, 3) as the network takes them, f32 (n, 3, h, w) around 0."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).float() / 127.5 - 1


def decode(maps: np.ndarray) -> Sequence[Detection]:
    """Peaks of the maps f32 (kinds + 6, h, w) as elements: logits of centres, sides / STRIDE, logits of states."""
    heat = 1 / (1 + np.exp(-maps[: len(KINDS)]))
    padded = np.pad(heat, ((0, 0), (1, 1), (1, 1)))
    h, w = heat.shape[1:]
    around = np.max([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=0)
    detections = []
    for kind, y, x in np.argwhere((heat == around) & (heat >= THRESHOLD)):
        left, top, right, bottom = np.exp(np.clip(maps[len(KINDS) : len(KINDS) + 4, y, x], -3, 5)) * STRIDE
        centre = (x + 0.5) * STRIDE, (y + 0.5) * STRIDE
        sides = (centre[0] - left, centre[1] - top, centre[0] + right, centre[1] + bottom)
        box = Box(*(round(float(side)) for side in sides)).intersection((0, 0, STRIDE * w, STRIDE * h))
        if box.width >= 3 and box.height >= 3:
            checked, focused = maps[len(KINDS) + 4 :, y, x] > 0
            detections.append(Detection(KINDS[kind], box, bool(checked), bool(focused), float(heat[kind, y, x])))
    return suppress(sorted(detections, key=lambda detection: -detection.score))


def suppress(detections: Sequence[Detection]) -> Sequence[Detection]:
    """Without those that lie on a surer one."""
    surest: list[Detection] = []
    for detection in detections:
        if all(Box(*detection.box).overlap(surer.box) < OVERLAP for surer in surest):
            surest.append(detection)
    return tuple(surest)


@cache
def load_network(make: Callable[[], Any], weights: str) -> Any:
    """The network that `make` gives, with the weights of a file that lies beside this one; loaded once a process."""
    from safetensors.torch import load_file

    network = make()
    with as_file(files(__package__) / weights) as path:
        network.load_state_dict(load_file(path))
    return network.eval()
