"""BabyAI's levels by name, and their instructions by seed."""

from __future__ import annotations

import difflib
from functools import cache

from sdg.envs.instructions import Instruction, check_seed, seeds

PAPER_LEVELS: tuple[str, ...] = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open", "SynthSeq", "BossLevel")
"""The six levels of SDG's table 1, in its order."""


ENGLISH = ":english"
"""Behind a level's name: the same level, its missions in free English (`sdg.envs.babyai.english`)."""


@cache
def _ids() -> dict[str, str]:
    import gymnasium
    import minigrid  # noqa: F401  importing it registers its environments

    ids = sorted(name for name in gymnasium.registry if name.startswith("BabyAI-"))
    return {name.removeprefix("BabyAI-").removesuffix("-v0"): name for name in ids}


def all_levels() -> tuple[str, ...]:
    """Every registered BabyAI level in short form ("GoToLocal" for "BabyAI-GoToLocal-v0"), sorted."""
    return tuple(_ids())


def level_name(name: str) -> str:
    """The short form of a level's name or id. ValueError with close matches when there is no such level."""
    said = name.strip() if isinstance(name, str) else ""
    short = said.removesuffix(ENGLISH).removeprefix("BabyAI-").removesuffix("-v0")
    if short in _ids():
        return short + (ENGLISH if said.endswith(ENGLISH) else "")
    close = difflib.get_close_matches(short, all_levels(), n=4, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else "levels have names such as GoToLocal or BossLevel."
    raise ValueError(f"there is no BabyAI level {name!r}; {hint}")


def gym_id(name: str) -> str:
    """The id under which minigrid registers a level. ValueError when there is no such level."""
    return _ids()[level_name(name).removesuffix(ENGLISH)]


def instructions(level: str, *, split: str, count: int, seed: int = 0) -> list[Instruction]:
    """`count` instructions of a level from a split, under the user's seed; a reset of the world gives each its text."""
    from sdg.envs.babyai.world import BabyAIWorld

    world = BabyAIWorld(level)
    found = []
    for layout in seeds(split, count=count, seed=seed, level=world.level):
        world.reset(layout)
        found.append(Instruction(world.level, layout, split, world.mission))
    return found


def instruction(level: str, seed: int, *, split: str) -> Instruction:
    """The instruction of one seed. ValueError when the seed is outside the split."""
    from sdg.envs.babyai.world import BabyAIWorld

    check_seed(seed, split)
    world = BabyAIWorld(level)
    world.reset(seed)
    return Instruction(world.level, seed, split, world.mission)
