"""What the planner's skills do, over primitive actions: shortest ways on the robot's own map.

Beside `rooms` these functions stand where learned skills do, so programs of both kinds know the same.
"""
# mypy: ignore-errors
# ruff: noqa: F821


def face(cell):
    """Turn to the cell next to the robot's own, by the shorter way."""
    for _ in range(2):
        (x, y), (a, b) = (position(), front_position())
        if (a, b) != cell:
            left() if (a - x) * (cell[1] - y) > (b - y) * (cell[0] - x) else right()
    return front_position() == cell


def travel(ends):
    """Walk to the nearest of the ends; new views may show that the way is longer."""
    for _ in range(30):
        if position() in ends:
            return True
        origin = floor((), (), ends)
        path = [cell for cell in origin if cell in ends][:1]
        if not path:
            return False
        while origin[path[0]] != position():
            path.insert(0, origin[path[0]])
        for cell in path:
            face(cell)
            if not is_free(cell):
                break
            forward()
    return False


def walk_to(thing):
    return travel(beside(thing.position)) and face(thing.position)


def lift(thing):
    if walk_to(thing):
        grab()
    return hand() == thing.id


def turn_beside(thing):
    doors = doorways()
    spots = [cell for cell in beside(thing.position) if is_free(cell) and cell not in doors]
    travel([cell for spot in spots for cell in beside(spot)])
    return any(face(spot) for spot in spots if spot in beside(position()))


def set_beside(thing):
    lay()
    return hand() < 0


def unlatch(door):
    if not walk_to(door):
        return False
    if facing().status == "open":
        toggle()
    toggle()
    return facing().status == "open"


def look_round():
    """Turn about, and again from where the room is deeper, until all of it was seen."""
    for part in (2, 1, 4, 3):
        for _ in range(4):
            if not unseen():
                return True
            right()
        cells = list(floor((), doorways()))
        travel([cells[(len(cells) - 1) * part // 4]])
    return not unseen()


def look_for(thing):
    return bool(find(thing)) or look_round()


def step_through(door):
    here = room()
    forward()
    forward()
    return room() != here
