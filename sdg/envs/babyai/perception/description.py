"""Descriptions of things in words, as small integers that a compiled check can hold.

    [a|an|the] [colour] (door|key|ball|box|object) [on your left|on your right|in front of you|behind you] [#id]

Location words are BabyAI's: they speak of things in the room the mission began in, by where they were first seen and by
the robot's pose at the start, and stay with those things when they are moved.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sdg.envs.babyai.cells import COLOUR_SHIFT, COLOURS, KIND_MASK, TYPE_OF_KIND, TYPES
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.tracking import GONE, MAX_OBJECTS, ahead
from sdg.envs.kernels import inner_kernel, wide

ANY = -1
LOCATIONS: tuple[str, ...] = ("", "on your left", "on your right", "in front of you", "behind you")
"""Location words by the index that `Target.location` holds; 0 is none."""
_MAX_LENGTH = 120

_GRAMMAR = re.compile(
    r"(?:(?:an?|the) )?"
    rf"(?:(?P<color>{'|'.join(COLOURS)}|gray) )?"
    r"(?P<type>door|key|ball|box|object)(?:e?s)?"
    r"(?: (?:(?:on|to) (?:your|the) (?P<side>left|right)|(?P<front>in front(?: of you)?)|(?P<behind>behind(?: you)?)))?"
    r"(?: ?#(?P<id>\d{1,3}))?"
)


class Target(NamedTuple):
    """The target of a description: indices into TYPES, COLOURS and LOCATIONS and an object's id; -1 matches any."""

    type: int = ANY
    color: int = ANY
    location: int = 0
    id: int = ANY


Row = Target | np.ndarray


@lru_cache(maxsize=4096)
def _parse(description: str) -> Target:
    match = _GRAMMAR.fullmatch(re.sub(r"\s+", " ", description).strip().lower())
    if match is None:
        raise ValueError(
            f"{description!r} describes nothing: say [a|the] [{'|'.join(COLOURS)}] (door|key|ball|box|object) "
            "[on your left|on your right|in front of you|behind you] [#id], for example 'the red ball'"
        )
    color = (match["color"] or "").replace("gray", "grey")
    location = {"left": 1, "right": 2}.get(match["side"], 3 if match["front"] else 4 if match["behind"] else 0)
    number = int(match["id"] or ANY)
    if number >= MAX_OBJECTS:
        raise ValueError(f"{description!r} names an id that nothing has: ids go from 0 to {MAX_OBJECTS - 1}")
    return Target(
        type=ANY if match["type"] == "object" else TYPES.index(match["type"]),
        color=COLOURS.index(color) if color else ANY,
        location=location,
        id=number,
    )


def parse(description: str) -> Target:
    """The target that a description names. ValueError, with the grammar in the message, when it isn't one."""
    if not isinstance(description, str):
        raise ValueError(f"a description is text such as 'the red ball', not {type(description).__name__}")
    if len(description) > _MAX_LENGTH:
        raise ValueError(f"a description has at most {_MAX_LENGTH} characters, not {len(description)}")
    return _parse(description)


def text(target: Target) -> str:
    """The shortest description that parses to this target."""
    words = [
        COLOURS[target.color] if target.color >= 0 else "",
        TYPES[target.type] if target.type >= 0 else "object",
        LOCATIONS[target.location],
        f"#{target.id}" if target.id >= 0 else "",
    ]
    return " ".join(word for word in words if word)


@inner_kernel
def to_start_frame(memory: Memory, i: int, x: int, y: int) -> tuple[int, int]:
    """Grid position to the start frame of row i: x to the right of and y ahead of the pose at reset."""
    dx, dy = ahead(int(memory.start[i, 2]))
    right, down = int(x) - memory.start[i, 0], int(y) - memory.start[i, 1]
    return down * dx - right * dy, right * dx + down * dy


@inner_kernel
def is_located(memory: Memory, i: int, k: int, location: int) -> bool:
    """Whether object k was first seen in the start room (its walls included), on that side of the pose at reset."""
    pitch = int(memory.pitch[i])
    for axis in range(2):
        low = memory.start[i, axis] // pitch * pitch
        if memory.home[i, k, axis] < low or memory.home[i, k, axis] > low + pitch:
            return False
    x, y = to_start_frame(memory, i, wide(memory.home[i, k, 0]), wide(memory.home[i, k, 1]))
    return (
        (location == 1 and x < 0) or (location == 2 and x > 0) or (location == 3 and y > 0) or (location == 4 and y < 0)
    )


@inner_kernel
def matches(memory: Memory, i: int, k: int, target: Row) -> bool:
    """Whether object k of row i is in the world and is what `target` (a Target or its row) asks for."""
    if k < 0 or k >= memory.n_objects[i] or memory.at[i, k, 0] == GONE:
        return False
    code = memory.code[i, k]
    if target[0] >= 0 and TYPE_OF_KIND[code & KIND_MASK] != target[0]:
        return False
    if target[1] >= 0 and code >> COLOUR_SHIFT != target[1]:
        return False
    if target[3] >= 0 and k != target[3]:
        return False
    return target[2] == 0 or is_located(memory, i, k, wide(target[2]))


def mentions(sentence: str) -> list[str]:
    """The descriptions in a sentence such as a mission, in the order in which they stand and in their shortest form."""
    words = re.sub(r"\s+", " ", sentence).strip().lower()
    return [text(_parse(match.group(0))) for match in _MENTION.finditer(words)]


_MENTION = re.compile(rf"\b{_GRAMMAR.pattern}\b")
