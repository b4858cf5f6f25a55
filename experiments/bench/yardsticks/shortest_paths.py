"""How far a start is from its subgoal: a breadth-first search over poses in the true world, which no robot can see.

It says which starts can be solved at all, and in how many steps. It is a yardstick of the report and of tests and
decides nothing in learning: nothing below this floor can import it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdg.envs.babyai.cells import BALL, BOX, DOOR_CLOSED, DOOR_LOCKED, DOOR_OPEN, EMPTY, FLOOR, GOAL, KEY, KIND_MASK
from sdg.envs.babyai.engine.state import cells_ahead
from sdg.envs.babyai.perception.memory import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE
from sdg.envs.babyai.practice.batch_world import BabyAIRows
from sdg.envs.batch import BatchWorld
from sdg.skills.checks.reward import BatchReward
from sdg.skills.practice.starts import Starts

NEVER = -1
"""Steps of a start whose subgoal the search didn't reach."""

STARTS_AT_ONCE = 64
"""Starts that are searched side by side: a few thousand rows a layer."""

_WALKABLE = np.isin(np.arange(16), (EMPTY, FLOOR, DOOR_OPEN, GOAL))
_SHUT = np.isin(np.arange(16), (DOOR_CLOSED, DOOR_LOCKED))
_LOOSE = np.isin(np.arange(16), (KEY, BALL, BOX))


def shortest(starts: Starts, *, limit: int) -> np.ndarray:
    """Steps i64 (M,) of the shortest way found to each start's check; NEVER where none of `limit` steps was found.

    Ways walk and turn; hands are used only as a last step, so a way that needs a door opened or something moved first
    isn't found. Of several ways to a pose the first is followed: another might have seen more.
    """
    steps = np.full(len(starts), NEVER, np.int64)
    for first in range(0, len(starts), STARTS_AT_ONCE):
        chosen = np.arange(first, min(first + STARTS_AT_ONCE, len(starts)))
        steps[chosen] = _search(starts.take(chosen), limit)
    return steps


def _search(starts: Starts, limit: int) -> np.ndarray:
    reward = BatchReward(starts.checks, starts.domain)
    steps = np.where(reward(starts.memory, starts.check_of), 0, NEVER)
    layer = _Layer(_rows(starts.rows), np.arange(len(starts)))
    seen = layer.poses()
    for depth in range(1, limit + 1):
        layer = layer.take(np.flatnonzero(steps[layer.owner] == NEVER))
        if not len(layer.owner):
            break
        after, last = layer.step()
        fired = reward(after.rows.memory, starts.check_of[after.owner])
        steps[after.owner[fired]] = depth
        poses = after.poses()
        _, first = np.unique(poses, return_index=True)
        new = first[~np.isin(poses[first], seen) & ~last[first]]
        seen = np.union1d(seen, poses[new])
        layer = after.take(np.sort(new))
    return steps


@dataclass(frozen=True, eq=False)
class _Layer:
    """The rows of one depth; `owner` (n,) says which start each belongs to."""

    rows: BabyAIRows
    owner: np.ndarray

    def take(self, rows: np.ndarray) -> _Layer:
        return _Layer(self.rows.take(rows), self.owner[rows])

    def poses(self) -> np.ndarray:
        """A number for each row that is the same where start, spot and direction are."""
        state = self.rows.state
        return (self.owner * 2048 + state.spot.astype(np.int64)) * 4 + state.direction

    def step(self) -> tuple[_Layer, np.ndarray]:
        """Every row under every action that may change something, and which of them used a hand."""
        kind = cells_ahead(self.rows.state) & KIND_MASK
        full = self.rows.state.carried > 0
        everyone = np.ones(len(self.owner), bool)
        can = {
            LEFT: everyone,
            RIGHT: everyone,
            FORWARD: _WALKABLE[kind],
            PICKUP: _LOOSE[kind] & ~full,
            DROP: full & (kind == EMPTY),
            TOGGLE: _SHUT[kind],
        }
        chosen = [np.flatnonzero(rows) for rows in can.values()]
        actions = np.repeat(list(can), [len(rows) for rows in chosen])
        before = self.take(np.concatenate(chosen))
        before.rows.step(actions)
        return before, np.isin(actions, (PICKUP, DROP, TOGGLE))


def _rows(rows: BatchWorld) -> BabyAIRows:
    if not isinstance(rows, BabyAIRows):
        raise TypeError(f"only BabyAI's true worlds can be searched, not those of {rows.domain.name}")
    return rows
