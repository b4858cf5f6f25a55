"""Trajectories of a run as a Minari dataset: the gymnasium environment's observations of the journal's actions."""

import ast
import os
import re
import string
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from gymnasium import spaces

from sdg.deduction.episode import EpisodeResult
from sdg.envs.ui.browser import Browser
from sdg.envs.ui.commands import ARGUMENTS
from sdg.envs.ui.domain import KEY_NAMES, NAMES, UIEnv
from sdg.errors import UserError

_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"
_LEVEL = spaces.Dict(
    {
        "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
        "direction": spaces.Discrete(4),
        "mission": spaces.Text(500, charset=_CHARACTERS),
    }
)
_NAME = re.compile(r"(?:[-\w]{2,60}/){0,3}[-\w]{1,60}-v\d{1,9}")
_Episode = tuple[Mapping[str, Any], Callable[[], Any], Sequence[Any]]
"""A row of a journal, a function that makes its environment, and the actions."""


def write_dataset(name: str, rows: Iterable[EpisodeResult], *, root: Path | None = None) -> int:
    """Write episodes of BabyAI levels as the Minari dataset `name` ("sdg/episodes-v0"); returns their number.

    An observation has `image` u8 (7, 7, 3), `direction` 0 to 3 and `mission`; rewards and ends are the level's. `root`
    is the folder of Minari's datasets (by default Minari's own). Raises UserError for a row that can't be played again,
    for an unusable or used name, and without the package minari.
    """
    return _write(
        name,
        (
            (
                {"unit": row.unit, "seed": row.seed, "success": row.success},
                partial(gymnasium.make, f"sdg/{row.level}-v0"),
                row.actions,
            )
            for row in rows
        ),
        (_LEVEL, spaces.Discrete(7)),
        root,
    )


def write_screens(name: str, rows: Iterable[Mapping[str, Any]], *, root: Path | None = None) -> int:
    """Write episodes of screens, rows of `sdg bench miniwob`, in the spaces of `UIEnv`; otherwise as `write_dataset`.

    Episodes without a step are left out, because Minari's have at least one.
    """
    with Browser() as browser:
        episodes = [(row, partial(UIEnv, row["task"], browser=browser), screen_actions(row["past"])) for row in rows]
        env = UIEnv("click-test", browser=browser)  # all tasks have the same spaces
        return _write(
            name, (episode for episode in episodes if episode[2]), (env.observation_space, env.action_space), root
        )


def screen_actions(past: Iterable[str]) -> list[dict[str, Any]]:
    """The carried-out commands of a journal (`CLICK_COORDS('3,4'): done`), as `UIEnv` takes them."""
    actions = []
    for match in filter(None, (re.match(r"(\w+)\((.*)\): (?:done|no: )", text, re.DOTALL) for text in past)):
        name, argument = match[1], ast.literal_eval(match[2] or "''")
        point = argument.split(",") if ARGUMENTS[name] == "coords" else (0, 0)
        action = {"name": NAMES.index(name), "coords": np.array(point, np.int64), "key": 0, "text": ""}
        if ARGUMENTS[name] in ("key", "text"):
            action[ARGUMENTS[name]] = KEY_NAMES.index(argument) if ARGUMENTS[name] == "key" else argument
        actions.append(action)
    return actions


def _write(name: str, episodes: Iterable[_Episode], dataset_spaces: tuple[Any, Any], root: Path | None) -> int:
    try:
        import minari
        from minari.storage import get_dataset_path
    except ModuleNotFoundError:
        raise UserError("this needs minari: pip install --constraint constraints.txt 'sdg[phone]'") from None
    with _root(root), warnings.catch_warnings():
        if not _NAME.fullmatch(name) or get_dataset_path(name).exists():
            raise UserError(
                f"{name!r:.80} can't be written: choose a name such as sdg/mine-v0, that no data set has yet"
            )
        warnings.simplefilter("ignore")  # minari asks for an author and a link, which a local file lacks
        buffers = [_play(number, *episode) for number, episode in enumerate(episodes)]
        minari.create_dataset_from_buffers(
            name,
            buffers,
            observation_space=dataset_spaces[0],
            action_space=dataset_spaces[1],
            description="Episodes of sdg (self-driven grounding).",
        )
    return len(buffers)


def read_dataset(name: str, *, root: Path | None = None) -> Any:
    """The dataset as Minari's own loader gives it."""
    import minari

    with _root(root):
        return minari.load_dataset(name)


def _play(number: int, row: Mapping[str, Any], make: Callable[[], Any], actions: Sequence[Any]) -> Any:
    from minari.data_collector.episode_buffer import EpisodeBuffer

    steps: list[tuple[float, bool, bool]] = []
    try:
        with closing(make()) as env:
            observations = [env.reset(seed=row["seed"])[0]]
            for action in actions:
                observation, reward, terminated, truncated, _ = env.step(action)
                steps.append((reward, terminated, truncated))
                observations.append(observation)
                if terminated or truncated:
                    break
        if not steps or len(steps) != len(actions) or (terminated and reward > 0) != row["success"]:
            raise ValueError(f"{len(steps)} of {len(actions)} actions")
    except (gymnasium.error.Error, AssertionError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"the episode {row['unit']} can't be played again: {error}") from error
    rewards, terminations, truncations = map(np.array, zip(*steps, strict=True))
    truncations[-1] |= not terminations[-1]
    ends = rewards.astype(float), terminations, truncations
    return EpisodeBuffer(number, row["seed"], None, _stack(observations), _stack(actions), *ends, None)


def _stack(values: Sequence[Any]) -> Any:
    """Values of a space as Minari keeps them: by key, texts as lists."""
    if isinstance(values[0], dict):
        return {key: _stack([value[key] for value in values]) for key in values[0]}
    return list(map(str, values)) if isinstance(values[0], str) else np.stack(values)


def _root(root: Path | None) -> Any:
    return patch.dict(os.environ, {} if root is None else {"MINARI_DATASETS_PATH": str(root)})
