"""Learn to read pictures of views, from made-up views alone (half a minute): the weights of the preset `pixels`.

    python -m training.pixels

The reader never sees a level: each made-up view has things of any kind and colour anywhere, and something that a robot
can carry in its own cell. Pictures are made brighter or darker and noisy, so that it learns shapes and hues.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from minigrid.core.grid import Grid
from safetensors.torch import save_file

from sdg.envs.babyai import cells
from sdg.envs.babyai.perception import pixels
from sdg.envs.babyai.perception.memory import VIEW

COLOURED = (cells.DOOR_OPEN, cells.DOOR_CLOSED, cells.DOOR_LOCKED, cells.KEY, cells.BALL, cells.BOX)
HAND = (cells.KEY, cells.BALL, cells.BOX)
PLAIN = (
    cells.UNSEEN,
    cells.EMPTY,
    5 << cells.COLOUR_SHIFT | cells.WALL,
    1 << cells.COLOUR_SHIFT | cells.GOAL,
    cells.LAVA,
)
VIEWS, BATCH, UPDATES = 4000, 2048, 3000


def made_up(rng: np.random.Generator) -> np.ndarray:
    """A view u8[7, 7] that no level made."""
    coloured = rng.choice(COLOURED, (VIEW, VIEW)) | rng.integers(len(cells.COLOURS), size=(VIEW, VIEW)) << 4
    view = np.where(rng.random((VIEW, VIEW)) < 0.6, coloured, rng.choice(PLAIN, (VIEW, VIEW)))
    carried = rng.choice(HAND) | rng.integers(len(cells.COLOURS)) << 4
    view[3, VIEW - 1] = carried if rng.random() < 0.8 else cells.EMPTY
    return view.astype(np.uint8)


def picture_of(view: np.ndarray) -> np.ndarray:
    """RGB u8[56, 56, 3]: a view as minigrid draws it."""
    grid, visible = Grid.decode(cells.decode(view))
    picture: np.ndarray = grid.render(pixels.TILE, agent_pos=(3, VIEW - 1), agent_dir=3, highlight_mask=visible)
    return picture


def learn(seed: int = 0) -> torch.nn.Sequential:
    """The reader: 192 values of a tile to 16 kinds and 6 colours."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    views = [made_up(rng) for _ in range(VIEWS)]
    is_hand = np.arange(VIEW * VIEW) == 3 * VIEW + VIEW - 1
    tiles = torch.from_numpy(np.concatenate([pixels.tiles_of(picture_of(view)) for view in views]))
    codes = np.concatenate([view.ravel() for view in views]).astype(np.int64)
    frequency = np.tile(np.where(is_hand, 12.0, 1.0), VIEWS)  # the hand is one cell of 49, half hidden by the robot
    kinds, colours = torch.from_numpy(codes & cells.KIND_MASK), torch.from_numpy(codes >> cells.COLOUR_SHIFT)
    net = torch.nn.Sequential(torch.nn.Linear(tiles.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 22))
    optimiser = torch.optim.Adam(net.parameters(), 2e-3)
    for update in range(UPDATES):
        rows = torch.from_numpy(rng.choice(len(codes), BATCH, p=frequency / frequency.sum()))
        light = torch.from_numpy(rng.uniform(0.9, 1.1, (BATCH, 1)).astype(np.float32))
        noise = 0.02 * torch.randn(BATCH, tiles.shape[1])
        scores = net((tiles[rows] * light + noise).clamp(0, 1))
        loss = torch.nn.functional.cross_entropy(scores[:, :16], kinds[rows])
        loss = loss + torch.nn.functional.cross_entropy(scores[:, 16:], colours[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.param_groups[0]["lr"] = 2e-3 * (1 - update / UPDATES)
        optimiser.step()
        if update % 500 == 0:
            print(f"update {update} of {UPDATES}: loss {loss.item():.4f}", flush=True)
    return net


if __name__ == "__main__":
    torch.set_num_threads(1)
    place = Path(pixels.__file__).with_name(pixels.WEIGHTS)
    save_file(dict(learn().state_dict()), place)
    print(f"{place.name}: {place.stat().st_size / 1000:.0f} kB")
