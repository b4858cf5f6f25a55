"""Many rows of a world side by side, in which skills are practised, and what policies see of them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sdg.envs.world import Perception

if TYPE_CHECKING:
    from sdg.envs.domain import Domain

Rows = TypeVar("Rows", bound="BatchWorld")


class Layouts(Protocol):
    """The starts of a level under their seeds."""

    @property
    def seeds(self) -> np.ndarray:
        """i64 (M,): the seed of each."""
        ...

    def __len__(self) -> int: ...

    def mission(self, layout: int) -> str:
        """The instruction of a layout in words."""
        ...


class BatchWorld(Protocol):
    """n rows of a world that step together, without auto-reset and without a time limit.

    The true worlds stay inside: policies and checks see only `memory`, which is built from what the agents perceive.
    """

    @property
    def domain(self) -> "Domain":
        """The domain that these are rows of."""
        ...

    @property
    def memory(self) -> Any:
        """The memory of each row's agent; only the domain reads it."""
        ...

    def __len__(self) -> int: ...

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row; gives bool (n,) twice: the task is over, it succeeded. `Domain.wait` changes nothing."""
        ...

    def take(self: Rows, rows: np.ndarray) -> Rows:
        """A copy of these rows."""
        ...

    def put(self: Rows, rows: np.ndarray, source: Rows, source_rows: np.ndarray) -> None:
        """Replace rows by rows of another batch; this restores a saved state."""
        ...

    def begin_subgoals(self, rows: np.ndarray | None = None) -> None:
        """Begin a subgoal in these rows, by default in all."""
        ...

    def forget(self, row: int) -> None:
        """Make row `row` forget where its agent has been."""
        ...

    def perception(self, row: int) -> Perception:
        """A snapshot of what row `row`'s agent knows now."""
        ...

    def places(self) -> np.ndarray:
        """i64 (n,): a number for the part of the world that each agent is in; all 0 if there is only one."""
        ...

    def holding(self) -> np.ndarray:
        """i64 (n,): the thing that each agent carries, -1 for none."""
        ...

    def spoils(self, actions: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's action, taken now, would break something that a skill's caller relies on."""
        ...

    def novelty(self, row: int) -> Hashable:
        """A key of the present state; a search counts states with the same key together."""
        ...

    def marks(self) -> Any:
        """When each row's subgoal began, as a value that only `mark` changes and `since` reads."""
        ...

    def mark(self, marks: Any, row: int) -> None:
        """Note in `marks` that row `row`'s subgoal begins now."""
        ...

    def since(self, marks: Any) -> Any:
        """`memory` for agents whose subgoals began at `marks`."""
        ...


class Inputs:
    """The inputs of a domain's policies, (n, size): they encode perception and the thing that a skill is about.

    Inherit it and write `write_row`; the rest is for real numbers in one frame, of which no action is masked.

    A row may be shown in a *frame*, for example mirrored, which halves the situations to be learned; `to_world` and
    `actions_to_world` translate a choice back.
    """

    size: int
    """Length of an input vector."""
    actions: int
    """How many primitive actions a policy chooses from, numbered from 0; or how many numbers an action has."""
    bounds: np.ndarray | None = None
    """f32 (2, actions): lowest and highest value of each number of an action; None where actions are numbered."""
    dtype: Any = np.float32
    """u8 for bits, f32 for an observation of real numbers (which the project's own PPO doesn't take)."""
    mostly_on: slice = slice(0, 0)
    """Inputs that are 1 more often than 0; they are stored negated, so that the list of set bits is short."""

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row for `target` i16 (w,) into `out` (size,); the frame is returned."""
        raise NotImplementedError

    def write(self, memory: Any, targets: np.ndarray, frames: np.ndarray, out: np.ndarray) -> None:
        """Inputs of all rows: `targets` i16 (n, w) into `out` (n, size), their frames into `frames` i64 (n,)."""
        for row in range(len(targets)):
            frames[row] = self.write_row(memory, row, targets[row], out[row])

    def to_world(self, logits: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Logits f32 (n, actions) for the frames' actions, in the order of the world's actions, as a new array."""
        return logits.copy()

    def actions_to_world(self, actions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """The chosen actions (n,) as the world numbers them."""
        return actions

    def mask_noops(self, memory: Any, logits: np.ndarray) -> None:
        """Set logits f32 (n, actions) of actions that would change nothing, as far as is known, to very low values."""

    def mask_noops_row(self, memory: Any, row: int, logits: np.ndarray) -> None:
        """Set one row's logits f32 (actions,) of such actions to very low values."""


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
    """How the perception functions of a domain read numpy columns, so that checks are evaluated on all rows at once."""

    facts: Mapping[str, tuple[str, tuple[int, ...]]]
    """Function without arguments -> kind, and columns of `Columns.facts`. A fact of kind THING is the thing's id."""
    fields: Mapping[str, tuple[str, tuple[int, ...]]]
    """Attribute of a record -> kind, and columns of `Columns.things`; the first column is the thing's id."""
    texts: Mapping[str, Sequence[str]]
    """Kind of text -> the text of each number."""
    parse: Callable[[str], Sequence[int]]
    """The target of a description. Raises ValueError for text that describes nothing."""
    read: Callable[[Any], Columns]
    """memory -> its columns."""
    matches: Callable[[Any, np.ndarray, Columns, np.ndarray], np.ndarray]
    """(memory, rows i64 (n,), the columns of these rows, targets i64 (n, w)) -> bool (n, m): which things fit."""
    is_free_at: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    """(memory, rows, x, y), each i64 (k,) -> bool (k,)."""
    all_things: str
    """The function that lists all things in the order in which they were first seen."""
    find: str
    """The function that lists the things that fit a description, the nearest first."""
    is_free: str
    """The function that takes a position and says whether it is free."""
    distance: int
    """The column of `Columns.things` that holds a thing's distance."""
    anything: str
    """The description that matches every thing."""
