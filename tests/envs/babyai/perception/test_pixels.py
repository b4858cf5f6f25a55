"""The reader of pictures: it never learned from levels, and the memory believes it."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import encode
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception import pixels
from sdg.envs.babyai.perception.pixels import PixelWorld, read
from training.pixels import made_up, picture_of

MOSTLY = (0.15, 0.15, 0.35, 0.15, 0.1, 0.1)


@pytest.mark.parametrize("level", PAPER_LEVELS)
def test_views_of_levels_are_read_as_they_are(level: str) -> None:
    world, rng = PixelWorld(level, lift_time_limit=True), np.random.default_rng(1)
    world.reset(3_000_100)
    wrong = 0
    for action in rng.choice(6, 150, p=MOSTLY):
        world.step(int(action))
        wrong += int((world.view != encode(world.inner.gen_obs()["image"])).sum())
    assert wrong <= 7, "one cell in a thousand"


def test_a_made_up_view_is_read_in_a_dim_and_noisy_picture() -> None:
    rng = np.random.default_rng(2)
    views = [made_up(rng) for _ in range(50)]
    noisy = [picture_of(view) * 0.93 + rng.normal(0, 4, (56, 56, 3)) for view in views]
    read_views = [read(np.clip(picture, 0, 255).astype(np.uint8)) for picture in noisy]
    assert np.mean(np.array(read_views) == np.array(views)) > 0.99


def test_what_is_misread_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = PixelWorld("GoToLocal")
    world.reset(3_000_200)
    n_elements = len(world.perception().elements())
    monkeypatch.setattr(pixels, "read", lambda picture: np.ones((7, 7), np.uint8))
    world.reset(3_000_200)
    assert len(world.perception().elements()) == 0 < n_elements
