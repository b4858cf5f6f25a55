"""The corridor as a domain: how a lamp is named, what a policy sees, when a command is given up."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from sdg.envs.defaults import OnePlace, PlainDomain, PlainInputs
from sdg.envs.domain import Perceivable, SearchHints
from sdg.envs.fakes.corridor import (
    ACTIONS,
    ANY,
    COLOURS,
    LEFT,
    LENGTH,
    NOTHING,
    RIGHT,
    TAKE,
    Corridor,
    CorridorPerception,
    Lamp,
    parse,
)
from sdg.envs.world_rows import world_of


class LampLanguage:
    """Descriptions such as "the red lamp" (`sdg.envs.domain.Language`)."""

    example = "red lamp"
    anything = ""
    parts: Mapping[str, tuple[str, ...]] = {"color": COLOURS}

    def parse(self, description: str) -> int:
        """The target that a description names. ValueError when it names none."""
        return parse(description)

    def text(self, target: int) -> str:
        """The description of a target."""
        return "lamp" if target == ANY else f"{COLOURS[target]} lamp"

    def part(self, target: int, part: str) -> str | None:
        """The colour of a target; None where it is open."""
        return COLOURS[target] if target >= 0 else None

    def row(self, argument: str) -> np.ndarray:
        """The argument as i16 (1,)."""
        try:
            return np.array([parse(argument)], np.int16)
        except ValueError:
            return np.array([NOTHING], np.int16)

    def described(self, row: np.ndarray) -> str:
        """The description that a row stands for, "" for none."""
        return "" if row[0] == NOTHING else self.text(int(row[0]))

    def mentions(self, sentence: str) -> list[str]:
        """The descriptions in a sentence."""
        return re.findall(rf"(?:{'|'.join(COLOURS)}) lamp", sentence.lower())

    def kind(self, argument: str) -> Hashable:
        """All lamps are of a kind; arguments that name none are of another."""
        return bool(self.row(argument)[0] != NOTHING)

    def name_of(self, element: Lamp) -> str:
        """Its name, which no other lamp has."""
        return element.name

    def kinds_of(self, element: Lamp) -> str:
        """The same."""
        return element.name

    def resolve(self, argument: str, elements: Sequence[Lamp]) -> Sequence[Lamp]:
        """The lamps that a description fits. ValueError when it describes nothing."""
        wanted = parse(argument)
        return [lamp for lamp in elements if wanted in (ANY, lamp.id)]


class LampInputs(PlainInputs):
    """Bits: where the target is (known and how far, or unknown), what was seen on either side, the hand."""

    size, actions, dtype = 2 * LENGTH + 6, 4, np.uint8

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row; there is one frame."""
        world = world_of(memory, row)
        state = world.keep()
        out[:] = 0
        lamps = world.perception().get_lamps() if isinstance(world, Corridor) else []
        wanted = [lamp for lamp in lamps if target[0] in (ANY, lamp.id)]
        if wanted:
            out[LENGTH + wanted[0].position + state.start - state.at] = 1
            out[2 * LENGTH], out[2 * LENGTH + 1] = wanted[0].is_on, wanted[0].held
        out[2 * LENGTH + 2], out[2 * LENGTH + 3] = state.low > 0, state.high < LENGTH - 1
        out[2 * LENGTH + 4], out[2 * LENGTH + 5] = -1 in state.lamps, state.at in state.lamps
        return 1


class LampSense(OnePlace):
    """A corridor is one place, and everything in it can be reached (`sdg.envs.domain.Persistence`)."""

    reasons: Mapping[str, str] = {
        "unseen": "nothing like it was ever seen, and nothing new comes into view",
        "elsewhere": "it is somewhere else",
        "strayed": "it ended somewhere else",
    }

    def known(self, memory: Any) -> int:
        """How many cells were seen."""
        state = world_of(memory, 0).keep()
        return int(state.high - state.low)

    def is_known(self, perception: CorridorPerception, argument: str) -> bool:
        """Whether a lamp of this description was seen."""
        return bool(perception.find_lamps(argument))


class CorridorDomain(PlainDomain):
    """The domain `corridor` (`sdg.envs.domain.Domain`)."""

    name = "corridor"
    level_names = ("Visit", "Light")
    world = Corridor
    actions = ACTIONS
    perceivable = Perceivable(
        CorridorPerception.__new__(CorridorPerception).functions(),
        (Lamp,),
        "A lamp is a record with the fields id, name, color, position, distance, is_on, held.",
    )
    language = LampLanguage()
    inputs = LampInputs()
    hints = SearchHints(prior=(0.0, 0.0, -0.5, -1.5), hands=(TAKE,), stroll=(LEFT, RIGHT), about_hands=("held",))
    persistence = LampSense()
    texts: Mapping[str, str] = {
        "role": "An agent walks along a dark corridor in which lamps stand. It sees two cells far.",
        "unfolding": '- "visit X": see X, then stand at it.\n- "light X": stand at X as above, then switch it on.',
        "translation": "The name says what is done, the argument names the lamp: `visit | red lamp`.",
        "programs": "A lamp has to be seen before the agent can go to it.",
        "example": "",
        "judging": "",
        "moves": "A lamp has to be reached before the agent can switch it on.",
        "moves_example": "",
        "actions": "Positions are whole numbers along the corridor.",
        "executor": "The executor is an agent in a dark corridor; it has seen the lamps that are listed. One command "
        "is one learned skill: it walks along the corridor, looks for lamps, or handles the one that it stands at.",
    }

    def __reduce__(self) -> str:
        return "CORRIDOR"


CORRIDOR = CorridorDomain()
