"""How many layouts practice needs: success on fresh layouts over the size of the bank, and what making it costs.

python -m sdg.experiments.bench.engine.bank [--json] [--seed 0] [--plot FILE.svg]

Every row learns GoToLocal as row c of `experiments/bench/engine/ppo.py`, for the same number of steps.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.layouts import generate
from sdg.envs.instructions import SPLITS
from sdg.experiments.bench.engine.ppo import EVALUATION, LEVEL, N_ENVS

SIZES = (64, 256, 1024, 4096, 20_000)
STEPS = 200_000


def rows(*, seed: int = 0, sizes: Sequence[int] = SIZES, steps: int = STEPS) -> Iterator[dict[str, Any]]:
    """A row for each size of the bank."""
    from sdg.experiments.baselines import level_env as ppo_level
    from sdg.skills.learning.ppo import PPOLearner

    training, evaluation = SPLITS["training"], SPLITS["evaluation"]
    judged = LevelBank.build(LEVEL, np.arange(evaluation.start, evaluation.start + EVALUATION))
    making = _seconds_a_layout(seed)
    for size in sizes:
        bank = LevelBank.build(LEVEL, np.arange(training.start, training.start + size))
        own = LevelBank.build(LEVEL, np.arange(training.start, training.start + min(size, EVALUATION)))
        env = ppo_level.LevelVecEnv(bank, N_ENVS, seed=seed)
        learner = PPOLearner(env, seed=seed)
        began = time.process_time()
        learner.learn(steps, callback=lambda *_: True)
        spent = time.process_time() - began
        yield {
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


def _seconds_a_layout(seed: int, count: int = 100) -> float:
    began = time.process_time()
    generate(LEVEL, range(seed, seed + count))
    return (time.process_time() - began) / count


def plot(done: Sequence[dict[str, Any]]) -> bytes:
    """Success over the size of the bank, an SVG."""
    from sdg.experiments.report.plots import figure, legend, quiet_grid, style

    def draw(axes: Any) -> None:
        quiet_grid(axes)
        for number, place in enumerate(("fresh", "own")):
            success = [100 * row[f"success_on_{place}_layouts"] for row in done]
            axes.plot([row["bank"] for row in done], success, label=f"{place} layouts", **style(number))
        axes.set_xscale("log", base=2)
        axes.set_xlabel("layouts in the bank")
        axes.set_ylabel("success, %")
        legend(axes)

    return figure(draw)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS, help="environment steps a row")
    parser.add_argument("--plot", type=Path, default=None, help="where to draw the curve, an SVG")
    options = parser.parse_args(arguments)
    done = []
    for row in rows(seed=options.seed, steps=options.steps):
        done.append(row)
        text = json.dumps(row) if options.json else "  ".join(f"{key} {value}" for key, value in row.items())
        print(text, flush=True)
    if options.plot is not None:
        options.plot.write_bytes(plot(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
