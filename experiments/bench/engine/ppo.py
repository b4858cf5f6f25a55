"""PPO end to end on GoToLocal, rows with the same observations: what the engine is worth to learning.

    sdg bench ppo [--json] [--seeds 3] [--cap 150] [--only csba]

a: stable-baselines3's defaults on 16 minigrid environments; b: the project's network, hyperparameters and learner on
minigrid; c: the same on the engine; s: as c, but with stable-baselines3's own PPO; e: as c, but the network is
torch's, with EmbeddingBag as its first layer. Times are processor seconds of one
thread, compilation and evaluation left out; success is on 500 layouts of the evaluation seeds, with sampled actions.
`cap` ends a row that has not reached 99 % after so many seconds; where a goal was not reached by then, the factor in
the last row is how much faster c was at the least.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.instructions import SPLITS
from sdg.experiments.bench import options
from sdg.skills.learning.ppo import PPOSettings

LEVEL = "GoToLocal"
N_ENVS = 256
BANK = 20_000
"""Layouts to practise on: episodes that end are followed by a random one of these."""
EVALUATION = 500
GOALS = (0.95, 0.99)
SETTINGS = PPOSettings(n_epochs=4)
"""Of rows b, c, e and s."""


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

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / max(self.seconds, 1e-9)

    def seconds_to(self, goal: float) -> float:
        """Seconds until the goal was reached; the seconds spent, where it was not."""
        return self.reached.get(goal, (self.seconds, 0))[0]

    def as_row(self) -> dict[str, Any]:
        """What is printed."""
        times = {f"seconds_to_{goal:.0%}": self.reached.get(goal, (None, None))[0] for goal in GOALS}
        steps = {f"steps_to_{goal:.0%}": self.reached.get(goal, (None, None))[1] for goal in GOALS}
        return {
            "row": self.row,
            "level": LEVEL,
            "n_envs": self.n_envs,
            "steps_per_second": self.rate,
            "environment_share": self.environment_seconds / max(self.seconds, 1e-9),
            "simulator_share": self.simulator_seconds / max(self.seconds, 1e-9),
            **times,
            **steps,
            "success": self.success,
            "steps": self.steps,
            "seconds": self.seconds,
        }


def rows(
    *,
    seed: options.Seed = 0,
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds, from --seed on")] = 3,
    cap: Annotated[float, typer.Option(help="processor seconds after which a row ends")] = 150.0,
    only: Annotated[str, typer.Option(help="which rows, in which order")] = "csba",
) -> Iterator[dict[str, Any]]:
    """The rows of `seeds` seeds from `seed` on, the fastest first, then what they come to."""
    _compile()
    done = []
    for number in range(seed, seed + seeds):
        for row in only:
            done.append(_learn(row, seed=number, cap=cap))
            yield {"seed": number, **done[-1].as_row()}
    yield summary(done)


def summary(done: Sequence[Learning]) -> dict[str, Any]:
    """Medians over seeds, and how many times c beats the others in steps a second and in time to each goal."""
    rates = {row: _median(each.rate for each in done if each.row == row) for row in {each.row for each in done}}
    out: dict[str, Any] = {"row": "c beside the others", "level": LEVEL, "seeds": sum(e.row == "c" for e in done)}
    out |= {f"steps_per_second_{row}": rate for row, rate in sorted(rates.items())}
    if "c" in rates:
        out["simulator_share_c"] = _median(each.simulator_seconds / each.seconds for each in done if each.row == "c")
        for row in sorted(rates.keys() - {"c"}):
            out[f"c_over_{row}"] = rates["c"] / rates[row]
            for goal in GOALS:
                theirs, ours = (_median(e.seconds_to(goal) for e in done if e.row == r) for r in (row, "c"))
                out[f"c_faster_than_{row}_to_{goal:.0%}"] = theirs / ours
    return out


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def _compile() -> None:
    """A few steps, so that no row's clock sees the compiler."""
    from sdg.experiments.baselines import level_env as ppo_level
    from sdg.skills.learning.ppo import PPOLearner

    env = ppo_level.LevelVecEnv(LevelBank.build(LEVEL, range(8)), 4, seed=0)
    PPOLearner(env, replace(SETTINGS, n_steps=2), seed=0).learn(200, callback=lambda *_: True)


def _learn(row: str, *, seed: int, cap: float) -> Learning:
    from sdg.experiments.baselines import level_env as ppo_level
    from sdg.experiments.baselines import sb3 as ppo_sb3
    from sdg.experiments.baselines.embedding_bag import BagNetwork
    from sdg.skills.learning.ppo import PPOLearner
    from sdg.skills.learning.sb3 import SB3Rows

    n_envs = 16 if row == "a" else N_ENVS
    training, evaluation = SPLITS["training"], SPLITS["evaluation"]
    judged = LevelBank.build(LEVEL, np.arange(evaluation.start, evaluation.start + EVALUATION))
    seeds = range(training.start, training.start + BANK)
    learning = Learning(row, n_envs, cap)
    if row in "ab":
        env: Any = ppo_sb3.world_vec_env(LEVEL, n_envs, seeds=seeds, seed=seed)
    else:
        env = ppo_level.LevelVecEnv(LevelBank.build(LEVEL, np.arange(seeds.start, seeds.stop)), n_envs, seed=seed)
        env.advance = _timed(env.advance, learning, "simulator_seconds")
        env.begin = _timed(env.begin, learning, "simulator_seconds")
    env.step_wait = _timed(env.step_wait, learning, "environment_seconds")
    chunk = 16 * N_ENVS * 4
    act: Callable[[np.ndarray], np.ndarray]
    go_on: Callable[[], int]
    if row in "bce":
        learner = PPOLearner(env, SETTINGS, seed=seed)
        if row == "e":
            learner.network = BagNetwork.of(learner.network)
        act, go_on = learner.act, partial(learner.learn, chunk, callback=lambda _learner, _steps: True)
    else:
        rows = env if row == "a" else SB3Rows(env)
        ppo = ppo_sb3.default_ppo(rows, seed=seed) if row == "a" else ppo_sb3.project_ppo(rows, SETTINGS, seed=seed)
        act, go_on = ppo_sb3.acting(ppo), ppo_sb3.going_on(ppo, chunk)
    env.reset()
    learning.environment_seconds = learning.simulator_seconds = 0.0
    learning.start()
    going = True
    while going:
        going = learning.judge(go_on(), lambda: ppo_level.success(act, judged, seed=seed))
    return learning


def _timed(call: Callable[..., Any], learning: Learning, name: str) -> Callable[..., Any]:
    """The same call, whose processor time is added up in a field of `learning`."""

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        result = call(*arguments)
        setattr(learning, name, getattr(learning, name) + time.process_time() - began)
        return result

    return timed
