"""What the first call of everything compiled costs: in a fresh cache (cold), and with what that left there (warm).

python -m tests.envs.babyai.engine.first_call     processor seconds a stage, imports left out
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.world import BabyAIWorld

NEEDED = ("engine", "perception", "checks")
"""The stages whose sum is what a user waits for; the learner is compiled when the first skill is learned."""


def first_calls() -> dict[str, float]:
    """Processor seconds a stage, cold and warm, each in a process of its own, and the sum over `NEEDED`."""
    row: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "SDG_CACHE_DIR": folder}
        code = "import json, tests.envs.babyai.engine.first_call as here; print(json.dumps(here.stages()))"
        for state in ("cold", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
            spent = json.loads(done.stdout)
            row |= {f"{state}_{stage}": seconds for stage, seconds in spent.items()}
            row[f"{state}_seconds"] = sum(spent[stage] for stage in NEEDED)
    return row


def engine(bank: LevelBank) -> None:
    """A reset and a step of the batch."""
    batch = BabyAIEngine(bank, 4)
    batch.reset()
    batch.step(np.zeros(4, np.int64))


def perception(bank: LevelBank) -> None:
    """A step of one world and a snapshot of what was seen."""
    world = BabyAIWorld(bank.level)
    world.reset(int(bank.seeds[0]))
    world.step(0)
    world.perception().get_observed_objects()


def checks(bank: LevelBank) -> None:
    """A step of rows with memories and a check over them."""
    from sdg.envs.babyai.domain import BABYAI
    from sdg.skills.checks.reward import BatchReward
    from sdg.skills.subgoal import CheckFunction

    rows = BABYAI.begin(bank, np.arange(4))
    rows.step(np.zeros(4, np.int64))
    check = CheckFunction("check", 'def check():\n    return len(find_objects("red ball")) > 0\n')
    BatchReward([check], BABYAI)(rows.memory, np.zeros(4, np.int64))


def learner(bank: LevelBank) -> None:
    """A rollout and an update."""
    from sdg.experiments.baselines.level_env import LevelVecEnv
    from sdg.skills.learning.ppo import PPOLearner, PPOSettings

    PPOLearner(
        LevelVecEnv(bank, 4, seed=0, target_of=lambda mission: np.zeros(4, np.int16)), PPOSettings(n_steps=2), seed=0
    ).learn(8, callback=lambda *_: True)


def stages() -> dict[str, float]:
    """Run every stage once: processor seconds of each."""
    bank = LevelBank.build("GoToLocal", range(8))
    acts: tuple[Callable[[LevelBank], None], ...] = (engine, perception, checks, learner)
    spent = {}
    for act in acts:
        began = time.process_time()
        act(bank)
        spent[act.__name__] = time.process_time() - began
    return spent


if __name__ == "__main__":
    print(json.dumps(first_calls()))
