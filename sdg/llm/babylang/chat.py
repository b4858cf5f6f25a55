"""The chat job: the rule-based stand-in names one action, from what this one prompt says and no memory of its own.

It walks straight at the first thing that fits the clause in hand, turns where it is stuck, and knows no search: a
baseline, as simple as it looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdg.llm.babylang import grammar, reading
from sdg.llm.babylang.grammar import Clause

_HERE = re.compile(r"Step (\d+)\. The robot is at \((-?\d+), (-?\d+)\)")
_AHEAD = re.compile(r"It carries (.+?)\. Straight ahead at \((-?\d+), (-?\d+)\): (.+?)\.")
_THING = re.compile(
    r"^- (.+? #\d+)(?:, (open|closed|locked))? at \((-?\d+), (-?\d+)\), distance \d+, .*$", re.MULTILINE
)
_LEFT, _RIGHT, _FORWARD = "turn left", "turn right", "go forward"
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Thing:
    """A line of the state: name with number, a door's status, position."""

    name: str
    status: str
    at: Cell


@dataclass(frozen=True, slots=True)
class Scene:
    """What the prompt says of the robot and of what lies around it."""

    step: int
    here: Cell
    front: Cell
    free: bool
    carried: str
    faced: str
    things: tuple[Thing, ...]


def answer(text: str) -> str:
    """The name of one action. Raises NotBabyLanguage for tasks out of the grammar."""
    groups = grammar.parse(reading.block(reading.section(text, "Task for the robot")))
    scene = _scene(reading.block(reading.section(text, "Known now")))
    wanted = (_act(clause, scene) for group in groups for clause in group)
    return next((action for action in wanted if action), _RIGHT)


def _scene(state: str) -> Scene:
    here, ahead = _HERE.search(state), _AHEAD.search(state)
    if here is None or ahead is None:
        raise KeyError("the robot's position")
    things = tuple(Thing(name, status, (int(x), int(y))) for name, status, x, y in _THING.findall(state))
    return Scene(
        step=int(here[1]),
        here=(int(here[2]), int(here[3])),
        front=(int(ahead[2]), int(ahead[3])),
        free="straight ahead is free" in state,
        carried=ahead[1],
        faced=ahead[4],
        things=things,
    )


def _act(clause: Clause, scene: Scene) -> str:
    """The next action for a clause, "" where it looks done."""
    if clause.kind == "put":
        return _bring(clause, scene)
    if clause.kind == "pick" and fits(scene.carried, clause.thing):
        return ""
    if not fits(scene.faced, clause.thing):
        return _approach(clause.thing, scene)
    if clause.kind == "open":
        return "toggle" if any(each.name == scene.faced and each.status != "open" for each in scene.things) else ""
    return "pick up" if clause.kind == "pick" else ""


def _bring(clause: Clause, scene: Scene) -> str:
    if not fits(scene.carried, clause.thing):
        return "pick up" if fits(scene.faced, clause.thing) else _approach(clause.thing, scene)
    beside = any(_far(each.at, scene.front) == 1 for each in _fitting(clause.goal, scene.things))
    return "drop" if beside and scene.free else _approach(clause.goal, scene)


def _approach(description: str, scene: Scene) -> str:
    """A step or a turn towards the nearest thing that fits; a look round where none is known."""
    known = sorted(_fitting(description, scene.things), key=lambda each: _far(each.at, scene.here))
    if not known:
        return _wander(scene)
    nearer = _far(known[0].at, scene.front) < _far(known[0].at, scene.here)
    if nearer and (scene.free or known[0].at == scene.front):
        return _FORWARD
    return _wander(scene) if nearer else _turn(known[0].at, scene)


def _wander(scene: Scene) -> str:
    if "door" in scene.faced:
        return "toggle" if not scene.free else _FORWARD
    if scene.free and scene.step % 5:
        return _FORWARD
    return _LEFT if scene.step // 7 % 2 else _RIGHT


def _turn(goal: Cell, scene: Scene) -> str:
    """To the side on which the goal lies: the sign of the cross product of heading and way."""
    (x, y), (u, v), (a, b) = scene.here, scene.front, goal
    side = (u - x) * (b - y) - (v - y) * (a - x)
    return _LEFT if side > 0 else _RIGHT


def _fitting(description: str, things: Sequence[Thing]) -> Iterator[Thing]:
    return (each for each in things if fits(each.name, description))


def fits(name: str, description: str) -> bool:
    """Whether "red ball #3" has the colour and the type that a description names; place words are not looked at."""
    colour, kind = grammar.colour_of(description), grammar.type_of(description)
    return name != "nothing" and colour in ("", grammar.colour_of(name)) and kind in ("object", grammar.type_of(name))


def _far(one: Cell, other: Cell) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])
