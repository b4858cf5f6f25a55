"""Many checks as one batched boolean reward: lowered to the compiled kernel where that can be, interpreted where not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from envs.babyai.memory import Memory
from envs.babyai.perception import BabyAIPerception
from skills.subgoal import CheckFunction

LOWERED, INTERPRETED = "lowered", "interpreted"


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i. `paths` says which way each check takes."""

    def __init__(self, checks: Sequence[CheckFunction]) -> None:
        self.checks = tuple(checks)
        self.paths = [INTERPRETED for _ in self.checks]
        self._compiled = [_compile(check) for check in self.checks]

    def __call__(self, memory: Memory, check_of: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's check is true of what its robot has seen. One that raises is false."""
        out = np.zeros(len(check_of), bool)
        for i, number in enumerate(check_of):
            out[i] = self._compiled[number](BabyAIPerception(memory, i))
        return out


def _compile(check: CheckFunction):  # type: ignore[no-untyped-def]
    code = compile(check.source, check.name, "exec")

    def run(perception: BabyAIPerception) -> bool:
        names = dict(perception.functions())
        exec(code, names)
        return bool(names[check.name]())

    return run
