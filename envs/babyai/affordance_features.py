"""The same facts in numbers, for guards that learn: what a command asks, what it names, and what stands in its way.

Everything is what the robot has perceived; counts and distances are scaled to about 1, all else is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from sdg.envs.babyai.affordances import (
    AIMS,
    EXPLORED,
    HANDS_ON,
    Surroundings,
    aim_of,
    asked_about,
    distance,
)
from sdg.envs.babyai.cells import TYPES
from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object

FAR = 40
"""Steps at which a way that is not known counts."""
_STATUSES = ("", "open", "closed", "locked")
_OF_THING = len(TYPES) + len(_STATUSES) + 12


def before(asks: Set[str], argument: str, seen: BabyAIPerception) -> np.ndarray:
    """f32 (k,): how a command stands before it is carried out."""
    place, known = Surroundings(seen), asked_about(asks, argument, seen)
    here, held, ahead = [thing for thing in known if place.is_here(thing)], seen.get_carried(), seen.get_facing()
    doors = [door for door in seen.find_objects("door") if not door.explored]
    status = [ahead is not None and ahead.status == each for each in _STATUSES]
    values = [
        *_asked(asks, argument), *_nearest(known, seen, place), min(len(known), 4) / 4, min(len(here), 4) / 4,
        min(seen.count_unseen_cells(), 20) / 20, place.is_all_seen, place.is_in_doorway, held is not None, *status,
        ahead is None, seen.is_free(seen.get_front_position()), len(seen.get_visited_rooms()) / 9,
        any(place.is_here(door) for door in doors), bool(doors),
    ]  # fmt: skip
    return np.array(values, np.float32)


def after(asks: Set[str], argument: str, first: BabyAIPerception, last: BabyAIPerception) -> np.ndarray:
    """f32 (k,): what is different after a command was carried out."""
    known, began = asked_about(asks, argument, last), first.get_steps()
    held, faced, front = last.get_carried(), last.get_facing(), last.get_front_position()
    things = last.get_observed_objects()
    put, loose = [thing for thing in things if thing.dropped_at > began], [thing for thing in known if not thing.held]
    values = [
        *_asked(asks, argument), bool(known), len(things) > len(first.get_observed_objects()), faced in known,
        held in known, held in known and held is not None and held.picked_up_at > began,
        any(thing.opened_at > began for thing in known), any(_beside(a.position, loose) for a in put),
        faced is None and last.is_free(front) and _beside(front, loose),
        last.get_current_room() not in first.get_visited_rooms(), last.count_unseen_cells() == 0,
        last.get_current_room() != first.get_current_room(), last.get_position() != first.get_position(),
        faced is not None and faced.status == "open", faced is not None and faced.type == "door" and not faced.explored,
        held is not None, first.get_carried() is not None, bool(put), any(thing.opened_at > began for thing in things),
    ]  # fmt: skip
    return np.array(values, np.float32)


def _asked(asks: Set[str], argument: str) -> list[float]:
    aim = aim_of(asks)
    return [*(aim == each for each in AIMS), EXPLORED in asks, "'open'" in asks, bool(argument), bool(asks & HANDS_ON)]


def _nearest(known: Sequence[Object], seen: BabyAIPerception, place: Surroundings) -> list[float]:
    """Of the thing that is nearest on foot; one that there isn't has nothing but 0."""
    if not known:
        return [0.0] * _OF_THING
    ways = {thing.id: place.steps_to(thing) for thing in known}
    thing = min(known, key=lambda each: (not place.is_here(each), ways[each.id] < 0, ways[each.id], each.distance))
    steps, held = ways[thing.id] if ways[thing.id] >= 0 else FAR, seen.get_carried()
    x, y = thing.position
    sides = sum(seen.is_free(side) for side in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)))
    return [
        *(thing.type == kind for kind in TYPES), *(thing.status == status for status in _STATUSES),
        place.is_here(thing), min(steps, FAR) / FAR, min(max(steps - 12, 0), 28) / 28, ways[thing.id] < 0,
        min(thing.distance, 30) / 30, thing.facing, thing.visible, thing.held, thing.explored,
        held is not None and held.type == "key" and held.color == thing.color, sides / 4,
        thing.room == seen.get_current_room(),
    ]  # fmt: skip


def _beside(position: tuple[int, int], things: Sequence[Object]) -> bool:
    return any(distance(position, thing.position) == 1 for thing in things)
