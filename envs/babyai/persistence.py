"""When BabyAI's robot gives a command up: what is nowhere to be seen, or known to lie in another room."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sdg.envs.babyai.affordances import Surroundings
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception

DETOUR = 10
"""Steps more than the shortest known way that an attempt at a thing of another room may take; turns are steps."""


class RoomSense:
    """What the robot's map says of an attempt (`sdg.envs.domain.Persistence`)."""

    reasons: Mapping[str, str] = {
        "unseen": "nothing like it was ever seen, and no new place comes into view from here",
        "elsewhere": "it belongs to another room and nothing new came into view",
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

    def is_possible(self, perception: BabyAIPerception, argument: str) -> bool:
        """What was seen isn't only in other rooms; what was never seen may be where this room wasn't looked at yet."""
        if argument and not self.is_known(perception, argument):
            return perception.count_unseen_cells() > 0
        return not argument or not self.is_elsewhere(perception, argument)

    def patience(self, perception: BabyAIPerception, argument: str) -> int | None:
        """For things of other rooms little more than the steps of the way; for what is here the skill's horizon."""
        place, found = Surroundings(perception), perception.find_objects(argument) if argument else []
        if not found or any(thing.held or place.is_here(thing) for thing in found):
            return None
        return max(place.steps_to(thing) for thing in found) + DETOUR

    def is_elsewhere(self, perception: BabyAIPerception, argument: str) -> bool:
        """Whether what the argument names was seen, in other rooms only. Doors are of two rooms at once."""
        place, found = Surroundings(perception), perception.find_objects(argument)
        return bool(found) and not any(thing.held or place.is_here(thing) for thing in found)
