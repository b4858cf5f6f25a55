"""When BabyAI's robot gives a command up: what is nowhere to be seen, or known to lie in another room."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception


class RoomSense:
    """What the robot's map says of an attempt (`sdg.envs.domain.Persistence`)."""

    reasons: Mapping[str, str] = {
        "unseen": "nothing like it was ever seen, and no new place comes into view from here",
        "elsewhere": "it lies in another room and nothing new came into view: go through doors to that room first",
        "strayed": "it ended in another room than it began in",
    }

    def known(self, memory: Memory) -> int:
        """How many cells were seen."""
        return int(np.count_nonzero(memory.cells[0]))

    def place(self, perception: BabyAIPerception) -> int:
        """The room that the robot is in."""
        return perception.get_current_room()

    def is_known(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether anything seen so far is what the argument names."""
        return bool(perception.find_objects(argument))

    def is_elsewhere(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether what the argument names was seen, in other rooms only. Doors are of two rooms at once."""
        here, found = perception.get_current_room(), perception.find_objects(argument)
        return bool(found) and all(thing.type != "door" and not thing.held and thing.room != here for thing in found)
