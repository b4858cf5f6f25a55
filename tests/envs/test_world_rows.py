"""A batch of single worlds: rows share few worlds and never mix."""

from __future__ import annotations

import numpy as np

from sdg.envs.defaults import MAX_OPEN, PlainWorld
from sdg.envs.domains import domain

CORRIDOR = domain("tests.envs.corridor:CORRIDOR")


def test_more_rows_than_worlds_step_as_each_would_alone() -> None:
    count = MAX_OPEN + 9
    layouts = CORRIDOR.layouts("Visit", list(range(count)))
    rows, rng = CORRIDOR.begin(layouts, np.arange(count)), np.random.default_rng(0)
    actions = rng.integers(0, 4, (7, count))
    for step_actions in actions:
        rows.step(step_actions)
    for row in range(count):
        world = CORRIDOR.open("Visit", lift_time_limit=True)
        world.reset(row)
        for step_actions in actions:
            world.step(int(step_actions[row]))
        assert rows.perception(row).describe() == world.perception().describe()


def test_subgoals_begin_for_the_rows_that_are_named() -> None:
    rows = CORRIDOR.begin(CORRIDOR.layouts("Visit", [0, 1, 2]), np.arange(3))
    rows.step(np.zeros(3, np.int64))
    rows.begin_subgoals(np.array([1]))
    assert [rows.perception(row).functions()["get_start_steps"]() for row in range(3)] == [0, 1, 0]


class Touching(PlainWorld):
    def __init__(self) -> None:
        super().__init__("touch it", max_steps=9, lift_time_limit=False)
        self.steps, self.place, self.model = 0, [0], "large"

    def advance(self, action: int) -> None:
        self.place[0] += action
        self.touched = True


def test_nothing_that_came_after_a_moment_outlives_its_return() -> None:
    world = Touching()
    moment, before = world.keep(), dict(vars(world), place=[0])
    for _ in range(2):
        world.advance(1)
        world.restore(moment)
        assert vars(world) == before


class Thrifty(Touching):
    def keep(self) -> dict[str, list[int]]:
        return {"place": list(self.place)}


def test_a_world_that_keeps_less_keeps_the_rest_of_itself() -> None:
    world = Thrifty()
    moment = world.keep()
    world.advance(1)
    world.restore(moment)
    assert (world.place, world.model) == ([0], "large")
