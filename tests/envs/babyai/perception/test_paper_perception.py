"""The paper's five functions: relative to the robot and in view alone; a repair is shown all that was seen."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from sdg.agents.agents import Task, play_task
from sdg.envs.babyai.cells import TYPES
from sdg.envs.babyai.domain import BABYAI, BABYAI_PAPER
from sdg.envs.babyai.perception.paper import RECORD_TEXT, PaperPerception, SeenDoor
from sdg.experiments.config.config import ConfigError, find_config, load
from sdg.experiments.play.players import PlannerRecipe
from sdg.sandbox.guard import Refused
from sdg.skills.checks.check import compile_check
from sdg.skills.subgoal import CheckFunction
from tests.shared.walks import in_view, walk

RIGHT = {0: (0, 1), 1: (-1, 0), 2: (0, -1), 3: (1, 0)}
AHEAD = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}
"""Grid steps by minigrid's direction; y of its grid grows downwards."""


@pytest.mark.parametrize("level", ["GoToLocal", "Open"])
def test_positions_are_those_of_the_view_from_where_the_robot_stands(level: str) -> None:
    steps_compared = 0
    for world, _ in walk(level, seed=3, steps=60):
        paper, inner = PaperPerception(world.perception()), world.inner
        things = [*paper.get_observation(), *paper.get_doors_in_observation()]
        cells = set()
        for thing in things:
            x, y = inner.agent_pos
            (right_x, right_y), (ahead_x, ahead_y) = RIGHT[inner.agent_dir], AHEAD[inner.agent_dir]
            right, ahead = thing.position
            cell = int(x + right * right_x + ahead * ahead_x), int(y + right * right_y + ahead * ahead_y)
            there = inner.grid.get(*cell)
            assert (there.color, there.type) == (thing.color, thing.type)
            cells.add(cell)
            steps_compared += 1
        assert cells == {
            cell for cell in in_view(world) if (there := inner.grid.get(*cell)) is not None and there.type in TYPES
        }
    assert steps_compared > 50


def test_what_is_out_of_view_is_told_to_whoever_repairs() -> None:
    for world, _ in walk("GoToLocal", seed=3, steps=60):
        observed = [thing for thing in world.perception().get_observed_objects() if not thing.held]
        paper = PaperPerception(world.perception())
        assert all(f"- {thing.name} #{thing.id}" in paper.describe() for thing in observed)
    assert "seen before" in paper.describe()
    assert len(paper.get_observation()) < len(observed)


def test_every_field_is_documented() -> None:
    for field in fields(SeenDoor):
        assert f"  {field.name}: " in RECORD_TEXT


def test_neither_preset_has_the_functions_of_the_other() -> None:
    mapped = CheckFunction("check_1", 'def check_1():\n    return len(find_objects("red ball")) > 0')
    relative = CheckFunction("check_1", "def check_1():\n    return len(get_observation()) > 0")
    compile_check(mapped, BABYAI)
    compile_check(relative, BABYAI_PAPER)
    with pytest.raises(Refused, match="find_objects"):
        compile_check(mapped, BABYAI_PAPER)
    with pytest.raises(Refused, match="get_observation"):
        compile_check(relative, BABYAI)


def test_programs_of_the_paper_preset_call_skills_whose_checks_ask_the_map() -> None:
    agent = PlannerRecipe("sdg", Path("skills/shipped"), domain=BABYAI_PAPER.name).build()
    tasks = [Task("PutNextLocal", 2_000_000 + seed, domain_name=BABYAI_PAPER.name) for seed in range(4)]
    rows = [play_task(agent, task) for task in tasks]
    assert sum(row["success"] for row in rows) >= 3
    assert all("get_position" not in row["program"] for row in rows)


def test_a_config_names_the_preset() -> None:
    config = load(find_config("tiny"), overlay=["perception=paper"])
    assert config.world == BABYAI_PAPER.name
    with pytest.raises(ConfigError, match="has no perception 'views'"):
        load(find_config("tiny"), overlay=["perception=views"])
