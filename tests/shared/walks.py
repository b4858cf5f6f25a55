"""Walks through BabyAI worlds for tests: actions that carry, drop and open often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from minigrid.core.world_object import Ball, Box, Door, Key, Wall

from sdg.envs.babyai.cells import COLOURS
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.world import BabyAIWorld

BUSY = (0.12, 0.12, 0.36, 0.14, 0.08, 0.18)
"""Odds of the six actions."""


def walk(level: str, *, seed: int, steps: int = 60, actions: Sequence[int] = ()) -> Iterator[tuple[BabyAIWorld, int]]:
    """(world, action) after reset (action -1) and after every step: along `actions`, then at random until the end."""
    world = BabyAIWorld(level, lift_time_limit=True)
    world.reset(seed)
    random = np.random.default_rng(seed)
    yield world, -1
    for step in range(steps):
        action = int(actions[step]) if step < len(actions) else int(random.choice(6, p=BUSY))
        result = world.step(action)
        yield world, action
        if result.terminated:
            return


def copy_rows(
    source: Memory, rows: Sequence[int] | np.ndarray, target: Memory, target_rows: Sequence[int] | np.ndarray
) -> None:
    """Copy `rows` of `source` onto `target_rows` of `target`."""
    for here, there in zip(source, target, strict=True):
        there[target_rows] = here[rows]


def in_view(world: BabyAIWorld) -> set[tuple[int, int]]:
    """Grid cells that the robot sees now, by minigrid's own visibility mask; its own cell shows its hand instead."""
    _, mask = world.inner.gen_obs_grid()
    cells = set()
    for x in range(world.inner.width):
        for y in range(world.inner.height):
            at = world.inner.relative_coords(x, y)
            if at is not None and mask[at] and tuple(at) != (3, 6):
                cells.add((x, y))
    return cells


def scramble(world: BabyAIWorld, seen: set[tuple[int, int]], opened: set[tuple[int, int]]) -> int:
    """Change every cell never seen and what can't be seen of the rest; the number of cells changed."""
    random, inner, changed = np.random.default_rng(1), world.inner, 0
    for x in range(inner.width):
        for y in range(inner.height):
            if (x, y) not in seen and (x, y) != tuple(inner.agent_pos):
                before, color = inner.grid.get(x, y), str(random.choice(COLOURS))
                replacements = (
                    None,
                    Wall(),
                    Ball(color),
                    Key(color),
                    Box(color),
                    Door(color, is_open=bool(random.integers(2))),
                )
                inner.grid.set(x, y, replacements[random.integers(len(replacements))])
                changed += before is not inner.grid.get(x, y)
            thing = inner.grid.get(x, y)
            if thing is not None and thing.type == "box" and (x, y) not in opened:
                thing.contains = Key("red")
    inner.mission = "go to the purple door"
    inner.max_steps += 7
    return changed
