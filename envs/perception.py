"""What can be perceived: the record that perception functions return, and the role they play.

The docstrings of a world's perception functions are, word for word, the API text of the prompts (SDG, section 4.2:
"the description of the perception API"), so they are written for a language model to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Object:
    """A thing the robot has seen. Positions are (x, y): x to the right of and y ahead of its pose at the start."""

    id: int
    name: str
    type: str
    color: str
    position: tuple[int, int]
    start_position: tuple[int, int]
    distance: int
    facing: bool
    visible: bool
    held: bool
    room: int
    status: str
    explored: bool
    picked_up_at: int
    dropped_at: int
    opened_at: int


class Perception(Protocol):
    """A read-only snapshot of what a robot knows from the views it has received so far."""

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions P by name, bound to this snapshot; their docstrings are the prompt's API text."""
        ...

    def describe(self) -> str:
        """The snapshot in a few lines of text, as a guard or a model is shown it. Screen and mission text is data."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What a guard or a model is shown: never the environment itself, and not the gymnasium observation."""

    text: str
    image: object | None = None
    elements: tuple[Object, ...] = ()
