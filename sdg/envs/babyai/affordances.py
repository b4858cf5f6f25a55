"""Facts for the gate about a command in BabyAI, before and after it, only from what the robot has seen.

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
EXPLORED, FACING, HELD, POSITION = ".explored", ".facing", ".held", ".position"
OPENED, DROPPED, PASSED = ".opened_at", ".dropped_at", ".passed_at"
NEW_ROOM, FRONT, UNSEEN = "get_rooms_visited_before()", "get_front_position()", "count_unseen_cells()"
AIMS = (NEW_ROOM, UNSEEN, DROPPED, OPENED, PASSED, FRONT, HELD, FACING)
"""Questions of checks, the most telling one first."""
HANDS_ON = frozenset({FACING, HELD, OPENED, DROPPED, POSITION, PASSED})
"""Questions of checks about a thing that the robot has to come to."""


class Surroundings:
    """The cells that can be reached from the robot's place in a snapshot; worked out when they are asked for."""

    def __init__(self, snapshot: BabyAIPerception) -> None:
        self.snapshot = snapshot
        self._cells, self._start, self._pitch = snapshot.known_map()
        self._dx, self._dy = ahead(int(self._start[2]))
        self._at = self.cell(snapshot.get_position())

    def cell(self, position: Cell) -> Cell:
        """A start-frame position as a cell of the map."""
        x, y = position
        return int(self._start[0] + y * self._dx - x * self._dy), int(self._start[1] + y * self._dy + x * self._dx)

    @property
    def is_in_doorway(self) -> bool:
        """Whether the robot stands between two rooms."""
        return 0 in (self._at[0] % self._pitch, self._at[1] % self._pitch)

    @cached_property
    def is_all_seen(self) -> bool:
        """Whether nothing of the room is unseen; in a doorway, of anything that can be walked to."""
        return not self._reach[1] if self.is_in_doorway else self.snapshot.count_unseen_cells() == 0

    @cached_property
    def _reach(self) -> tuple[np.ndarray, int]:
        steps = np.empty((MAX_SIZE, MAX_SIZE), np.int16)
        return steps, flood(self._cells, *self._at, steps, np.empty(steps.size, np.int16))

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
            any(low <= target <= low + pitch for low in {own // pitch * pitch, (own - 1) // pitch * pitch})
            for own, target in zip(self._at, self.cell(thing.position), strict=True)
        )


class RoomAffordances(Affordances):
    """Obstacles to a command, and whether it succeeded (`sdg.envs.domain.Affordances`)."""

    def obstacle(self, asks: Set[str], argument: str, seen: BabyAIPerception) -> str:
        """Why no command from here can fulfil the check; "" where nothing rules it out."""
        if not asks & {EXPLORED, NEW_ROOM} and not argument:
            return ""
        place = Surroundings(seen)
        targets = things_asked_about(asks, argument, seen)
        if not targets:
            lack = f"nothing that matches {argument!r:.80} has been seen" if argument else "no unexplored door is known"
            return f"{lack}, and of the room that the robot is in nothing is left unseen" if place.is_all_seen else ""
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
        targets = things_asked_about(asks, argument, after)
        if not targets:
            return f"nothing that matches {argument!r:.80} was seen" if argument else "no unexplored door was seen"
        if not aim:
            return None if asks & HANDS_ON else ""
        return _missing_effect(aim, targets, after, began=before.get_steps(), opened="'open'" in asks)

    def features(
        self, asks: Set[str], argument: str, before: BabyAIPerception, after: BabyAIPerception | None = None
    ) -> np.ndarray:
        """The facts in numbers: about the state before a command, or about the change after it.

        Everything is what the robot has perceived; counts and distances are scaled to about 1, all else is 0 or 1.
        """
        values = _before(asks, argument, before) if after is None else _after(asks, argument, before, after)
        aim = aim_of(asks)
        questions = [*(aim == question for question in AIMS), EXPLORED in asks, "'open'" in asks, bool(argument)]
        return np.array([*questions, bool(asks & HANDS_ON), *values], np.float32)


def aim_of(asks: Set[str]) -> str:
    """The most telling of the questions that are asked, "" for none of them."""
    return next((aim for aim in AIMS if aim in asks), "")


def things_asked_about(asks: Set[str], argument: str, snapshot: BabyAIPerception) -> Sequence[Object]:
    """The known things that a command is about: what its argument describes, or doors that aren't explored."""
    if argument:
        return snapshot.find_objects(argument)
    doors = snapshot.find_objects("door") if asks & {EXPLORED, NEW_ROOM} else []
    return [door for door in doors if not door.explored and not (door.status == "locked" and "'locked'" in asks)]


def _elsewhere(things: Sequence[Object], snapshot: BabyAIPerception) -> str:
    thing = things[0]
    room = snapshot.get_current_room()
    last_place = "a room where the robot has not been" if thing.room < 0 else f"room {thing.room}"
    where = f"it was last seen in {last_place}, the robot is in room {room}"
    if thing.type == "door":
        where = f"it is no door of room {room}, which the robot is in"
    return f"the {thing.name} #{thing.id} is out of reach: {where}"


def _hand_obstacle(aim: str, near: Sequence[Object], snapshot: BabyAIPerception) -> str:
    carried = snapshot.get_carried()
    first = near[0]
    doors = [thing for thing in near if thing.type == "door"]
    key = carried.color if carried is not None and carried.type == "key" else ""
    full = f"the hand is full: the {carried.name} is carried" if carried else ""
    obstacles = {
        DROPPED: (not carried, "nothing is carried"),
        OPENED: (
            all(door.status == "locked" and door.color != key for door in doors),
            f"the {doors[0].name} #{doors[0].id} is locked, and its key isn't in the hand"
            if doors
            else f"the {first.name} is no door",
        ),
        PASSED: (all(thing.status != "open" for thing in near), f"the {first.name} #{first.id} isn't open"),
        HELD: (
            bool(carried) or len(doors) == len(near),
            "a door can't be carried" if len(doors) == len(near) else full,
        ),
    }
    is_ruled_out, reason = obstacles.get(aim, (False, ""))
    return reason if is_ruled_out else ""


def _missing_effect(aim: str, targets: Sequence[Object], after: BabyAIPerception, *, began: int, opened: bool) -> str:
    carried = after.get_carried()
    faced = after.get_facing()
    front = after.get_front_position()
    name = targets[0].name
    drops = [thing for thing in after.get_observed_objects() if thing.dropped_at > began]
    door_is_closed = opened and faced is not None and faced.status != "open"
    is_done, reason_if_not = {
        DROPPED: (any(is_beside(drop.position, targets) for drop in drops), f"nothing was put down next to the {name}"),
        OPENED: (any(thing.opened_at > began for thing in targets), f"the {name} was not opened"),
        PASSED: (any(thing.passed_at > began for thing in targets), f"the {name} was not passed"),
        HELD: (
            carried in targets and carried is not None and carried.picked_up_at > began,
            f"the {name} was not picked up",
        ),
        FRONT: (
            faced is None and after.is_free(front) and is_beside(front, targets),
            f"no free cell next to the {name} is straight ahead",
        ),
        FACING: (faced in targets and not door_is_closed, f"the {name} is not straight ahead"),
    }[aim]
    return "" if is_done else reason_if_not


def is_beside(cell: Cell, things: Sequence[Object]) -> bool:
    """Whether any of some things that aren't carried lies one step from a cell."""
    positions = [thing.position for thing in things if not thing.held]
    return any(abs(x - cell[0]) + abs(y - cell[1]) == 1 for x, y in positions)


def _before(asks: Set[str], argument: str, snapshot: BabyAIPerception) -> list[float]:
    """Features of the state before a command is carried out."""
    place = Surroundings(snapshot)
    targets = things_asked_about(asks, argument, snapshot)
    near = [thing for thing in targets if place.is_here(thing)]
    faced = snapshot.get_facing()
    doors = [door for door in snapshot.find_objects("door") if not door.explored]
    return [
        *_nearest(targets, snapshot, place), min(len(targets), 4) / 4, min(len(near), 4) / 4,
        min(snapshot.count_unseen_cells(), 20) / 20, place.is_all_seen, place.is_in_doorway,
        snapshot.get_carried() is not None, *(faced is not None and faced.status == status for status in STATUSES),
        faced is None, snapshot.is_free(snapshot.get_front_position()), len(snapshot.get_visited_rooms()) / 9,
        any(place.is_here(door) for door in doors), bool(doors),
    ]  # fmt: skip


def _after(asks: Set[str], argument: str, first: BabyAIPerception, last: BabyAIPerception) -> list[float]:
    """Features of the change that a command made."""
    targets = things_asked_about(asks, argument, last)
    began = first.get_steps()
    things = last.get_observed_objects()
    carried = last.get_carried()
    faced = last.get_facing()
    front = last.get_front_position()
    drops = [thing for thing in things if thing.dropped_at > began]
    return [
        bool(targets), len(things) > len(first.get_observed_objects()), faced in targets,
        carried in targets, carried in targets and carried is not None and carried.picked_up_at > began,
        any(thing.opened_at > began for thing in targets), any(is_beside(drop.position, targets) for drop in drops),
        faced is None and last.is_free(front) and is_beside(front, targets),
        last.get_current_room() not in first.get_visited_rooms(), last.count_unseen_cells() == 0,
        last.get_current_room() != first.get_current_room(), last.get_position() != first.get_position(),
        faced is not None and faced.status == "open", faced is not None and faced.type == "door" and not faced.explored,
        carried is not None, first.get_carried() is not None, bool(drops),
        any(thing.opened_at > began for thing in things),
    ]  # fmt: skip


def _nearest(targets: Sequence[Object], snapshot: BabyAIPerception, place: Surroundings) -> list[float]:
    """Features of the nearest thing by walking distance; zeros if there is none."""
    if not targets:
        return [0.0] * (len(TYPES) + len(STATUSES) + 12)
    ways = {thing.id: place.steps_to(thing) for thing in targets}
    thing = min(targets, key=lambda item: (not place.is_here(item), ways[item.id] < 0, ways[item.id], item.distance))
    steps = ways[thing.id] if ways[thing.id] >= 0 else FAR
    carried = snapshot.get_carried()
    x, y = thing.position
    sides = sum(snapshot.is_free(side) for side in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)))
    return [
        *(thing.type == kind for kind in TYPES), *(thing.status == status for status in STATUSES),
        place.is_here(thing), min(steps, FAR) / FAR, min(max(steps - 12, 0), 28) / 28, ways[thing.id] < 0,
        min(thing.distance, 30) / 30, thing.facing, thing.visible, thing.held, thing.explored,
        carried is not None and carried.type == "key" and carried.color == thing.color, sides / 4,
        thing.room == snapshot.get_current_room(),
    ]  # fmt: skip


FAR = 40
"""Steps that an unknown way counts for."""
DETOUR = 10
"""Steps more than the shortest known way that an attempt at a thing of another room may take; turns are steps."""


class RoomPersistence(Persistence):
    """When to give up an attempt, by the robot's map (`sdg.envs.domain.Persistence`)."""

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
        """Whether the argument names anything that was seen so far."""
        return bool(perception.find_objects(argument))

    def is_possible(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether the thing may be in this room: it was seen here, or part of this room hasn't been seen yet."""
        if argument and not self.is_known(perception, argument):
            return perception.count_unseen_cells() > 0
        return not argument or not self.is_elsewhere(perception, argument)

    def patience(self, perception: BabyAIPerception, argument: str) -> int | None:
        """Little more than the steps of the way for things of other rooms; None, the skill's horizon, for others."""
        if not argument or not self.is_elsewhere(perception, argument):
            return None
        place = Surroundings(perception)
        return max(place.steps_to(thing) for thing in perception.find_objects(argument)) + DETOUR

    def is_elsewhere(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether the argument names things that were seen in other rooms only. Doors belong to two rooms."""
        place = Surroundings(perception)
        things = perception.find_objects(argument)
        return bool(things) and not any(thing.held or place.is_here(thing) for thing in things)


def facts(snapshot: BabyAIPerception, argument: str) -> Mapping[str, bool]:
    """Short sentences, in which "it" is what the argument names, and whether each is true of a snapshot."""
    things = snapshot.find_objects(argument) if argument else []
    carried = snapshot.get_carried()
    faced = snapshot.get_facing()
    front = snapshot.get_front_position()
    room = snapshot.get_current_room()
    began = snapshot.get_start_steps()
    drops = [thing for thing in snapshot.get_observed_objects() if thing.dropped_at > began]
    return {
        "it was seen": bool(things),
        "it is in or at the robot's room": any(room in thing.rooms for thing in things),
        "the robot faces it": any(thing.facing for thing in things),
        "the robot faces a door": not argument and faced is not None and faced.type == "door",
        "the robot faces a free cell next to it": faced is None
        and snapshot.is_free(front)
        and is_beside(front, things),
        "what was carried lies next to it": any(is_beside(drop.position, things) for drop in drops),
        "it is carried": any(thing.held for thing in things),
        "nothing is carried": carried is None,
        "something is carried": carried is not None,
        "it is open": any(thing.status == "open" for thing in things),
        "the robot is in the room on its other side": any(thing.passed_at > began for thing in things),
        "all of the room was seen": snapshot.count_unseen_cells() == 0,
    }
