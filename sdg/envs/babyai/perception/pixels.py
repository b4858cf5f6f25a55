"""A view read from its picture, as a robot with a camera has it: the preset `pixels`.

A small network reads each tile of minigrid's partial view. It was learned from pictures of made-up views
(`python -m training.pixels`), and what it reads wrongly the memory believes. The heading is still a compass's.
"""

from functools import cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

from sdg.envs.babyai.cells import COLOUR_SHIFT, VIEW
from sdg.envs.babyai.world import BabyAIWorld

TILE = 8
"""Pixels along a cell's side."""
WEIGHTS = "pixels.safetensors"


def tiles_of(picture: np.ndarray) -> np.ndarray:
    """f32 (49, 192), each value in [0, 1]: the tiles of a picture u8[56, 56, 3], cell (i, j) at row 7 i + j."""
    tiles = picture.reshape(VIEW, TILE, VIEW, TILE, 3).transpose(2, 0, 1, 3, 4)
    return tiles.reshape(VIEW * VIEW, -1).astype(np.float32) / 255


def read(picture: np.ndarray) -> np.ndarray:
    """The view u8[7, 7] in a picture u8[56, 56, 3], packed as `sdg.envs.babyai.cells` says."""
    weights = _weights()
    hidden = np.maximum(tiles_of(picture) @ weights["0.weight"].T + weights["0.bias"], 0)
    scores = hidden @ weights["2.weight"].T + weights["2.bias"]
    kinds, colours = scores[:, :16].argmax(1), scores[:, 16:].argmax(1)
    return (kinds | colours << COLOUR_SHIFT).astype(np.uint8).reshape(VIEW, VIEW)


@cache
def _weights() -> dict[str, np.ndarray]:
    return load((files(__package__) / WEIGHTS).read_bytes())


class PixelWorld(BabyAIWorld):
    """A level that is seen through a camera."""

    def picture(self) -> np.ndarray:
        """The camera's picture: the cells before the robot, RGB u8[56, 56, 3], dark where walls hide them."""
        return self.inner.get_pov_render(tile_size=TILE)

    def _view(self, image: np.ndarray) -> np.ndarray:
        return read(self.picture())
