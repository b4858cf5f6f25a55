"""Many checks as one batched boolean reward: asked about all rows at once where possible, row by row elsewhere.

Checks that differ only in the things they name are evaluated together.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sdg.envs.batch import ColumnReader, Columns
from sdg.envs.domain import Domain
from sdg.sandbox.guard import Refused
from sdg.sandbox.guard.outline import names_bound
from sdg.sandbox.guard.syntax import parse
from sdg.skills.checks.check import compile_check
from sdg.skills.checks.evaluation import THINGS, Evaluation, Text, Unsupported
from sdg.skills.subgoal import CheckFunction

MIN_ROWS = 8
"""Fewer rows of one form are asked one by one, because a call over arrays costs something even for few rows."""
_NO_NUMBER = -9  # a text that no thing has


@dataclass
class VectorizedCheck:
    """Checks that differ only in their texts, as one function over rows."""

    body: Sequence[ast.stmt]
    reader: ColumnReader
    texts: list[tuple[str, ...]] = field(default_factory=list)
    """The texts of each added check."""
    _codes: dict[tuple[int, str], np.ndarray] = field(default_factory=dict)

    def evaluate(self, memory: Any, columns: Columns, rows: np.ndarray, which: np.ndarray) -> tuple[Any, Any]:
        """The answer of check `which[i]` about row `rows[i]`, and whether it is certain, bool (k,) twice.

        Raises Unsupported.
        """
        run = Evaluation(self, memory, Columns(*(array[rows] for array in columns)), rows, which)
        run.run(self.body)
        return run.result[:, 0, 0] & ~run.failed, ~run.uncertain | run.failed

    def encode(self, text: int, kind: str) -> np.ndarray:
        """A text of every check as its number in a field of this kind, i64 (checks,), or (THINGS) as a target and
        whether it is a valid one, i64 (checks, w + 1)."""
        codes = self._codes.get((text, kind))
        if codes is None or len(codes) < len(self.texts):
            spellings = [texts[text] for texts in self.texts]
            numbers = {word: number for number, word in enumerate(self.reader.texts.get(kind, ()))}
            values = [
                self._target(spelling) if kind == THINGS else numbers.get(spelling, _NO_NUMBER)
                for spelling in spellings
            ]
            self._codes[text, kind] = codes = np.array(values, np.int64)
        return codes

    def _target(self, text: str) -> tuple[int, ...]:
        try:
            return (*self.reader.parse(text), 1)
        except ValueError:
            return (*self.reader.parse(self.reader.anything), 0)


def vectorize(check: CheckFunction, reader: ColumnReader) -> tuple[str, tuple[str, ...], VectorizedCheck]:
    """A key shared by all checks that differ only in their texts, this check's texts, and a form for all of them.

    Raises Unsupported; a form may still turn out to be unsupported when it is first evaluated.
    """
    try:
        tree = parse(check.source)
        *constants, function = tree.body
    except (Refused, ValueError) as error:
        raise Unsupported(str(error)) from None
    if not isinstance(function, ast.FunctionDef) or function.name != check.name:
        raise Unsupported("it ends in something else than its function")
    callees = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    if not names_bound(tree).keys().isdisjoint(name.id for name in callees if isinstance(name, ast.Name)):
        raise Unsupported("it calls a name that it binds itself")  # wherever it does: the name is local everywhere
    body, texts = [*constants, *function.body], list[str]()
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
            node.value = Text(len(texts) - 1)
    return ast.dump(ast.Module(body, [])), tuple(texts), VectorizedCheck(body, reader)


class BatchReward:
    """Evaluates check `check_of[i]` on memory row i.

    Raises `Refused` for a check that the guard doesn't admit; a check that fails while it runs is false there.
    """

    def __init__(self, checks: Sequence[CheckFunction], domain: Domain) -> None:
        self.checks, self.domain = tuple(checks), domain
        self._forms: list[VectorizedCheck] = []
        self._form_of = np.full(len(self.checks), -1)
        self._number_in_form = np.zeros(len(self.checks), np.int64)
        """Each check's number within its form."""
        numbers: dict[str, int] = {}
        for number, check in enumerate(self.checks):
            compile_check(check, domain)
            if domain.column_reader is not None:
                try:
                    key, texts, form = vectorize(check, domain.column_reader)
                except Unsupported:
                    continue
                self._form_of[number] = form_number = numbers.setdefault(key, len(self._forms))
                if form_number == len(self._forms):
                    self._forms.append(form)
                self._number_in_form[number] = len(self._forms[form_number].texts)
                self._forms[form_number].texts.append(texts)

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
                    which = self._number_in_form[check_of[rows]]
                    fired[rows], certain[rows] = self._forms[number].evaluate(memory, columns, rows, which)
                except Unsupported:  # later calls don't try this form again
                    self._form_of[self._form_of == number] = -1
        for i in np.flatnonzero(~certain).tolist():
            check = compile_check(self.checks[check_of[i]], self.domain)
            fired[i] = check.fires(self.domain.snapshot(memory, i))
        return fired
