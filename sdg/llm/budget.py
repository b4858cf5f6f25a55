"""A budget of tokens and money that stops a run before it is overdrawn by more than one reply.

Many questions may be under way at once. Near the limit, where those under way might spend it all, the next one waits
for them; with several processes each of them may overdraw it by a reply.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sdg.llm import exchange
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in the budget's unit; `cached` for those that the server's prompt cache held."""

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None

    def of(self, prompt_tokens: int, completion_tokens: int, *, cached_tokens: int = 0) -> float:
        """What these tokens cost; the cached ones are among those of the prompt."""
        known = min(cached_tokens, prompt_tokens)
        cached = self.prompt if self.cached is None else self.cached
        money = (prompt_tokens - known) * self.prompt + known * cached + completion_tokens * self.completion
        return money / 1e6


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None is without limit. `minutes` count from when the model was made, in each process anew."""

    tokens: int | None = None
    money: float | None = None
    minutes: float | None = None


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
        self._began = time.monotonic()
        self._under_way = 0
        self._turn = threading.Condition()

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
        asked, _ = exchange.tokens_of(messages, Completion("", ""))
        most = Spent(asked + sampling.max_tokens, self._prices.of(asked, sampling.max_tokens))
        with self._turn:
            self._turn.wait_for(lambda: not self._under_way or self._fits_budget(most))
            self._check(self.spent)
            self._under_way += 1
        try:
            completion = self._model.complete(messages, sampling=sampling)
        except BaseException:
            self._settle(Spent())
            raise
        prompt, reply = exchange.tokens_of(messages, completion)
        cost = self._prices.of(prompt, reply, cached_tokens=completion.cached_tokens)
        self._settle(Spent() if completion.cached else Spent(prompt + reply, cost))
        return completion

    def _settle(self, cost: Spent) -> None:
        with self._turn:
            self._under_way -= 1
            self._turn.notify_all()
            if cost.tokens:
                self._spent = self._add(cost)

    def _fits_budget(self, most: Spent) -> bool:
        """Whether the questions under way and one more may all cost `most` within the limits."""
        spent, questions = self.spent, self._under_way + 1
        tokens, money = self._limits.tokens, self._limits.money
        return (tokens is None or spent.tokens + questions * most.tokens <= tokens) and (
            money is None or spent.money + questions * most.money <= money
        )

    def _check(self, spent: Spent) -> None:
        tokens, money = self._limits.tokens, self._limits.money
        if tokens is not None and spent.tokens >= tokens:
            raise BudgetExceeded(
                f"The budget of {tokens} tokens is spent ({spent.tokens}): raise budget.tokens to go on."
            )
        if money is not None and spent.money >= money:
            raise BudgetExceeded(f"The budget of {money:g} is spent ({spent.money:.4g}): raise budget.money to go on.")
        minutes = self._limits.minutes
        if minutes is not None and time.monotonic() - self._began >= 60 * minutes:
            raise BudgetExceeded(f"The budget of {minutes:g} minutes is spent: the same command goes on.")

    def _add(self, more: Spent) -> Spent:
        if self._ledger is None:
            return Spent(self._spent.tokens + more.tokens, self._spent.money + more.money)
        try:
            with exchange.open_to_append(self._ledger) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                exchange.cut_torn_line(file)
                file.seek(0)
                total = _sum(file.readall().splitlines())
                if more.tokens:
                    file.write(json.dumps({"tokens": more.tokens, "money": more.money}).encode() + b"\n")
                    os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The ledger {self._ledger} can't be used: {error.strerror or error}.") from error
        return Spent(total.tokens + more.tokens, total.money + more.money)


def _sum(lines: Sequence[bytes]) -> Spent:
    tokens, money = 0, 0.0
    for line in lines:
        try:
            entry = json.loads(line)
            tokens, money = tokens + int(entry["tokens"]), money + float(entry["money"])
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            continue  # a torn line: a kill between two writes
    return Spent(tokens, money)
