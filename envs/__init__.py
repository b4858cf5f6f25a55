"""Worlds, and what can be perceived in them. Imports nothing else of this project."""

from __future__ import annotations

from typing import Any

_LEVELS = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open", "SynthSeq", "BossLevel")


def register() -> None:
    """Make the worlds known to gymnasium: `sdg/GoToLocal-v0` and its five sisters, and `sdg/BabyAI-v0` with `level=`.

    Users write `import sdg.envs; sdg.envs.register()`. Only names are registered: minigrid and the engine are imported
    when an environment is made.
    """
    import gymnasium

    makers: dict[str, Any] = {
        "entry_point": "sdg.envs.babyai.engine.gym_envs:make",
        "vector_entry_point": "sdg.envs.babyai.engine.gym_envs:make_vec",
    }
    if "sdg/BabyAI-v0" not in gymnasium.registry:
        gymnasium.register("sdg/BabyAI-v0", **makers)
        for level in _LEVELS:
            gymnasium.register(f"sdg/{level}-v0", kwargs={"level": level}, **makers)
