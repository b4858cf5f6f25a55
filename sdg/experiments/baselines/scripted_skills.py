"""Skills that act within a room by breadth-first search, one for each kind of subgoal: replacements for learned ones.

They see what learned skills see (things within seven cells, unexplored doors, unseen cells) and have the same checks.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdg.envs.babyai.cells import (
    DOOR_CLOSED,
    DROP,
    EMPTY,
    FORWARD,
    KIND_MASK,
    LEFT,
    MAX_SIZE,
    PICKUP,
    RIGHT,
    TOGGLE,
    UNSEEN,
)
from sdg.envs.babyai.perception.columns import is_explored
from sdg.envs.babyai.perception.description import matches
from sdg.envs.babyai.perception.memory import Memory, ahead, is_door, is_passable
from sdg.envs.babyai.perception.snapshot import FUNCTIONS, RECORD_TEXT
from sdg.envs.world import api_text
from sdg.gate.rules import Usage
from sdg.llm.babylang.grammar import PHRASES
from sdg.llm.babylang.hypothesis import check
from sdg.llm.babylang.reading import PERCEPTION, assign_parts, functions
from sdg.skills.subgoal import CheckFunction

FAR = 7
KINDS = {
    "discover": "discover",
    "goto": "go_next_to",
    "pick": "pick_up",
    "face": "face_free_cell_next_to",
    "put": "put_next_to",
    "open": "open_door",
    "look": "look_around",
    "find_exit": "find_unexplored_door",
    "goto_exit": "go_to_unexplored_door",
    "open_exit": "open_unexplored_door",
    "enter": "enter_new_room",
}
NEEDS_TARGET = frozenset({"goto", "pick", "face", "put", "open"})

State = tuple[int, int, int]
Cells = set[tuple[int, int]]


def kind_at(memory: Memory, x: int, y: int) -> int:
    return int(memory.cells[0, x, y]) & KIND_MASK if 0 <= x < MAX_SIZE and 0 <= y < MAX_SIZE else UNSEEN


def may_walk(memory: Memory, x: int, y: int) -> bool:
    """Whether a cell may be free. Cells beyond the map never are, because a search for a path has to end."""
    on_map = 0 <= x < MAX_SIZE and 0 <= y < MAX_SIZE
    return on_map and (kind_at(memory, x, y) == UNSEEN or bool(is_passable(memory.cells[0, x, y])))


def first_action(memory: Memory, reached: Callable[[int, int, int], bool]) -> int | None:
    """First action of a shortest path to a wanted pose (x, y, heading); -1 if it is reached, None without a path."""
    start: State = (int(memory.pose[0, 0]), int(memory.pose[0, 1]), int(memory.pose[0, 2]))
    queue, states = deque([(start, -1)]), {start}
    while queue:
        (x, y, heading), first = queue.popleft()
        if reached(x, y, heading):
            return first
        dx, dy = ahead(heading)
        steps = [(LEFT, (x, y, (heading + 3) % 4)), (RIGHT, (x, y, (heading + 1) % 4))]
        if may_walk(memory, x + dx, y + dy):
            steps.append((FORWARD, (x + dx, y + dy, heading)))
        for action, state in steps:
            if state not in states:
                states.add(state)
                queue.append((state, action if first < 0 else first))
    return None


def near_things(memory: Memory, wanted: Callable[[int], bool]) -> Cells:
    x, y = memory.pose[0, :2]
    return {
        (int(at[0]), int(at[1]))
        for k, at in [(k, memory.at[0, k]) for k in range(int(memory.n_objects[0]))]
        if at[0] >= 0 and abs(at[0] - x) <= FAR and abs(at[1] - y) <= FAR and wanted(k)
    }


def unseen_cells(memory: Memory) -> Cells:
    pitch, columns, room = int(memory.pitch[0]), int(memory.columns[0]), int(memory.room[0])
    left, top = room % columns * pitch, room // columns * pitch
    cells = {(x, y) for x in range(left, left + pitch + 1) for y in range(top, top + pitch + 1)}
    return {(x, y) for x, y in cells if (x % pitch or y % pitch) and kind_at(memory, x, y) == UNSEEN}


@dataclass(frozen=True)
class RoomPolicy:
    """Plays one kind of subgoal; a share `noise` of its actions is random."""

    kind: str
    noise: float

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        action = None if rng.random() < self.noise else self._choose(memory, target)
        return int(rng.integers(6)) if action is None else action

    def _choose(self, memory: Memory, target: np.ndarray) -> int | None:
        if self.kind in ("discover", "look", "find_exit"):
            return self._look(memory)
        if self.kind in ("goto_exit", "open_exit"):
            doors = near_things(memory, lambda k: is_door(memory.code[0, k]) and not is_explored(memory, 0, k))
            return self._leave(memory, doors)
        goals = near_things(memory, lambda k: bool(matches(memory, 0, k, target)))
        if self.kind == "enter":
            return self._leave(memory, goals)
        if self.kind in ("face", "put"):
            return self._put(memory, goals)
        action = first_action(memory, facing(goals))
        return {"pick": PICKUP, "open": TOGGLE}.get(self.kind, LEFT) if action == -1 else action

    def _look(self, memory: Memory) -> int | None:
        unseen = unseen_cells(memory)

        def in_view(x: int, y: int, heading: int) -> bool:
            dx, dy = ahead(heading)
            return any(
                0 <= (u - x) * dx + (v - y) * dy <= 6 and abs((v - y) * dx - (u - x) * dy) <= 3 for u, v in unseen
            )

        action = first_action(memory, in_view) if unseen else None
        return None if action == -1 else action

    def _leave(self, memory: Memory, doors: Cells) -> int | None:
        x, y, heading = memory.pose[0].tolist()
        dx, dy = ahead(heading)
        if self.kind == "enter" and is_door(memory.cells[0, x, y]):
            return FORWARD
        action = first_action(memory, facing(doors))
        if action != -1 or self.kind == "goto_exit":
            return action
        return TOGGLE if kind_at(memory, x + dx, y + dy) == DOOR_CLOSED else FORWARD

    def _put(self, memory: Memory, goals: Cells) -> int | None:
        def before_a_free_cell(x: int, y: int, heading: int) -> bool:
            dx, dy = ahead(heading)
            u, v = x + dx, y + dy
            return kind_at(memory, u, v) == EMPTY and any(abs(u - a) + abs(v - b) == 1 for a, b in goals)

        action = first_action(memory, before_a_free_cell)
        return DROP if action == -1 and self.kind == "put" else action


def facing(goals: Cells) -> Callable[[int, int, int], bool]:
    def is_faced(x: int, y: int, heading: int) -> bool:
        dx, dy = ahead(heading)
        return (x + dx, y + dy) in goals

    return is_faced


@dataclass(frozen=True)
class RoomSkill:
    """One kind of subgoal as a skill, under any name."""

    name: str
    kind: str
    noise: float = 0.0
    horizon: int = 30
    description = "learned"

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(
            text.format(x="the red door" if self.kind == "enter" else "the red ball", c="it")
            for text in PHRASES[self.kind]
        )

    @property
    def takes_argument(self) -> bool:
        return "{x}" in PHRASES[self.kind][0]

    @property
    def policy(self) -> RoomPolicy:
        return RoomPolicy(self.kind, self.noise)

    @property
    def usage(self) -> Usage:
        return Usage(self.takes_argument, self.kind in NEEDS_TARGET, self.kind == "pick", self.kind == "put")

    def check(self, argument: str) -> CheckFunction:
        names = assign_parts(functions(api_text(RECORD_TEXT, FUNCTIONS)), PERCEPTION)
        return CheckFunction("check_1", check(1, self.kind, names, argument=argument) + "\n")


def room_skills(noise: float = 0.0, **renamed: str) -> dict[str, RoomSkill]:
    """A skill for each of KINDS, under its name there or the one that `renamed` gives to its kind."""
    return {name: RoomSkill(name, kind, noise) for kind, name in (KINDS | renamed).items()}
