"""The ant as a domain: levels, what is perceived, how arguments name things, what policies see."""

import math
from typing import Any

import numpy as np

from sdg.envs.ant.inputs import AntInputs
from sdg.envs.ant.language import DIRECTION, NOTHING, AntLanguage
from sdg.envs.ant.perception import AntPerception, Cell, Direction, Maze, Pose, Spot
from sdg.envs.ant.world import LEVELS, Ant
from sdg.envs.defaults import PlainDomain
from sdg.envs.domain import Perceivable, Persistence, prompt_texts
from sdg.envs.world_rows import world_of

AHEAD = 0.9
"""Metres ahead that have to be free for a step in a direction to be possible."""


class AntPersistence(Persistence):
    """The whole maze is known; new is a place where the ant has not been (`sdg.envs.domain.Persistence`)."""

    def knowledge(self, memory: Any) -> int:
        """How many squares of one metre the ant has been in."""
        return len(world_of(memory, 0).own[2])  # type: ignore[attr-defined]

    def is_possible(self, perception: AntPerception, argument: str) -> bool:
        """Whether the ant stands on its legs and no wall is right ahead."""
        if not perception.is_upright():
            return False
        target = AntLanguage().row(argument)
        if target[0] == NOTHING:
            return True
        bearing, (x, y) = perception.bearing(*map(int, target)), perception.get_position()
        if bearing is None or (target[0] != DIRECTION and perception.distance(argument) < AHEAD):
            return bearing is not None
        place = np.array([[x + AHEAD * math.cos(bearing), y + AHEAD * math.sin(bearing)]])
        return not perception.maze.are_walls(place).any()


class AntDomain(PlainDomain):
    """The domain `ant` (`sdg.envs.domain.Domain`)."""

    name = "ant"
    world, level_names = Ant, tuple(LEVELS)
    language, inputs, persistence = AntLanguage(), AntInputs(), AntPersistence()
    perceivable = Perceivable(
        AntPerception(Maze(((False,),)), Pose(0, 0, 0, 1, 0), Pose(0, 0, 0, 1, 0), (), ()).functions(),
        (Spot, Cell, Direction),
        "Lengths are in metres, angles in degrees counterclockwise from east (the x axis). A thing is a spot (`red "
        "spot`, `green spot`, `blue spot`, `yellow spot`; where none of them is, `goal`) or a cell (`cell 1 3`: row 1 "
        "from the north, column 3 from the west); functions take its name or its record. Spot has name, x, y, row, "
        "column, visited; Cell has name, x, y, row, column; Direction has name, degrees.",
        for_checks=frozenset({"nearer", "moved"}),
        gauge="distance",
    )
    texts = prompt_texts("sdg.envs.ant.prompts")


ANT = AntDomain()
