"""An episode as a GIF: its recorded actions played again from its seed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sdg.envs.domains import DEFAULT, domain

MAX_ACTIONS = 4000
MAX_FRAMES = 120
MIN_SIDE = 256
"""Pixels; smaller worlds are drawn larger."""
FRAME_MS, LAST_FRAME_MS = 160, 1600
COLOURS = 128


def episode_gif(row: Mapping[str, Any]) -> bytes:
    """The episode of a journal row. Raises ValueError when the row can't be played (its level, seed or actions)."""
    level, seed, actions = row.get("level"), row.get("seed"), row.get("actions")
    if (
        not isinstance(level, str)
        or not isinstance(seed, int)
        or not 0 <= seed < 2**31
        or not isinstance(actions, list)
    ):
        raise ValueError("the row names no level, seed and actions")
    if len(actions) > MAX_ACTIONS or not all(isinstance(action, int) for action in actions):
        raise ValueError("the row's actions aren't numbers of actions")
    return animate(thin(replay(level, seed=seed, actions=actions), most=MAX_FRAMES))


def replay(level: str, *, seed: int, actions: Sequence[Any], domain_name: str = DEFAULT) -> list[np.ndarray]:
    """Frames u8[height, width, 3]: the start, and one after each action."""
    # Actions that were played before the limit are played again; the world counts them the same way.
    world = domain(domain_name).open(level, lift_time_limit=True)
    world.reset(seed)
    frames = [world.render()]
    for action in actions:
        world.step(action)
        frames.append(world.render())
    return frames


def thin(frames: Sequence[np.ndarray], *, most: int) -> list[np.ndarray]:
    """At most `most` frames, evenly spread, the first and last kept."""
    if len(frames) <= most:
        return list(frames)
    return [frames[round(index)] for index in np.linspace(0, len(frames) - 1, most)]


def animate(frames: Sequence[np.ndarray]) -> bytes:
    """Frames as a looping GIF with one palette; the last one stays a while."""
    from PIL import Image

    scale = max(1, MIN_SIDE // min(frames[0].shape[:2]))
    # A palette of all frames: what lights up later would otherwise be painted in the nearest colour of the start.
    strip = np.concatenate([frames[round(i)] for i in np.linspace(0, len(frames) - 1, min(len(frames), 8))])
    palette = Image.fromarray(strip).quantize(COLOURS, dither=Image.Dither.NONE)
    images = [
        Image.fromarray(np.kron(frame, np.ones((scale, scale, 1), np.uint8))).quantize(
            palette=palette, dither=Image.Dither.NONE
        )
        for frame in frames
    ]
    out = io.BytesIO()
    durations = [FRAME_MS] * (len(images) - 1) + [LAST_FRAME_MS]
    images[0].save(
        out, format="GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=False
    )
    return out.getvalue()
