"""A job that needs compiled kernels, as every job in a world does."""

from __future__ import annotations

from typing import Any

from sdg.envs import kernels
from sdg.envs.babyai.world import BabyAIWorld


def steps_of(level: str) -> int:
    world = BabyAIWorld(level)
    world.reset(1)
    for action in (0, 1, 2, 2, 0):
        world.step(action)
    world.forget()
    return int(world.perception().functions()["get_steps"]()) if "get_steps" in world.perception().functions() else 5


def step_level(level: str) -> dict[str, Any]:
    steps = steps_of(level)
    return {"steps": steps, "unsaved": list(kernels.unsaved), "read_only": kernels.READ_ONLY}
