"""Episodes as Minari datasets; those of a run are the gymnasium environment's observations of the journal's actions."""

import os
import re
import string
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from gymnasium import spaces

from sdg.deduction.episode import EpisodeResult
from sdg.errors import UserError

_LEVEL = spaces.Dict(
    {
        "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
        "direction": spaces.Discrete(4),
        "mission": spaces.Text(500, charset=string.ascii_letters + string.digits + string.punctuation + " \n"),
    }
)
_NAME = re.compile(r"(?:[-\w]{2,60}/){0,3}[-\w]{1,60}-v\d{1,9}")


def write_dataset(name: str, rows: Iterable[EpisodeResult], *, root: Path | None = None) -> int:
    """Write episodes of BabyAI levels as the Minari dataset `name` ("sdg/episodes-v0"); returns their number.

    An observation has `image` u8 (7, 7, 3), `direction` 0 to 3 and `mission`; rewards and ends are the level's. Raises
    UserError for a row that can't be played again, and as `write_episodes`.
    """
    return write_episodes(name, map(_play, rows), _LEVEL, spaces.Discrete(7), root=root)


def write_episodes(
    name: str,
    episodes: Iterable[Mapping[str, Any]],
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    *,
    root: Path | None = None,
) -> int:
    """Write episodes, the fields of Minari's `EpisodeBuffer` each, as the Minari dataset `name`; returns their number.

    `root` is the folder of Minari's datasets (by default Minari's own). Raises UserError for an unusable or used name,
    before the first episode is asked for, and without the package minari.
    """
    try:
        import minari
        from minari.data_collector.episode_buffer import EpisodeBuffer
        from minari.storage import get_dataset_path
    except ModuleNotFoundError:
        raise UserError("this needs minari: pip install --constraint constraints.txt 'sdg[phone]'") from None
    with _root(root), warnings.catch_warnings():
        if not _NAME.fullmatch(name) or get_dataset_path(name).exists():
            raise UserError(
                f"{name!r:.80} can't be written: choose a name such as sdg/mine-v0, that no data set has yet"
            )
        warnings.simplefilter("ignore")  # minari asks for an author and a link, which a local file lacks
        buffers = [EpisodeBuffer(number, **episode) for number, episode in enumerate(episodes)]
        minari.create_dataset_from_buffers(
            name,
            buffers,
            observation_space=observation_space,
            action_space=action_space,
            description="Episodes of sdg (self-driven grounding).",
        )
    return len(buffers)


def read_dataset(name: str, *, root: Path | None = None) -> Any:
    """The dataset as Minari's own loader gives it."""
    import minari

    with _root(root):
        return minari.load_dataset(name)


def _play(row: EpisodeResult) -> dict[str, Any]:
    steps: list[tuple[float, bool, bool]] = []
    try:
        with closing(gymnasium.make(f"sdg/{row.level}-v0")) as env:
            observations = [env.reset(seed=row.seed)[0]]
            for action in row.actions:
                observation, reward, terminated, truncated, _ = env.step(action)
                steps.append((float(reward), terminated, truncated))
                observations.append(observation)
                if terminated or truncated:
                    break
        if not steps or len(steps) != len(row.actions) or (terminated and float(reward) > 0) != row.success:
            raise ValueError(f"{len(steps)} of {len(row.actions)} actions")
    except (gymnasium.error.Error, AssertionError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"the episode {row.unit} can't be played again: {error}") from error
    rewards, terminations, truncations = map(np.array, zip(*steps, strict=True))
    truncations[-1] |= not terminations[-1]
    return {
        "seed": row.seed,
        "observations": {key: _stack([seen[key] for seen in observations]) for key in observations[0]},
        "actions": np.array(row.actions),
        "rewards": rewards,
        "terminations": terminations,
        "truncations": truncations,
    }


def _stack(values: Sequence[Any]) -> Any:
    """Values of a space as Minari keeps them: texts as lists."""
    return list(map(str, values)) if isinstance(values[0], str) else np.stack(values)


def _root(root: Path | None) -> Any:
    return patch.dict(os.environ, {} if root is None else {"MINARI_DATASETS_PATH": str(root)})
