"""n rows of the engine with the memory that their robots build: the world as skills are practised in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdg.envs.babyai.engine import state as states
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import reset_row, step_row
from sdg.envs.babyai.engine.state import pose_of
from sdg.envs.babyai.engine.view import VIEW, view_row
from sdg.envs.babyai.perception import memory as memories
from sdg.envs.babyai.perception.memory import begin, begin_subgoal, observe
from sdg.envs.kernels import kernel, wide

DONE = 6
"""minigrid's action that changes nothing; rows that wait for others take it."""
_NO_LIMIT = 1_000_000
"""Steps: practice has no time limit but its own horizon (the reward of a mission stays positive below this)."""


@kernel
def _begin_rows(state, memory, layouts, chosen, views):  # type: ignore[no-untyped-def]
    pose = np.zeros(3, np.int64)
    for i in range(len(chosen)):
        row = state[i]
        reset_row(row, layouts[chosen[i]], chosen[i], views, i)
        row.max_steps = _NO_LIMIT
        pose_of(row, pose)
        begin(memory, i, views[i], pose, wide(row.room_size), wide(row.width), wide(row.height))


@kernel
def _step_rows(state, memory, actions, views, over, succeeded):  # type: ignore[no-untyped-def]
    for i in range(len(actions)):
        row = state[i]
        reward, terminated, _ = step_row(row, actions[i])
        over[i] = terminated
        succeeded[i] = terminated and reward > 0
        view_row(row, views, i)
        observe(memory, i, views[i], wide(row.direction), actions[i])


@kernel
def begin_subgoals(memory):  # type: ignore[no-untyped-def]
    """The current subgoal of every row begins now."""
    for i in range(memory.steps.shape[0]):
        begin_subgoal(memory, i)


class Rows:
    """n rows of world and memory that step together, without auto-reset and without a time limit.

    `state` holds the true worlds: policies and checks never see it, only `memory`, which is built from views.
    """

    def __init__(self, n: int) -> None:
        self.state = states.create(n)
        self.memory = memories.create(n)
        self._views = np.zeros((n, VIEW, VIEW), np.uint8)

    def begin(self, bank: LevelBank, layouts: np.ndarray) -> None:
        """Reset row i to layout `layouts[i]` of the bank and let its robot look."""
        _begin_rows(self.state, self.memory, bank.layouts, np.asarray(layouts, np.int64), self._views)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row by an action (0..6); bool (n,) twice: the mission is over, the mission succeeded."""
        over, succeeded = np.zeros(len(actions), np.bool_), np.zeros(len(actions), np.bool_)
        _step_rows(self.state, self.memory, np.asarray(actions, np.int64), self._views, over, succeeded)
        return over, succeeded


def take_rows(values: Any, rows: np.ndarray) -> Any:
    """Just these rows of a state or a memory, copied."""
    if isinstance(values, np.ndarray):
        return values[rows]
    return type(values)(*(array[rows] for array in values))


def put_rows(source: Any, rows: np.ndarray, target: Any, target_rows: np.ndarray) -> None:
    """Copy rows of one state or memory onto rows of another."""
    if isinstance(source, np.ndarray):
        target[target_rows] = source[rows]
        return
    for here, there in zip(source, target, strict=True):
        there[target_rows] = here[rows]


def join_rows(parts: list[Any]) -> Any:
    """All rows of all parts, in order."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts).view(type(parts[0]))
    return type(parts[0])(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
