"""What BabyAI's robot can tell of a command before and after it, from what it has seen alone: facts for the gate.

Skills are practised within a room. Over 3,900 recorded calls (2026-11-22) those about a thing of the room succeeded in
99 %, those about one beyond the reach of `Surroundings` in none, searches of a room that was wholly seen in none.
"""

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import numpy as np

from sdg.envs.babyai.cells import MAX_SIZE, TYPES
from sdg.envs.babyai.perception.columns import STATUSES, flood
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object
from sdg.envs.babyai.perception.tracking import ahead
from sdg.envs.domain import Affordances, Persistence

Cell = tuple[int, int]
EXPLORED, FACING, HELD, OPENED, DROPPED, POSITION, PASSED = (
    *(".explored", ".facing", ".held", ".opened_at", ".dropped_at", ".position", ".passed_at"),
)
NEW_ROOM, FRONT, UNSEEN = "get_rooms_visited_before()", "get_front_position()", "count_unseen_cells()"
AIMS = (NEW_ROOM, UNSEEN, DROPPED, OPENED, PASSED, FRONT, HELD, FACING)
"""What a check asks for, the most telling question first."""
HANDS_ON = frozenset({FACING, HELD, OPENED, DROPPED, POSITION, PASSED})
"""What a check asks of a thing that the robot has to come to."""


class Surroundings:
    """What can be reached from where the robot of a snapshot stands; worked out when it is asked for."""

    def __init__(self, seen: BabyAIPerception) -> None:
        self.seen = seen
        self._cells, self._start, self._pitch = seen.known_map()
        self._dx, self._dy = ahead(int(self._start[2]))
        self._at = self.cell(seen.get_position())

    def cell(self, position: Cell) -> Cell:
        """A start-frame position as a cell of the map."""
        x, y = position
        dx, dy = self._dx, self._dy
        return int(self._start[0] + y * dx - x * dy), int(self._start[1] + y * dy + x * dx)

    @property
    def is_in_doorway(self) -> bool:
        """Whether the robot stands between two rooms."""
        return 0 in (self._at[0] % self._pitch, self._at[1] % self._pitch)

    @cached_property
    def is_all_seen(self) -> bool:
        """Whether nothing of the room is unseen; in a doorway, of anything that can be walked to."""
        return not self._reach[1] if self.is_in_doorway else self.seen.count_unseen_cells() == 0

    @cached_property
    def _reach(self) -> tuple[np.ndarray, int]:
        steps, queue = np.empty((MAX_SIZE, MAX_SIZE), np.int16), np.empty(MAX_SIZE * MAX_SIZE, np.int16)
        return steps, flood(self._cells, *self._at, steps, queue)

    def steps_to(self, thing: Object) -> int:
        """Steps over free cells to the nearest one beside a thing; -1 where no such way is known."""
        x, y = self.cell(thing.position)
        cells = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        ways = [int(self._reach[0][cell]) for cell in cells if min(cell) >= 0 and max(cell) < MAX_SIZE]
        return min((steps for steps in ways if steps >= 0), default=-1)

    def is_here(self, thing: Object) -> bool:
        """Whether a thing belongs to the room that the robot stands in (in a doorway, to either of two)."""
        pitch = self._pitch
        return all(
            any(low <= there <= low + pitch for low in {here // pitch * pitch, (here - 1) // pitch * pitch})
            for here, there in zip(self._at, self.cell(thing.position), strict=True)
        )


class RoomAffordances(Affordances):
    """What speaks against a command, and whether it succeeded (`sdg.envs.domain.Affordances`)."""

    def obstacle(self, asks: Set[str], argument: str, seen: BabyAIPerception) -> str:
        """Why nothing that the robot does from here can answer what is asked; "" where nothing says so."""
        if not asks & {EXPLORED, NEW_ROOM} and not argument:
            return ""
        place, targets = Surroundings(seen), asked_about(asks, argument, seen)
        if not targets:
            what = f"nothing that matches {argument!r:.80} has been seen" if argument else "no unexplored door is known"
            return f"{what}, and of the room that the robot is in nothing is left unseen" if place.is_all_seen else ""
        if not (asks & HANDS_ON or NEW_ROOM in asks):
            return ""
        loose = [thing for thing in targets if not thing.held]
        if argument and not loose:
            return f"the {targets[0].name} is carried already"
        near = [thing for thing in loose if place.is_here(thing) or place.steps_to(thing) >= 0]
        if not near:
            return _elsewhere(loose, seen) if argument or place.is_all_seen else ""
        return _hand_obstacle(aim_of(asks), near, seen) if argument else ""

    def shortfall(self, asks: Set[str], argument: str, before: BabyAIPerception, after: BabyAIPerception) -> str | None:
        """The effect that is missing between two snapshots, "" if none is; None if the snapshots can't tell."""
        aim = aim_of(asks)
        if aim == NEW_ROOM:
            has_entered = after.get_current_room() not in before.get_visited_rooms()
            return "" if has_entered else "no room was entered that wasn't visited before"
        if aim == UNSEEN:
            return "" if after.count_unseen_cells() == 0 else "not all of the room was seen"
        if not argument and EXPLORED not in asks:
            return None
        targets = asked_about(asks, argument, after)
        if not targets:
            return f"nothing that matches {argument!r:.80} was seen" if argument else "no unexplored door was seen"
        if not aim:
            return None if asks & HANDS_ON else ""
        return _missing_effect(aim, targets, after, began=before.get_steps(), opened="'open'" in asks)

    def features(
        self, asks: Set[str], argument: str, before: BabyAIPerception, after: BabyAIPerception | None = None
    ) -> np.ndarray:
        """The same in numbers: about the state before a command, or about the change after it.

        Everything is what the robot has perceived; counts and distances are scaled to about 1, all else is 0 or 1.
        """
        values = _before(asks, argument, before) if after is None else _after(asks, argument, before, after)
        aim = aim_of(asks)
        questions = [*(aim == each for each in AIMS), EXPLORED in asks, "'open'" in asks, bool(argument)]
        return np.array([*questions, bool(asks & HANDS_ON), *values], np.float32)


def aim_of(asks: Set[str]) -> str:
    """The most telling of the questions that are asked, "" for none of them."""
    return next((aim for aim in AIMS if aim in asks), "")


def asked_about(asks: Set[str], argument: str, seen: BabyAIPerception) -> Sequence[Object]:
    """The known things that a command is about: what its argument describes, or doors that aren't explored."""
    if argument:
        return seen.find_objects(argument)
    doors = seen.find_objects("door") if asks & {EXPLORED, NEW_ROOM} else []
    return [door for door in doors if not door.explored and not (door.status == "locked" and "'locked'" in asks)]


def _elsewhere(things: Sequence[Object], snapshot: BabyAIPerception) -> str:
    thing, here = things[0], snapshot.get_current_room()
    there = "a room where the robot has not been" if thing.room < 0 else f"room {thing.room}"
    where = f"it was last seen in {there}, the robot is in room {here}"
    if thing.type == "door":
        where = f"it is no door of room {here}, which the robot is in"
    return f"the {thing.name} #{thing.id} is out of reach: {where}"


def _hand_obstacle(aim: str, near: Sequence[Object], snapshot: BabyAIPerception) -> str:
    load, doors = snapshot.get_carried(), [thing for thing in near if thing.type == "door"]
    key = load.color if load is not None and load.type == "key" else ""
    first, door = (f"the {things[0].name} #{things[0].id}" if things else "" for things in (near, doors))
    full = f"the hand is full: the {load.name} is carried" if load else ""
    obstacles = {
        DROPPED: (not load, "nothing is carried"),
        OPENED: (
            all(each.status == "locked" and each.color != key for each in doors),
            f"{door} is locked, and its key isn't in the hand" if doors else f"the {near[0].name} is no door",
        ),
        PASSED: (all(thing.status != "open" for thing in near), f"{first} isn't open"),
        HELD: (bool(load) or len(doors) == len(near), "a door can't be carried" if len(doors) == len(near) else full),
    }
    is_ruled_out, reason = obstacles.get(aim, (False, ""))
    return reason if is_ruled_out else ""


def _missing_effect(aim: str, targets: Sequence[Object], after: BabyAIPerception, *, began: int, opened: bool) -> str:
    load, ahead, front = after.get_carried(), after.get_facing(), after.get_front_position()
    what = targets[0].name
    drops = [thing for thing in after.get_observed_objects() if thing.dropped_at > began]
    shut = opened and ahead is not None and ahead.status != "open"
    is_done, otherwise = {
        DROPPED: (any(is_beside(each.position, targets) for each in drops), f"nothing was put down next to the {what}"),
        OPENED: (any(thing.opened_at > began for thing in targets), f"the {what} was not opened"),
        PASSED: (any(thing.passed_at > began for thing in targets), f"the {what} was not passed"),
        HELD: (load in targets and load is not None and load.picked_up_at > began, f"the {what} was not picked up"),
        FRONT: (
            ahead is None and after.is_free(front) and is_beside(front, targets),
            f"no free cell next to the {what} is straight ahead",
        ),
        FACING: (ahead in targets and not shut, f"the {what} is not straight ahead"),
    }[aim]
    return "" if is_done else otherwise


def is_beside(cell: Cell, things: Sequence[Object]) -> bool:
    """Whether any of some things that aren't carried lies one step from a cell."""
    distances = (abs(each.position[0] - cell[0]) + abs(each.position[1] - cell[1]) for each in things if not each.held)
    return 1 in distances


def _before(asks: Set[str], argument: str, snapshot: BabyAIPerception) -> list[float]:
    """How a command stands before it is carried out."""
    place, targets = Surroundings(snapshot), asked_about(asks, argument, snapshot)
    here, load, ahead = (
        [thing for thing in targets if place.is_here(thing)],
        snapshot.get_carried(),
        snapshot.get_facing(),
    )
    doors = [door for door in snapshot.find_objects("door") if not door.explored]
    return [
        *_nearest(targets, snapshot, place), min(len(targets), 4) / 4, min(len(here), 4) / 4,
        min(snapshot.count_unseen_cells(), 20) / 20, place.is_all_seen, place.is_in_doorway, load is not None,
        *(ahead is not None and ahead.status == each for each in STATUSES),
        ahead is None, snapshot.is_free(snapshot.get_front_position()), len(snapshot.get_visited_rooms()) / 9,
        any(place.is_here(door) for door in doors), bool(doors),
    ]  # fmt: skip


def _after(asks: Set[str], argument: str, first: BabyAIPerception, last: BabyAIPerception) -> list[float]:
    """What is different after a command was carried out."""
    targets, began, things = asked_about(asks, argument, last), first.get_steps(), last.get_observed_objects()
    load, ahead, front = last.get_carried(), last.get_facing(), last.get_front_position()
    drops = [thing for thing in things if thing.dropped_at > began]
    return [
        bool(targets), len(things) > len(first.get_observed_objects()), ahead in targets,
        load in targets, load in targets and load is not None and load.picked_up_at > began,
        any(thing.opened_at > began for thing in targets), any(is_beside(each.position, targets) for each in drops),
        ahead is None and last.is_free(front) and is_beside(front, targets),
        last.get_current_room() not in first.get_visited_rooms(), last.count_unseen_cells() == 0,
        last.get_current_room() != first.get_current_room(), last.get_position() != first.get_position(),
        ahead is not None and ahead.status == "open", ahead is not None and ahead.type == "door" and not ahead.explored,
        load is not None, first.get_carried() is not None, bool(drops),
        any(thing.opened_at > began for thing in things),
    ]  # fmt: skip


def _nearest(targets: Sequence[Object], snapshot: BabyAIPerception, place: Surroundings) -> list[float]:
    """Of the thing that is nearest on foot; one that there isn't has nothing but 0."""
    if not targets:
        return [0.0] * (len(TYPES) + len(STATUSES) + 12)
    ways = {thing.id: place.steps_to(thing) for thing in targets}
    thing = min(targets, key=lambda each: (not place.is_here(each), ways[each.id] < 0, ways[each.id], each.distance))
    steps, load, (x, y) = ways[thing.id] if ways[thing.id] >= 0 else FAR, snapshot.get_carried(), thing.position
    sides = sum(snapshot.is_free(side) for side in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)))
    return [
        *(thing.type == kind for kind in TYPES), *(thing.status == status for status in STATUSES),
        place.is_here(thing), min(steps, FAR) / FAR, min(max(steps - 12, 0), 28) / 28, ways[thing.id] < 0,
        min(thing.distance, 30) / 30, thing.facing, thing.visible, thing.held, thing.explored,
        load is not None and load.type == "key" and load.color == thing.color, sides / 4,
        thing.room == snapshot.get_current_room(),
    ]  # fmt: skip


FAR = 40
"""Steps at which a way that is not known counts."""
DETOUR = 10
"""Steps more than the shortest known way that an attempt at a thing of another room may take; turns are steps."""


class RoomPersistence(Persistence):
    """What the robot's map says of an attempt (`sdg.envs.domain.Persistence`)."""

    reasons: Mapping[str, str] = {
        "unseen": "nothing like it was ever seen, and no new place comes into view from here",
        "elsewhere": "it belongs to another room and nothing new came into view",
        "strayed": "it ended in another room than it began in",
    }

    def knowledge(self, memory: Memory) -> int:
        """How many cells were seen."""
        return int(np.count_nonzero(memory.cells[0]))

    def place(self, perception: BabyAIPerception) -> int:
        """The room that the robot is in."""
        return perception.get_current_room()

    def is_known(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether anything seen so far is what the argument names."""
        return bool(perception.find_objects(argument))

    def is_possible(self, perception: BabyAIPerception, argument: str) -> bool:
        """What was seen isn't only in other rooms; what was never seen may be where this room wasn't looked at yet."""
        if argument and not self.is_known(perception, argument):
            return perception.count_unseen_cells() > 0
        return not argument or not self.is_elsewhere(perception, argument)

    def patience(self, perception: BabyAIPerception, argument: str) -> int | None:
        """For things of other rooms little more than the steps of the way; for what is here the skill's horizon."""
        place, things = Surroundings(perception), perception.find_objects(argument) if argument else []
        if not things or any(thing.held or place.is_here(thing) for thing in things):
            return None
        return max(place.steps_to(thing) for thing in things) + DETOUR

    def is_elsewhere(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether what the argument names was seen, in other rooms only. Doors are of two rooms at once."""
        place, things = Surroundings(perception), perception.find_objects(argument)
        return bool(things) and not any(thing.held or place.is_here(thing) for thing in things)


def facts(snapshot: BabyAIPerception, argument: str) -> Mapping[str, bool]:
    """Short sentences, in which "it" is what the argument names, and whether each is true of a snapshot."""
    things = snapshot.find_objects(argument) if argument else []
    load, ahead, front = snapshot.get_carried(), snapshot.get_facing(), snapshot.get_front_position()
    here, began = snapshot.get_current_room(), snapshot.get_start_steps()
    drops = [each for each in snapshot.get_observed_objects() if each.dropped_at > began]
    return {
        "it was seen": bool(things),
        "it is in or at the robot's room": any(here in each.rooms for each in things),
        "the robot faces it": any(each.facing for each in things),
        "the robot faces a door": not argument and ahead is not None and ahead.type == "door",
        "the robot faces a free cell next to it": ahead is None
        and snapshot.is_free(front)
        and is_beside(front, things),
        "what was carried lies next to it": any(is_beside(each.position, things) for each in drops),
        "it is carried": any(each.held for each in things),
        "nothing is carried": load is None,
        "something is carried": load is not None,
        "it is open": any(each.status == "open" for each in things),
        "the robot is in the room on its other side": any(each.passed_at > began for each in things),
        "all of the room was seen": snapshot.count_unseen_cells() == 0,
    }
