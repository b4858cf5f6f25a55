"""What minigrid's bot needs from where a command began: a yardstick for skills that look for something.

The bot knows no more than the robot has seen when the command begins, and looks for the thing in its own way until the
skill's check is true. A search through the true world (`shortest_paths.py`) walks straight to where the
thing is, which nobody who has not seen it can do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdg.envs.babyai.bot import Bot, send
from sdg.envs.babyai.cells import KIND_MASK, UNSEEN
from sdg.envs.babyai.perception.description import parse
from sdg.envs.babyai.world import ACTIONS, BabyAIWorld
from sdg.envs.domains import domain
from sdg.experiments.bench.yardsticks.shortest_paths import NEVER
from sdg.induction.skill_requests import SkillRequest
from sdg.skills.checks.reward import ask


def bot_needs(asked: Sequence[SkillRequest], *, limit: int) -> np.ndarray:
    """Steps i64 (M,) of the bot until each command's check is true; NEVER where it isn't within `limit` steps."""
    worlds: dict[str, BabyAIWorld] = {}
    found = np.full(len(asked), NEVER, np.int64)
    for i, each in enumerate(asked):
        level = each.episode.level
        if level not in worlds:
            worlds[level] = BabyAIWorld(level, lift_time_limit=True)
        found[i] = _needs(worlds[level], each, limit)
    return found


def _needs(world: BabyAIWorld, asked: SkillRequest, limit: int) -> int:
    world.reset(asked.episode.seed)
    for action in asked.episode.actions[: asked.began]:
        world.step(action)
    world.begin_subgoal()
    bot = _sent_to(world, asked.command.argument)
    last = None
    for steps in range(1, limit + 1):
        last = bot(last) if bot is not None else None
        if last is None or not 0 <= last < len(ACTIONS):
            return NEVER
        world.step(last)
        if ask(asked.check, domain("babyai"), memory=world.memory, row=0):
            return steps
    return NEVER


def _sent_to(world: BabyAIWorld, argument: str) -> Bot | None:
    """A bot on its way to what the argument describes, knowing what the robot has seen; None where nothing is so."""
    try:
        thing = parse(argument)
    except ValueError:
        return None
    seen = (world.memory.cells[0] & KIND_MASK) != UNSEEN
    return Bot(world.inner, seen=seen) if send(world.inner, thing) else None


__all__ = ["bot_needs"]
