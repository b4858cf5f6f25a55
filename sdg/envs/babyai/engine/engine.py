"""N BabyAI environments stepped at once by compiled kernels, exactly as minigrid 3.2 would step them one by one.

One thread, no Python objects, no hidden state: everything about environment i is row i of `engine.state`, on which the
robot turns, walks, takes, drops and opens. The row functions (`step_row`, `reset_row`, `view_row`) are numba functions,
so that others can put a step, a memory update and a check into one loop of their own.
"""

from typing import NamedTuple

import numpy as np

from sdg.envs.babyai.cells import BALL, BOX, DOOR_CLOSED, DOOR_LOCKED, DOOR_OPEN, EMPTY, KEY, KIND_MASK
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.state import (
    FORWARD,
    MAX_OBJECTS,
    MAX_SIZE,
    N_CLAUSES,
    PAD,
    PROGRAM_SIZE,
    SIDE,
    VIEW,
    create,
    view_row,
)
from sdg.envs.babyai.engine.verifier import FAILURE, SUCCESS, verify_row
from sdg.envs.kernels import inner_kernel, kernel


class EngineStep(NamedTuple):
    """What a step gives back. The arrays are the engine's and its next step overwrites them: copy what you keep."""

    views: np.ndarray  # u8 [N, 7, 7] packed codes; of the new episode where one ended and auto-reset is on
    directions: np.ndarray  # u8 [N]
    rewards: np.ndarray  # f32 [N]
    terminated: np.ndarray  # bool [N]
    truncated: np.ndarray  # bool [N]


class Final(NamedTuple):
    """The last moment of episodes that ended: rows are valid where the last step said terminated or truncated."""

    views: np.ndarray  # u8 [N, 7, 7]
    directions: np.ndarray  # u8 [N]
    steps: np.ndarray  # i32 [N] length of the episode
    layouts: np.ndarray  # i32 [N] row of the bank it was played in


N_ACTIONS = 7
"""left, right, forward, pickup, drop, toggle, done (which does nothing)."""


_TURN = np.array([3, 1, 0, 0, 0, 0, 0], np.uint8)
"""By action: quarter turns to the right."""


def _kinds(*kinds: int) -> int:
    return sum(1 << kind for kind in kinds)


_HAPPENS = np.array(
    [
        0,
        0,
        _kinds(EMPTY, DOOR_OPEN),
        _kinds(KEY, BALL, BOX),
        _kinds(EMPTY),
        _kinds(DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED, BOX),
        0,
    ],
    np.int64,
)
"""By action: bits of the kinds of cell ahead on which it can have an effect."""


@inner_kernel
def object_at(row, spot):  # type: ignore[no-untyped-def]
    """Index of the object or door at a spot of an environment, -1 if there is none."""
    for k in range(MAX_OBJECTS):
        if row.where[k] == spot:
            return k
    return -1


@inner_kernel
def _pick_up(row, front):  # type: ignore[no-untyped-def]
    if row.carried:
        return
    k = object_at(row, front)
    row.carried, row.where[k], row.cells[front], row.moved = k + 1, 0, EMPTY, 1


@inner_kernel
def _drop(row, front):  # type: ignore[no-untyped-def]
    number = row.carried
    if number == 0:
        return
    row.carried, row.where[number - 1], row.cells[front], row.moved = 0, front, row.code[number - 1], 1


@inner_kernel
def _toggle(row, front, kind, colour):  # type: ignore[no-untyped-def]
    if kind == DOOR_OPEN:
        row.cells[front] = DOOR_CLOSED | colour
    elif kind == DOOR_CLOSED:
        row.cells[front] = DOOR_OPEN | colour
    elif kind == DOOR_LOCKED:
        number = row.carried
        if number and row.code[number - 1] == KEY | colour:
            row.cells[front] = DOOR_OPEN | colour
    else:
        box = object_at(row, front)
        content = row.inside[box]
        row.where[box], row.cells[front], row.moved = 0, EMPTY, 1
        if content:
            row.where[content - 1], row.cells[front] = front, row.code[content - 1]


@inner_kernel
def act_row(row, action):  # type: ignore[no-untyped-def]
    """Carry out one action (0..6) in an environment; nothing is judged and the clock does not move.

    Written with few branches: which action comes is what a processor cannot foresee, that nothing happens is likely.
    """
    direction = row.direction
    spot = np.int64(row.spot)
    front = spot + FORWARD[direction]
    code = row.cells[front]
    kind = code & KIND_MASK
    happens = (_HAPPENS[action] >> kind) & 1
    row.direction = (direction + _TURN[action]) & 3
    row.spot = front if happens & (action == 2) else spot
    if happens & (action > 2):
        if action == 3:
            _pick_up(row, front)
        elif action == 4:
            _drop(row, front)
        else:
            _toggle(row, front, kind, code - kind)


# Kernels are given plain tuples: numba's cache on disk pickles the class of a named one, and stumbles if it is renamed.


@inner_kernel
def step_row(row, action):  # type: ignore[no-untyped-def]
    """Step an environment by one action (0..6, unchecked): (reward float64, terminated, truncated). No auto-reset."""
    row.steps += 1
    act_row(row, action)
    truncated = row.steps >= row.max_steps
    verdict = verify_row(row, action)
    if verdict == SUCCESS:
        return 1 - 0.9 * (row.steps / row.max_steps), True, truncated
    return 0.0, verdict == FAILURE, truncated


@inner_kernel
def reset_row(row, layout, number, limit, views, k):  # type: ignore[no-untyped-def]
    """Begin a layout (a row of a bank, whose number is kept) in an environment and draw its first view into views[k]. A
    `limit` of 0 steps is the layout's own.

    When something is carried from the start (PutNext*Carrying), minigrid's first observation is from before it was
    taken up; so is this one.
    """
    for spot in range(MAX_SIZE * SIDE):
        row.cells[PAD * SIDE + spot] = layout.cells[spot]
    for n in range(MAX_OBJECTS):
        row.where[n] = row.listed[n] = layout.where[n]
        row.code[n], row.inside[n] = layout.code[n], layout.inside[n]
    for n in range(PROGRAM_SIZE):
        row.program[n] = layout.program[n]
    for clause in range(N_CLAUSES):
        row.targets[clause, 0], row.targets[clause, 1] = layout.targets[clause, 0], layout.targets[clause, 1]
        row.held_before[clause] = 0
    for part in range(2 + N_CLAUSES):
        row.done[part] = 0
    row.moved, row.carried, row.steps, row.layout = 0, 0, 0, number
    row.spot, row.direction, row.columns = layout.spot, layout.direction, layout.columns
    row.max_steps = limit if limit > 0 else layout.max_steps
    row.room_size, row.width, row.height = layout.room_size, layout.width, layout.height
    view_row(row, views, k)
    thing = layout.carried
    if thing:
        row.cells[row.where[thing - 1]] = EMPTY
        row.carried, row.where[thing - 1], row.moved = thing, 0, 1


@kernel
def _reset_rows(state, layouts, rows, numbers, limit, step):  # type: ignore[no-untyped-def]
    views, directions, _, _, _ = step
    for r in range(len(rows)):
        i = rows[r]
        row = state[i]
        reset_row(row, layouts[numbers[r]], numbers[r], limit, views, i)
        directions[i] = row.direction


@kernel
def _step_all(state, layouts, order, cursor, actions, limit, auto_reset, step, final):  # type: ignore[no-untyped-def]
    """Step all; the index of the first action out of range (then nothing was stepped), or -1."""
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= N_ACTIONS:
            return i
    views, directions, rewards, terminations, truncations = step
    final_views, final_directions, final_steps, final_layouts = final
    for i in range(len(actions)):
        row = state[i]
        rewards[i], terminations[i], truncations[i] = step_row(row, actions[i])
        if auto_reset and (terminations[i] or truncations[i]):
            view_row(row, final_views, i)
            final_directions[i], final_steps[i], final_layouts[i] = row.direction, row.steps, row.layout
            number = order[cursor[0] % len(order)]
            cursor[0] += 1
            reset_row(row, layouts[number], number, limit, views, i)
        else:
            view_row(row, views, i)
        directions[i] = row.direction
    return -1


class BabyAIEngine:
    """N environments over a bank of layouts.

    `max_steps` overrides the layouts' own limit (as gym.make(id, max_steps=...) does; it scales the reward too).
    `auto_reset=False`: episodes run on after their end until the caller resets or replaces the rows. Auto-resets go
    through the bank in an order shuffled by `seed`.
    """

    def __init__(
        self,
        bank: LevelBank,
        n_envs: int,
        *,
        max_steps: int | None = None,
        auto_reset: bool = True,
        seed: int = 0,
    ) -> None:
        if n_envs < 1:
            raise ValueError(f"n_envs must be at least 1, got {n_envs}")
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {max_steps}")
        self.bank, self.n_envs, self.auto_reset = bank, n_envs, auto_reset
        self.state = create(n_envs)
        self._limit = max_steps or 0
        self.reshuffle(seed)
        views, directions = np.zeros((n_envs, VIEW, VIEW), np.uint8), np.zeros(n_envs, np.uint8)
        flags = np.zeros((2, n_envs), np.bool_)
        self.latest = EngineStep(views, directions, np.zeros(n_envs, np.float32), flags[0], flags[1])
        """What the last step or reset gave, without a copy."""
        self.final = Final(views.copy(), directions.copy(), np.zeros(n_envs, np.int32), np.zeros(n_envs, np.int32))
        # Taken apart once: numba looks at a plain array faster than at a record array.
        self._layouts, self._rows = bank.layouts.view(np.ndarray), self.state.view(np.ndarray)

    def reset(self, rows: np.ndarray | None = None, layouts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Begin layouts (rows of the bank) in the given environments (default: all, the next layouts of the bank).

        Returns views u8 [N, 7, 7] and directions u8 [N] of all environments, valid until the next call.
        Raises ValueError on rows or layouts out of range or of the wrong shape or dtype.
        """
        row_numbers = np.arange(self.n_envs) if rows is None else _indices(rows, below=self.n_envs, name="rows")
        layout_rows = (
            self._next(row_numbers) if layouts is None else _indices(layouts, below=len(self.bank), name="layouts")
        )
        if len(layout_rows) != len(row_numbers):
            raise ValueError(f"{len(row_numbers)} rows but {len(layout_rows)} layouts")
        _reset_rows(self.state, self.bank.layouts, row_numbers, layout_rows, self._limit, tuple(self.latest))
        return self.latest.views, self.latest.directions

    def step(self, actions: np.ndarray) -> EngineStep:
        """Step every environment by its action (0..6). Raises ValueError on a wrong shape, dtype or range."""
        actions = np.asarray(actions)
        if actions.shape != (self.n_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers of shape ({self.n_envs},), got {actions.dtype} {actions.shape}")
        actions = actions.astype(np.int64, copy=False)
        bad_row = _step_all(
            self._rows,
            self._layouts,
            self._order,
            self._begun,
            actions,
            self._limit,
            self.auto_reset,
            tuple(self.latest),
            tuple(self.final),
        )
        if bad_row >= 0:
            raise ValueError(f"action {int(actions[bad_row])} of environment {bad_row} is not in 0..{N_ACTIONS - 1}")
        return self.latest

    def reshuffle(self, seed: int) -> None:
        """Shuffle the order again in which layouts are begun, and start from its beginning."""
        self._order = np.random.default_rng(seed).permutation(len(self.bank)).astype(np.int32)
        self._begun = np.zeros(1, np.int64)

    def _next(self, rows: np.ndarray) -> np.ndarray:
        """The layouts that come next."""
        numbers: np.ndarray = self._order[(self._begun[0] + np.arange(len(rows))) % len(self._order)]
        self._begun += len(rows)
        return numbers.astype(np.int64)

    def mission(self, row: int) -> str:
        """Text of the mission that environment `row` is playing, if its episode began from this engine's bank."""
        return self.bank.mission(int(self.state.layout[row]))

    @property
    def reuse(self) -> float:
        """How often a layout of the bank has been played on average."""
        return float(self._begun[0] / len(self.bank))


def checked_actions(actions: np.ndarray, n: int) -> np.ndarray:
    """Actions of n environments as i64 (n,). Raises ValueError on a wrong shape, dtype or range: kernels check none."""
    numbers = _indices(actions, below=N_ACTIONS, name="actions")
    if len(numbers) != n:
        raise ValueError(f"{len(numbers)} actions for {n} environments")
    return numbers


def _indices(values: np.ndarray, *, below: int, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of integers, got {array.dtype} {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"{name} must lie in 0..{below - 1}, got {array.min()}..{array.max()}")
    return array.astype(np.int64)
