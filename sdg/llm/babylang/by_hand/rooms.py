"""A hand-written planner over learned skills: it searches rooms, clears ways, fetches keys and brings things.

`reach`, `take`, `open_up` and `bring` each carry out one clause of an instruction. The functions are handed out as the
source of a program (`sdg.llm.babylang.program`), with a prompt's names in place of those in `offered`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sdg.llm.babylang.by_hand.offered import (
    Cell,
    Notes,
    Thing,
    carried,
    facing,
    find,
    is_free,
    lift,
    look_for,
    look_round,
    position,
    room,
    set_beside,
    step_through,
    turn_beside,
    unlatch,
    walk_to,
)


def beside(cell: Cell) -> list[Cell]:
    x, y = cell
    return [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]


def there(what: str) -> list[Thing]:
    return [thing for thing in find(what) if not thing.held]


def hand() -> int:
    held = carried()
    return -1 if held is None else held.id


def doorways() -> list[Cell]:
    return [door.position for door in there("door")]


def floor(ways: Collection[Cell] = (), walls: Collection[Cell] = (), ends: Collection[Cell] = ()) -> dict[Cell, Cell]:
    """Reachable cells up to one of the ends, each with the cell before it."""
    start = position()
    origin = {start: start}
    cells = [start]
    for here in cells:
        if here in ends:
            break
        for cell in beside(here):
            if cell not in origin and cell not in walls and (cell in ways or is_free(cell)):
                origin[cell] = here
                cells.append(cell)
    return origin


def survey(notes: Notes) -> None:
    """Note the cells of a room that was looked over."""
    doors = doorways()
    if position() not in doors:
        for cell in floor([thing.position for thing in there("object")], doors):
            notes["known"][cell] = True


def plan(ends: Collection[Cell], notes: Notes) -> list[Any]:
    """The nearest end, then the doors and objects on the way; [] if there is none."""
    usable = [thing for thing in there("object") if thing.id not in notes["stuck"] and thing.status != "locked"]
    walls = [door.position for door in there("door") if door.id in notes["stuck"]]
    for loose in (False, True) if ends else ():
        ways = {thing.position: thing for thing in usable if loose or thing.type == "door"}
        origin = floor(ways, walls, ends)
        for end in [cell for cell in origin if cell in ends][:1]:
            met: list[Thing] = []
            cell = end
            while origin[cell] != cell:
                if cell in ways and (cell != end or ways[cell].status != "open"):
                    met.insert(0, ways[cell])
                cell = origin[cell]
            return [end, *met]
    return []


def go(met: list[Thing], notes: Notes) -> None:
    """Past the first door or object on the way."""
    first, here = met[0], room()
    passed = cross(first) if first.type == "door" else clear(first)
    if not passed and room() == here:
        notes["stuck"].append(first.id)


def cross(door: Thing) -> bool:
    """Through a door; what lies beyond it leads on where the skill fails."""
    if not walk_to(door):
        return False
    if facing().status != "open":
        return unlatch(door)
    here, (x, y), (a, b) = room(), position(), door.position
    beyond = []
    for thing in there("object"):
        c, d = thing.position
        if (c, d) == (a + a - x, b + b - y):
            return clear(thing, door.position)
        if (c - a) * (a - x) + (d - b) * (b - y) > 0:
            beyond.append(thing)
    if not step_through(door) and walk_to(door):
        walk_to(beyond[0]) if beyond else step_through(door)
    return room() != here


def stand_before(thing: Thing, spot: Cell | None) -> bool:
    """What lies right behind a door is reached from the doorway."""
    doors = [door for door in there("door") if door.position == spot != position()]
    return all(walk_to(door) for door in doors) and walk_to(thing)


def clear(thing: Thing, spot: Cell | None = None) -> bool:
    """Carry an object out of the way, or along."""
    unload(thing)
    if not (stand_before(thing, spot) and lift(thing)):
        return False
    put_aside([thing.position])
    return True


def apart(thing: Thing, spots: Collection[Cell]) -> bool:
    return all(abs(thing.position[0] - x) + abs(thing.position[1] - y) > 2 for x, y in spots)


def put_aside(spots: Collection[Cell] = ()) -> bool:
    """Not close to the spots and best not to a door."""
    tried = []
    for _turn in range(4):
        cells = floor((), doorways())
        things = [thing for thing in there("object") if hand() >= 0 and thing.id not in tried and apart(thing, spots)]
        near = [thing for thing in things if any(cell in cells for cell in beside(thing.position))]
        for thing in ([thing for thing in near if apart(thing, doorways())] + near)[:1]:
            tried.append(thing.id)
            if turn_beside(thing) and set_beside(thing):
                return True
    return False


def unload(thing: Thing) -> None:
    if hand() >= 0 and not put_aside([thing.position]):
        put_aside()


def unlock(door: Thing, notes: Notes) -> bool:
    """Fetch the key of a locked door and open it."""
    key, held = door.color + " key", carried()
    notes["tried"].append(door.id)
    if (held is None or held.name != key) and not take(key, notes):
        return False
    return reach("door #" + str(door.id), notes) is not None and unlatch(door)


def explore(what: str, notes: Notes) -> bool:
    """One step of a search through rooms; False when nothing is left."""
    here = room()
    if here not in notes["looked"]:
        # where there is no door, the thing must be here
        seen = look_round() if there("door") else look_for(what)
        things = [thing for thing in there("object") if thing.room == here and thing.picked_up_at < 0]
        things = [thing for thing in things if thing.type != "door"]
        if room() == here and (seen or not things):
            notes["looked"].append(here)
        elif room() == here:
            clear(things[0])
        return True
    survey(notes)
    doors = [door for door in there("door") if door.id not in notes["stuck"]]
    new = [door for door in doors if sum([cell in notes["known"] for cell in beside(door.position)]) < 2]
    ends = {cell: door for door in new if door.status != "locked" for cell in beside(door.position)}
    route = plan(ends, notes)
    if route:
        go(route[1:] or [ends[route[0]]], notes)
        return True
    locked = [door for door in new if door.status == "locked" and door.id not in notes["tried"]]
    return any(there(door.color + " key") and unlock(door, notes) for door in locked)


def reach(what: str, notes: Notes, face: bool = True) -> Thing | None:
    """Come to a thing that fits; returns its record."""
    held = hand()
    for _turn in range(60):
        if find(what) and not there(what):
            put_aside()
        if not face and hand() != held:
            return None
        ends: dict[Cell, Thing] = {}
        here = room()
        doors = [] if face else doorways()
        for thing in there(what):
            if thing.id not in notes["stuck"]:
                for cell in beside(thing.position):
                    if cell not in doors:
                        ends.setdefault(cell, thing)
        route = plan(ends, notes)
        if len(route) == 1:
            thing = ends[route[0]]
            if not face or stand_before(thing, route[0]):
                return thing
            if room() == here:
                notes["stuck"].append(thing.id)
        elif route:
            go(route[1:], notes)
        elif not explore(what, notes):
            notes["stuck"], notes["looked"] = [], []
            if not ends and not look_for(what):
                return None
    return None


def take(what: str, notes: Notes) -> bool:
    thing = reach(what, notes)
    if thing is not None and hand() >= 0:
        unload(thing)
        thing = reach(what, notes)
    return thing is not None and lift(thing)


def open_up(what: str, notes: Notes) -> bool:
    door = reach(what, notes)
    if door is not None and facing().status == "locked":
        return unlock(door, notes)
    return door is not None and unlatch(door)


def bring(what: str, place: str, notes: Notes) -> bool:
    for _turn in range(8):
        if hand() in [thing.id for thing in find(what)] or take(what, notes):
            thing = reach(place, notes, False)
            if thing is not None:
                if turn_beside(thing) and set_beside(thing):
                    return True
                near = beside(thing.position)
                any(clear(other) for other in there("object") if other.type != "door" and other.position in near)
    return False
