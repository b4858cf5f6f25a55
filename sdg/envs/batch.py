"""Many rows of a world side by side, and what policies see of them: where skills are practised."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sdg.envs.world import Perception

if TYPE_CHECKING:
    from sdg.envs.domain import Domain

Rows = TypeVar("Rows", bound="BatchWorld")


class Layouts(Protocol):
    """Ready beginnings of a level under their seeds."""

    @property
    def seeds(self) -> np.ndarray:
        """i64 (M,): the seed of each."""
        ...

    def __len__(self) -> int: ...

    def mission(self, layout: int) -> str:
        """The instruction of a layout in words."""
        ...


class BatchWorld(Protocol):
    """n rows of a world that step together, without auto-reset and without a time limit: where skills are practised.

    The true worlds stay inside: policies and checks see `memory` alone, which is built from what the agents perceive.
    """

    @property
    def domain(self) -> Domain:
        """The domain that these are rows of."""
        ...

    @property
    def memory(self) -> Any:
        """What each row's agent has perceived; opaque, see `Inputs` and `CheckMachine`."""
        ...

    def __len__(self) -> int: ...

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row; bool (n,) twice: the task is over, the task succeeded. `Domain.wait` changes nothing."""
        ...

    def take(self: Rows, rows: np.ndarray) -> Rows:
        """Just these rows, copied."""
        ...

    def put(self: Rows, rows: np.ndarray, source: Rows, source_rows: np.ndarray) -> None:
        """Replace rows by rows of another batch: how a moment is restored."""
        ...

    def begin_subgoals(self, rows: np.ndarray | None = None) -> None:
        """The current subgoal of these rows, of every one by default, begins now."""
        ...

    def forget(self, row: int) -> None:
        """Row `row` forgets where its agent has been."""
        ...

    def perception(self, row: int) -> Perception:
        """A snapshot of what row `row`'s agent knows now."""
        ...

    def places(self) -> np.ndarray:
        """i64 (n,): a number for the part of the world that each agent is in; all 0 where there is but one."""
        ...

    def holding(self) -> np.ndarray:
        """i64 (n,): the thing that each agent carries, -1 for none."""
        ...

    def spoils(self, actions: np.ndarray) -> np.ndarray:
        """bool (n,): whether an action, taken now, would break something that a skill's caller counts on."""
        ...

    def novelty(self, row: int) -> Hashable:
        """What makes this moment new to a search that counts where it has been."""
        ...

    def marks(self) -> Any:
        """When each row's subgoal began, as a value that `mark` changes and `since` reads; opaque."""
        ...

    def mark(self, marks: Any, row: int) -> None:
        """In `marks`, row `row`'s subgoal begins now."""
        ...

    def since(self, marks: Any) -> Any:
        """`memory` as it is for agents whose subgoals began at `marks`."""
        ...


class Inputs(Protocol):
    """What a domain's policies see, (n, size): made of what was perceived and of the thing that a skill is about.

    A row may be shown in a *frame* (mirrored, say, so that half of the situations are the other half); what was chosen
    there is translated back by `to_world` and `actions_to_world`.
    """

    @property
    def size(self) -> int:
        """Length of an input vector."""
        ...

    @property
    def actions(self) -> int:
        """How many primitive actions a policy chooses from, numbered from 0; or how many numbers an action is."""
        ...

    @property
    def bounds(self) -> np.ndarray | None:
        """f32 (2, actions): lowest and highest value of each number of an action; None where actions are numbered."""
        ...

    @property
    def dtype(self) -> Any:
        """u8 for bits, f32 for an observation of real numbers (which the project's own PPO doesn't take)."""
        ...

    @property
    def mostly_on(self) -> slice:
        """Inputs that are 1 more often than 0: stored negated, so that an input is a short list."""
        ...

    def write(self, memory: Any, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
        """Inputs of all rows for `targets` i16 (n, w) into `out` u8 (n, size), their frames into `frames` i64 (n,)."""
        ...

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """The same for one row and `out` u8 (size,); the frame is returned."""
        ...

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Logits f32 (n, actions) of inputs as actions of the world, as a new array."""
        ...

    def to_world_row(self, logits: np.ndarray, frame: int) -> None:
        """The same for one row, in place: logits f32 (actions,)."""
        ...

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The same for actions (n,) that were chosen."""
        ...

    def mask_noops(self, memory: Any, logits: np.ndarray) -> None:
        """Set logits f32 (n, actions) of actions that would change nothing, as far as is known, to very little."""
        ...

    def mask_noops_row(self, memory: Any, row: int, logits: np.ndarray) -> None:
        """The same for one row: logits f32 (actions,)."""
        ...


INT, BOOL, THING, NUMBERS, PAIR = "int", "bool", "thing", "numbers", "pair"
"""Kinds of values beside a domain's own kinds of text. THING is a place in `Columns.things`, -1 for None; NUMBERS is a
sorted list of small numbers, as bits; PAIR is two INT."""


class Columns(NamedTuple):
    """n rows as they are now; a row's m places hold its things in the order in which they are listed."""

    things: np.ndarray
    """i16 (n, m, fields)"""
    present: np.ndarray
    """bool (n, m): which places hold a thing"""
    facts: np.ndarray
    """i32 (n, facts)"""


@dataclass(frozen=True)
class ColumnReader:
    """What a domain tells of its perception functions, so that checks can be asked about all rows at once.

    `facts`: function without arguments -> kind and columns of `Columns.facts`. `fields`: attribute of a record -> kind
    and columns of `Columns.things`. A fact of kind THING holds the thing's id, the first field. `texts`: kind of text
    -> what its numbers spell. `all_things` and `find` name the functions that list things, as they were first seen or
    by a description, nearest first (`distance` is the field's column); `is_free` the one that takes a position.
    """

    facts: Mapping[str, tuple[str, tuple[int, ...]]]
    fields: Mapping[str, tuple[str, tuple[int, ...]]]
    texts: Mapping[str, Sequence[str]]
    parse: Callable[[str], Sequence[int]]
    """A description as a target; ValueError for what is none."""
    read: Callable[[Any], Columns]
    matches: Callable[[Any, np.ndarray, Columns, np.ndarray], np.ndarray]
    """(memory, rows i64 (n,), what `read` gave of these, targets i64 (n, w)) -> bool (n, m): what they ask for."""
    is_free_at: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    """(memory, rows, x, y), each i64 (k,) -> bool (k,)."""
    all_things: str
    find: str
    is_free: str
    distance: int
    anything: str
    """A description that is one of everything."""
