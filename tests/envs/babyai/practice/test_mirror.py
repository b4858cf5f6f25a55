"""What policies see in the mirror: a world and its mirror image are one situation, but for left and right."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import FORWARD, LEFT, RIGHT
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.batch_world import BabyAIRows
from sdg.envs.babyai.practice.inputs import (
    AS_IT_IS,
    FAR,
    MAP_INPUTS,
    MIRRORED,
    N_ACTIONS,
    SIZE,
    side_of,
    write_batch,
    write_features,
)
from sdg.envs.instructions import seeds
from sdg.skills.learning.ppo import RowsVecEnv
from sdg.skills.learning.vec_env import PracticeVecEnv
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.starts import Starts
from sdg.skills.search.ppo_search import SearchVecEnv
from sdg.skills.search.trial import SearchSettings, Trial
from sdg.skills.subgoal import CheckFunction
from tests.shared.library_samples import random_bits

N = 48
NEVER_TRUE = CheckFunction("never", "def never():\n    return False\n")
WORDS = ("ball", "red key", "door", "", "object")
TURNED = (0, 3, 2, 1)
"""Directions in the mirror: right and left stay, up and down change places."""


def walk_rows(level: str) -> BabyAIRows:
    """Rows after walks of different lengths."""
    rng = np.random.default_rng(8)
    rows = BABYAI.begin(BABYAI.layouts(level, sorted(seeds("validation", count=N, seed=6))), np.arange(N))
    for _ in range(30):
        rows.step(rng.choice(N_ACTIONS, p=[0.15, 0.15, 0.4, 0.15, 0.0, 0.15], size=N))
    return rows


def mirror_memory(memory: Memory) -> Memory:
    """The same memories of worlds that are upside down."""
    out = Memory(*(array.copy() for array in memory))
    for i in range(N):
        rooms = int(memory.columns[i])
        last = int(memory.pitch[i]) * rooms
        within = np.arange(last, -1, -1)
        out.cells[i, :, : last + 1] = memory.cells[i][:, within]
        trail = memory.trail[i][:, within]
        bits = [(trail >> turn) & 1 for turn in TURNED]
        out.trail[i, :, : last + 1] = sum(bit << turn for turn, bit in enumerate(bits))
        present = memory.at[i, :, 0] >= 0
        out.at[i, present, 1] = last - memory.at[i, present, 1]
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
    memory, target = walk_rows(level).memory, BABYAI.language.row(words)
    image = mirror_memory(memory)
    here, there = np.zeros((2, SIZE), np.uint8)
    for i in range(N):
        for side in (AS_IT_IS, MIRRORED):
            write_features(memory, i, target, side, here)
            write_features(image, i, target, -side, there)
            assert np.array_equal(here, there)


@pytest.mark.parametrize("words", WORDS)
def test_policies_answer_a_mirrored_world_with_mirrored_turns(words: str) -> None:
    memory = walk_rows("PutNextLocal").memory
    image, targets = mirror_memory(memory), np.tile(BABYAI.language.row(words), (N, 1))
    policy = random_bits(MAP_INPUTS, np.random.default_rng(0))
    sides, inputs = np.zeros((2, N), np.int64), np.zeros((2, N, SIZE), np.uint8)
    write_batch(memory, targets, sides[0], inputs[0])
    write_batch(image, targets, sides[1], inputs[1])
    mirrored_rows = sides[0] != sides[1]  # where nothing tells the sides from one another, both are seen as they are
    assert mirrored_rows.sum() > N / 2
    first, second = (MAP_INPUTS.to_world(policy.outputs(rows), side) for rows, side in zip(inputs, sides, strict=True))
    assert np.allclose(first[mirrored_rows][:, [RIGHT, LEFT, *range(FORWARD, N_ACTIONS)]], second[mirrored_rows])


def test_the_target_is_on_the_right() -> None:
    memory, target = walk_rows("GoToLocal").memory, BABYAI.language.row("object #0")
    for i in range(N):
        side = side_of(memory, i, target, FAR)
        x, y, direction = map(int, memory.pose[i])
        ox, oy = map(int, memory.at[i, 0])
        rx, ry = ((0, 1), (-1, 0), (0, -1), (1, 0))[direction]
        if ox >= 0:
            assert side * ((ox - x) * rx + (oy - y) * ry) >= 0


def test_one_row_acts_as_many_do() -> None:
    memory, targets = walk_rows("PutNextLocal").memory, np.tile(BABYAI.language.row("ball"), (N, 1))
    policy = random_bits(MAP_INPUTS, np.random.default_rng(1))
    together = policy.act_batch(memory, targets, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    assert [policy.act(memory, i, targets[i], rng) for i in range(N)] == together.tolist()


def test_turns_are_swapped_back() -> None:
    actions, sides = np.tile(np.arange(N_ACTIONS), 2), np.repeat([AS_IT_IS, MIRRORED], N_ACTIONS)
    once = MAP_INPUTS.actions_to_world(actions, sides)
    assert once.tolist() == [0, 1, 2, 3, 4, 5, 1, 0, 2, 3, 4, 5]
    assert np.array_equal(MAP_INPUTS.actions_to_world(once, sides), actions)
    logits = np.arange(2.0 * N_ACTIONS).reshape(2, N_ACTIONS)
    assert MAP_INPUTS.to_world(logits, np.array([AS_IT_IS, MIRRORED]))[:, :3].tolist() == [[0, 1, 2], [7, 6, 8]]


def test_what_a_learner_chose_in_the_mirror_is_turned_back_in_practice() -> None:
    rows = walk_rows("GoToLocal")
    targets = np.tile(BABYAI.language.row("object #0"), (N, 1))
    env = PracticeVecEnv(
        PracticeEnv(Starts(rows, targets, (NEVER_TRUE,), np.zeros(N, np.int64)), N, horizon=10, seed=0)
    )
    env.reset()
    _turns_right_as_shown(env, env.env)


def test_what_a_learner_chose_in_the_mirror_is_turned_back_in_a_search() -> None:
    n_right = 0
    for i in range(8):
        rows, target = walk_rows("GoToLocal").take(np.array([i])), BABYAI.language.row("object")
        starts = Starts(rows, target[None], (NEVER_TRUE,), np.zeros(1, np.int64))
        trial = Trial(starts, NEVER_TRUE, must_succeed=False, budget=1000, settings=SearchSettings(), seed=0)
        env = SearchVecEnv(trial)
        env.reset()
        n_right += _turns_right_as_shown(env, trial.env)
        mirrored = trial.actions[0][0] == LEFT
        assert mirrored == (side_of(starts.memory, 0, trial.env.targets[0], FAR) == MIRRORED)
    assert 0 < n_right < 8, "these starts are all seen from one side"


def _turns_right_as_shown(env: RowsVecEnv, practice: PracticeEnv) -> bool:
    """Turn every row to the right as it is shown; whether the first is mirrored."""
    n = len(practice.age)
    sides = np.array([side_of(practice.memory, i, practice.targets[i], FAR) for i in range(n)])
    before = practice.memory.pose[:, 2].copy()
    env.step(np.full(n, RIGHT))
    stayed = practice.age == 1  # others ended with the step and began anew
    assert stayed.sum() > n / 2
    turned = (practice.memory.pose[:, 2] - before) % 4
    assert np.array_equal(turned[stayed], np.where(sides == MIRRORED, 3, 1)[stayed])
    return bool(sides[0] == MIRRORED)
