"""What holds of a moment, in sentences: what skills are found to need and to bring about is told in them."""

from __future__ import annotations

from collections.abc import Mapping

from sdg.envs.babyai.perception.snapshot import BabyAIPerception, Object

Cell = tuple[int, int]


def facts(seen: BabyAIPerception, argument: str) -> Mapping[str, bool]:
    """Short sentences, in which "it" is what the argument names, and whether each is true of a snapshot."""
    things = seen.find_objects(argument) if argument else []
    carried, ahead, front = seen.get_carried(), seen.get_facing(), seen.get_front_position()
    here, began = seen.get_current_room(), seen.get_start_steps()
    put = [each for each in seen.get_observed_objects() if each.dropped_at > began]
    return {
        "it was seen": bool(things),
        "it is in or at the robot's room": any(here in each.rooms for each in things),
        "the robot faces it": any(each.facing for each in things),
        "the robot faces a door": not argument and ahead is not None and ahead.type == "door",
        "the robot faces a free cell next to it": ahead is None and seen.is_free(front) and _is_beside(front, things),
        "what was carried lies next to it": any(_is_beside(each.position, things) for each in put),
        "it is carried": any(each.held for each in things),
        "nothing is carried": carried is None,
        "something is carried": carried is not None,
        "it is open": any(each.status == "open" for each in things),
        "the robot is in the room on its other side": any(each.passed_at > began for each in things),
        "all of the room was seen": seen.count_unseen_cells() == 0,
    }


def _is_beside(cell: Cell, things: list[Object]) -> bool:
    distances = (abs(each.position[0] - cell[0]) + abs(each.position[1] - cell[1]) for each in things if not each.held)
    return 1 in distances
