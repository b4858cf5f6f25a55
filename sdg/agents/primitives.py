"""Primitive actions dressed as skills, for SDG-action: the same planner without learned skills (SDG, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sdg.envs.babyai.perception.memory import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, Memory
from sdg.gate.rules import Usage
from sdg.skills.subgoal import CheckFunction

_ONE_STEP = "def acted():\n    return get_steps() > get_start_steps()\n"


@dataclass(frozen=True, slots=True)
class Constant:
    """A policy that knows one action."""

    action: int

    def act(self, memory: Memory, row: int, target: np.ndarray, rng: np.random.Generator) -> int:
        """The action."""
        return self.action


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive action as an option of one step; whether it had an effect is for the gate to say."""

    name: str
    description: str
    policy: Constant
    examples: tuple[str, ...] = ()
    takes_argument: bool = False
    usage: Usage = Usage(takes_argument=False)  # noqa: RUF009  a frozen value
    horizon: int = 1

    def check(self, argument: str) -> CheckFunction:
        """Fires after one step. Raises ValueError for an argument."""
        if argument:
            raise ValueError(f"{self.name} takes no argument, got {argument!r:.60}")
        return CheckFunction("acted", _ONE_STEP)


_ACTIONS = (
    ("turn_left", LEFT, "turn left on the spot"),
    ("turn_right", RIGHT, "turn right on the spot"),
    ("move_forward", FORWARD, "move one cell ahead, if it is free"),
    ("pick", PICKUP, "pick up the object in the cell straight ahead, if nothing is carried"),
    ("put", DROP, "put the carried object down into the cell straight ahead, if it is empty"),
    (
        "toggle",
        TOGGLE,
        "open or close the door straight ahead; a locked one needs the key of its color in the hand",
    ),
)


def primitive_skills() -> Mapping[str, Primitive]:
    """The six actions by the names that SDG's appendix gives them."""
    return {name: Primitive(name, description, Constant(action)) for name, action, description in _ACTIONS}
