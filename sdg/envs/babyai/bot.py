"""minigrid's BabyAIBot, which sees the hidden state: an oracle for tests and the redundancy figure, nothing else."""

from typing import Any, cast

from sdg.envs.babyai.world import ACTIONS, BabyAIWorld

MAX_SEARCHES = 200
"""Breadth-first searches for one action; it needs a few, and on some missions (Unlock, UnlockToUnlock) never ends."""


class Bot:
    """minigrid's bot for one episode of `env`; None for an action when it gives up or goes in circles."""

    def __init__(self, env: Any) -> None:
        from minigrid.utils.baby_ai_bot import BabyAIBot

        self._searches = 0
        try:
            self._bot: Any = cast(Any, BabyAIBot)(env)
        except Exception:  # it wasn't written for all levels
            self._bot = None
            return
        search = self._bot._breadth_first_search

        def count(*args: Any, **options: Any) -> Any:
            self._searches += 1
            if self._searches > MAX_SEARCHES:
                raise RuntimeError("the bot does not come to a decision")
            return search(*args, **options)

        self._bot._breadth_first_search = count

    def __call__(self, last: int | None) -> int | None:
        """Its next action after its advice `last` was followed or not; None from then on when it has none."""
        self._searches = 0
        try:
            return int(self._bot.replan(last))
        except Exception:  # it asserts, or asks for an action that isn't there
            self._bot = None
            return None


def bot_actions(level: str, seed: int) -> list[int] | None:
    """The actions with which the bot solves a level's seed, or None when it fails or gives up."""
    world = BabyAIWorld(level)
    world.reset(seed)
    bot = Bot(world.inner)
    actions: list[int] = []
    while True:
        action = bot(actions[-1] if actions else None)
        if action is None or not 0 <= action < len(ACTIONS):
            return None
        result = world.step(action)
        actions.append(action)
        if result.done:
            return actions if result.success else None
