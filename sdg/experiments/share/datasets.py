"""Trajectories of a run as a Minari dataset: what the gymnasium level shows, acted on as the journal says."""

from __future__ import annotations

import contextlib
import os
import string
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sdg.console import UserError
from sdg.deduction.episode import Played

_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"


def write_dataset(name: str, rows: Iterable[Played], *, root: Path | None = None) -> int:
    """Write episodes of BabyAI levels as the Minari dataset `name` ("sdg/episodes-v0"); how many there are.

    An observation has `image` u8 (7, 7, 3), `direction` 0 to 3 and `mission`; rewards and ends are the level's. `root`
    is where Minari keeps datasets (its own place by default). Raises UserError for a row that can't be played again and
    without the package minari.
    """
    try:
        import minari
    except ModuleNotFoundError:
        raise UserError("this needs minari: pip install --constraint constraints.txt 'sdg[phone]'") from None
    from gymnasium import spaces

    observations = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
            "direction": spaces.Discrete(4),
            "mission": spaces.Text(500, charset=_CHARACTERS),
        }
    )
    with _root(root), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks for an author and a link, which a local file has not
        episodes = [_episode(number, row) for number, row in enumerate(rows)]
        minari.create_dataset_from_buffers(
            name,
            episodes,
            observation_space=observations,
            action_space=spaces.Discrete(7),
            description="Episodes of sdg (self-driven grounding) on BabyAI levels.",
        )
    return len(episodes)


def read_dataset(name: str, *, root: Path | None = None) -> Any:
    """The dataset as Minari's own loader gives it."""
    import minari

    with _root(root):
        return minari.load_dataset(name)


def _episode(number: int, row: Played) -> Any:
    import gymnasium
    from minari.data_collector.episode_buffer import EpisodeBuffer

    env = gymnasium.make(f"sdg/{row.level}-v0")
    seen, _ = env.reset(seed=row.seed)
    steps = []
    for action in row.actions:
        steps.append(env.step(int(action)))
        if steps[-1][2] or steps[-1][3]:
            break
    env.close()
    if len(steps) != len(row.actions) or not steps:
        raise UserError(f"the episode {row.unit} can't be played again: {len(steps)} of {len(row.actions)} actions")
    looks = [seen, *(each[0] for each in steps)]
    observations = {
        "image": np.stack([look["image"] for look in looks]),
        "direction": np.array([int(look["direction"]) for look in looks]),
        "mission": [str(look["mission"]) for look in looks],
    }
    rewards, terminations = np.array([float(each[1]) for each in steps]), np.array([bool(each[2]) for each in steps])
    truncations = np.array([bool(each[3]) for each in steps])
    truncations[-1] |= not terminations[-1]
    return EpisodeBuffer(
        number, row.seed, None, observations, np.array(row.actions), rewards, terminations, truncations, None
    )


@contextlib.contextmanager
def _root(root: Path | None) -> Iterator[None]:
    before = os.environ.get("MINARI_DATASETS_PATH")
    if root is not None:
        os.environ["MINARI_DATASETS_PATH"] = str(root)
    try:
        yield
    finally:
        if root is not None:
            os.environ.pop("MINARI_DATASETS_PATH") if before is None else os.environ.update(MINARI_DATASETS_PATH=before)
