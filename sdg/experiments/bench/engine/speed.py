"""How fast the engine is compared with minigrid, measured alternately in one process on one core.

Rates are per second of this thread's own processor time, so that what else the machine does cancels out. minigrid's
rate leaves out its resets (level generation), the engine's rate includes its resets from the bank, so the ratio favours
minigrid. Actions are uniformly random for both.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import N_ACTIONS, BabyAIEngine
from sdg.envs.babyai.engine.layouts import generate, make_minigrid
from sdg.envs.babyai.engine.state import ROW

ROUNDS = 5
"""Alternating measurements; the median counts."""
BANK = 1024
"""Layouts in the banks of measurements."""


def measure(level: str, *, n_envs: int = 1024, seed: int = 0) -> dict[str, Any]:
    """Engine and minigrid on a level, in turns.

    The engine's steps include verifier, view and auto-reset from the bank; `with_generation_per_second` is its rate if
    minigrid had generated every layout for one episode only, `bank_reuse` how many episodes were begun in each layout,
    on average.
    """
    engine = BabyAIEngine(LevelBank.build(level, np.arange(seed, seed + BANK)), n_envs, seed=seed)
    engine.reset()
    rng = np.random.default_rng(seed)
    _step_engine(engine, rng, seconds=0.1)  # compile, and spread rows over the episode
    turns = [(_step_engine(engine, rng, seconds=0.15), _step_minigrid(level, rng, seconds=0.3)) for _ in range(ROUNDS)]
    engine_rate, minigrid_rate = (median(rates) for rates in zip(*turns, strict=True))
    fresh_seeds = itertools.count(seed)
    # Layouts a second: minigrid's reset, and recording its layout.
    generation = _rate(lambda: len(generate(level, list(itertools.islice(fresh_seeds, 16)))[0]), seconds=0.5)
    endings = 0
    for row in rng.integers(0, N_ACTIONS, (64, engine.n_envs)):
        step = engine.step(row)
        endings += int((step.terminated | step.truncated).sum())
    return {
        "level": level,
        "n_envs": n_envs,
        "steps_per_second": engine_rate,
        "minigrid_steps_per_second": minigrid_rate,
        "ratio": median(ours / theirs for ours, theirs in turns),
        "resets_per_second": median(_rate(lambda: len(engine.reset()[0]), seconds=0.1) for _ in range(ROUNDS)),
        "minigrid_resets_per_second": generation,
        "with_generation_per_second": 1 / (1 / engine_rate + endings / (64 * engine.n_envs) / generation),
        "bank_reuse": engine.reuse,
    }


def curve(level: str, sizes: tuple[int, ...], *, seed: int = 0) -> Iterator[dict[str, float]]:
    """Steps per second and memory over the number of environments."""
    bank = LevelBank.build(level, np.arange(seed, seed + BANK))
    for n_envs in sizes:
        engine = BabyAIEngine(bank, n_envs, seed=seed)
        engine.reset()
        rng = np.random.default_rng(seed)
        _step_engine(engine, rng, seconds=0.1)
        yield {
            "n_envs": n_envs,
            "steps_per_second": median(_step_engine(engine, rng, seconds=0.1) for _ in range(ROUNDS)),
            "state_bytes_per_env": ROW.itemsize,
        }


def _step_engine(engine: BabyAIEngine, rng: np.random.Generator, *, seconds: float) -> float:
    actions = rng.integers(0, N_ACTIONS, (32, engine.n_envs))

    def step_all() -> int:
        for row in actions:
            engine.step(row)
        return actions.size

    return _rate(step_all, seconds=seconds)


def _rate(act: Callable[[], int], *, seconds: float) -> float:
    """Units a second of this thread's time; each call of `act` returns how many it did."""
    count, began = 0, time.thread_time()
    while (duration := time.thread_time() - began) < seconds:
        count += act()
    return count / duration


def _step_minigrid(level: str, rng: np.random.Generator, *, seconds: float) -> float:
    env = make_minigrid(level)
    env.reset(seed=int(rng.integers(1_000_000)))
    steps, duration = 0, 0.0
    while duration < seconds:
        actions = rng.integers(0, N_ACTIONS, 256)
        began = time.thread_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            steps += 1
            if terminated or truncated:
                break
        duration += time.thread_time() - began
        if terminated or truncated:
            env.reset(seed=int(rng.integers(1_000_000)))
    return steps / duration
