"""Actions that policies don't take: each of them, tried in the world, changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.cells import FORWARD, LEFT, RIGHT
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.practice.batch_world import BabyAIRows
from sdg.envs.babyai.practice.inputs import MAP_INPUTS, N_ACTIONS, NEVER, mask_noop_actions_of_rows
from sdg.envs.instructions import seeds
from tests.shared.library_samples import random_bits

WORLD = ("cells", "where", "spot", "direction", "carried")


def _wandered(level: str, steps: int) -> BabyAIRows:
    """Rows after random actions, hands and doors included."""
    rng, n = np.random.default_rng(3), 64
    bank = BABYAI.layouts(level, sorted(seeds("validation", count=16, seed=5)))
    rows = BABYAI.begin(bank, rng.integers(16, size=n))
    for _ in range(steps):
        rows.step(rng.choice(N_ACTIONS, p=[0.15, 0.15, 0.35, 0.15, 0.05, 0.15], size=n))
    return rows


@pytest.mark.parametrize("level", ["BossLevel", "UnlockLocal", "PutNextLocal", "KeyInBox"])
@pytest.mark.parametrize("steps", [0, 12, 60])
def test_a_barred_action_changes_nothing(level: str, steps: int) -> None:
    rows = _wandered(level, steps)
    logits = np.zeros((len(rows.state), N_ACTIONS), np.float32)
    mask_noop_actions_of_rows(rows.memory, logits)
    everyone = np.arange(len(logits))
    for action in range(N_ACTIONS):
        tried = rows.take(everyone)
        tried.step(np.full(len(logits), action))
        same = np.ones(len(logits), bool)
        for name in WORLD:
            same &= (tried.state[name] == rows.state[name]).reshape(len(logits), -1).all(axis=1)
        barred = logits[:, action] == NEVER
        assert same[barred].all(), action
        assert barred[same].all() or action in (LEFT, RIGHT), action


def test_a_policy_takes_none_of_them() -> None:
    rows, policy = _wandered("BossLevel", 40), random_bits(MAP_INPUTS, np.random.default_rng(0))
    logits = np.zeros((len(rows.state), N_ACTIONS), np.float32)
    mask_noop_actions_of_rows(rows.memory, logits)
    targets, rng = np.zeros((len(logits), 4), np.int16), np.random.default_rng(1)
    barred = logits == NEVER
    assert barred[:, FORWARD].any()
    for _ in range(20):
        assert not barred[np.arange(len(logits)), policy.act_batch(rows.memory, targets, rng)].any()
        assert not any(barred[i, policy.act(rows.memory, i, targets[i], rng)] for i in range(len(logits)))
