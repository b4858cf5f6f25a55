"""PPO end to end on GoToLocal, three rows with the same observations: what the engine is worth to learning.

python -m experiments.bench_ppo [--json] [--seed 0] [--cap 900] [--rows cba]
python -m experiments.bench_ppo --rows bank                 success on fresh layouts over the size of the bank

a: stable-baselines3's defaults on 16 minigrid environments; b: the project's network and hyperparameters on minigrid;
c: the same on the engine. Times are processor seconds of one thread, evaluation left out; success is on 500 layouts of
the evaluation seeds, with sampled actions. `cap` ends a row that has not reached 99 % after so many seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from envs.babyai.bank import LevelBank
from envs.babyai.levels import SPLITS

LEVEL = "GoToLocal"
N_ENVS = 256
BANK = 20_000
"""Layouts to practise on: episodes that end are followed by a random one of these."""
EVALUATION = 500
BANK_SIZES = (64, 512, 4096, 20_000)
BANK_STEPS = 200_000
GOALS = (0.95, 0.99)


@dataclass
class Learning:
    """One row: how fast it stepped and when it was good enough."""

    row: str
    n_envs: int
    cap: float
    steps: int = 0
    seconds: float = 0.0
    environment_seconds: float = 0.0
    """All that the VecEnv does: world, memory, resets, the policy's inputs, infos."""
    simulator_seconds: float = 0.0
    """Row c: world, memory and resets alone."""
    success: float = 0.0
    reached: dict[float, tuple[float, int]] = field(default_factory=dict)
    _resumed: float = 0.0

    def start(self) -> None:
        """The clock runs."""
        self._resumed = time.process_time()

    def judge(self, steps: int, evaluate: Callable[[], float]) -> bool:
        """Stop the clock, evaluate, note what was reached; True to go on."""
        self.seconds += time.process_time() - self._resumed
        self.steps, self.success = steps, evaluate()
        for goal in GOALS:
            if self.success >= goal:
                self.reached.setdefault(goal, (self.seconds, steps))
        self.start()
        return len(self.reached) < len(GOALS) and self.seconds < self.cap

    def as_row(self) -> dict[str, Any]:
        """What is printed."""
        times = {f"seconds_to_{goal:.0%}": self.reached.get(goal, (None, None))[0] for goal in GOALS}
        steps = {f"steps_to_{goal:.0%}": self.reached.get(goal, (None, None))[1] for goal in GOALS}
        return {
            "row": self.row,
            "level": LEVEL,
            "n_envs": self.n_envs,
            "steps_per_second": self.steps / max(self.seconds, 1e-9),
            "environment_share": self.environment_seconds / max(self.seconds, 1e-9),
            "simulator_share": self.simulator_seconds / max(self.seconds, 1e-9),
            **times,
            **steps,
            "success": self.success,
            "steps": self.steps,
            "seconds": self.seconds,
        }


def rows(*, seed: int = 0, cap: float = 900.0, only: str = "cba") -> Iterator[dict[str, Any]]:
    """The three rows, the fastest first; with `only="bank"` the curve over bank sizes."""
    if only == "bank":
        yield from bank_curve(seed=seed)
        return
    for row in only:
        yield _learn(row, seed=seed, cap=cap).as_row()


def bank_curve(
    *, seed: int = 0, sizes: Sequence[int] = BANK_SIZES, steps: int = BANK_STEPS
) -> Iterator[dict[str, Any]]:
    """As row c for `steps` steps on banks of several sizes: success on fresh layouts, on the bank's own, and reuse."""
    from skills import ppo_level
    from skills.learner import PPOLearner

    training, evaluation = SPLITS["training"], SPLITS["evaluation"]
    judged = LevelBank.build(LEVEL, np.arange(evaluation.start, evaluation.start + EVALUATION))
    for size in sizes:
        bank = LevelBank.build(LEVEL, np.arange(training.start, training.start + size))
        env = ppo_level.LevelVecEnv(bank, N_ENVS, seed=seed)
        ppo = PPOLearner(env, seed=seed).ppo
        ppo.learn(steps, log_interval=1_000_000)
        own = LevelBank.build(LEVEL, np.arange(training.start, training.start + min(size, EVALUATION)))
        yield {
            "bank": size,
            "reuse": env.begun / size,
            "steps": int(ppo.num_timesteps),
            "success_on_fresh_layouts": ppo_level.success(ppo, judged, seed=seed),
            "success_on_own_layouts": ppo_level.success(ppo, own, seed=seed),
        }


def _learn(row: str, *, seed: int, cap: float) -> Learning:
    from skills import ppo_level
    from skills.learner import PPOLearner

    n_envs = 16 if row == "a" else N_ENVS
    training, evaluation = SPLITS["training"], SPLITS["evaluation"]
    judged = LevelBank.build(LEVEL, np.arange(evaluation.start, evaluation.start + EVALUATION))
    seeds = range(training.start, training.start + BANK)
    if row == "c":
        env: Any = ppo_level.LevelVecEnv(LevelBank.build(LEVEL, np.arange(seeds.start, seeds.stop)), n_envs, seed=seed)
    else:
        env = ppo_level.world_vec_env(LEVEL, n_envs, seeds=seeds, seed=seed)
    learning = Learning(row, n_envs, cap)
    env.step_wait = _timed(env.step_wait, learning, "environment_seconds")
    if row == "c":
        env.advance = _timed(env.advance, learning, "simulator_seconds")
        env.begin = _timed(env.begin, learning, "simulator_seconds")
    ppo = ppo_level.default_ppo(env, seed=seed) if row == "a" else PPOLearner(env, seed=seed).ppo
    chunk = 16 * N_ENVS * 8
    env.reset()
    learning.start()
    going = True
    while going:
        ppo.learn(chunk, reset_num_timesteps=False, log_interval=1_000_000)
        going = learning.judge(int(ppo.num_timesteps), lambda: ppo_level.success(ppo, judged, seed=seed))
    return learning


def _timed(call: Callable[..., Any], learning: Learning, name: str) -> Callable[..., Any]:
    """The same call, whose processor time is added up in a field of `learning`."""

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        result = call(*arguments)
        setattr(learning, name, getattr(learning, name) + time.process_time() - began)
        return result

    return timed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cap", type=float, default=900.0, help="processor seconds after which a row ends")
    parser.add_argument("--rows", default="cba", help="which rows, in which order")
    options = parser.parse_args(arguments)
    for row in rows(seed=options.seed, cap=options.cap, only=options.rows):
        print(
            json.dumps(row) if options.json else "  ".join(f"{key} {value}" for key, value in row.items()), flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
