"""Whether an exported library and exported episodes are the same when others' loaders read them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sdg.agents.agents import ReplayAgent, play_task
from sdg.deduction.episode import EpisodeResult
from sdg.envs.babyai.bot import bot_actions
from sdg.experiments.play.episodes import BOT, evaluation_tasks
from sdg.experiments.results.comparison import SHIPPED
from sdg.experiments.share.datasets import read_dataset, write_dataset
from sdg.experiments.share.hub import export_library
from sdg.skills.library.store import CARD, load_library


def rows(*, episodes: int = 100) -> Iterator[dict[str, Any]]:
    """A row for each format: how many units it holds, whether all are equal, who read them."""
    with tempfile.TemporaryDirectory() as place:
        yield _hub(Path(place, "library"))
        yield _minari(Path(place), episodes)


def _hub(folder: Path) -> dict[str, Any]:
    from huggingface_hub import ModelCard, load_state_dict_from_file

    export_library(SHIPPED, folder)
    shipped, exported = load_library(SHIPPED), load_library(folder)
    data = ModelCard.load(folder / CARD).data
    weights = {skill.name: load_state_dict_from_file(folder / skill.weights_file) for skill in exported.skills}
    equal = (
        shipped.skills == exported.skills
        and {result.metric_value for result in data.eval_results}
        == {round(skill.success_rate, 4) for skill in shipped.skills}
        and all(
            np.array_equal(array, weights[name][key])
            for name, arrays in shipped.weights.items()
            for key, array in arrays.items()
        )
    )
    return {
        "engine": "hub",
        "workers": 1,
        "units": len(exported.skills),
        "equal": bool(equal),
        "note": "read by huggingface_hub",
    }


def _minari(root: Path, count: int) -> dict[str, Any]:
    episode_rows = [
        EpisodeResult.from_json(play_task(ReplayAgent(BOT, bot_actions), task))
        for task in evaluation_tasks(["PutNextLocal"], instructions=count, repeats=1, seed=0)
    ]
    write_dataset("sdg/bench-v0", episode_rows, root=root)
    episodes = list(read_dataset("sdg/bench-v0", root=root))
    equal = len(episodes) == count and all(
        tuple(map(int, episode.actions)) == tuple(row.actions)
        and bool(episode.terminations[-1] and episode.rewards[-1] > 0) == row.success
        and len(episode.observations["image"]) == len(row.actions) + 1
        for episode, row in zip(episodes, episode_rows, strict=True)
    )
    return {
        "engine": "minari",
        "workers": 1,
        "units": len(episodes),
        "equal": bool(equal),
        "note": "read by minari.load_dataset",
    }
