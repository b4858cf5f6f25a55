"""What the hand-written planner calls: perception and skills under names of its own, declared for type checkers.

None of it is ever run here. `sdg.llm.babylang.program` writes the names that a prompt offers in their place.
"""

from __future__ import annotations

from typing import Protocol, TypedDict

Cell = tuple[int, int]


class Thing(Protocol):
    """The fields of a record that the planner reads."""

    id: int
    name: str
    type: str
    color: str
    position: Cell
    room: int
    status: str
    held: bool
    facing: bool
    picked_up_at: int


class Notes(TypedDict):
    """What perception can't tell: cells of rooms the robot was in, rooms looked over, what got stuck, doors tried."""

    known: dict[Cell, bool]
    stuck: list[int]
    looked: list[int]
    tried: list[int]


def find(description: str) -> list[Thing]:
    """Things seen so far that match, nearest first."""
    raise NotImplementedError


def carried() -> Thing | None:
    """The thing in the hand."""
    raise NotImplementedError


def facing() -> Thing:
    """The thing straight ahead, asked for only where there is one."""
    raise NotImplementedError


def position() -> Cell:
    """Where the robot stands."""
    raise NotImplementedError


def front_position() -> Cell:
    """The cell straight ahead."""
    raise NotImplementedError


def is_free(cell: Cell) -> bool:
    """Whether a cell was seen and can be walked on."""
    raise NotImplementedError


def room() -> int:
    """The room the robot is in."""
    raise NotImplementedError


def unseen() -> int:
    """Cells of this room that were never in view."""
    raise NotImplementedError


def look_for(thing: str) -> bool:
    """Skill: discover."""
    raise NotImplementedError


def walk_to(thing: Thing) -> bool:
    """Skill: goto."""
    raise NotImplementedError


def lift(thing: Thing) -> bool:
    """Skill: pick."""
    raise NotImplementedError


def turn_beside(thing: Thing) -> bool:
    """Skill: face."""
    raise NotImplementedError


def set_beside(thing: Thing) -> bool:
    """Skill: put."""
    raise NotImplementedError


def unlatch(door: Thing) -> bool:
    """Skill: open."""
    raise NotImplementedError


def look_round() -> bool:
    """Skill: look."""
    raise NotImplementedError


def step_through(door: Thing) -> bool:
    """Skill: enter."""
    raise NotImplementedError


def left() -> None:
    """Action: turn left."""
    raise NotImplementedError


def right() -> None:
    """Action: turn right."""
    raise NotImplementedError


def forward() -> None:
    """Action: one cell ahead."""
    raise NotImplementedError


def grab() -> None:
    """Action: pick up what is ahead."""
    raise NotImplementedError


def lay() -> None:
    """Action: put down ahead."""
    raise NotImplementedError


def toggle() -> None:
    """Action: open or close the door ahead."""
    raise NotImplementedError


SKILLS = {
    "discover": "look_for", "goto": "walk_to", "pick": "lift", "face": "turn_beside", "put": "set_beside",
    "open": "unlatch", "look": "look_round", "enter": "step_through",
}  # fmt: skip
"""Kind of subgoal -> the planner's name for the skill that reaches it."""

PERCEPTION = frozenset({"find", "carried", "facing", "position", "front_position", "is_free", "room"})
"""Parts of a prompt's perception (`sdg.llm.babylang.names.PERCEPTION`) without which the planner can't work."""

BESIDE_SKILLS = ("right", "lay")
"""Parts of PRIMITIVES that the planner calls beside skills, where they are offered."""

ACTIONS = frozenset({"left", "right", "forward", "grab", "lay", "toggle"})
"""Parts that primitive actions play (`sdg.llm.babylang.skills.PRIMITIVES`)."""
