"""n rows of the engine with the memory that their robots build: the world as skills are practised in it."""

from collections.abc import Sequence

import numpy as np

from sdg.envs.babyai.cells import BOX, COLOURS, KIND_MASK, MAX_OBJECTS, MAX_SIZE, TOGGLE, TYPES, VIEW
from sdg.envs.babyai.engine.engine import checked_actions, reset_row, step_row
from sdg.envs.babyai.engine.state import State, pose_of, view_row
from sdg.envs.babyai.perception.columns import FACTS, FIELDS, STATUSES, fill_facts, fill_table, is_free_cell
from sdg.envs.babyai.perception.description import matches, parse
from sdg.envs.babyai.perception.memory import (
    Memory,
    begin,
    begin_subgoal,
    forget_visited_rooms,
    observe,
)
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.babyai.perception.tracking import ahead
from sdg.envs.batch import BOOL, INT, NUMBERS, PAIR, THING, ColumnReader, Columns
from sdg.envs.domain import Domain
from sdg.envs.kernels import kernel, wide

WAIT = 6
"""minigrid's `done`, which changes nothing; rows that wait for others take it."""
NO_LIMIT = 1_000_000
"""Steps: practice has no time limit but its own horizon (the reward of a mission stays positive below this)."""


@kernel
def begin_rows(state, memory, layouts, rows, chosen, views, limit):  # type: ignore[no-untyped-def]
    """Begin layout chosen[r] in row rows[r]: the world and what its robot sees. A `limit` of 0 is the layout's own."""
    pose = np.zeros(3, np.int64)
    for r in range(len(rows)):
        i = rows[r]
        row = state[i]
        reset_row(row, layouts[chosen[r]], chosen[r], limit, views, i)
        pose_of(row, pose)
        begin(memory, i, views[i], pose, wide(row.room_size), wide(row.width), wide(row.height))


@kernel
def step_rows(state, memory, actions, views, rewards, terminated, truncated):  # type: ignore[no-untyped-def]
    """Step every row, the world and what its robot remembers."""
    for i in range(len(actions)):
        row = state[i]
        rewards[i], terminated[i], truncated[i] = step_row(row, actions[i])
        view_row(row, views, i)
        observe(memory, i, views[i], wide(row.direction), actions[i])


@kernel
def _begin_subgoals(memory, rows):  # type: ignore[no-untyped-def]
    """The current subgoal of these rows begins now."""
    for i in rows:
        begin_subgoal(memory, i)


_AHEAD = np.array([ahead(direction) for direction in range(4)])


class BabyAIRows:
    """n rows of world and memory that step together (`sdg.envs.batch.BatchWorld`).

    `state` holds the true worlds: policies and checks never see it, only `memory`, which is built from views. There is
    a `domain` for each preset of perception.
    """

    def __init__(self, domain: Domain, state: State, memory: Memory) -> None:
        self.domain, self.state, self.memory = domain, state, memory
        self.views = np.zeros((len(state), VIEW, VIEW), np.uint8)

    def __len__(self) -> int:
        return len(self.state)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row by an action (0..6); bool (n,) twice: the mission is over, the mission succeeded.

        Raises ValueError for other actions, and for more or fewer of them than rows.
        """
        n = len(self)
        chosen = checked_actions(actions, n)
        rewards = np.zeros(n, np.float32)
        over, late = np.zeros((2, n), np.bool_)
        step_rows(self.state, self.memory, chosen, self.views, rewards, over, late)
        return over, over & (rewards > 0)

    def take(self, rows: np.ndarray) -> "BabyAIRows":
        """Just these rows, copied."""
        return BabyAIRows(self.domain, self.state[rows], Memory(*(array[rows] for array in self.memory)))

    def put(self, rows: np.ndarray, source: "BabyAIRows", source_rows: np.ndarray) -> None:
        """Replace rows by rows of another batch."""
        self.state[rows] = source.state[source_rows]
        for here, there in zip(self.memory, source.memory, strict=True):
            here[rows] = there[source_rows]

    def begin_subgoals(self, rows: np.ndarray | None = None) -> None:
        """The current subgoal of these rows, of every one by default, begins now."""
        _begin_subgoals(self.memory, np.arange(len(self)) if rows is None else rows)

    def forget(self, row: int) -> None:
        """Row `row` forgets which rooms were visited, but for the one its robot is in."""
        forget_visited_rooms(self.memory, row)

    def perception(self, row: int) -> BabyAIPerception:
        """A snapshot of what row `row`'s robot knows now."""
        return BabyAIPerception(self.memory, row)

    def places(self) -> np.ndarray:
        """i64 (n,): the room that each robot is in."""
        return self.memory.room.astype(np.int64)

    def holding(self) -> np.ndarray:
        """i64 (n,): the object that each robot carries, -1 for none."""
        return self.memory.carried.astype(np.int64)

    def spoils(self, actions: np.ndarray) -> np.ndarray:
        """bool (n,): whether an action opens a box, which is gone then: the cell ahead as it is remembered."""
        x, y, direction = self.memory.pose.T.astype(np.int64)
        codes = self.memory.cells[np.arange(len(x)), x + _AHEAD[direction, 0], y + _AHEAD[direction, 1]]
        return ((codes & KIND_MASK) == BOX) & (actions == TOGGLE)

    def novelty(self, row: int) -> bytes:
        """Pose, load and number of known things."""
        return b"".join(
            array[row].tobytes() for array in (self.memory.pose, self.memory.carried, self.memory.n_objects)
        )

    def marks(self) -> Memory:
        """The memory with copies of its own of when each row's subgoal began."""
        return self.memory._replace(
            began_at=self.memory.began_at.copy(), visited_before=self.memory.visited_before.copy()
        )

    def mark(self, marks: Memory, row: int) -> None:
        """In `marks`, row `row`'s subgoal begins now."""
        marks.began_at[row] = self.memory.steps[row]
        marks.visited_before[row] = self.memory.visited[row]

    def since(self, marks: Memory) -> Memory:
        """The memory of robots whose subgoals began at `marks`."""
        return marks

    @classmethod
    def join(cls, parts: Sequence["BabyAIRows"]) -> "BabyAIRows":
        """All rows of all parts, in order."""
        state = np.concatenate([part.state for part in parts]).view(type(parts[0].state))
        columns = zip(*(part.memory for part in parts), strict=True)
        return cls(parts[0].domain, state, Memory(*map(np.concatenate, columns)))


_FACTS = {
    "get_carried": (THING, "carried"),
    "get_facing": (THING, "facing"),
    "get_position": (PAIR, "x", "y"),
    "get_front_position": (PAIR, "front_x", "front_y"),
    "get_current_room": (INT, "room"),
    "get_visited_rooms": (NUMBERS, "visited"),
    "get_rooms_visited_before": (NUMBERS, "visited_before"),
    "count_unseen_cells": (INT, "unseen"),
    "get_steps": (INT, "steps"),
    "get_start_steps": (INT, "began_at"),
}
_FIELDS = {name: (INT, name) for name in FIELDS if name not in ("x", "y", "start_x", "start_y")} | {
    **{name: (BOOL, name) for name in ("facing", "visible", "held", "explored")},
    **{name: (name, name) for name in ("type", "color", "status")},
    "name": ("name", "name"),
    "position": (PAIR, "x", "y"),
    "start_position": (PAIR, "start_x", "start_y"),
    "rooms": (PAIR, "one_room", "other_room"),
}
_COLUMNS = (*FIELDS, "name")


def _numbers(names: tuple[str, ...], entries: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (kind, tuple(map(names.index, columns))) for name, (kind, *columns) in entries.items()}


@kernel
def _fill(memory, tables, facts, counts):  # type: ignore[no-untyped-def]
    for i in range(len(counts)):
        counts[i] = fill_table(memory, i, tables[i])
        fill_facts(memory, i, facts[i])


@kernel
def _match(memory, rows, ids, targets, mask):  # type: ignore[no-untyped-def]
    for k in range(len(rows)):
        for place in range(mask.shape[1]):
            mask[k, place] &= matches(memory, rows[k], wide(ids[k, place]), targets[k])


@kernel
def _are_free(cells, start, rows, x, y, out):  # type: ignore[no-untyped-def]
    for k in range(len(rows)):
        near = max(abs(x[k]), abs(y[k])) <= MAX_SIZE
        out[k] = near and is_free_cell(cells[rows[k]], start[rows[k]], x[k], y[k])


def _read_columns(memory: Memory) -> Columns:
    n = len(memory.steps)
    tables = np.zeros((n, MAX_OBJECTS, len(_COLUMNS)), np.int16)
    facts = np.zeros((n, len(FACTS)), np.int32)
    counts = np.zeros(n, np.int64)
    _fill(memory, tables, facts, counts)
    most = max(1, int(counts.max(initial=0)))
    tables[:, :, -1] = tables[:, :, 2] * len(TYPES) + tables[:, :, 1]
    return Columns(tables[:, :most], np.arange(most) < counts[:, None], facts)


def _matches(memory: Memory, rows: np.ndarray, columns: Columns, targets: np.ndarray) -> np.ndarray:
    mask = columns.present.copy()
    _match(memory, rows, columns.things[:, :, 0], targets, mask)
    return mask


def _is_free_at(memory: Memory, rows: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.zeros(len(rows), np.bool_)
    _are_free(memory.cells, memory.start, rows, x, y, out)
    return out


COLUMN_READER = ColumnReader(
    facts=_numbers(FACTS, _FACTS),
    fields=_numbers(_COLUMNS, _FIELDS),
    texts={
        "type": TYPES,
        "color": COLOURS,
        "status": STATUSES,
        "name": [f"{color} {kind}" for color in COLOURS for kind in TYPES],
    },
    parse=parse,
    read=_read_columns,
    matches=_matches,
    is_free_at=_is_free_at,
    all_things="get_observed_objects",
    find="find_objects",
    is_free="is_free",
    distance=FIELDS.index("distance"),
    anything="object",
)
