"""What BabyAI's robot can tell of a command before and after it, from what it has seen alone: facts for the gate.

Skills are practised within a room. Over 3,900 recorded calls (2026-11-22) those about a thing of the room came about in
99 %, those about one beyond the reach of `Surroundings` in none, searches of a room that was wholly seen in none.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property

import numpy as np

from sdg.envs.babyai.perception.memory import MAX_SIZE
from sdg.envs.babyai.perception.reach import flood
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object
from sdg.envs.babyai.perception.tracking import ahead

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
        if self.is_in_doorway:
            return not self._reach[1]
        return self.seen.count_unseen_cells() == 0

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

    def is_in_reach(self, thing: Object) -> bool:
        """Whether a thing is of this room, or a way over free cells to it is known."""
        return self.is_here(thing) or self.steps_to(thing) >= 0


class RoomAffordances:
    """What speaks against a command, and whether it came about (`sdg.envs.domain.Affordances`)."""

    def obstacle(self, asks: Set[str], argument: str, seen: BabyAIPerception) -> str:
        """Why nothing that the robot does from here can answer what is asked; "" where nothing says so."""
        if not asks & {EXPLORED, NEW_ROOM} and not argument:
            return ""
        place, known = Surroundings(seen), asked_about(asks, argument, seen)
        if not known:
            return _unknown(argument) if place.is_all_seen else ""
        if not (asks & HANDS_ON or NEW_ROOM in asks):
            return ""
        loose = [thing for thing in known if not thing.held]
        if argument and not loose:
            return f"the {known[0].name} is carried already"
        near = [thing for thing in loose if place.is_in_reach(thing)]
        if not near:
            return _elsewhere(loose, seen) if argument or place.is_all_seen else ""
        return _hands(aim_of(asks), near, seen) if argument else ""

    def shortfall(self, asks: Set[str], argument: str, before: BabyAIPerception, after: BabyAIPerception) -> str | None:
        """What of the asked didn't come about between two snapshots, "" when all did, None when nothing tells."""
        aim = aim_of(asks)
        if aim == NEW_ROOM:
            entered = after.get_current_room() not in before.get_visited_rooms()
            return "" if entered else "no room was entered that wasn't visited before"
        if aim == UNSEEN:
            return "" if after.count_unseen_cells() == 0 else "not all of the room was seen"
        if not argument and EXPLORED not in asks:
            return None
        known = asked_about(asks, argument, after)
        if not known:
            return f"nothing that matches {argument!r:.80} was seen" if argument else "no unexplored door was seen"
        if not aim:
            return None if asks & HANDS_ON else ""
        return _undone(aim, known, after, began=before.get_steps(), opened="'open'" in asks)

    def features(
        self, asks: Set[str], argument: str, before: BabyAIPerception, after: BabyAIPerception | None = None
    ) -> np.ndarray:
        """The same in numbers: of the moment before a command, or of what is different after it."""
        from sdg.envs.babyai import affordance_features

        if after is None:
            return affordance_features.before(asks, argument, before)
        return affordance_features.after(asks, argument, before, after)


def aim_of(asks: Set[str]) -> str:
    """The most telling of the questions that are asked, "" for none of them."""
    return next((aim for aim in AIMS if aim in asks), "")


def asked_about(asks: Set[str], argument: str, seen: BabyAIPerception) -> Sequence[Object]:
    """The known things that a command is about: what its argument describes, or doors that aren't explored."""
    if argument:
        return seen.find_objects(argument)
    doors = seen.find_objects("door") if asks & {EXPLORED, NEW_ROOM} else []
    return [door for door in doors if not door.explored and not (door.status == "locked" and "'locked'" in asks)]


def _unknown(argument: str) -> str:
    what = f"nothing that matches {argument!r:.80} has been seen" if argument else "no unexplored door is known"
    return f"{what}, and of the room that the robot is in nothing is left unseen"


def _elsewhere(things: Sequence[Object], seen: BabyAIPerception) -> str:
    thing, here = things[0], seen.get_current_room()
    if thing.type == "door":
        where = f"it is no door of room {here}, which the robot is in"
    else:
        there = "a room where the robot has not been" if thing.room < 0 else f"room {thing.room}"
        where = f"it was last seen in {there}, the robot is in room {here}"
    return f"the {thing.name} #{thing.id} is out of reach: {where}"


def _hands(aim: str, near: Sequence[Object], seen: BabyAIPerception) -> str:
    held = seen.get_carried()
    if aim == DROPPED:
        return "" if held else "nothing is carried"
    if aim == OPENED:
        doors = [thing for thing in near if thing.type == "door"]
        if not doors:
            return f"the {near[0].name} is no door"
        key = "" if held is None or held.type != "key" else held.color
        shut = all(door.status == "locked" and door.color != key for door in doors)
        return f"the {doors[0].name} #{doors[0].id} is locked, and its key isn't in the hand" if shut else ""
    if aim == PASSED:
        passable = any(thing.status == "open" for thing in near)
        return "" if passable else f"the {near[0].name} #{near[0].id} isn't open"
    if aim == HELD:
        if all(thing.type == "door" for thing in near):
            return "a door can't be carried"
        return f"the hand is full: the {held.name} is carried" if held else ""
    return ""


def _undone(aim: str, known: Sequence[Object], after: BabyAIPerception, *, began: int, opened: bool) -> str:
    held, faced, front = after.get_carried(), after.get_facing(), after.get_front_position()
    loose = [thing for thing in known if not thing.held]
    if aim == DROPPED:
        put = [thing for thing in after.get_observed_objects() if thing.dropped_at > began]
        beside = any(distance(a.position, b.position) == 1 for a in put for b in loose)
        return "" if beside else f"nothing was put down next to the {known[0].name}"
    if aim == OPENED:
        return "" if any(thing.opened_at > began for thing in known) else f"the {known[0].name} was not opened"
    if aim == PASSED:
        return "" if any(thing.passed_at > began for thing in known) else f"the {known[0].name} was not passed"
    if aim == HELD:
        return "" if held and held in known and held.picked_up_at > began else f"the {known[0].name} was not picked up"
    if aim == FRONT:
        beside = faced is None and after.is_free(front) and any(distance(front, b.position) == 1 for b in loose)
        return "" if beside else f"no free cell next to the {known[0].name} is straight ahead"
    shut = opened and faced is not None and faced.status != "open"
    return "" if faced in known and not shut else f"the {known[0].name} is not straight ahead"


def distance(a: Cell, b: Cell) -> int:
    """Steps from cell to cell along x plus along y."""
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
