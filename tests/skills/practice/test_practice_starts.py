"""Restored starts stand where minigrid stands, practice pays what checks say, features show only what was seen."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import RIGHT, TOGGLE
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.description import parse
from sdg.envs.babyai.practice.inputs import FAR, FAR_SIDE, MAP_INPUTS, MIRRORED, NO_TARGET, SIZE, write_batch
from sdg.envs.babyai.world import BabyAIWorld
from sdg.skills.checks.check import compile_check
from sdg.skills.checks.reward import BatchReward
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts, join, restore, target_of
from sdg.skills.subgoal import CheckFunction
from tests.shared.walks import in_view, scramble, walk

row = BABYAI.language.row
SEEDS = [3, 14, 15]
FACING = CheckFunction("check_1", 'def check_1():\n    return any(t.facing for t in find_objects("object"))\n')
DICTS = CheckFunction("check_2", "def check_2():\n    return {t.type: 1 for t in get_observed_objects()} != {}\n")


def starts(level: str = "PutNextLocal", *, actions: int = 12, seed: int = 0, check: CheckFunction = FACING) -> Starts:
    played = np.random.default_rng(seed).integers(0, 6, (len(SEEDS), actions)).tolist()
    rows = restore(BABYAI, BABYAI.layouts(level, SEEDS), range(len(SEEDS)), actions=played)
    targets = np.tile(row("red ball"), (len(SEEDS), 1))
    return Starts(rows, targets, (check,), np.zeros(len(SEEDS), np.int64))


@pytest.mark.parametrize("level", ["PutNextLocal", "Open", "BossLevel"])
def test_restored_rows_are_where_minigrid_is(level: str) -> None:
    played = np.random.default_rng(7).choice([0, 1, 2, 2, 2, 3, 4, 5], (len(SEEDS), 25)).tolist()
    lengths = [25, 0, 11]
    played = [actions[:n] for actions, n in zip(played, lengths, strict=True)]
    memory = restore(BABYAI, BABYAI.layouts(level, SEEDS), range(len(SEEDS)), actions=played).memory
    for i, (seed, actions) in enumerate(zip(SEEDS, played, strict=True)):
        world = BabyAIWorld(level, lift_time_limit=True)
        world.reset(seed)
        for action in actions:
            world.step(action)
        world.begin_subgoal()
        for name in memory._fields:
            ours, theirs = getattr(memory, name)[i], getattr(world.memory, name)[0]
            assert np.array_equal(ours, theirs), (level, seed, name)


def test_a_pool_can_be_joined_and_taken_apart() -> None:
    first, second = starts(seed=0), starts(seed=1, check=DICTS)
    both = join([first, second])
    assert len(both) == 6
    assert [both.checks[i] for i in both.check_of] == [FACING] * 3 + [DICTS] * 3
    assert np.array_equal(both.take(np.array([4])).memory.pose, second.memory.pose[1:2])


def test_no_starts_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="no starts to join"):
        join([])


def test_practice_pays_what_the_interpreted_check_says() -> None:
    pool = join([starts(), starts(check=DICTS)])
    practice = PracticeEnv(pool, 12, horizon=9, seed=1)
    practice.restore_random(np.arange(12))
    fired_ever = 0
    for _ in range(40):
        fired, over, _ = practice.step(practice.rng.integers(0, 6, 12))
        fired_ever += int(fired.sum())
        said = [
            compile_check(pool.checks[pool.check_of[practice.start_of[i]]], BABYAI).fires(
                BABYAI.snapshot(practice.memory, i)
            )
            for i in range(12)
        ]
        assert fired.tolist() == said
        practice.restore_random(np.flatnonzero(over | (practice.age >= 9)))
    assert 0 < fired_ever < 40 * 12
    assert practice.steps == 40 * 12


def test_a_refused_check_never_becomes_a_reward() -> None:
    from sdg.sandbox.guard import Refused

    with pytest.raises(Refused):
        BatchReward([CheckFunction("check", "import os\ndef check():\n    return True\n")], BABYAI)


@pytest.mark.parametrize("level", ["BossLevel", "UnlockLocal", "PutNextLocal"])
def test_inputs_don_t_change_with_what_was_never_seen(level: str) -> None:
    """The same walk in a world in which all that it never shows is something else: the same inputs, step by step."""
    inputs, actions, seen, opened = [], [], set(), set()
    for world, action in walk(level, seed=2, steps=25):
        actions.append(action)
        seen |= in_view(world)
        opened |= {tuple(map(int, world.inner.front_pos))} if action == TOGGLE else set()
        inputs.append(inputs_of(world))
    changed = 0
    for step, (world, _) in enumerate(walk(level, seed=2, steps=len(actions) - 1, actions=actions[1:])):
        changed += scramble(world, seen, opened) if step == 0 else 0
        assert np.array_equal(inputs_of(world), inputs[step])
    assert changed > 0


@pytest.mark.parametrize("until", [0, 1, 2, 5, 9, 14])
def test_inputs_don_t_change_with_what_will_be_seen_later(until: int) -> None:
    """Everything but what was in view up to a step is something else: a cell that is read a step early shows here."""
    actions, seen, opened = [], set(), set()
    for world, action in walk("BossLevel", seed=3, steps=until):
        actions.append(action)
        seen |= in_view(world)
        opened |= {tuple(map(int, world.inner.front_pos))} if action == TOGGLE else set()
    inputs = inputs_of(world)
    for step, (other, _) in enumerate(walk("BossLevel", seed=3, steps=until, actions=actions[1:])):
        assert step or scramble(other, seen, opened) > 0
    assert np.array_equal(inputs_of(other), inputs)


def test_inputs_change_with_what_is_seen() -> None:
    """The comparison above would notice: the same change to a cell in view shows in the next step's inputs."""
    worlds = [next(walk("GoToLocal", seed=2))[0] for _ in range(2)]
    scramble(worlds[1], set(), set())
    for world in worlds:
        world.step(RIGHT)
    assert not np.array_equal(*map(inputs_of, worlds))


def inputs_of(world: BabyAIWorld) -> np.ndarray:
    """The inputs for several targets, one after the other."""
    out = np.zeros((4, SIZE), np.uint8)
    for inputs, text in zip(out, ("object", "door", "red key", ""), strict=True):
        MAP_INPUTS.write_row(world.memory, 0, row(text), inputs)
    return out


def test_the_target_is_marked_where_it_lies_relative_to_the_heading() -> None:
    world = BabyAIWorld("GoToLocal")
    world.reset(5)
    marked = 0
    for action in (1, 2, 0, 2, 1, 1, 2, 1, 2):
        world.step(action)
        things = world.perception().get_observed_objects()
        if not things:
            continue
        thing, marked = things[0], marked + 1
        out, side = np.zeros((1, SIZE), np.uint8), np.zeros(1, np.int64)
        write_batch(world.memory, np.array([parse(f"{thing.name} #{thing.id}")], np.int16), side, out)
        plane = out[0, : FAR_SIDE**2].reshape(FAR_SIDE, FAR_SIDE)
        assert plane.sum() == 1
        ahead, right = (int(cell) - FAR for cell in np.argwhere(plane)[0])
        assert right >= 0
        right = -right if side[0] == MIRRORED else right
        (x, y), (fx, fy) = world.perception().get_position(), world.perception().get_front_position()
        dx, dy = fx - x, fy - y  # start frame: y grows ahead, so right of (dx, dy) is (dy, -dx)
        assert (x + ahead * dx + right * dy, y + ahead * dy - right * dx) == thing.position
    assert marked > 3


def test_without_an_argument_nothing_is_marked() -> None:
    assert tuple(row("")) == NO_TARGET == tuple(row("no such thing"))
    pool = starts()
    out = np.zeros((3, SIZE), np.uint8)
    write_batch(pool.memory, np.tile(row(""), (3, 1)), np.zeros(3, np.int64), out)
    assert out[:, : FAR_SIDE**2].sum() == 0


def test_what_a_check_is_about_is_its_last_description() -> None:
    check = CheckFunction("c", 'def c():\n    return len(find_objects("red ball")) + len(find_objects("box")) > 1\n')
    assert tuple(target_of(check, BABYAI.language)) == tuple(parse("box"))
    assert tuple(target_of(CheckFunction("c", "def c():\n    return True\n"), BABYAI.language)) == NO_TARGET


def test_rows_taken_are_copies() -> None:
    pool = starts()
    taken = pool.take(np.arange(3))
    taken.memory.pose[:] = 0
    taken.rows.state[:] = 0
    assert pool.memory.pose.any()
    assert pool.rows.state.cells.any()
