"""Subgoals of known kind in many words: what embedders and clusterings are measured on.

Every kind has wordings (text and the API name that a translator would give it) and ways to write its check function.
Each is in two halves with verbs and checks of their own: weights were proposed on the first ("tuning"), and the default
was chosen by its worst case over the second ("held out"), both together and several sizes. A third set, "fresh"
(`fresh_corpus.py`), was written after that. Doors are kinds of their own, as in the paper's nine skills; `COARSE`
says which kinds differ by that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sdg.experiments.bench.clusterings.fresh_corpus import CHECKS, WORDINGS
from sdg.skills.clustering.embedding import ClusterItem
from sdg.skills.subgoal import CheckFunction, SkillCall, Subgoal

Half = Literal["tuning", "held out", "both", "fresh"]

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
THINGS = ("ball", "box", "key")


@dataclass(frozen=True, slots=True)
class Kind:
    """Wordings "text|api" and check bodies of one meaning; `{x}` is the argument, `{y}` what is carried meanwhile."""

    name: str
    wordings: tuple[str, ...]
    held_out_wordings: tuple[str, ...]
    checks: tuple[str, ...]
    held_out_checks: tuple[str, ...]
    argument: Literal["thing", "door", "none"] = "thing"


COARSE = {"discover door": "discover", "go to door": "go next to"}

_DISCOVERED = (
    "return len(find_objects('{x}')) > 0",
    "for o in get_observed_objects():\n    if o.name == '{x}':\n        return True\nreturn False",
)
_DISCOVERED_TOO = (
    "return any(o.color == '{c}' and o.type == '{t}' for o in get_observed_objects())",
    "seen = find_objects('{x}')\nreturn bool(seen)",
)
_NEXT_TO = (
    "return any(o.facing for o in find_objects('{x}'))",
    "found = find_objects('{x}')\nif not found:\n    return False\nreturn found[0].distance == 1 and found[0].facing",
)
_NEXT_TO_TOO = (
    "front = get_facing()\nreturn front is not None and front.name == '{x}'",
    "ahead = get_facing()\nreturn ahead is not None and ahead.color == '{c}' and ahead.type == '{t}'",
)

KINDS: tuple[Kind, ...] = (
    Kind(
        "discover",
        (
            "discover the {x}|discover",
            "find the {x}|find",
            "search for the {x}|search_for",
            "look for the {x}|look_for",
        ),
        (
            "locate the {x}|locate",
            "spot the {x}|spot",
            "explore until the {x} is in view|explore_for",
            "see where the {x} is|see",
        ),
        _DISCOVERED,
        _DISCOVERED_TOO,
    ),
    Kind(
        "go next to",
        (
            "go next to the {x}|go_next_to",
            "go to the {x}|go_to",
            "walk up to the {x}|walk_up_to",
            "move to the {x}|move_to",
        ),
        (
            "approach the {x}|approach",
            "reach the {x}|reach",
            "move beside the {x}|move_beside",
            "stand in front of the {x}|stand_in_front_of",
        ),
        _NEXT_TO,
        _NEXT_TO_TOO,
    ),
    Kind(
        "pick up",
        ("pick up the {x}|pick", "take the {x}|take", "lift the {x}|lift"),
        ("grab the {x}|grab", "collect the {x}|collect", "get hold of the {x}|get_hold_of", "fetch the {x}|fetch"),
        (
            "held = get_carried()\nreturn held is not None and held.name == '{x}'",
            "return any(o.held for o in find_objects('{x}'))",
        ),
        (
            "held = get_carried()\nif held is None:\n    return False\n"
            "return held.type == '{t}' and held.color == '{c}'",
            "carried = get_carried()\nreturn carried is not None and carried.id in [o.id for o in find_objects('{x}')]",
        ),
    ),
    Kind(
        "face a free cell next to",
        (
            "face a free cell next to the {x}|face_free_cell_next_to",
            "position yourself for putting something next to the {x}|position_for_putting",
            "turn to an empty spot beside the {x}|turn_to_empty_spot",
        ),
        (
            "stand so that an open square by the {x} lies ahead|stand_for_dropping",
            "get ready to place a thing next to the {x}|get_ready_to_place",
            "line up with a vacant place adjacent to the {x}|line_up_with_vacant_place",
        ),
        (
            "front = get_front_position()\nif get_carried() is None or not is_free(front):\n    return False\n"
            "return any(abs(o.position[0] - front[0]) + abs(o.position[1] - front[1]) == 1"
            " for o in find_objects('{x}'))",
            "x, y = get_front_position()\nfor o in find_objects('{x}'):\n"
            "    if is_free((x, y)) and abs(o.position[0] - x) + abs(o.position[1] - y) == 1:\n        return True\n"
            "return False",
        ),
        (
            "cell = get_front_position()\nheld = get_carried()\nnear = False\nfor o in get_observed_objects():\n"
            "    if o.name == '{x}':\n        dx = o.position[0] - cell[0]\n        dy = o.position[1] - cell[1]\n"
            "        near = near or dx * dx + dy * dy == 1\nreturn held is not None and near and is_free(cell)",
        ),
    ),
    Kind(
        "put next to",
        (
            "put the {y} next to the {x}|put_next_to",
            "place the {y} beside the {x}|place_beside",
            "set the {y} down next to the {x}|set_down_next_to",
        ),
        (
            "lay the {y} by the {x}|lay_by",
            "leave the {y} near the {x}|leave_near",
            "deposit the {y} adjacent to the {x}|deposit_adjacent_to",
        ),
        (
            "for a in find_objects('{y}'):\n    for b in find_objects('{x}'):\n"
            "        d = abs(a.position[0] - b.position[0])"
            " + abs(a.position[1] - b.position[1])\n        if not a.held and d == 1:\n"
            "            return True\nreturn False",
            "return get_carried() is None and any("
            "abs(a.position[0] - b.position[0]) + abs(a.position[1] - b.position[1]) == 1"
            " for a in find_objects('{y}') for b in find_objects('{x}'))",
        ),
        (
            "dropped = [o for o in find_objects('{y}') if o.dropped_at >= get_start_steps()]\n"
            "goals = find_objects('{x}')\n"
            "return any(abs(o.position[0] - g.position[0]) + abs(o.position[1] - g.position[1]) == 1"
            " for o in dropped for g in goals)",
        ),
    ),
    Kind(
        "discover door",
        ("discover the {x}|discover_door", "find the {x}|find_door", "search for the {x}|search_for_door"),
        ("locate the {x}|locate_door", "spot the {x}|spot_door", "explore until the {x} is in view|explore_for_door"),
        _DISCOVERED,
        _DISCOVERED_TOO,
        "door",
    ),
    Kind(
        "go to door",
        ("go to the {x}|go_to_door", "go next to the {x}|go_next_to_door", "walk up to the {x}|walk_up_to_door"),
        (
            "approach the {x}|approach_door",
            "reach the {x}|reach_door",
            "stand in front of the {x}|stand_in_front_of_door",
        ),
        _NEXT_TO,
        _NEXT_TO_TOO,
        "door",
    ),
    Kind(
        "open door",
        ("open the {x}|open_door", "open up the {x}|open_up", "unlock the {x}|unlock_door"),
        ("get the {x} open|get_open", "pull the {x} open|pull_open", "toggle the {x}|toggle_door"),
        (
            "return any(o.status == 'open' for o in find_objects('{x}'))",
            "return any(o.opened_at >= get_start_steps() for o in find_objects('{x}'))",
        ),
        (
            "door = get_facing()\nreturn door is not None and door.name == '{x}' and door.status == 'open'",
            "for d in get_observed_objects():\n    if d.type == 'door' and d.color == '{c}' and d.status == 'open':\n"
            "        return True\nreturn False",
        ),
        "door",
    ),
    Kind(
        "find unexplored door",
        (
            "find an unexplored door|find_unexplored_door",
            "go to a door that is not explored|go_to_unexplored_door",
            "look for a door that leads somewhere new|look_for_new_door",
        ),
        (
            "locate a doorway not used yet|locate_unused_doorway",
            "seek an untried door|seek_untried_door",
            "discover a door to an unvisited part|discover_door_to_unvisited_part",
        ),
        (
            "return any(d.facing and not d.explored for d in find_objects('door'))",
            "front = get_facing()\nreturn front is not None and front.type == 'door' and not front.explored",
        ),
        (
            "for d in get_observed_objects():\n    if d.type == 'door' and not d.explored and d.distance == 1:\n"
            "        return True\nreturn False",
        ),
        "none",
    ),
    Kind(
        "enter unexplored room",
        (
            "enter an unexplored room|enter_unexplored_room",
            "go into a room that was not visited|go_into_new_room",
            "move on to a new room|move_on_to_new_room",
        ),
        (
            "step into an unvisited room|step_into_unvisited_room",
            "get to another room|get_to_another_room",
            "pass through to the next chamber|pass_through_to_next_chamber",
        ),
        (
            "return get_current_room() not in get_rooms_visited_before()",
            "return len(get_visited_rooms()) > len(get_rooms_visited_before())",
        ),
        ("before = get_rooms_visited_before()\nhere = get_current_room()\nreturn here >= 0 and here not in before",),
        "none",
    ),
    Kind(
        "drop",
        ("drop the {x}|drop", "put down the {x}|put_down", "set down the {x}|set_down"),
        ("let go of the {x}|let_go_of", "release the {x}|release", "lay aside the {x}|lay_aside"),
        (
            "return get_carried() is None",
            "return any(o.dropped_at >= get_start_steps() for o in find_objects('{x}'))",
        ),
        ("held = get_carried()\nreturn held is None or held.name != '{x}'",),
    ),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Items and the name of the true kind of each."""

    items: tuple[ClusterItem, ...]
    kinds: tuple[str, ...]

    @property
    def coarse(self) -> tuple[str, ...]:
        """The true kinds when a skill for things may serve doors too."""
        return tuple(COARSE.get(kind, kind) for kind in self.kinds)


def draw(half: Half, *, n_items: int, seed: int, kinds: Sequence[Kind] = KINDS) -> Corpus:
    """`n_items` subgoals, kinds in turn, wording, objects and check drawn independently of one another."""
    rng = np.random.default_rng(seed)
    chosen = [kinds[i % len(kinds)] for i in range(n_items)]
    return Corpus(tuple(_item(kind, half, rng=rng) for kind in chosen), tuple(kind.name for kind in chosen))


def _item(kind: Kind, half: Half, *, rng: np.random.Generator) -> ClusterItem:
    wordings = {
        "tuning": kind.wordings,
        "held out": kind.held_out_wordings,
        "both": kind.wordings + kind.held_out_wordings,
        "fresh": WORDINGS[kind.name],
    }
    checks = {
        "tuning": kind.checks,
        "held out": kind.held_out_checks,
        "both": kind.checks + kind.held_out_checks,
        "fresh": CHECKS[kind.name],
    }
    text, api = _pick(wordings[half], rng).split("|")
    colour, thing = _pick(COLOURS, rng), "door" if kind.argument == "door" else _pick(THINGS, rng)
    fields = {"x": f"{colour} {thing}", "c": colour, "t": thing, "y": f"{_pick(COLOURS, rng)} {_pick(THINGS, rng)}"}
    body = _pick(checks[half], rng).format(**fields)
    name = "is_" + api
    source = f"def {name}():\n" + "\n".join("    " + line for line in body.splitlines()) + "\n"
    argument = "" if kind.argument == "none" else fields["x"]
    return ClusterItem(SkillCall(api, argument), Subgoal(text.format(**fields), CheckFunction(name, source)))


def _pick(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
