"""What policies see in the mirror: a world and its mirror image are one situation, but for left and right."""

from __future__ import annotations

import numpy as np
import pytest

from envs.babyai.bank import LevelBank
from envs.babyai.levels import seeds
from envs.babyai.memory import FORWARD, LEFT, RIGHT, Memory, create
from skills.arena import Arena
from skills.features import FAR, SIZE, write_batch, write_features
from skills.mirror import AS_IT_IS, MIRRORED, side_of, swap_logits, swap_turns
from skills.policy import N_ACTIONS, random_policy
from skills.rows import Rows, put_rows
from skills.starts import Starts, target_row
from skills.subgoal import CheckFunction

N = 48
WORDS = ("ball", "red key", "door", "", "object")
TURNED = (0, 3, 2, 1)
"""Directions in the mirror: right and left stay, up and down change places."""


def walked(level: str) -> Rows:
    """Rows after walks of different lengths."""
    rng, rows = np.random.default_rng(8), Rows(N)
    bank = LevelBank.build(level, sorted(seeds("validation", count=N, seed=6)))
    rows.begin(bank, np.arange(N))
    for _ in range(30):
        rows.step(rng.choice(N_ACTIONS, p=[0.15, 0.15, 0.4, 0.15, 0.0, 0.15], size=N))
    return rows


def mirrored(memory: Memory) -> Memory:
    """The same memories of worlds that are upside down."""
    out, everyone = create(N), np.arange(N)
    put_rows(memory, everyone, out, everyone)
    for i in range(N):
        rooms = int(memory.columns[i])
        last = int(memory.pitch[i]) * rooms
        within = np.arange(last, -1, -1)
        out.cells[i, :, : last + 1] = memory.cells[i][:, within]
        trail = memory.trail[i][:, within]
        bits = [(trail >> turn) & 1 for turn in TURNED]
        out.trail[i, :, : last + 1] = sum(bit << turn for turn, bit in enumerate(bits))
        known = memory.at[i, :, 0] >= 0
        out.at[i, known, 1] = last - memory.at[i, known, 1]
        out.pose[i, 1] = last - memory.pose[i, 1]
        out.pose[i, 2] = TURNED[memory.pose[i, 2]]
        for field in ("visited", "visited_before"):
            seen = int(getattr(memory, field)[i])
            places = [(room % rooms, room // rooms) for room in range(rooms * rooms) if seen >> room & 1]
            getattr(out, field)[i] = sum(1 << (rooms - 1 - y) * rooms + x for x, y in places)
        x, y = int(memory.room[i]) % rooms, int(memory.room[i]) // rooms
        out.room[i] = (rooms - 1 - y) * rooms + x if memory.room[i] >= 0 else -1
    return out


@pytest.mark.parametrize("level", ["PutNextLocal", "BossLevel"])
@pytest.mark.parametrize("words", WORDS)
def test_a_mirrored_world_is_the_same_seen_from_the_other_side(level: str, words: str) -> None:
    memory, target = walked(level).memory, target_row(words)
    image = mirrored(memory)
    here, there = np.zeros((2, SIZE), np.uint8)
    for i in range(N):
        for side in (AS_IT_IS, MIRRORED):
            write_features(memory, i, target, side, here)
            write_features(image, i, target, -side, there)
            assert np.array_equal(here, there)


@pytest.mark.parametrize("words", WORDS)
def test_policies_answer_a_mirrored_world_with_mirrored_turns(words: str) -> None:
    memory = walked("PutNextLocal").memory
    image, targets = mirrored(memory), np.tile(target_row(words), (N, 1))
    policy = random_policy(np.random.default_rng(0))
    sides, inputs = np.zeros((2, N), np.int64), np.zeros((2, N, SIZE), np.uint8)
    write_batch(memory, targets, sides[0], inputs[0])
    write_batch(image, targets, sides[1], inputs[1])
    told = sides[0] != sides[1]  # where nothing tells the sides from one another, both are seen as they are
    assert told.sum() > N / 2
    first, second = (swap_logits(policy.logits(each), side) for each, side in zip(inputs, sides, strict=True))
    assert np.allclose(first[told][:, [RIGHT, LEFT, *range(FORWARD, N_ACTIONS)]], second[told])


def test_the_target_is_on_the_right() -> None:
    memory, target = walked("GoToLocal").memory, target_row("object #0")
    for i in range(N):
        side = side_of(memory, i, target, FAR)
        (x, y, direction), (ox, oy) = (int(v) for v in memory.pose[i]), (int(v) for v in memory.at[i, 0])
        rx, ry = ((0, 1), (-1, 0), (0, -1), (1, 0))[direction]
        if ox >= 0:
            assert side * ((ox - x) * rx + (oy - y) * ry) >= 0


def test_one_row_acts_as_many_do() -> None:
    memory, targets = walked("PutNextLocal").memory, np.tile(target_row("ball"), (N, 1))
    policy = random_policy(np.random.default_rng(1))
    together = policy.act_batch(memory, targets, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    assert [policy.act(memory, i, targets[i], rng) for i in range(N)] == together.tolist()


def test_turns_are_swapped_back() -> None:
    actions, sides = np.tile(np.arange(N_ACTIONS), 2), np.repeat([AS_IT_IS, MIRRORED], N_ACTIONS)
    once = swap_turns(actions, sides)
    assert once.tolist() == [0, 1, 2, 3, 4, 5, 1, 0, 2, 3, 4, 5]
    assert np.array_equal(swap_turns(once, sides), actions)
    logits = np.arange(2.0 * N_ACTIONS).reshape(2, N_ACTIONS)
    assert swap_logits(logits, np.array([AS_IT_IS, MIRRORED]))[:, :3].tolist() == [[0, 1, 2], [7, 6, 8]]


def test_an_arena_takes_what_a_learner_chose_in_the_mirror() -> None:
    rows = walked("GoToLocal")
    check = CheckFunction("never", "def never():\n    return False\n")
    targets = np.tile(target_row("object #0"), (N, 1))
    starts = Starts(rows.state, rows.memory, targets, (check,), np.zeros(N, np.int64))
    arena = Arena(starts, N, horizon=10, seed=0)
    arena.load(np.arange(N), np.arange(N))
    arena.features()
    before = arena.memory.pose[:, 2].copy()
    sides = np.array([side_of(arena.memory, i, targets[i], FAR) for i in range(N)])
    assert {AS_IT_IS, MIRRORED} == set(sides.tolist())
    arena.step(arena.meant(np.full(N, RIGHT)))
    assert np.array_equal((arena.memory.pose[:, 2] - before) % 4, np.where(sides == MIRRORED, 3, 1))
