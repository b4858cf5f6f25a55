"""How many layouts practice needs: success on fresh layouts over the size of the bank, and what making it costs.

    sdg bench bank [--json] [--seed 0] [--plot FILE.svg]

Every row learns GoToLocal as row c of `experiments/bench/engine/ppo.py`, for the same number of steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.layouts import generate
from sdg.envs.instructions import SPLITS
from sdg.experiments.bench import options
from sdg.experiments.bench.engine.ppo import EVALUATION, LEVEL, N_ENVS, SETTINGS
from sdg.experiments.report.panels import Mark, Panel, Panels
from sdg.run import atomic_write

SIZES = (64, 256, 1024, 4096, 20_000)


def rows(
    *,
    seed: options.Seed = 0,
    sizes: Annotated[Sequence[int], options.listed("layouts", parser=options.numbers)] = SIZES,
    steps: Annotated[int, typer.Option(min=1, help="environment steps a row")] = 200_000,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="where to draw the curve, an SVG")] = None,
) -> Iterator[dict[str, Any]]:
    """A row for each size of the bank."""
    from sdg.experiments.baselines import level_env as ppo_level
    from sdg.skills.learning.ppo import PPOLearner

    training, evaluation = SPLITS["training"], SPLITS["evaluation"]
    judged = LevelBank.build(LEVEL, np.arange(evaluation.start, evaluation.start + EVALUATION))
    making = _seconds_a_layout(seed)
    done = []
    for size in sizes:
        bank = LevelBank.build(LEVEL, np.arange(training.start, training.start + size))
        own = LevelBank.build(LEVEL, np.arange(training.start, training.start + min(size, EVALUATION)))
        env = ppo_level.LevelVecEnv(bank, N_ENVS, seed=seed)
        learner = PPOLearner(env, SETTINGS, seed=seed)
        began = time.process_time()
        learner.learn(steps, callback=lambda *_: True)
        spent = time.process_time() - began
        done.append(
            {
                "bank": size,
                "level": LEVEL,
                "reuse": env.begun / size,
                "steps": learner.steps,
                "success_on_fresh_layouts": ppo_level.success(learner.act, judged, seed=seed),
                "success_on_own_layouts": ppo_level.success(learner.act, own, seed=seed),
                "steps_per_second": learner.steps / spent,
                "steps_per_second_with_generation": learner.steps / (spent + size * making),
                "seconds_to_generate": size * making,
            }
        )
        yield done[-1]
    if plot is not None:
        atomic_write(plot, drawn(done))


def _seconds_a_layout(seed: int, count: int = 100) -> float:
    began = time.process_time()
    generate(LEVEL, range(seed, seed + count))
    return (time.process_time() - began) / count


def drawn(done: Sequence[dict[str, Any]]) -> bytes:
    """Success over the size of the bank, an SVG."""
    lines = {
        f"{place} layouts": [Mark.exact(row["bank"], row[f"success_on_{place}_layouts"]) for row in done]
        for place in ("fresh", "own")
    }
    return Panels([Panel("", lines)], x="layouts in the bank").drawn("svg")
