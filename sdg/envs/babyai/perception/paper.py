"""The paper's perception functions (SDG, appendix): what is in view, relative to the robot, and no map.

They are asked of the same snapshots as those of `snapshot.py`, so both presets are honest by the same construction.
Two differences to the paper, both to its flaws: records have named fields, and like things have numbers that differ.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object, Thing
from sdg.envs.defaults import PlainPerception
from sdg.envs.domain import Perceivable

RECORD_TEXT = """\
Positions are pairs (x, y) counted from where the robot stands now: x to its right and y ahead of it, so that (0, 1) \
is the cell straight ahead; only there can the robot act on a thing. A thing is a record with these fields, read as \
record.field:
  id: int, the thing's number; it never changes, also when two things look alike
  name: str, color and type, for example "red ball"; name + " #" + str(id) names exactly this thing
  type: str, "door", "key", "ball" or "box"
  color: str, "red", "green", "blue", "purple", "yellow" or "grey"
  position: (x, y), relative to the robot
  distance: int, steps from the robot to it along x plus along y
A door has two more:
  status: str, "open", "closed" or "locked"
  explored: bool, the robot has visited the rooms on both sides of it
  rooms: (int, int), the numbers of the two rooms that it joins
Records cannot be changed. Descriptions are text: [a|the] [color] (door|key|ball|box|object) \
[on your left|on your right|in front of you|behind you] [#id]. "object" means any type. Location words are about the \
room and the pose in which the mission began, and stay with an object when it is moved."""


@dataclass(frozen=True, slots=True)
class Seen(Thing):
    """A thing in view; its position (x, y) in cells is relative to the robot, x to its right and y ahead."""

    distance: int


@dataclass(frozen=True, slots=True)
class SeenDoor(Seen):
    """A door in view."""

    status: str
    explored: bool
    rooms: tuple[int, int]


class PaperPerception(PlainPerception):
    """The five functions, asked of one snapshot."""

    api = (
        "get_observation",
        "get_doors_in_observation",
        "get_carried",
        "get_current_room",
        "get_visited_rooms",
    )
    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: BabyAIPerception) -> None:
        self._snapshot = snapshot

    def get_observation(self) -> list[Seen]:
        """The keys, balls and boxes that the robot sees now, nearest first."""
        return [self._paper_view(thing) for thing in self._in_view() if thing.type != "door"]

    def get_doors_in_observation(self) -> list[SeenDoor]:
        """The doors that the robot sees now, nearest first."""
        return [
            SeenDoor(**asdict(self._paper_view(door)), status=door.status, explored=door.explored, rooms=door.rooms)
            for door in self._in_view()
            if door.type == "door"
        ]

    def get_carried(self) -> Seen | None:
        """The thing that the robot carries, at position (0, 0), or None."""
        load = self._snapshot.get_carried()
        return None if load is None else self._paper_view(load)

    def get_current_room(self) -> int:
        """The number of the room the robot is in. Rooms are numbered from 0 in the order in which they became
        known: what lies behind a door has a number as soon as the door is seen. In a doorway it is
        still the room that the robot comes from."""
        return self._snapshot.get_current_room()

    def get_visited_rooms(self) -> list[int]:
        """The numbers of the rooms that had been visited when the current subgoal began (in a program: the last call
        of a skill); the room it began in is one of them."""
        return self._snapshot.get_rooms_visited_before()

    def describe(self) -> str:
        """All that was seen in a few lines, out of view or not: a repair begins with it (the paper's loses it)."""
        snapshot = self._snapshot
        load = snapshot.get_carried()
        rooms = ", ".join(map(str, snapshot.get_visited_rooms()))
        lines = [
            f"Step {snapshot.get_steps()}. The robot is in room {snapshot.get_current_room()}; rooms visited: {rooms}.",
            f"It carries {f'{load.name} #{load.id}' if load else 'nothing'}. Positions count from where it stands now.",
        ]
        return "\n".join([*lines, *(self._line(thing) for thing in snapshot.get_observed_objects() if not thing.held)])

    def _in_view(self) -> Iterator[Object]:
        things = sorted(self._snapshot.get_observed_objects(), key=lambda thing: (thing.distance, thing.id))
        return (thing for thing in things if thing.visible and not thing.held)

    def _position(self, thing: Object) -> tuple[int, int]:
        x, y = self._snapshot.get_position()
        a, b = self._snapshot.get_front_position()
        ahead = a - x, b - y
        away = thing.position[0] - x, thing.position[1] - y
        return away[0] * ahead[1] - away[1] * ahead[0], away[0] * ahead[0] + away[1] * ahead[1]

    def _paper_view(self, thing: Object) -> Seen:
        return Seen(thing.id, thing.name, thing.type, thing.color, self._position(thing), thing.distance)

    def _line(self, thing: Object) -> str:
        status = f", {thing.status}" if thing.status else ""
        sight = "in view" if thing.visible else "seen before"
        return f"- {thing.name} #{thing.id}{status} at {self._position(thing)}, distance {thing.distance}, {sight}"


PERCEIVABLE = Perceivable(
    PaperPerception.__new__(PaperPerception).functions(), (Seen, SeenDoor), RECORD_TEXT, preset=PaperPerception
)
"""The preset `paper`."""
