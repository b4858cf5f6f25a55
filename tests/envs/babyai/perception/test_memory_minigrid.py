"""The memory against minigrid itself: what was seen is remembered as it was, wherever the robot has been."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.cells import CODES, KIND_MASK, encode
from sdg.envs.babyai.levels import PAPER_LEVELS, all_levels
from sdg.envs.babyai.perception import memory
from sdg.envs.babyai.perception.tracking import HELD
from sdg.envs.babyai.world import BabyAIWorld
from tests.shared.walks import in_view, walk


class Truth:
    """The true grid as of when each cell was last in view, by minigrid's own visibility mask."""

    def __init__(self, world: BabyAIWorld) -> None:
        self.world = world
        self.cells = np.zeros((memory.MAX_SIZE, memory.MAX_SIZE), np.uint8)

    def look(self) -> None:
        grid = encode(self.world.inner.grid.encode())
        for x, y in in_view(self.world):
            self.cells[x, y] = grid[x, y]


def check(world: BabyAIWorld, truth: Truth) -> None:
    """Pose, hand, map and objects of the memory equal what is true of the robot and of what it saw."""
    learned, inner = world.memory, world.inner
    assert tuple(learned.pose[0]) == (*map(int, inner.agent_pos), inner.agent_dir)
    carried = int(learned.carried[0])
    if inner.carrying is None:
        assert carried == -1
    else:
        assert learned.code[0, carried] == CODES[tuple(inner.carrying.encode())]
    seen = truth.cells > 0
    np.testing.assert_array_equal(learned.cells[0][seen], truth.cells[seen])
    unseen = np.argwhere((learned.cells[0] > 0) & ~seen)
    assert all(tuple(cell) == tuple(learned.start[0, :2]) for cell in unseen)
    check_objects(learned)


def check_objects(learned: memory.Memory) -> None:
    """Cells and objects agree with one another: every thing on the map has one id, every id one place."""
    kinds = learned.cells[0] & KIND_MASK
    things = (kinds >= 4) & (kinds <= 9)
    np.testing.assert_array_equal(learned.ids[0] > 0, things)
    for x, y in np.argwhere(things):
        k = learned.ids[0, x, y] - 1
        assert tuple(learned.at[0, k]) == (x, y)
        assert learned.code[0, k] == learned.cells[0, x, y]
    n = int(learned.n_objects[0])
    held_ids = np.argwhere(learned.at[0, :n, 0] == HELD)[:, 0].tolist()
    assert held_ids == ([learned.carried[0]] if learned.carried[0] >= 0 else [])


@pytest.mark.parametrize("level", all_levels())
def test_memory_equals_what_was_seen(level: str) -> None:
    truth = None
    for world, _ in walk(level, seed=7):
        truth = truth or Truth(world)
        truth.look()
        if world.steps > 0 or not level.endswith("Carrying"):  # their first view shows the carried thing in its cell
            check(world, truth)


@pytest.mark.parametrize("level", [level for level in PAPER_LEVELS if level != "GoToLocal"])
def test_memory_along_the_bots_path(level: str) -> None:
    actions = bot_actions(level, 11)
    assert actions is not None
    truth = None
    for world, _ in walk(level, seed=11, steps=len(actions), actions=actions):
        truth = truth or Truth(world)
        truth.look()
        check(world, truth)


@pytest.mark.parametrize("level", [level for level in all_levels() if level.endswith("Carrying")])
def test_first_steps_of_levels_that_begin_with_a_full_hand(level: str) -> None:
    for seed in range(12):
        for first in range(5):
            truth = None
            for world, _ in walk(level, seed=seed, steps=3, actions=[first, 2, 4]):
                truth = truth or Truth(world)
                truth.look()
            check(world, truth)


def test_the_bot_gives_up_where_it_would_plan_for_ever() -> None:
    assert bot_actions("Unlock", 2_050_004) is None
    assert len(bot_actions("Unlock", 2_050_005) or ()) == 57
