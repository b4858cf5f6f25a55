"""What a check function costs per environment and step: lowered to the batch kernel, and interpreted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.batch import BatchWorld
from sdg.skills.checks.reward import BatchReward, ask
from sdg.skills.subgoal import CheckFunction

CHECKS = (
    CheckFunction("discover", 'def discover():\n    return len(find_objects("red ball")) > 0\n'),
    CheckFunction("go_to", 'def go_to():\n    return any(o.facing for o in find_objects("green key"))\n'),
    CheckFunction(
        "pick_up",
        'def pick_up():\n    held = get_carried()\n    return held is not None and held.name == "blue box"\n',
    ),
    CheckFunction(
        "explore",
        "def explore():\n    return get_current_room() not in get_rooms_visited_before()\n",
    ),
)
"""One of each kind that instructions need."""


def measure_checks(level: str, *, n_envs: int = 1024, seed: int = 0, walk: int = 40) -> Iterator[dict[str, Any]]:
    """Microseconds per environment of every check, by the path it takes and interpreted, after `walk` random steps."""
    bank = LevelBank.build(level, np.arange(seed, seed + n_envs))
    domain = BABYAI
    rows = domain.begin(bank, np.arange(n_envs))
    rng = np.random.default_rng(seed)
    for actions in rng.integers(0, 6, (walk, n_envs)):
        rows.step(actions)
    for check in CHECKS:
        reward, which = BatchReward([check], domain), np.zeros(n_envs, np.int64)
        fired = reward(rows.memory, which)
        some = range(min(64, n_envs))
        disagreements = sum(ask(check, domain, memory=rows.memory, row=i) != bool(fired[i]) for i in some)
        batch = median(_seconds(partial(reward, rows.memory, which)) for _ in range(9))
        single = median(_seconds(partial(_asked, check, rows, len(some))) for _ in range(3))
        yield {
            "check": check.name,
            "level": level,
            "n_envs": n_envs,
            "path": reward.paths[0],
            "us_per_env": batch / n_envs * 1e6,
            "us_interpreted": single / len(some) * 1e6,
            "mismatches": disagreements,
        }


def _asked(check: CheckFunction, rows: BatchWorld, count: int) -> None:
    for row in range(count):
        ask(check, rows.domain, memory=rows.memory, row=row)


def _seconds(call: Any) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began
