"""MiniGrid by the generic path: six families without a line of their own."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.domains import domain, domain_of_data
from sdg.envs.registry import RegistryError
from sdg.skills.checks.check import compile_check
from sdg.skills.learning.by_hand import check_that
from sdg.skills.search.trial import CountSearch, SearchSettings

FAMILIES = (
    "MiniGrid-DoorKey-6x6-v0",
    "MiniGrid-MultiRoom-N2-S4-v0",
    "MiniGrid-KeyCorridorS3R1-v0",
    "MiniGrid-ObstructedMaze-1Dl-v0",
    "MiniGrid-LavaGapS5-v0",
    "MiniGrid-Fetch-5x5-N2-v0",
)


@pytest.mark.parametrize("identifier", FAMILIES)
def test_any_family_is_played_kept_and_restored(identifier: str) -> None:
    kind = domain(f"minigrid:{identifier}")
    world = kind.open(identifier)
    world.reset(3)
    rng, actions = np.random.default_rng(0), []
    snapshot, before = world.keep(), world.perception().describe()
    descriptions = []
    for _ in range(30):
        actions.append(int(rng.integers(7)))
        result = world.step(actions[-1])
        descriptions.append(world.perception().describe())
        if result.done:
            break
    world.restore(snapshot)
    assert world.perception().describe() == before
    assert [world.step(action) and world.perception().describe() for action in actions] == descriptions
    assert world.mission
    assert world.render().ndim == 3


def test_a_key_is_found_by_its_name_and_carried() -> None:
    kind = domain("minigrid:MiniGrid-DoorKey-6x6-v0")
    rows = kind.begin(kind.layouts(kind.levels()[0], [4]), np.array([0]))
    rows.begin_subgoals()
    check = check_that('any(thing.held and thing.type == "key" for thing in [get_carried()] if thing is not None)')
    compile_check(check, kind)
    from sdg.skills.practice.starts import Starts

    start = Starts(rows, kind.language.row("")[None], (check,), np.zeros(1, np.int64))
    searched = CountSearch(SearchSettings(horizon=80))(start, check, must_succeed=False, budget=20_000, seed=0)
    assert searched.reached
    elements = searched.after.rows.perception(0).elements()
    assert [thing.name for thing in elements if thing.held] == ["yellow key"]
    assert [thing.name for thing in kind.language.resolve("key", elements)] == ["yellow key"]


def test_walls_are_seen_and_the_goal_that_the_agent_stands_on() -> None:
    world = domain("minigrid:MiniGrid-LavaGapS5-v0").open("MiniGrid-LavaGapS5-v0")
    world.reset(0)
    inner = world._env
    assert (0, -1) in world.perception().get_walls()
    inner.agent_pos, inner.agent_dir = (inner.width - 2, inner.height - 3), 1
    world.step(2)
    things = world.perception().get_things()
    assert [(thing.type, thing.forward, thing.right) for thing in things if thing.type == "goal"] == [("goal", 0, 0)]
    assert world.perception().get_heading() == "south"


def test_free_cells_are_told_and_lava_ahead_is_not_called_free() -> None:
    kind = domain("minigrid:MiniGrid-LavaGapS5-v0")
    world = kind.open("MiniGrid-LavaGapS5-v0")
    world.reset(0)
    perception = world.perception()
    taken = {*perception.get_walls(), *((thing.forward, thing.right) for thing in perception.get_things())}
    assert perception.get_free_cells()
    assert not taken & set(perception.get_free_cells())
    drawn = "".join(perception.describe().splitlines()[-7:])
    assert (len(drawn), drawn.count("#"), drawn.count("A")) == (49, len(perception.get_walls()), 1)
    while (front := world.perception().get_front()) is None or front.type != "lava":
        world.step(2 if not world.perception().is_blocked() else 1)
    assert "about to enter red lava" in world.perception().describe()
    assert kind.persistence.patience(perception, "lava") is not None, "a stuck skill gives up"


def test_names_that_are_no_minigrid_are_refused() -> None:
    with pytest.raises(RegistryError, match="no MiniGrid environment is registered as 'Ant-v5'"):
        domain("minigrid:Ant-v5")
    assert domain_of_data("minigrid:MiniGrid-Fetch-5x5-N2-v0").levels() == ("MiniGrid-Fetch-5x5-N2-v0",)


def test_a_late_success_counts_where_the_limit_is_lifted() -> None:
    """MiniGrid's own reward falls below 0 after 1.1 times its limit."""
    identifier = "MiniGrid-Empty-5x5-v0"
    to_the_goal, world = (2, 2, 1, 2, 2), domain(f"minigrid:{identifier}").open(identifier, lift_time_limit=True)
    for seed in (3, 4):
        world.reset(seed)
        assert world.max_steps == 100, "its own limit is told all the same"
        for _ in range(200):
            assert not world.step(0).done
        moment = world.keep()
        for _ in range(2):
            assert [world.step(action).success for action in to_the_goal] == [False] * 4 + [True]
            world.restore(moment)


def test_a_limit_that_is_kept_ends_an_episode_as_before() -> None:
    identifier = "MiniGrid-Empty-5x5-v0"
    world = domain(f"minigrid:{identifier}").open(identifier)
    world.reset(3)
    results = [world.step(0) for _ in range(100)]
    assert [result.truncated for result in results] == [False] * 99 + [True]
