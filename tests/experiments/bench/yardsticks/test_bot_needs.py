"""The bot as a yardstick: it starts where a command began, knows what the robot has seen, and has to look."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.deduction.library_skills import options_of
from sdg.envs.babyai.bot import Bot
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.bench.skills import figures
from sdg.experiments.bench.yardsticks.bot_needs import bot_needs
from sdg.experiments.bench.yardsticks.shortest_paths import NEVER, shortest
from sdg.experiments.table.comparison import SHIPPED
from sdg.induction.skill_requests import SkillRequest, skill_requests, starts_of
from sdg.skills.library.store import load_library
from sdg.skills.subgoal import CheckFunction

SEEDS = range(2_990_001, 2_990_013)
LIMIT = 60


def _asked(level: str, argument: str, *, began: int = 0) -> list[SkillRequest]:
    check = CheckFunction("seen", f"def seen():\n    return len(find_objects({argument!r})) > 0\n")
    call = {"name": "look", "argument": argument, "began": began, "refused": False}
    rows = [
        {"level": level, "seed": seed, "actions": [0, 0, 1, 1], "forgot": [], "trace": [{"calls": [call]}]}
        for seed in SEEDS
    ]
    return skill_requests(rows, lambda command: check)


def test_the_bot_is_never_faster_than_a_search_that_sees_everything() -> None:
    asked = _asked("GoToLocal", "ball")
    starts = starts_of(asked, BABYAI)
    assert starts is not None
    needs, near = bot_needs(asked, limit=LIMIT), shortest(starts, limit=LIMIT)
    both = (needs != NEVER) & (near > 0)
    assert both.sum() >= 3
    assert (needs[both] >= near[both]).all()


def test_the_bot_opens_doors_where_the_search_does_not() -> None:
    asked = _asked("GoTo", "key")
    starts = starts_of(asked, BABYAI)
    assert starts is not None
    assert ((bot_needs(asked, limit=LIMIT) != NEVER) & (shortest(starts, limit=LIMIT) == NEVER)).any()


def test_nothing_is_needed_for_what_there_is_not_and_in_no_time() -> None:
    assert (bot_needs(_asked("GoToRedBallGrey", "yellow box"), limit=LIMIT) == NEVER).all()
    assert (bot_needs(_asked("GoTo", "any words at all"), limit=LIMIT) == NEVER).all()
    assert (bot_needs(_asked("GoTo", "key"), limit=0) == NEVER).all()


def test_what_the_robot_has_seen_the_bot_knows() -> None:
    """Shown everything, it doesn't look round: it goes to the ball at once."""

    def steps(seed: int, seen: np.ndarray | None) -> int:
        world = BabyAIWorld("GoToObjMaze")
        world.reset(seed)
        bot, last = Bot(world.inner, seen=seen), None
        for step in range(400):
            last = bot(last)
            if last is None or world.step(last).done:
                return step
        return 400

    everything = np.ones((30, 30), bool)
    pairs = [(steps(seed, everything), steps(seed, None)) for seed in SEEDS]
    assert sum(shown for shown, _ in pairs) < sum(alone for _, alone in pairs)


def test_figures_of_skills_that_look_stand_beside_the_bot_s() -> None:
    options = options_of(load_library(SHIPPED))
    looks = next(
        name for name, option in options.items() if option.takes_argument and not option.usage.needs_seen_target
    )
    call = {"name": looks, "argument": "ball", "began": 0, "refused": False}
    rows: list[dict[str, Any]] = [
        {
            "unit": str(seed),
            "level": "GoToLocal",
            "seed": seed,
            "actions": [],
            "forgot": [],
            "trace": [{"calls": [call]}],
        }
        for seed in SEEDS
    ]
    found = {row["name"]: row for row in figures(options, rows, most=100, seed=0)}
    mine = found[looks]
    assert 0 < mine["bot_episodes"] <= mine["asked"]
    assert 0.8 <= mine["bot_success_rate"] <= 1
    assert not any("bot_episodes" in row for name, row in found.items() if name != looks and row["asked"] == 0)
