"""Restored starts stand where minigrid stands, arenas pay what checks say, features show only what was seen."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.perception.description import parse
from sdg.envs.babyai.practice.batch import Rows, take_rows
from sdg.envs.babyai.practice.features import FAR, FAR_SIDE, NO_TARGET, SIZE, write_batch
from sdg.envs.babyai.practice.mirror import MIRRORED
from sdg.envs.babyai.world import BabyAIWorld
from sdg.skills.checks.reward import LOWERED, BatchReward, ask
from sdg.skills.practice.env import Arena
from sdg.skills.practice.starts import Starts, join, mark, restored, target_row
from sdg.skills.subgoal import CheckFunction

SEEDS = [3, 14, 15]
FACING = CheckFunction("check_1", 'def check_1():\n    return any(t.facing for t in find_objects("object"))\n')
DICTS = CheckFunction("check_2", "def check_2():\n    return {t.type: 1 for t in get_observed_objects()} != {}\n")


def starts(level: str = "PutNextLocal", *, actions: int = 12, seed: int = 0, check: CheckFunction = FACING) -> Starts:
    bank = LevelBank.build(level, SEEDS)
    played = np.random.default_rng(seed).integers(0, 6, (len(SEEDS), actions)).tolist()
    state, memory = restored(bank, range(len(SEEDS)), actions=played)
    targets = np.tile(target_row("red ball"), (len(SEEDS), 1))
    return Starts(state, memory, targets, (check,), np.zeros(len(SEEDS), np.int64))


@pytest.mark.parametrize("level", ["PutNextLocal", "Open", "BossLevel"])
def test_restored_rows_are_where_minigrid_is(level: str) -> None:
    played = np.random.default_rng(7).choice([0, 1, 2, 2, 2, 3, 4, 5], (len(SEEDS), 25)).tolist()
    lengths = [25, 0, 11]
    played = [actions[:n] for actions, n in zip(played, lengths, strict=True)]
    _, memory = restored(LevelBank.build(level, SEEDS), range(len(SEEDS)), actions=played)
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
    one, other = starts(seed=0), starts(seed=1, check=DICTS)
    both = join([one, other])
    assert len(both) == 6
    assert [both.checks[i] for i in both.check_of] == [FACING] * 3 + [DICTS] * 3
    assert np.array_equal(both.take(np.array([4])).memory.pose, other.memory.pose[1:2])


def test_no_starts_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="no starts to join"):
        join([])


def test_an_arena_pays_what_the_interpreted_check_says() -> None:
    pool = join([starts(), starts(check=DICTS)])
    arena = Arena(pool, 12, horizon=9, seed=1)
    assert arena.reward.paths == [LOWERED, "interpreted"]
    arena.load_random(np.arange(12))
    fired_ever = 0
    for _ in range(40):
        fired, over, _ = arena.step(arena.rng.integers(0, 6, 12))
        fired_ever += int(fired.sum())
        said = [ask(pool.checks[pool.check_of[arena.start_of[i]]], arena.memory, i) for i in range(12)]
        assert fired.tolist() == said
        arena.load_random(np.flatnonzero(over | (arena.age >= 9)))
    assert 0 < fired_ever < 40 * 12
    assert arena.steps == 40 * 12


def test_a_refused_check_never_becomes_a_reward() -> None:
    from sdg.skills.sandbox.guard import Refused

    with pytest.raises(Refused):
        BatchReward([CheckFunction("check", "import os\ndef check():\n    return True\n")])


def test_features_don_t_change_with_what_was_never_seen() -> None:
    rows = Rows(3)
    rows.begin(LevelBank.build("BossLevel", SEEDS), np.arange(3))
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows.step(rng.integers(0, 6, 3))
    before, after = np.zeros((3, SIZE), np.uint8), np.zeros((3, SIZE), np.uint8)
    targets = np.tile(target_row("object"), (3, 1))
    sides = np.zeros(3, np.int64)
    write_batch(rows.memory, targets, sides, before)
    rows.state.cells[:] = rng.integers(0, 255, rows.state.cells.shape)  # the world itself: features never look there
    write_batch(rows.memory, targets, sides, after)
    assert np.array_equal(before, after)


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
        write_batch(world.memory, np.array([parse(f"{thing.name} #{thing.id}").row()]), side, out)
        plane = out[0, : FAR_SIDE**2].reshape(FAR_SIDE, FAR_SIDE)
        assert plane.sum() == 1
        ahead, right = (int(v) - FAR for v in np.argwhere(plane)[0])
        assert right >= 0
        right = -right if side[0] == MIRRORED else right
        (x, y), (fx, fy) = world.perception().get_position(), world.perception().get_front_position()
        dx, dy = fx - x, fy - y  # start frame: y grows ahead, so right of (dx, dy) is (dy, -dx)
        assert (x + ahead * dx + right * dy, y + ahead * dy - right * dx) == thing.position
    assert marked > 3


def test_without_an_argument_nothing_is_marked() -> None:
    assert tuple(target_row("")) == NO_TARGET == tuple(target_row("no such thing"))
    pool = starts()
    out = np.zeros((3, SIZE), np.uint8)
    write_batch(pool.memory, np.tile(target_row(""), (3, 1)), np.zeros(3, np.int64), out)
    assert out[:, : FAR_SIDE**2].sum() == 0


def test_what_a_check_is_about_is_its_last_description() -> None:
    check = CheckFunction("c", 'def c():\n    return len(find_objects("red ball")) + len(find_objects("box")) > 1\n')
    assert tuple(mark(check)) == tuple(parse("box"))
    assert tuple(mark(CheckFunction("c", "def c():\n    return True\n"))) == NO_TARGET


def test_rows_taken_are_copies() -> None:
    pool = starts()
    taken = take_rows(pool.memory, np.arange(3))
    taken.pose[:] = 0
    assert pool.memory.pose.any()
