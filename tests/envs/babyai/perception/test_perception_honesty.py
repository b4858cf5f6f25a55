"""Perception answers from views alone: change all that was never in view, hidden state too, and it says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from minigrid.core.world_object import Ball

from sdg.envs import kernels
from sdg.envs.babyai.cells import COLOURS
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception import snapshot as perceptions
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from tests.shared.walks import in_view, scramble, walk

STEPS = 80


def all_answers(perception: BabyAIPerception) -> list[Any]:
    """Everything a snapshot can say."""
    cells = [(x, y) for x in range(-22, 23) for y in range(-22, 23)]
    descriptions = [f"{color} object {where}" for color in COLOURS for where in ("", "on your left", "behind you")]
    answers = {
        "is_free": [perception.is_free(cell) for cell in cells],
        "find_objects": [perception.find_objects(description) for description in descriptions],
    }
    silent = [function() for name, function in perception.functions().items() if name not in answers]
    return [*silent, answers, perception.describe()]


@pytest.mark.parametrize("level", [*PAPER_LEVELS, "KeyInBox", "UnlockToUnlock"])
def test_unseen_cells_and_hidden_state_change_nothing(level: str) -> None:
    actions, seen, says, opened = [], set(), [], set()
    for world, action in walk(level, seed=2, steps=STEPS):
        actions.append(action)
        seen |= in_view(world)
        if action == 5:
            opened.add(tuple(map(int, world.inner.front_pos)))
        says.append(all_answers(world.perception()))
    changed = 0
    for step, (world, _) in enumerate(walk(level, seed=2, steps=len(actions) - 1, actions=actions[1:])):
        if step == 0:
            changed = scramble(world, seen, opened)
        assert all_answers(world.perception()) == says[step]
    assert changed > 0


@pytest.mark.parametrize("until", [0, 1, 2, 5, 9, 14])
def test_what_will_be_seen_later_changes_nothing_now(until: int) -> None:
    """Everything but what was in view up to a step is something else: a cell that is read a step early shows here."""
    actions, seen, opened = [], set(), set()
    for world, action in walk("BossLevel", seed=3, steps=until):
        actions.append(action)
        seen |= in_view(world)
        opened |= {tuple(map(int, world.inner.front_pos))} if action == 5 else set()
    says = all_answers(world.perception())
    for step, (other, _) in enumerate(walk("BossLevel", seed=3, steps=until, actions=actions[1:])):
        assert step or scramble(other, seen, opened) > 0
    assert all_answers(other.perception()) == says


def test_snapshot_stays_as_it_was_taken() -> None:
    """A snapshot is a copy: later steps, subgoals and forgetting don't show in it; what it returns is the caller's."""
    first: BabyAIPerception | None = None
    for world, _ in walk("Open", seed=4, steps=40):
        if first is None:
            first = world.perception()
            before = all_answers(world.perception())
    world.begin_subgoal()
    world.forget()
    first.get_observed_objects().clear()
    first.get_visited_rooms().append(99)
    assert all_answers(first) == before
    assert all_answers(world.perception()) != before
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
    assert all_answers(worlds[0].perception()) != all_answers(worlds[1].perception())


def test_perception_can_not_reach_a_world() -> None:
    """Nothing that perception is made of imports a world, an engine or the levels; `world` holds protocols alone."""
    modules = {path.stem for path in kernels._closure(Path(perceptions.__file__))} - {"__init__"}
    assert modules == {"snapshot", "world", "columns", "description", "memory", "tracking", "kernels", "cells"}
