"""minigrid's BabyAIBot, which sees the hidden state: an oracle for tests and the redundancy figure, nothing else."""

from __future__ import annotations

from typing import Any, cast

from envs.babyai.world import BabyAIWorld


def bot_actions(level: str, seed: int) -> list[int] | None:
    """The actions with which the bot solves a level's seed, or None when it fails or gives up."""
    from minigrid.utils.baby_ai_bot import BabyAIBot

    world = BabyAIWorld(level)
    world.reset(seed)
    bot: Any = cast(Any, BabyAIBot)(world.inner)
    actions: list[int] = []
    while True:
        try:
            action = int(bot.replan(actions[-1] if actions else None))
            result = world.step(action)
        except Exception:  # it asserts, or asks for the unused action, on levels that it wasn't written for
            return None
        actions.append(action)
        if result.done:
            return actions if result.success else None


def bot_steps(level: str, seed: int) -> int | None:
    """The number of steps the bot needs, or None when it can't."""
    actions = bot_actions(level, seed)
    return None if actions is None else len(actions)
