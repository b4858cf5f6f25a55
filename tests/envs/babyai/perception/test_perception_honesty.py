"""Perception answers from views alone: change all that was never in view, hidden state too, and it says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from minigrid.core.world_object import Ball, Box, Door, Key, Wall

from sdg.envs import kernels
from sdg.envs.babyai.cells import COLOURS
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception import snapshot as perceptions
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.babyai.world import BabyAIWorld
from tests.shared.walks import in_view, walk

STEPS = 80


def told(perception: BabyAIPerception) -> list[Any]:
    """Everything a snapshot can say."""
    cells = [(x, y) for x in range(-22, 23) for y in range(-22, 23)]
    descriptions = [f"{color} object {where}" for color in COLOURS for where in ("", "on your left", "behind you")]
    asked = {
        "is_free": [perception.is_free(cell) for cell in cells],
        "find_objects": [perception.find_objects(description) for description in descriptions],
    }
    silent = [function() for name, function in perception.functions().items() if name not in asked]
    return [*silent, asked, perception.describe()]


def scramble(world: BabyAIWorld, seen: set[tuple[int, int]], opened: set[int]) -> int:
    """Change every cell never seen and what can't be seen of the rest; the number of cells changed."""
    random, inner, changed = np.random.default_rng(1), world.inner, 0
    for x in range(inner.width):
        for y in range(inner.height):
            if (x, y) not in seen and (x, y) != tuple(inner.agent_pos):
                before, color = inner.grid.get(x, y), str(random.choice(COLOURS))
                made = (
                    None,
                    Wall(),
                    Ball(color),
                    Key(color),
                    Box(color),
                    Door(color, is_open=bool(random.integers(2))),
                )
                inner.grid.set(x, y, made[random.integers(len(made))])
                changed += before is not inner.grid.get(x, y)
            thing = inner.grid.get(x, y)
            if thing is not None and thing.type == "box" and y * inner.width + x not in opened:
                thing.contains = Key("red")
    inner.mission = "go to the purple door"
    inner.max_steps += 7
    return changed


@pytest.mark.parametrize("level", [*PAPER_LEVELS, "KeyInBox", "UnlockToUnlock"])
def test_unseen_cells_and_hidden_state_change_nothing(level: str) -> None:
    actions, seen, says, opened = [], set(), [], set()
    for world, action in walk(level, seed=2, steps=STEPS):
        actions.append(action)
        seen |= in_view(world)
        front = tuple(map(int, world.inner.front_pos))
        if action == 5:
            opened.add(front[1] * world.inner.width + front[0])
        says.append(told(world.perception()))
    changed = 0
    for step, (world, _) in enumerate(walk(level, seed=2, steps=len(actions) - 1, actions=actions[1:])):
        if step == 0:
            changed = scramble(world, seen, opened)
        assert told(world.perception()) == says[step]
    assert changed > (0 if world.inner.width > 8 else -1)


def test_snapshot_stays_as_it_was_taken() -> None:
    """A snapshot is a copy: later steps, subgoals and forgetting don't show in it; what it returns is the caller's."""
    first: BabyAIPerception | None = None
    for world, _ in walk("Open", seed=4, steps=40):
        if first is None:
            first = world.perception()
            before = told(world.perception())
    world.begin_subgoal()
    world.forget_visited_rooms()
    first.get_observed_objects().clear()
    first.get_visited_rooms().append(99)
    assert told(first) == before
    assert told(world.perception()) != before
    with pytest.raises(AttributeError):
        first.get_observed_objects()[0].held = True


def test_what_unseen_means_is_tested() -> None:
    """The comparison above would notice: a change in view changes what is told."""
    worlds = [next(walk("GoToLocal", seed=2))[0] for _ in range(2)]
    cell = next(cell for cell in sorted(in_view(worlds[1])) if worlds[1].inner.grid.get(*cell) is None)
    worlds[1].inner.grid.set(*cell, Ball("red"))
    for world in worlds:
        world.step(1)
        world.step(0)
    assert told(worlds[0].perception()) != told(worlds[1].perception())


def test_perception_can_not_reach_a_world() -> None:
    """Nothing that perception is made of imports a world, an engine or the levels."""
    found = {path.stem for path in kernels._closure(Path(perceptions.__file__))} - {"__init__"}
    assert found == {"snapshot", "perception", "table", "description", "memory", "tracking", "kernels", "cells"}
