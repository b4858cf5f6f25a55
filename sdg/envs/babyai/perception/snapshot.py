"""The perception functions P of BabyAI (SDG, section 4.2): a read-only snapshot of a memory row.

The docstrings of the functions that `functions()` names are the prompt's API text (`sdg.envs.world.api_text`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sdg.envs.babyai.cells import COLOURS, MAX_OBJECTS, MAX_SIZE, TYPES
from sdg.envs.babyai.perception.columns import FACTS, FIELDS, STATUSES, is_free_cell, take_snapshot
from sdg.envs.babyai.perception.description import ANY, parse
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.world import Perception

RECORD_TEXT = """\
Positions are pairs (x, y) counted from where the robot started: x to the right of it and y ahead of it as it stood \
then. An object is a record with these fields, read as record.field:
  id: int, the object's number; it never changes, also when two objects look alike
  name: str, color and type, for example "red ball"; name + " #" + str(id) names exactly this object
  type: str, "door", "key", "ball" or "box"
  color: str, "red", "green", "blue", "purple", "yellow" or "grey"
  position: (x, y), where it is now as far as the robot knows; the robot's own position while it is carried
  start_position: (x, y), where it was first seen
  distance: int, steps from the robot to it along x plus along y; 1 is next to the robot, 0 is carried
  facing: bool, it is in the cell straight ahead of the robot; only then can the robot act on it
  visible: bool, the robot sees it now
  held: bool, the robot carries it
  room: int, number of the room it is in; for a door of the one that it was first seen from
  rooms: (int, int), for doors the numbers of the two rooms that it joins, else twice room
  status: str, "open", "closed" or "locked" for doors, "" for everything else
  explored: bool, for doors: the robot has visited the rooms on both sides of it; False for everything else
  picked_up_at, dropped_at, opened_at: int, step at which the robot last did that to it, -1 if never
  passed_at: int, for doors: step at which the robot last went through, from one room into the other; -1 if never
Records cannot be changed. Descriptions are text: [a|the] [color] (door|key|ball|box|object) \
[on your left|on your right|in front of you|behind you] [#id]. "object" means any type. Location words are about the \
room and the pose in which the mission began, and stay with an object when it is moved."""


@dataclass(frozen=True, slots=True)
class Thing:
    """The attributes of a thing in every API."""

    id: int
    name: str
    type: str
    color: str
    position: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Object(Thing):
    """A thing the robot has seen. Positions are (x, y): x to the right of and y ahead of its pose at the start."""

    start_position: tuple[int, int]
    distance: int
    facing: bool
    visible: bool
    held: bool
    room: int
    rooms: tuple[int, int]
    status: str
    explored: bool
    picked_up_at: int
    dropped_at: int
    opened_at: int
    passed_at: int


class BabyAIPerception(Perception):
    """The knowledge of the robot of memory row `row` now; later steps of the memory don't change it.

    It is honest by construction: a memory is made of views alone. Records are built when they are asked for.
    """

    api = (
        "get_observed_objects",
        "find_objects",
        "get_carried",
        "get_facing",
        "get_position",
        "get_front_position",
        "is_free",
        "get_current_room",
        "get_visited_rooms",
        "get_rooms_visited_before",
        "count_unseen_cells",
        "get_steps",
        "get_start_steps",
    )
    __slots__ = ("_cells", "_facts", "_locations", "_pitch", "_records", "_rows", "_start", "_table")

    def __init__(self, memory: Memory, row: int) -> None:
        table = np.empty((MAX_OBJECTS, len(FIELDS)), np.int16)
        facts = np.empty(len(FACTS), np.int32)
        self._locations = np.empty(MAX_OBJECTS, np.uint8)
        n = take_snapshot(memory, row, table, self._locations, facts)
        self._cells = memory.cells[row].copy()
        self._rows: list[list[int]] = table[:n].tolist()
        self._facts: list[int] = facts.tolist()
        self._start = memory.start[row].copy()
        self._pitch = int(memory.pitch[row])
        self._records: dict[int, Object] = {}

    # What the prompt shows -------------------------------------------------------------------------------------------

    def get_observed_objects(self) -> list[Object]:
        """All objects and doors seen so far that are still in the world, in the order first seen; the carried one is
        among them."""
        return [self._record(index) for index in range(len(self._rows))]

    def find_objects(self, description: str) -> list[Object]:
        """The objects and doors seen so far that match the description, for example "red ball", nearest first; [] if
        there are none."""
        target = parse(description)
        matches = [
            (row[7], row[0], index)
            for index, row in enumerate(self._rows)
            if target.type in (ANY, row[1])
            and target.color in (ANY, row[2])
            and target.id in (ANY, row[0])
            and (target.location == 0 or self._locations[index] >> (target.location - 1) & 1)
        ]
        return [self._record(index) for _, _, index in sorted(matches)]

    def get_carried(self) -> Object | None:
        """The object that the robot carries, or None."""
        return self._with_id(self._facts[6])

    def get_facing(self) -> Object | None:
        """The object or door in the cell straight ahead of the robot, or None."""
        return self._with_id(self._facts[7])

    def get_position(self) -> tuple[int, int]:
        """The robot's position (x, y); it starts at (0, 0)."""
        return self._facts[1], self._facts[2]

    def get_front_position(self) -> tuple[int, int]:
        """The position (x, y) of the cell straight ahead of the robot."""
        return self._facts[3], self._facts[4]

    def is_free(self, position: tuple[int, int]) -> bool:
        """True if the cell at this position (x, y) was seen and the robot can walk there. An open door is free to walk
        through, but nothing can be put down in a doorway."""
        x, y = _pair(position)
        if max(abs(x), abs(y)) > MAX_SIZE:  # also keeps numbers that fit no machine word from the kernel
            return False
        return bool(is_free_cell(self._cells, self._start, x, y))

    def get_current_room(self) -> int:
        """The number of the room the robot is in. Rooms are numbered from 0 in the order in which they became known:
        what lies behind a door has a number as soon as the door is seen. In a doorway it is still the room that the
        robot comes from."""
        return self._facts[5]

    def get_visited_rooms(self) -> list[int]:
        """The numbers of the rooms visited since the start; the current room is one of them."""
        return _numbers(self._facts[8])

    def get_rooms_visited_before(self) -> list[int]:
        """What get_visited_rooms() gave when the current subgoal began."""
        return _numbers(self._facts[9])

    def count_unseen_cells(self) -> int:
        """How many cells of the current room, its walls and doors included, the robot has not seen yet; 0 when it has
        looked everywhere in it."""
        return self._facts[13]

    def get_steps(self) -> int:
        """How many steps the robot has made since the start."""
        return self._facts[10]

    def get_start_steps(self) -> int:
        """What get_steps() gave when the current subgoal began; what happened at a later step happened during this
        subgoal."""
        return self._facts[11]

    # What other code asks --------------------------------------------------------------------------------------------

    def elements(self) -> list[Object]:
        """Everything seen so far that is still in the world."""
        return self.get_observed_objects()

    def known_map(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The remembered map, u8[22, 22] by cell, the pose at reset, i8[3], and the pitch of rooms; all read-only."""
        return self._cells, self._start, self._pitch

    def describe(self) -> str:
        """The snapshot in a few lines of text, as a guard or a model is shown it."""
        front = self.get_front_position()
        rooms = ", ".join(map(str, self.get_visited_rooms()))
        lines = [
            f"Step {self.get_steps()}. The robot is at {self.get_position()} in room {self.get_current_room()}; "
            f"rooms visited: {rooms}.",
            f"It carries {_label(self.get_carried())}. Straight ahead at {front}: {_label(self.get_facing())}.",
            f"The cell straight ahead is {'free' if self.is_free(front) else 'not free'}.",
        ]
        return "\n".join(lines + [_line(record) for record in self.get_observed_objects()])

    def _with_id(self, k: int) -> Object | None:
        return next((self._record(index) for index, row in enumerate(self._rows) if row[0] == k), None)

    def _record(self, index: int) -> Object:
        record = self._records.get(index)
        if record is None:
            row = self._rows[index]
            kind, color = TYPES[row[1]], COLOURS[row[2]]
            record = self._records[index] = Object(
                id=row[0],
                name=f"{color} {kind}",
                type=kind,
                color=color,
                position=(row[3], row[4]),
                start_position=(row[5], row[6]),
                distance=row[7],
                facing=bool(row[8]),
                visible=bool(row[9]),
                held=bool(row[10]),
                room=row[11],
                rooms=(row[17], row[18]),
                status=STATUSES[row[12]],
                explored=bool(row[13]),
                picked_up_at=row[14],
                dropped_at=row[15],
                opened_at=row[16],
                passed_at=row[19],
            )
        return record


FOR_CHECKS = frozenset({"get_rooms_visited_before", "get_start_steps"})
"""Perception functions about the current subgoal."""

FUNCTIONS: Mapping[str, Callable[..., object]] = BabyAIPerception.__new__(BabyAIPerception).functions()
"""Perception functions without a snapshot, for their signatures and docstrings."""


def _numbers(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _pair(position: object) -> tuple[int, int]:
    match position:
        case (int(x), int(y)):
            return x, y
    raise ValueError("a position is a pair (x, y) of whole numbers")


def _label(record: Object | None) -> str:
    return "nothing" if record is None else f"{record.name} #{record.id}"


def _line(record: Object) -> str:
    status = f", {record.status}" if record.status else ""
    sight = "carried" if record.held else "in view" if record.visible else "remembered"
    where = "rooms {} and {}".format(*record.rooms) if record.status else f"room {record.room}"
    acts = {
        "picked up": record.picked_up_at,
        "put down": record.dropped_at,
        "opened": record.opened_at,
        "passed": record.passed_at,
    }
    history = "".join(f", {act} at step {step}" for act, step in acts.items() if step >= 0)
    return f"- {_label(record)}{status} at {record.position}, distance {record.distance}, {where}, {sight}{history}"
