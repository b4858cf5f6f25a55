"""Many checks as one batched boolean reward: lowered to a compiled kernel where that can be, interpreted elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sdg.envs.check_machine import TRUE
from sdg.envs.domain import Domain
from sdg.skills.checks.check import compiled
from sdg.skills.checks.lowering import Batch, Lowered, NotLowerable, lower, slots_of
from sdg.skills.sandbox.guard import GuardError
from sdg.skills.subgoal import CheckFunction

LOWERED, INTERPRETED = "lowered", "interpreted"


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i. `paths` says which way each check takes.

    Raises `Refused` for a check that the guard doesn't admit; one that fails while it runs is false there.
    """

    def __init__(self, checks: Sequence[CheckFunction], domain: Domain) -> None:
        self.checks, self.domain = tuple(checks), domain
        self._batch = batch = Batch(domain.machine) if domain.machine is not None else None
        forms = [form if isinstance(form := _lowered(check, domain), Lowered) else None for check in self.checks]
        self.paths = [LOWERED if form else INTERPRETED for form in forms]
        self._program_of = np.array([batch.add(form) if batch and form else -1 for form in forms], np.int64)
        self._slots = np.stack([slots_of(form.targets if form else ()) for form in forms])
        self._slow = np.flatnonzero(self._program_of < 0)

    def __call__(self, memory: Any, check_of: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's check is true of what its robot has seen."""
        fired = np.zeros(len(check_of), bool)
        if self._batch is not None:
            fired = self._batch.outcomes(memory, self._program_of[check_of], self._slots[check_of]) == TRUE
        if len(self._slow):
            for i in np.flatnonzero(np.isin(check_of, self._slow)):
                fired[i] = ask(self.checks[check_of[i]], self.domain, memory=memory, row=int(i))
        return fired


def ask(check: CheckFunction, domain: Domain, *, memory: Any, row: int) -> bool:
    """The interpreted answer of a check about one row; False where it fails."""
    try:
        return compiled(check, domain)(domain.snapshot(memory, row))
    except GuardError:
        return False


@lru_cache(maxsize=50_000)
def _lowered(check: CheckFunction, domain: Domain) -> Lowered | NotLowerable:
    compiled(check, domain)
    return lower(check, domain.machine) if domain.machine else NotLowerable("this domain has no check machine")
