"""A `BatchWorld` of single worlds: how a domain is practised in that has no batch of its own.

Every row is a moment (`SingleWorld.keep`); rows that are stepped or looked at share the few worlds that are open, so
that a pool of thousands of starts costs thousands of moments. For example, to try one start twice:

    pool = rows_of(domain, level, seeds)       # moments after reset
    env = domain.blank(2)                      # two rows without a world yet
    env.put(np.arange(2), pool, np.zeros(2, int))
    env.step(np.array([0, 1]))                 # two worlds are opened, restored and stepped
"""

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast

import numpy as np

from sdg.envs.domain import Domain
from sdg.envs.world import Perception, SingleWorld, StepResult, without_clock


@dataclass(frozen=True, slots=True)
class Moment:
    """A kept moment of a world of `level`."""

    level: str
    kept: Any


@dataclass(frozen=True)
class SeededLayouts:
    """The beginnings of a level under their seeds (`sdg.envs.batch.Layouts`), made again when they are begun."""

    domain: Domain
    level: str
    seeds: np.ndarray

    def __len__(self) -> int:
        return len(self.seeds)

    def mission(self, layout: int) -> str:
        """The instruction of a layout in words."""
        world = self.domain.open(self.level)
        world.reset(int(self.seeds[layout]))
        return world.mission


class WorldRows:
    """n rows, each a moment or an open world. Its memory is itself: inputs and checks ask row by row."""

    def __init__(self, domain: Domain, moments: Sequence[Moment | None]) -> None:
        self.domain, self._moments = domain, list(moments)
        self._open: dict[int, SingleWorld] = {}  # by row, the latest used last
        self._marks: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self._moments)

    @property
    def memory(self) -> Self:
        """Itself; not an attribute, so that a batch's worlds close with its last use."""
        return self

    def world(self, row: int) -> SingleWorld:
        """The open world of a row. RuntimeError for a row that nothing was put into."""
        world = self._open.pop(row, None)
        if world is None:
            if (moment := self._moments[row]) is None:
                raise RuntimeError(f"row {row} has no moment yet: put one there first")
            world = self._world_for(moment.level)
            world.restore(moment.kept)
        self._open[row] = world
        return world

    def _world_for(self, level: str) -> SingleWorld:
        """A world of a level that no row needs: a new one, or, with `at_once` open, the one used least recently."""
        if len(self._open) >= self.domain.can.at_once:
            row = next(iter(self._open))
            self._moments[row] = moment = self.moment(row)
            world = self._open.pop(row)
            if moment is not None and moment.level == level:
                return world
        return cast(SingleWorld, self.domain.open(level, lift_time_limit=True))

    def moment(self, row: int) -> Moment | None:
        """The moment that a row is at."""
        moment = self._moments[row]
        return Moment(moment.level, self._open[row].keep()) if moment and row in self._open else moment

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step every row; bool (n,) twice: the task is over, the task succeeded."""
        results = [self._step(row, action) for row, action in enumerate(actions)]
        return np.array([r.terminated for r in results]), np.array([r.success for r in results])

    def _step(self, row: int, action: Any) -> StepResult:
        if np.ndim(action) == 0 and action == self.domain.wait:
            return StepResult(0.0, terminated=False, truncated=False)
        return self.world(row).step(action)

    def take(self, rows: np.ndarray) -> "WorldRows":
        """Just these rows, copied."""
        return WorldRows(self.domain, [self.moment(int(row)) for row in rows])

    def put(self, rows: np.ndarray, source: "WorldRows", source_rows: np.ndarray) -> None:
        """Replace rows by rows of another batch; worlds that are open and of the same level stay open."""
        for row, source_row in zip(rows.tolist(), source_rows.tolist(), strict=True):
            replaced = self._moments[row]
            self._moments[row] = moment = source.moment(source_row)
            if row in self._open and moment and replaced and replaced.level == moment.level:
                self._open[row].restore(moment.kept)
            else:
                self._open.pop(row, None)

    def begin_subgoals(self, rows: np.ndarray | None = None) -> None:
        """The current subgoal of these rows, of every one by default, begins now."""
        for row in range(len(self)) if rows is None else rows.tolist():
            self.world(row).begin_subgoal()

    def forget(self, row: int) -> None:
        """Row `row` forgets where its agent has been."""
        self.world(row).forget()

    def perception(self, row: int) -> Perception:
        """A snapshot of what row `row`'s agent knows now."""
        world = self.world(row)
        return world.perception() if self._marks is None else world.perception_since(self._marks[row])

    def places(self) -> np.ndarray:
        """i64 (n,): a number for the part of the world that each agent is in."""
        place = self.domain.persistence.place
        return np.array([hash(place(self.perception(row))) for row in range(len(self))], np.int64)

    def holding(self) -> np.ndarray:
        """i64 (n,): the thing that each agent carries, -1 for none."""
        things_by_row = [self.perception(row).elements() for row in range(len(self))]
        return np.array([next((thing.id for thing in things if thing.held), -1) for things in things_by_row], np.int64)

    def spoils(self, actions: np.ndarray) -> np.ndarray:
        """bool (n,): nothing here is known to be broken by an action."""
        return np.zeros(len(self), bool)

    def novelty(self, row: int) -> Hashable:
        """The description of the moment, without the clock."""
        return without_clock(self.perception(row).describe())

    def marks(self) -> list[Any]:
        """When each row's subgoal began."""
        return [self.world(row).began for row in range(len(self))]

    def mark(self, marks: list[Any], row: int) -> None:
        """In `marks`, row `row`'s subgoal begins now."""
        world = self.world(row)
        moment = world.keep()
        world.begin_subgoal()
        marks[row] = world.began
        world.restore(moment)

    def since(self, marks: list[Any]) -> Self:
        """The rows as agents see them whose subgoals began at `marks`."""
        same_worlds = copy(self)
        same_worlds._marks = list(marks)
        return same_worlds


def world_of(memory: WorldRows | SingleWorld, row: int) -> SingleWorld:
    """The world behind a row of a batch's memory; a single world's memory is itself."""
    return memory.world(row) if isinstance(memory, WorldRows) else memory


class SingleDomain(Domain, Protocol):
    """The base of a domain without its own batch: its batch is made of its single worlds."""

    def layouts(self, level: str, seeds: Sequence[int], *, workers: int = 1) -> SeededLayouts:
        """The beginnings of a level under these seeds, in their order."""
        return SeededLayouts(self, level, np.asarray(seeds, np.int64))

    def begin(self, layouts: SeededLayouts, chosen: np.ndarray) -> WorldRows:
        """Row i as layout `chosen[i]` begins."""
        world = cast(SingleWorld, layouts.domain.open(layouts.level, lift_time_limit=True))
        moments = []
        for layout in chosen:
            world.reset(int(layouts.seeds[layout]))
            moments.append(Moment(layouts.level, world.keep()))
        return WorldRows(layouts.domain, moments)

    def blank(self, n: int) -> WorldRows:
        """n rows to `put` moments into."""
        return WorldRows(self, [None] * n)

    def join(self, parts: Iterable[WorldRows]) -> WorldRows:
        """All rows of all parts, in order."""
        return WorldRows(self, [part.moment(i) for part in parts for i in range(len(part))])

    def snapshot(self, memory: WorldRows | SingleWorld, row: int) -> Perception:
        """A snapshot of row `row` of a batch, or of a world."""
        return memory.perception(row) if isinstance(memory, WorldRows) else memory.perception()
