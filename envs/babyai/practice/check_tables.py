"""What the compiler of checks is told of BabyAI's perception: which functions and fields its kernel answers."""

from __future__ import annotations

from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import ANY, Target, parse
from sdg.envs.babyai.perception.table import STATUSES
from sdg.envs.babyai.perception.tracking import MAX_OBJECTS
from sdg.envs.babyai.practice.check_kernel import FACT_NAMES, FIELD_NAMES, SCRATCH, evaluate_rows
from sdg.envs.check_machine import BOOL, INT, NO_TEXT, NUMBERS, THING, CheckMachine

_KINDS = {
    "type": "type", "color": "color", "status": "status", "name": "name", "facing": BOOL, "visible": BOOL,
    "held": BOOL, "explored": BOOL,
}  # fmt: skip
_FACTS = {
    "get_current_room": (INT, "room"), "get_steps": (INT, "steps"), "get_start_steps": (INT, "began_at"),
    "get_visited_rooms": (NUMBERS, "visited"), "get_rooms_visited_before": (NUMBERS, "visited_before"),
    "count_unseen_cells": (INT, "unseen"), "get_carried": (THING, "carried"), "get_facing": (THING, "facing"),
}  # fmt: skip
_NAMES = tuple(f"{color} {kind}" for color in COLOURS for kind in TYPES)
_PARTS = {"type": 0, "color": 1, "name": 2}
"""Kinds of text that are parameters, compared with this part of a slot."""


def _target_of(kind: str, text: str) -> Target:
    """A text that a type, a color or a name is compared with, as a parameter; NO_TEXT when no thing has it."""
    color, _, noun = text.rpartition(" ") if kind == "name" else (text, "", text)
    type_index = TYPES.index(noun) if noun in TYPES else NO_TEXT
    color_index = COLOURS.index(color) if color in COLOURS else NO_TEXT
    if kind == "type":
        return Target(type=type_index)
    if kind == "color":
        return Target(color=color_index)
    known = type_index >= 0 and color_index >= 0
    return Target(type=type_index, color=color_index) if known else Target(NO_TEXT, NO_TEXT, 0, ANY)


def _numbered(names: tuple[str, ...], *wanted: str) -> tuple[int, ...]:
    return tuple(names.index(name) for name in wanted)


def machine() -> CheckMachine:
    """What the compiler of checks is told of BabyAI's perception."""
    facts = {name: (kind, _numbered(FACT_NAMES, fact)) for name, (kind, fact) in _FACTS.items()}
    facts |= {
        "get_position": ("pair", _numbered(FACT_NAMES, "x", "y")),
        "get_front_position": ("pair", _numbered(FACT_NAMES, "front_x", "front_y")),
    }
    pairs = {"position": ("x", "y"), "start_position": ("start_x", "start_y"), "rooms": ("one_room", "other_room")}
    plain = [name for name in FIELD_NAMES if not any(name in pair for pair in pairs.values())]
    fields = {name: (_KINDS.get(name, INT), _numbered(FIELD_NAMES, name)) for name in plain}
    fields |= {name: ("pair", _numbered(FIELD_NAMES, *pair)) for name, pair in pairs.items()}
    return CheckMachine(
        facts=facts,
        fields=fields,
        texts={"type": TYPES, "color": COLOURS, "status": STATUSES, "name": _NAMES},
        parameters=_PARTS,
        target_of=_target_of,
        parse=parse,
        run=evaluate_rows,
        rows_of=lambda memory: len(memory.steps),
        all_things="get_observed_objects",
        find="find_objects",
        is_free="is_free",
        most_things=MAX_OBJECTS,
        scratch=SCRATCH,
    )
