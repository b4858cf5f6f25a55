"""The search that says which starts can be solved: never longer than the bot, right about walls, doors and hands."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.instructions import seeds
from sdg.experiments.bench.yardsticks.shortest_paths import NEVER, shortest
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction

FACING = """def reached():
    thing = get_facing()
    return thing is not None and thing.type == "{kind}" and thing.color == "{color}"
"""


def _starts(level: str, layouts: list[int], source_of: object) -> Starts:
    bank = BABYAI.layouts(level, layouts)
    checks = tuple(CheckFunction("reached", source_of(bank.mission(i))) for i in range(len(layouts)))  # type: ignore[operator]
    targets = np.stack([BABYAI.language.row("")] * len(layouts))
    return Starts(BABYAI.begin(bank, np.arange(len(layouts))), targets, checks, np.arange(len(layouts)))


def _facing(mission: str) -> str:
    color, kind = mission.split()[-2:]
    return FACING.format(kind=kind, color=color)


def test_no_way_is_longer_than_the_bots() -> None:
    """In one room the search is shortest to the pose; the bot's own way there can't be shorter."""
    level, layouts = "GoToLocal", sorted(seeds("validation", count=25, seed=5))
    found = shortest(_starts(level, layouts, _facing), limit=64)
    bots = np.array([len(bot_actions(level, seed) or ()) for seed in layouts])
    solved = found != NEVER
    assert solved.mean() > 0.9  # What is walled in by objects is out of reach for legs alone.
    assert (found[solved] <= np.maximum(bots[solved], 1)).all()


def test_what_lies_behind_a_closed_door_is_out_of_reach() -> None:
    source = "def reached():\n    return get_current_room() != 0\n"
    starts = _starts("UnlockLocal", sorted(seeds("validation", count=6, seed=5)), lambda mission: source)
    assert (shortest(starts, limit=40) == NEVER).all()


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_holds(limit: int) -> None:
    starts = _starts("GoToLocal", sorted(seeds("validation", count=25, seed=5)), _facing)
    near, far = shortest(starts, limit=limit), shortest(starts, limit=64)
    assert near.max() <= limit
    assert (near == np.where(far <= limit, far, NEVER)).all()


def test_what_is_true_already_takes_no_step() -> None:
    starts = _starts(
        "GoToLocal",
        [int(min(seeds("validation", count=1, seed=5)))],
        lambda mission: "def reached():\n    return True\n",
    )
    assert shortest(starts, limit=5).tolist() == [0]
