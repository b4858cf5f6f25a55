"""Many checks as one batched boolean reward: asked about all rows at once where possible, row by row elsewhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdg.envs.domain import Domain
from sdg.skills.checks.check import compile_check
from sdg.skills.checks.vectorized import Unsupported, VectorizedCheck, vectorize
from sdg.skills.subgoal import CheckFunction

MIN_ROWS = 8
"""Fewer rows of one form are asked one by one, because a call over arrays costs something even for few rows."""


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i.

    Raises `Refused` for a check that the guard doesn't admit; a check that fails while it runs is false there.
    """

    def __init__(self, checks: Sequence[CheckFunction], domain: Domain) -> None:
        self.checks, self.domain = tuple(checks), domain
        self._forms: list[VectorizedCheck] = []
        self._form_of = np.full(len(self.checks), -1)
        self._place = np.zeros(len(self.checks), np.int64)
        """Each check's number within its form."""
        numbers: dict[str, int] = {}
        for number, check in enumerate(self.checks):
            compile_check(check, domain)
            if domain.column_reader is not None:
                try:
                    key, texts, form = vectorize(check, domain.column_reader)
                except Unsupported:
                    continue
                self._form_of[number] = own = numbers.setdefault(key, len(self._forms))
                self._forms += [form] if own == len(self._forms) else []
                self._place[number] = len(self._forms[own].texts)
                self._forms[own].texts.append(texts)

    def __call__(self, memory: Any, check_of: np.ndarray) -> np.ndarray:
        """bool (n,): whether each row's check is true by what its robot has seen."""
        fired, certain = np.zeros(len(check_of), bool), np.zeros(len(check_of), bool)
        forms, reader = self._form_of[check_of], self.domain.column_reader
        numbers = np.flatnonzero(np.bincount(forms[forms >= 0], minlength=len(self._forms)) >= MIN_ROWS)
        if len(numbers) and reader is not None:
            columns = reader.read(memory)
            for number in numbers.tolist():
                rows = np.flatnonzero(forms == number)
                try:
                    which = self._place[check_of[rows]]
                    fired[rows], certain[rows] = self._forms[number].evaluate(memory, columns, rows, which)
                except Unsupported:  # later calls don't try this form again
                    self._form_of[self._form_of == number] = -1
        for i in np.flatnonzero(~certain).tolist():
            fired[i] = ask(self.checks[check_of[i]], self.domain, memory=memory, row=i)
        return fired


def ask(check: CheckFunction, domain: Domain, *, memory: Any, row: int) -> bool:
    """The interpreted answer of a check about one row; False where it fails."""
    return compile_check(check, domain).fires(domain.snapshot(memory, row))
