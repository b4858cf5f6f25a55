"""A hand-written planner over primitive actions: it walks straight at what it sees and turns where it is stuck."""

from __future__ import annotations

from sdg.llm.babylang.by_hand.offered import Thing, find, forward, front_position, is_free, left, position, right


def turn_to(thing: Thing) -> bool:
    """Turn until a step ahead leads nearer."""
    for _ in range(4):
        (x, y), (a, b), (u, v) = position(), thing.position, front_position()
        if abs(a - u) + abs(b - v) < abs(a - x) + abs(b - y):
            return True
        right()
    return False


def walk_to(what: str) -> bool:
    """Walk to the nearest thing that fits, or about where none is known."""
    for _ in range(60):
        things = [thing for thing in find(what) if not thing.held]
        if not things:
            if is_free(front_position()):
                forward()
            else:
                right()
        elif things[0].facing:
            return True
        elif turn_to(things[0]) and is_free(front_position()):
            forward()
        else:
            left()
            if is_free(front_position()):
                forward()
    return False
