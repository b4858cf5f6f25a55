"""The levels as gymnasium sees them: `gym.make("sdg/Open-v0")`, and N at once with `gym.make_vec`."""

from __future__ import annotations

from typing import Any

from sdg.envs.babyai.engine.layouts import make_minigrid
from sdg.envs.instructions import seeds


def make(level: str, **options: Any) -> Any:
    """One environment of a level, minigrid's own and quiet on stdout; `options` are minigrid's (`render_mode`, ...)."""
    return make_minigrid(level, **options)


def make_vec(level: str, *, num_envs: int = 1, layouts: int = 1000, seed: int = 0, **options: Any) -> Any:
    """N environments on the batch engine (same-step autoreset), over `layouts` layouts of the training seeds."""
    from sdg.envs.babyai.engine.bank import LevelBank
    from sdg.envs.babyai.engine.vec_env import BabyAIVectorEnv

    bank = LevelBank.build(level, seeds("training", count=layouts, seed=seed))
    return BabyAIVectorEnv(bank, num_envs, seed=seed, **options)
