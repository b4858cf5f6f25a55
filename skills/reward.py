"""Many checks as one batched boolean reward: lowered to a compiled kernel where that can be, interpreted elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from envs.babyai.memory import Memory
from envs.babyai.perception import BabyAIPerception
from skills.check import GuardedCheck
from skills.guard import GuardError
from skills.subgoal import CheckFunction

LOWERED, INTERPRETED = "lowered", "interpreted"


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i. `paths` says which way each check takes.

    Raises `Refused` for a check that the guard doesn't admit; one that fails while it runs is false there.
    """

    def __init__(self, checks: Sequence[CheckFunction]) -> None:
        self.checks = tuple(checks)
        self.paths = [INTERPRETED for _ in self.checks]
        self._compiled = [GuardedCheck.compile(check) for check in self.checks]

    def __call__(self, memory: Memory, check_of: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's check is true of what its robot has seen."""
        out = np.zeros(len(check_of), bool)
        for i, number in enumerate(check_of):
            out[i] = self._asked(int(number), BabyAIPerception(memory, i))
        return out

    def _asked(self, number: int, perception: BabyAIPerception) -> bool:
        try:
            return self._compiled[number](perception)
        except GuardError:
            return False
