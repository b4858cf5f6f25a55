"""The table as a domain: policies' inputs about a pair of things, when a block is lost, its prompts."""

from typing import Any

import numpy as np

from sdg.envs.defaults import PlainDomain, PlainInputs
from sdg.envs.domain import Perceivable, Persistence, prompt_texts
from sdg.envs.table.language import ALONE, BLOCKS, FROM, NOTHING, TableLanguage
from sdg.envs.table.world import LEVELS, REACH, Table, TablePerception, Thing
from sdg.envs.world_rows import world_of

HORIZON = 60
"""Steps to which the age of a subgoal is scaled."""


class TableInputs(PlainInputs):
    """Joints and their speeds, the way from the fingertip to the block, which way it is to go and how far, how it has
    moved since the subgoal began, where the fingertip is along and across that way, and the subgoal's age."""

    size, actions = 28, 7
    bounds = np.array([[-2.0] * 7, [2.0] * 7], np.float32)

    def write_row(self, memory: Any, row: int, target: np.ndarray, out: np.ndarray) -> int:
        """Inputs of one row, around -1..1; there is one frame."""
        world: Any = world_of(memory, row)
        places, (began, since) = world.places(), world.began
        how, first, second = target.tolist()
        block = second if how in (ALONE, NOTHING) else first
        way = np.zeros(2)
        if how not in (ALONE, NOTHING):
            way = (places[second] - places[first])[:2] * (-1 if how == FROM else 1)
        far = float(np.linalg.norm(way))
        along = way / far if far > 0 else way
        reach = places[block] - places[-1]
        out[:7], out[7:14] = world.data.qpos[:7], world.data.qvel[:7] / 3
        out[14:17], out[17:19], out[19] = 5 * reach, along, 3 * far
        out[20:22] = 20 * (places[block] - began[block])[:2]
        out[22:24] = 5 * (along @ reach[:2]), 5 * (along[0] * reach[1] - along[1] * reach[0])
        out[24:27] = places[-1] - (0.5, -0.2, -0.3)
        out[27] = min((world.steps - since) / HORIZON, 2)
        np.nan_to_num(out, copy=False)
        return 0


class TablePersistence(Persistence):
    """A table is one place; a block that slid out of reach is lost (`sdg.envs.domain.Persistence`)."""

    def knowledge(self, memory: Any) -> int:
        """The step: on a table something always moves, and calls are counted by their own horizon."""
        return int(world_of(memory, 0).steps) // 100

    def is_known(self, perception: TablePerception, argument: str) -> bool:
        """Whether the named things are on the table."""
        return bool(TableLanguage().resolve(argument, perception.elements()))

    def is_possible(self, perception: TablePerception, argument: str) -> bool:
        """Whether the block that is to be moved, or every block where none is named, lies within reach."""
        how, first, second = TableLanguage().row(argument).tolist()
        number = first if how not in (ALONE, NOTHING) else second
        positions = perception.now[[number] if how != NOTHING else list(BLOCKS), :2]
        present = positions[~np.isnan(positions[:, 0])]
        is_known = how == NOTHING or self.is_known(perception, argument)
        return is_known and bool(((present >= REACH[0]) & (present <= REACH[1])).all())


class TableDomain(PlainDomain):
    """The domain `table` (`sdg.envs.domain.Domain`)."""

    name = "table"
    world, level_names = Table, tuple(LEVELS)
    language, inputs, persistence = TableLanguage(), TableInputs(), TablePersistence()
    perceivable = Perceivable(
        TablePerception(np.zeros((9, 3)), np.zeros((9, 3)), 0).functions(),
        (Thing,),
        "Lengths are in metres. A thing (a block or a spot) is a record with name, color, x, y; functions take its "
        "name, such as `red block` or `blue spot`, or its record. A pair is one text: `red block to blue spot`, or "
        "`red block from green block` where the first is to get away from the second.",
        for_checks=frozenset({"progress"}),
        gauge="distance",
    )
    texts = prompt_texts("sdg.envs.table.prompts")


TABLE = TableDomain()
