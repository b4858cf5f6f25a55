"""Where skills are practised: n rows of the batched engine that start from a pool and are paid by check functions.

Policies see `envs/babyai/practice/features.py`, nothing else. `skills/learning/vec_env.py` is the arena's face for
stable-baselines3.
"""

from __future__ import annotations

import numpy as np

from sdg.envs.babyai.cells import BOX, KIND_MASK
from sdg.envs.babyai.engine.state import cells_ahead
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.batch import Rows, put_rows
from sdg.envs.babyai.practice.features import SIZE, write_batch
from sdg.envs.babyai.practice.mirror import swap_turns
from sdg.skills.checks.reward import BatchReward
from sdg.skills.policy.network import Policy
from sdg.skills.practice.starts import Starts


class Arena:
    """n rows that play from `starts` for at most `horizon` steps each; the check of a row's start ends it.

    With `stays` a check counts only in the room in which the row began: "nothing unseen here" is soon true elsewhere.
    """

    def __init__(self, starts: Starts, n: int, *, horizon: int, seed: int, stays: bool = False) -> None:
        self.starts, self.horizon, self.stays = starts, horizon, stays
        self.began_in = np.zeros(n, np.int64)
        self.reward = BatchReward(starts.checks)
        self.rows = Rows(n)
        self.rng = np.random.default_rng(seed)
        self.start_of = np.zeros(n, np.int64)
        self.targets = np.zeros((n, 4), np.int16)
        self.age = np.zeros(n, np.int64)
        self.steps = 0
        self._sides = np.ones(n, np.int64)

    @property
    def memory(self) -> Memory:
        """What each row's robot has seen."""
        return self.rows.memory

    def load(self, rows: np.ndarray, starts: np.ndarray) -> None:
        """Put `rows` into the states `starts` (indices into the pool)."""
        put_rows(self.starts.state, starts, self.rows.state, rows)
        put_rows(self.starts.memory, starts, self.rows.memory, rows)
        self.start_of[rows] = starts
        self.targets[rows] = self.starts.targets[starts]
        self.age[rows] = 0
        self.began_in[rows] = self.memory.room[rows]

    def load_random(self, rows: np.ndarray) -> None:
        """Put `rows` into states drawn from the pool."""
        self.load(rows, self.rng.integers(len(self.starts), size=len(rows)))

    def features(self) -> np.ndarray:
        """Inputs u8 (n, SIZE) of all rows."""
        out = np.zeros((len(self.age), SIZE), np.uint8)
        write_batch(self.memory, self.targets, self._sides, out)
        return out

    def meant(self, actions: np.ndarray) -> np.ndarray:
        """The actions (n,) for `step` that were chosen by the latest `features`, which may be mirrored."""
        return swap_turns(actions, self._sides)

    def before_boxes(self) -> np.ndarray:
        """Whether each row's robot faces a box, bool (n,)."""
        codes = cells_ahead(self.rows.state)
        return (codes & KIND_MASK) == BOX

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step all rows; (fired, mission over, mission succeeded) as bool (n,)."""
        over, succeeded = self.rows.step(actions)
        self.age += 1
        self.steps += len(actions)
        fired = self.reward(self.memory, self.starts.check_of[self.start_of])
        if self.stays:
            fired &= self.memory.room == self.began_in
        return fired, over, succeeded


def success_of(
    policy: Policy, starts: Starts, *, horizon: int, seed: int, most: int = 512, stays: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Play every start once: (reached bool (M,), steps taken i64 (M,)), with actions drawn as in use."""
    reached, steps = np.zeros(len(starts), bool), np.full(len(starts), horizon, np.int64)
    for first in range(0, len(starts), most):
        rows = np.arange(first, min(first + most, len(starts)))
        part = starts.take(rows)
        reached[rows], steps[rows], _ = play(policy, part, horizon=horizon, seed=seed + first, stays=stays)
    return reached, steps


def play(
    policy: Policy, starts: Starts, *, horizon: int, seed: int, stays: bool = False
) -> tuple[np.ndarray, np.ndarray, Starts]:
    """Run a skill from every start at once; (reached, steps, the starts' rows as each attempt leaves them)."""
    n = len(starts)
    arena = Arena(starts, n, horizon=horizon, seed=seed, stays=stays)
    arena.load(np.arange(n), np.arange(n))
    after = starts.take(np.arange(n))
    fired = arena.reward(arena.memory, starts.check_of)
    reached, steps = fired.copy(), np.where(fired, 0, horizon)
    dead = np.zeros(n, bool)
    for t in range(1, horizon + 1):
        if (reached | dead).all():
            break
        fired, over, _ = arena.step(policy.act_batch(arena.memory, arena.targets, arena.rng))
        new = np.flatnonzero(fired & ~reached & ~dead)
        put_rows(arena.rows.state, new, after.state, new)
        put_rows(arena.rows.memory, new, after.memory, new)
        reached[new], steps[new] = True, t
        dead |= over
    failed = np.flatnonzero(~reached)
    put_rows(arena.rows.state, failed, after.state, failed)
    put_rows(arena.rows.memory, failed, after.memory, failed)
    return reached, steps, after
