"""Perception against minigrid: every field of every record, derived anew from the true world along busy walks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from minigrid.core.constants import DIR_TO_VEC

from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object
from sdg.envs.babyai.world import BabyAIWorld
from tests.shared.walks import in_view, walk

LEVELS = (
    *PAPER_LEVELS,
    "KeyInBox",
    "UnlockToUnlock",
    "GoToDoor",
    "PutNextS6N3",
    "MoveTwoAcrossS8N9",
    "BlockedUnlockPickup",
)
Cell = tuple[int, int]
EVENTS = ("picked_up_at", "dropped_at", "opened_at", "passed_at")


@dataclass
class Seen:
    """What is true of one thing since it was first in view."""

    thing: Any
    home: Cell
    at: Cell
    seen_from: Any
    seen_at: int
    events: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVENTS, -1))


class Oracle:
    """Follows minigrid's own objects by identity; of the memory's it learns which room has which number, for good."""

    def __init__(self, world: BabyAIWorld) -> None:
        self.world, self.inner = world, world.inner
        self.start = (tuple(map(int, self.inner.agent_pos)), int(self.inner.agent_dir))
        self.seen: dict[int, Seen] = {}
        self.carrying: Any = None
        self.open: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.visited: list[Any] = []
        self.before: Cell = self.start[0]
        self.look()

    def look(self) -> None:
        """Take note of the step that was just made."""
        self._enter()
        self._events()
        for cell in in_view(self.world):
            thing = self.inner.grid.get(*cell)
            if thing is not None and thing.type in ("door", "key", "ball", "box"):
                sight = self.seen.setdefault(id(thing), Seen(thing, cell, cell, self.room(), 0))
                sight.at, sight.seen_at = cell, self.world.steps
        self.carrying = self.inner.carrying
        if self.carrying is not None:
            self.seen[id(self.carrying)].at = self.position()
            self.seen[id(self.carrying)].seen_at = self.world.steps
        self.open = {key for key, sight in self.seen.items() if sight.thing.type == "door" and sight.thing.is_open}

    def _enter(self) -> None:
        x, y = self.position()
        room = self.inner.room_from_pos(x, y)
        (left, top), (width, height) = room.top, room.size
        if left < x < left + width - 1 and top < y < top + height - 1:
            if not self.visited or self.visited[-1] is not room:
                door = self.inner.grid.get(*self.before)
                if self.visited and door is not None and door.type == "door":
                    self.seen[id(door)].events["passed_at"] = self.world.steps
                self.visited.append(room)
        self.before = (x, y)

    def _events(self) -> None:
        now = self.inner.carrying
        if now is not None and self.carrying is None:
            self.seen[id(now)].events["picked_up_at"] = self.world.steps
        if now is None and self.carrying is not None:
            self.seen[id(self.carrying)].events["dropped_at"] = self.world.steps
        for key, sight in self.seen.items():
            if sight.thing.type == "door" and sight.thing.is_open and key not in self.open:
                sight.events["opened_at"] = self.world.steps

    def position(self) -> Cell:
        x, y = map(int, self.inner.agent_pos)
        return x, y

    def room(self) -> Any:
        return self.visited[-1]

    def room_number(self, room: Any) -> int:
        return self.numbers[id(room)]

    def _seen_as(self, thing: Object) -> Seen:
        if thing.held:
            return self.seen[id(self.inner.carrying)]
        return next(sight for sight in self.seen.values() if self.frame(sight.at) == thing.position)

    def learn_numbers(self, perception: BabyAIPerception) -> None:
        """Every room that is known has a number, which never changes, and no other room has it."""
        numbered = [(self.room(), perception.get_current_room())]
        for thing in perception.get_observed_objects():
            sight = self._seen_as(thing)
            sides = self._sides(sight.at)
            room = sight.seen_from if len(sides) > 1 else sides[0]
            # What is held is where the robot is; in a doorway that is the room that it comes from.
            numbered.append((self.room() if thing.held else room, thing.room))
            if thing.type == "door":
                numbered += zip(sorted(sides, key=lambda side: side is not sight.seen_from), thing.rooms, strict=True)
        for room, number in numbered:
            assert self.numbers.setdefault(id(room), number) == number
        assert sorted(self.numbers.values()) == list(range(len(self.numbers)))

    def frame(self, cell: Cell) -> Cell:
        (x, y), direction = self.start
        forward, right = DIR_TO_VEC[direction], DIR_TO_VEC[(direction + 1) % 4]
        offset = np.array([cell[0] - x, cell[1] - y])
        return int(offset @ right), int(offset @ forward)

    def present(self) -> list[Seen]:
        """Seen things that are still in the world: an opened box isn't."""
        everywhere = {id(thing) for thing in self.inner.grid.grid if thing is not None} | {id(self.inner.carrying)}
        return [sight for key, sight in self.seen.items() if key in everywhere]

    def record(self, sight: Seen, number: int) -> Object:
        """The record that perception should give."""
        thing, held = sight.thing, sight.thing is self.inner.carrying
        front = tuple(map(int, self.inner.front_pos))
        position = self.position()
        sides = self._sides(sight.at)
        by_door = sight.thing.type == "door" or self._between_rooms(sight.at)
        seen_in = sight.seen_from if by_door else sides[0]
        room = self.room_number(self.room() if held else seen_in)
        other_rooms = [self.room_number(side) for side in sides if side is not sight.seen_from]
        visited = {id(room) for room in self.visited}
        return Object(
            id=number,
            name=f"{thing.color} {thing.type}",
            type=thing.type,
            color=thing.color,
            position=self.frame(sight.at),
            start_position=self.frame(sight.home),
            distance=abs(sight.at[0] - position[0]) + abs(sight.at[1] - position[1]),
            facing=not held and sight.at == front,
            visible=sight.seen_at == self.world.steps,
            held=held,
            room=room,
            rooms=(room, other_rooms[0] if thing.type == "door" else room),
            status=self._status(thing),
            explored=thing.type == "door" and all(id(side) in visited for side in sides),
            **sight.events,
        )

    def _between_rooms(self, cell: Cell) -> bool:
        pitch = self.inner.room_size - 1
        return cell[0] % pitch == 0 or cell[1] % pitch == 0

    def _sides(self, cell: Cell) -> list[Any]:
        x, y = cell
        rooms = [room for row in self.inner.room_grid for room in row]
        return [room for room in rooms if room.pos_inside(x, y) and (x, y) not in _corners(room)]

    @staticmethod
    def _status(thing: Any) -> str:
        if thing.type != "door":
            return ""
        if thing.is_open:
            return "open"
        return "locked" if thing.is_locked else "closed"


def _corners(room: Any) -> set[Cell]:
    (left, top), (width, height) = room.top, room.size
    return {(x, y) for x in (left, left + width - 1) for y in (top, top + height - 1)}


def key_of(record: Object) -> tuple[Any, ...]:
    return (record.position, record.held, record.name)


@pytest.mark.parametrize("level", LEVELS)
def test_every_record_is_true(level: str) -> None:
    oracle: Oracle | None = None
    for world, _ in walk(level, seed=3, steps=150):
        if oracle is None:
            oracle = Oracle(world)
        else:
            oracle.look()
        oracle.learn_numbers(world.perception())
        check_records(oracle, world.perception())
        check_robot(oracle, world.perception())


def check_records(oracle: Oracle, perception: BabyAIPerception) -> None:
    records = {key_of(record): record for record in perception.get_observed_objects()}
    expected = [oracle.record(sight, -1) for sight in oracle.present()]
    assert len(records) == len(expected)
    for record in expected:
        actual = records[key_of(record)]
        assert actual == Object(**{**_fields(record), "id": actual.id})


def check_robot(oracle: Oracle, perception: BabyAIPerception) -> None:
    inner = oracle.inner
    assert perception.get_position() == oracle.frame(oracle.position())
    assert perception.get_front_position() == oracle.frame(tuple(map(int, inner.front_pos)))
    assert perception.get_current_room() == oracle.room_number(oracle.room())
    assert perception.get_visited_rooms() == sorted(set(map(oracle.room_number, oracle.visited)))
    assert perception.get_steps() == oracle.world.steps
    carried, faced = perception.get_carried(), perception.get_facing()
    assert (carried is None) == (inner.carrying is None)
    if carried is not None:
        assert carried.held
        assert (carried.color, carried.type) == (inner.carrying.color, inner.carrying.type)
    ahead = inner.grid.get(*inner.front_pos)
    assert perception.is_free(perception.get_front_position()) == (ahead is None or ahead.can_overlap())
    assert (faced is not None) == (ahead is not None and ahead.type in ("door", "key", "ball", "box"))
    if faced is not None:
        assert faced.facing
        assert (faced.color, faced.type) == (ahead.color, ahead.type)


def _fields(record: Object) -> dict[str, Any]:
    return {name: getattr(record, name) for name in Object.__dataclass_fields__}


def test_ids_stay_with_things() -> None:
    """A thing keeps its id and its start position wherever it is carried, also beside others that look alike."""
    for level in ("BossLevel", "PutNextS6N3", "Pickup"):
        owner: dict[int, int] = {}
        oracle: Oracle | None = None
        for world, _ in walk(level, seed=5, steps=200):
            if oracle is None:
                oracle = Oracle(world)
            else:
                oracle.look()
            oracle.learn_numbers(world.perception())
            things = {key_of(oracle.record(sight, -1)): sight.thing for sight in oracle.present()}
            for record in world.perception().get_observed_objects():
                thing = id(things[key_of(record)])
                assert owner.setdefault(record.id, thing) == thing
