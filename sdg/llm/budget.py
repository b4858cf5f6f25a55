"""A budget of tokens and money that stops a run before it is overdrawn by more than one reply."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sdg.llm import exchange
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in whatever unit the budget is in."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None is without limit."""

    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent so far."""

    tokens: int = 0
    money: float = 0.0


class Budgeted:
    """A model that refuses to go on when the budget is spent. Cached replies cost nothing.

    `ledger` is a file that keeps what was spent, shared by the processes of a run and by its resumptions.
    """

    def __init__(self, model: LanguageModel, limits: Limits, *, prices: Prices, ledger: Path | None = None) -> None:
        self._model, self._limits, self._prices, self._ledger = model, limits, prices, ledger
        self._spent = Spent()

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    @property
    def spent(self) -> Spent:
        """What was spent so far. Raises ModelError where the ledger can't be read."""
        return self._spent if self._ledger is None else self._add(Spent())

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """What the model says. Raises BudgetExceeded instead of asking once a limit is reached."""
        self._check(self.spent)
        completion = self._model.complete(messages, sampling=sampling)
        if not completion.cached:
            prompt, reply = exchange.tokens_of(messages, completion)
            self._spent = self._add(Spent(prompt + reply, self._prices.of(prompt, reply)))
        return completion

    def _check(self, spent: Spent) -> None:
        tokens, money = self._limits.tokens, self._limits.money
        if tokens is not None and spent.tokens >= tokens:
            raise BudgetExceeded(
                f"The budget of {tokens} tokens is spent ({spent.tokens}): raise budget.tokens to go on."
            )
        if money is not None and spent.money >= money:
            raise BudgetExceeded(f"The budget of {money:g} is spent ({spent.money:.4g}): raise budget.money to go on.")

    def _add(self, more: Spent) -> Spent:
        if self._ledger is None:
            return Spent(self._spent.tokens + more.tokens, self._spent.money + more.money)
        try:
            with open(self._ledger, "a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                total = _sum(file.read().splitlines())
                if more.tokens:
                    file.write(json.dumps({"tokens": more.tokens, "money": more.money}) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The ledger {self._ledger} can't be used: {error.strerror or error}.") from error
        return Spent(total.tokens + more.tokens, total.money + more.money)


def _sum(lines: Sequence[str]) -> Spent:
    tokens, money = 0, 0.0
    for line in lines:
        try:
            entry = json.loads(line)
            tokens, money = tokens + int(entry["tokens"]), money + float(entry["money"])
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            continue  # a torn line: a kill between two writes
    return Spent(tokens, money)
