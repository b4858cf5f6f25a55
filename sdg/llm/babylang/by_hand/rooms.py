"""A hand-written planner over learned skills: it searches rooms, clears ways, fetches keys and brings things.

`reach`, `take`, `open_up` and `bring` each carry out one clause of an instruction. The functions are handed out as the
source of a program (`sdg.llm.babylang.program`), never run here: what they call and don't define is perception and
skills, in whose place a prompt's names are written. `notes` holds what perception can't tell: cells of rooms the robot
was in (`known`), things that got `stuck`, rooms `looked` over, doors `tried`.
"""
# mypy: ignore-errors
# ruff: noqa: F821


def beside(cell):
    x, y = cell
    return [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]


def there(what):
    return [thing for thing in find(what) if not thing.held]


def hand():
    held = carried()
    return -1 if held is None else held.id


def doorways():
    return [door.position for door in there("door")]


def floor(ways=(), walls=(), ends=()):
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


def survey(notes):
    """Note the cells of a room that was looked over."""
    doors = doorways()
    if position() not in doors:
        for cell in floor([thing.position for thing in there("object")], doors):
            notes["known"][cell] = True


def plan(ends, notes):
    """The nearest end, then the doors and objects on the way; [] if there is none."""
    usable = [thing for thing in there("object") if thing.id not in notes["stuck"] and thing.status != "locked"]
    walls = [door.position for door in there("door") if door.id in notes["stuck"]]
    for loose in (False, True) if ends else ():
        ways = {thing.position: thing for thing in usable if loose or thing.type == "door"}
        origin = floor(ways, walls, ends)
        for end in [cell for cell in origin if cell in ends][:1]:
            met = []
            cell = end
            while origin[cell] != cell:
                if cell in ways and (cell != end or ways[cell].status != "open"):
                    met.insert(0, ways[cell])
                cell = origin[cell]
            return [end, *met]
    return []


def go(met, notes):
    """Past the first door or object on the way."""
    first, here = (met[0], room())
    if not (cross(first) if first.type == "door" else clear(first)) and room() == here:
        notes["stuck"].append(first.id)


def cross(door):
    """Through a door."""
    if not walk_to(door):
        return False
    if facing().status != "open":
        return unlatch(door)
    (x, y), (a, b) = (position(), door.position)
    for thing in there("object"):
        if thing.position == (a + a - x, b + b - y):
            return clear(thing, door.position)
    return step_through(door)


def stand_before(thing, spot):
    """What lies right behind a door is reached from the doorway."""
    return all(walk_to(door) for door in there("door") if door.position == spot != position()) and walk_to(thing)


def clear(thing, spot=None):
    """Carry an object out of the way, or along."""
    put_aside([thing.position])
    return stand_before(thing, spot) and lift(thing) and (put_aside([thing.position]) or True)


def apart(cell, spots, most):
    return all((abs(cell[0] - x) + abs(cell[1] - y) > most for x, y in spots))


def put_aside(spots=()):
    """Beside the robot where that serves; not close to the spots and best not to a door."""
    clear_of = [*spots, *doorways()]
    sides = [cell for cell in beside(position()) if is_free(cell) and apart(cell, clear_of, 1)]
    for _ in range(5):
        if hand() < 0:
            return True
        if front_position() in sides:
            lay()
        elif sides:
            right()
    for far in (clear_of, spots, ()):
        cells = floor((), doorways())
        near = [thing for thing in there("object") if any(cell in cells for cell in beside(thing.position))]
        for thing in [thing for thing in near if apart(thing.position, far, 2)][:2]:
            if turn_beside(thing) and set_beside(thing):
                return True
    return False


def unlock(door, notes):
    """Fetch the key of a locked door and open it; what lies in the way may cost the hand the key."""
    notes["tried"].append(door.id)
    for _ in range(8):
        held = carried()
        if held is not None and held.name == door.color + " key":
            found = reach("door #" + str(door.id), notes, True, True)
            if hand() == held.id:
                return found is not None and unlatch(door)
        elif not take(door.color + " key", notes):
            return False
    return False


def explore(what, notes):
    """One step of a search through rooms; False when nothing is left."""
    here = room()
    if here not in notes["looked"]:
        known = find(what)
        for _ in range(0 if notes["looked"] else 3):
            if not find(what):
                right()
        if find(what) and (not known):
            return True
        # where there is no door, any other thing must be here
        seen = look_round() if there("door") or known or "door" in what else look_for(what)
        things = [it for it in there("object") if it.room == here and it.type != "door" and (it.picked_up_at < 0)]
        if room() == here and things and (not seen):
            clear(things[0])
        else:
            # a look that led out of the room would do so again
            notes["looked"].append(here)
        return True
    survey(notes)
    new = [door for door in there("door") if sum([cell in notes["known"] for cell in beside(door.position)]) < 2]
    new = [door for door in new if door.id not in notes["stuck"]]
    ends = {cell: door for door in new if door.status != "locked" for cell in beside(door.position)}
    route = plan(ends, notes)
    if route:
        go(route[1:] or [ends[route[0]]], notes)
        return True
    locked = [door for door in new if door.status == "locked" and door.id not in notes["tried"]]
    return any(there(door.color + " key") and unlock(door, notes) for door in locked)


def reach(what, notes, face=True, keep=False):
    """Come to a thing that fits; returns its record. With `keep` it ends where the hand was changed."""
    held, failed = (hand(), [])
    for _ in range(60):
        if find(what) and (not there(what)):
            put_aside()
        if keep and hand() != held:
            return None
        here, doors = (room(), [] if face else doorways())
        fit = [thing for thing in there(what) if thing.id not in notes["stuck"]]
        ends = {cell: thing for thing in fit[::-1] for cell in beside(thing.position) if cell not in doors}
        route = plan(ends, notes)
        if any(thing.type != "door" for thing in route[1:]) and here not in notes["looked"]:
            # what was not seen yet may be a way round
            explore(what, notes)
        elif len(route) == 1:
            thing = ends[route[0]]
            if face and (not stand_before(thing, route[0])):
                if room() == here or thing.id in failed:
                    notes["stuck"].append(thing.id)
                failed.append(thing.id)
            else:
                return thing
        elif route:
            go(route[1:], notes)
        elif not explore(what, notes):
            notes["stuck"], notes["looked"] = ([], [])
            if not ends and (not look_for(what)):
                return None
    return None


def take(what, notes):
    thing = reach(what, notes)
    if thing is not None and hand() >= 0:
        put_aside([thing.position])
        thing = reach(what, notes)
    return thing is not None and lift(thing)


def open_up(what, notes):
    door = reach(what, notes)
    if door is not None and facing().status == "locked":
        return unlock(door, notes)
    return door is not None and unlatch(door)


def bring(what, place, notes):
    for _ in range(8):
        if hand() in [thing.id for thing in find(what)] or take(what, notes):
            thing = reach(place, notes, False, True)
            if thing is not None:
                if turn_beside(thing) and set_beside(thing):
                    return True
                near = [other for other in there("object") if other.position in beside(thing.position)]
                any(clear(other) for other in near if other.type != "door")
    return False
