"""N BabyAI environments stepped at once by compiled kernels, exactly as minigrid 3.2 would step them one by one.

One thread, no Python objects, no hidden state: everything about environment i is row i of `engine.state`. The row
functions (`step_row`, `reset_row`, `view_row`) are numba functions, so that others can put a step, a memory update and
a check into one loop of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from envs.babyai.bank import LevelBank
from envs.babyai.cells import BALL, BOX, DOOR_CLOSED, DOOR_LOCKED, DOOR_OPEN, EMPTY, KEY, KIND_MASK
from envs.babyai.state import MAX_OBJECTS, MAX_SIZE, PAD, SIDE, State, copy_rows, create
from envs.babyai.verifier import FAILURE, SUCCESS, verify_row
from envs.babyai.view import FORWARD, VIEW, view_row

N_ACTIONS = 7
"""left, right, forward, pickup, drop, toggle, done (which does nothing)."""

__all__ = ["BabyAIEngine", "N_ACTIONS", "Step", "State", "copy_rows", "reset_row", "step_row", "view_row"]


class Step(NamedTuple):
    """What a step gives back. The arrays are the engine's and its next step overwrites them: copy what you keep."""

    views: np.ndarray  # u8 [N, 7, 7] packed codes; of the new episode where one ended and auto-reset is on
    directions: np.ndarray  # u8 [N]
    rewards: np.ndarray  # f32 [N]
    terminated: np.ndarray  # bool [N]
    truncated: np.ndarray  # bool [N]


@njit(cache=True, nogil=True)
def object_at(state, i, spot):  # type: ignore[no-untyped-def]
    """Index of the object or door at a spot of environment i, -1 if there is none."""
    for k in range(MAX_OBJECTS):
        if state.where[i, k] == spot:
            return k
    return -1


@njit(cache=True, nogil=True)
def _pick_up(state, i, front):  # type: ignore[no-untyped-def]
    kind = state.cells[i, front] & KIND_MASK
    if state.carried[i] or not (kind == KEY or kind == BALL or kind == BOX):
        return
    k = object_at(state, i, front)
    state.carried[i] = k + 1
    state.where[i, k] = 0
    state.cells[i, front] = EMPTY


@njit(cache=True, nogil=True)
def _drop(state, i, front):  # type: ignore[no-untyped-def]
    held = state.carried[i]
    if held == 0 or state.cells[i, front] != EMPTY:
        return
    state.carried[i] = 0
    state.where[i, held - 1] = front
    state.cells[i, front] = state.code[i, held - 1]


@njit(cache=True, nogil=True)
def _toggle(state, i, front):  # type: ignore[no-untyped-def]
    code = state.cells[i, front]
    kind = code & KIND_MASK
    colour = code - kind
    if kind == DOOR_OPEN:
        state.cells[i, front] = DOOR_CLOSED | colour
    elif kind == DOOR_CLOSED:
        state.cells[i, front] = DOOR_OPEN | colour
    elif kind == DOOR_LOCKED:
        held = state.carried[i]
        if held and state.code[i, held - 1] == KEY | colour:
            state.cells[i, front] = DOOR_OPEN | colour
    elif kind == BOX:
        box = object_at(state, i, front)
        content = state.inside[i, box]
        state.where[i, box] = 0
        state.cells[i, front] = EMPTY
        if content:
            state.where[i, content - 1] = front
            state.cells[i, front] = state.code[i, content - 1]


@njit(cache=True, nogil=True)
def act_row(state, i, action):  # type: ignore[no-untyped-def]
    """Carry out one action (0..6) in environment i; nothing is judged and the clock does not move."""
    direction = state.direction[i]
    front = np.int64(state.spot[i]) + FORWARD[direction]
    if action == 0:
        state.direction[i] = (direction + 3) & 3
    elif action == 1:
        state.direction[i] = (direction + 1) & 3
    elif action == 2:
        code = state.cells[i, front]
        if code == EMPTY or code & KIND_MASK == DOOR_OPEN:
            state.spot[i] = front
    elif action == 3:
        _pick_up(state, i, front)
    elif action == 4:
        _drop(state, i, front)
    elif action == 5:
        _toggle(state, i, front)


@njit(cache=True, nogil=True)
def step_row(state, i, action):  # type: ignore[no-untyped-def]
    """Step environment i by one action (0..6, unchecked): (reward float64, terminated, truncated). No auto-reset."""
    state.steps[i] += 1
    act_row(state, i, action)
    truncated = state.steps[i] >= state.max_steps[i]
    verdict = verify_row(state, i, action)
    if verdict == SUCCESS:
        return 1 - 0.9 * (state.steps[i] / state.max_steps[i]), True, truncated
    return 0.0, verdict == FAILURE, truncated


@njit(cache=True, nogil=True)
def reset_row(state, i, layouts, layout, views, k):  # type: ignore[no-untyped-def]
    """Begin layout `layout` in environment i and draw its first view into views[k].

    When something is carried from the start (PutNext*Carrying), minigrid's first observation is from before it was
    taken up; so is this one.
    """
    for x in range(MAX_SIZE):
        start = (x + PAD) * SIDE + PAD
        for y in range(MAX_SIZE):
            state.cells[i, start + y] = layouts.cells[layout, x, y]
    state.where[i] = layouts.where[layout]
    state.listed[i] = layouts.where[layout]
    state.code[i] = layouts.code[layout]
    state.inside[i] = layouts.inside[layout]
    state.spot[i] = layouts.spot[layout]
    state.direction[i] = layouts.direction[layout]
    state.carried[i] = 0
    state.steps[i] = 0
    state.max_steps[i] = layouts.max_steps[layout]
    state.program[i] = layouts.program[layout]
    state.targets[i] = layouts.targets[layout]
    state.done[i] = 0
    state.held_before[i] = 0
    state.room_size[i] = layouts.room_size[layout]
    state.width[i] = layouts.width[layout]
    state.height[i] = layouts.height[layout]
    state.layout[i] = layout
    view_row(state, i, views, k)
    held = layouts.carried[layout]
    if held:
        state.carried[i] = held
        state.cells[i, state.where[i, held - 1]] = EMPTY
        state.where[i, held - 1] = 0


class _Next(NamedTuple):
    """Which layout comes next: a fixed order of the bank, gone through again and again."""

    order: np.ndarray  # i32 [M]
    cursor: np.ndarray  # i64 [1] resets served so far


@njit(cache=True, nogil=True)
def _reset_rows(state, layouts, rows, chosen, limit, step):  # type: ignore[no-untyped-def]
    for r in range(len(rows)):
        i = rows[r]
        reset_row(state, i, layouts, chosen[r], step.views, i)
        if limit > 0:
            state.max_steps[i] = limit
        step.directions[i] = state.direction[i]


@njit(cache=True, nogil=True)
def _step_all(state, layouts, following, actions, limit, timed, auto_reset, step, final):  # type: ignore[no-untyped-def]
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= N_ACTIONS:
            return i
    for i in range(len(actions)):
        reward, terminated, truncated = step_row(state, i, actions[i])
        truncated = truncated and timed
        step.rewards[i] = reward
        step.terminated[i] = terminated
        step.truncated[i] = truncated
        if auto_reset and (terminated or truncated):
            view_row(state, i, final.views, i)
            final.directions[i] = state.direction[i]
            final.steps[i] = state.steps[i]
            final.layouts[i] = state.layout[i]
            chosen = following.order[following.cursor[0] % len(following.order)]
            following.cursor[0] += 1
            reset_row(state, i, layouts, chosen, step.views, i)
            if limit > 0:
                state.max_steps[i] = limit
        else:
            view_row(state, i, step.views, i)
        step.directions[i] = state.direction[i]
    return -1


class Final(NamedTuple):
    """The last moment of episodes that ended: rows are valid where the last step said terminated or truncated."""

    views: np.ndarray  # u8 [N, 7, 7]
    directions: np.ndarray  # u8 [N]
    steps: np.ndarray  # i32 [N] length of the episode
    layouts: np.ndarray  # i32 [N] row of the bank it was played in


class BabyAIEngine:
    """N environments over a bank of layouts.

    `max_steps` overrides the layouts' own limit (as gym.make(id, max_steps=...) does; it scales the reward too).
    `time_limit=False` lifts the limit: nothing is truncated. `auto_reset=False`: episodes run on after their end until
    the caller resets or replaces the rows. Auto-resets go through the bank in an order shuffled by `seed`.
    """

    def __init__(
        self,
        bank: LevelBank,
        n_envs: int,
        *,
        max_steps: int | None = None,
        time_limit: bool = True,
        auto_reset: bool = True,
        seed: int = 0,
    ) -> None:
        if n_envs < 1:
            raise ValueError(f"n_envs must be at least 1, got {n_envs}")
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {max_steps}")
        self.bank = bank
        self.n_envs = n_envs
        self.state = create(n_envs)
        self.time_limit = time_limit
        self.auto_reset = auto_reset
        self._limit = max_steps or 0
        order = np.random.default_rng(seed).permutation(len(bank)).astype(np.int32)
        self._following = _Next(order, np.zeros(1, np.int64))
        views, directions = np.zeros((n_envs, VIEW, VIEW), np.uint8), np.zeros(n_envs, np.uint8)
        flags = np.zeros((2, n_envs), np.bool_)
        self._step = Step(views, directions, np.zeros(n_envs, np.float32), flags[0], flags[1])
        self.final = Final(views.copy(), directions.copy(), np.zeros(n_envs, np.int32), np.zeros(n_envs, np.int32))

    def reset(self, rows: np.ndarray | None = None, layouts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Begin layouts (rows of the bank) in the given environments (default: all, the next layouts of the bank).

        Returns views u8 [N, 7, 7] and directions u8 [N] of all environments, valid until the next call.
        Raises ValueError on rows or layouts out of range or of the wrong shape or dtype.
        """
        chosen_rows = np.arange(self.n_envs) if rows is None else _indices(rows, below=self.n_envs, name="rows")
        if layouts is None:
            served = self._following.cursor[0] + np.arange(len(chosen_rows))
            chosen = self._following.order[served % len(self.bank)].astype(np.int64)
            self._following.cursor[0] += len(chosen_rows)
        else:
            chosen = _indices(layouts, below=len(self.bank), name="layouts")
        if len(chosen) != len(chosen_rows):
            raise ValueError(f"{len(chosen_rows)} rows but {len(chosen)} layouts")
        _reset_rows(self.state, self.bank.layouts, chosen_rows, chosen, self._limit, self._step)
        return self._step.views, self._step.directions

    def step(self, actions: np.ndarray) -> Step:
        """Step every environment by its action (0..6). Raises ValueError on a wrong shape, dtype or range."""
        actions = np.asarray(actions)
        if actions.shape != (self.n_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers of shape ({self.n_envs},), got {actions.dtype} {actions.shape}")
        wrong = _step_all(
            self.state,
            self.bank.layouts,
            self._following,
            actions.astype(np.int64, copy=False),
            self._limit,
            self.time_limit,
            self.auto_reset,
            self._step,
            self.final,
        )
        if wrong >= 0:
            raise ValueError(f"action {int(actions[wrong])} of environment {wrong} is not in 0..{N_ACTIONS - 1}")
        return self._step

    def observe(self) -> tuple[np.ndarray, np.ndarray]:
        """Draw all views anew (after rows of `state` were replaced): views u8 [N, 7, 7], directions u8 [N]."""
        _view_all(self.state, self._step.views, self._step.directions)
        return self._step.views, self._step.directions

    def mission(self, row: int) -> str:
        """Text of the mission that environment `row` is playing, if its episode began from this engine's bank."""
        return self.bank.mission(int(self.state.layout[row]))

    @property
    def latest(self) -> Step:
        """What the last step or reset gave, without a copy."""
        return self._step

    @property
    def reuse(self) -> float:
        """How often a layout of the bank has been played on average."""
        return float(self._following.cursor[0] / len(self.bank))


@njit(cache=True, nogil=True)
def _view_all(state, views, directions):  # type: ignore[no-untyped-def]
    for i in range(len(directions)):
        view_row(state, i, views, i)
        directions[i] = state.direction[i]


def _indices(values: np.ndarray, *, below: int, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of integers, got {array.dtype} {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"{name} must lie in 0..{below - 1}, got {array.min()}..{array.max()}")
    return array.astype(np.int64)
