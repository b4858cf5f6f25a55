"""Many checks as one batched boolean reward: lowered to a compiled kernel where that can be, interpreted elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.skills.checks.check import GuardedCheck
from sdg.skills.checks.lowering import Batch, Lowered, NotLowerable, lower, slots_of
from sdg.skills.sandbox.guard import GuardError
from sdg.skills.subgoal import CheckFunction

LOWERED, INTERPRETED = "lowered", "interpreted"


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i. `paths` says which way each check takes.

    Raises `Refused` for a check that the guard doesn't admit; one that fails while it runs is false there.
    """

    def __init__(self, checks: Sequence[CheckFunction]) -> None:
        self.checks = tuple(checks)
        forms = [_lowered(check) for check in self.checks]
        self.paths = [LOWERED if isinstance(form, Lowered) else INTERPRETED for form in forms]
        self._batch = Batch()
        self._program_of = np.array([_added(self._batch, form) for form in forms], np.int64)
        self._slots = np.stack([slots_of(form.targets if isinstance(form, Lowered) else ()) for form in forms])
        self._slow = np.flatnonzero(self._program_of < 0)

    def __call__(self, memory: Memory, check_of: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's check is true of what its robot has seen."""
        fired = self._batch.evaluate(memory, self._program_of[check_of], self._slots[check_of])
        if len(self._slow):
            for i in np.flatnonzero(np.isin(check_of, self._slow)):
                fired[i] = ask(self.checks[check_of[i]], memory, int(i))
        return fired


def ask(check: CheckFunction, memory: Memory, row: int) -> bool:
    """The interpreted answer of a check about one row; False where it fails."""
    try:
        return compiled(check)(BabyAIPerception(memory, row))
    except GuardError:
        return False


@lru_cache(maxsize=20_000)
def compiled(check: CheckFunction) -> GuardedCheck:
    """The check behind the guard, loaded once a process. Raises `Refused`."""
    return GuardedCheck.compile(check)


@lru_cache(maxsize=50_000)
def _lowered(check: CheckFunction) -> Lowered | NotLowerable:
    compiled(check)
    return lower(check)


def _added(batch: Batch, form: Lowered | NotLowerable) -> int:
    return batch.add(form) if isinstance(form, Lowered) else -1
