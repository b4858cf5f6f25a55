"""A third set of wordings and checks, written after every choice was made: the figures on it are those to believe."""

from __future__ import annotations

WORDINGS: dict[str, tuple[str, ...]] = {
    "discover": ("detect the {x}|detect", "catch sight of the {x}|catch_sight_of", "hunt for the {x}|hunt_for"),
    "go next to": ("get close to the {x}|get_close_to", "travel to the {x}|travel_to", "head for the {x}|head_for"),
    "pick up": ("obtain the {x}|obtain", "seize the {x}|seize", "acquire the {x}|acquire"),
    "face a free cell next to": (
        "look at a blank tile bordering the {x}|look_at_blank_tile",
        "align with clear floor alongside the {x}|align_with_clear_floor",
        "aim at unoccupied ground close to the {x}|aim_at_unoccupied_ground",
    ),
    "put next to": (
        "position the {y} alongside the {x}|position_alongside",
        "rest the {y} against the {x}|rest_against",
        "deliver the {y} to the {x}|deliver_to",
    ),
    "discover door": (
        "detect the {x}|detect_door",
        "catch sight of the {x}|catch_sight_of_door",
        "hunt for the {x}|hunt_for_door",
    ),
    "go to door": ("travel to the {x}|travel_to_door", "head for the {x}|head_for_door", "get to the {x}|get_to_door"),
    "open door": ("swing the {x} open|swing_open", "unbolt the {x}|unbolt", "push the {x} open|push_open"),
    "find unexplored door": (
        "head for an exit not tried so far|head_for_untried_exit",
        "reach an undiscovered doorway|reach_undiscovered_doorway",
        "pick out a door still to be explored|pick_out_door_to_explore",
    ),
    "enter unexplored room": (
        "walk into fresh territory|walk_into_fresh_territory",
        "cross over to an unknown room|cross_over_to_unknown_room",
        "proceed to the adjoining room|proceed_to_adjoining_room",
    ),
    "drop": ("discard the {x}|discard", "ditch the {x}|ditch", "unload the {x}|unload"),
}

_SEEN = (
    "names = [o.name for o in get_observed_objects()]\nreturn '{x}' in names",
    "return any(o.visible for o in find_objects('{x}'))",
)
_NEXT = (
    "for o in find_objects('{x}'):\n    if o.facing:\n        return True\nreturn False",
    "x, y = get_front_position()\nreturn any(o.position == (x, y) for o in find_objects('{x}'))",
)

CHECKS: dict[str, tuple[str, ...]] = {
    "discover": _SEEN,
    "go next to": _NEXT,
    "pick up": (
        "mine = get_carried()\nif mine:\n    return mine.name == '{x}'\nreturn False",
        "return any(o.held and o.picked_up_at >= get_start_steps() for o in find_objects('{x}'))",
    ),
    "face a free cell next to": (
        "front = get_front_position()\nif get_facing() is not None or not is_free(front):\n    return False\n"
        "return any(max(abs(o.position[0] - front[0]), abs(o.position[1] - front[1])) == 1"
        " for o in find_objects('{x}'))",
    ),
    "put next to": (
        "for goal in find_objects('{x}'):\n    gx, gy = goal.position\n    for o in find_objects('{y}'):\n"
        "        if o.position in [(gx + 1, gy), (gx - 1, gy), (gx, gy + 1), (gx, gy - 1)] and not o.held:\n"
        "            return True\nreturn False",
    ),
    "discover door": _SEEN,
    "go to door": _NEXT,
    "open door": (
        "doors = find_objects('{x}')\nreturn len(doors) > 0 and doors[0].status == 'open'",
        "return any(d.status == 'open' and d.opened_at > get_start_steps() for d in find_objects('{x}'))",
    ),
    "find unexplored door": (
        "door = get_facing()\nif door is None:\n    return False\nreturn door.type == 'door' and not door.explored",
    ),
    "enter unexplored room": (
        "room = get_current_room()\nfor old in get_rooms_visited_before():\n    if old == room:\n        return False\n"
        "return True",
    ),
    "drop": ("return not any(o.held for o in find_objects('{x}'))",),
}
