"""A budget of tokens and money that stops a run before it is overdrawn by more than one reply.

Many questions may be under way at once. Near the limit, when those under way might spend all that is left, the next one
waits for them. With several processes each may overdraw the budget by one reply.
"""

import errno
import json
import math
import os
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from sdg.envs.files import lock_to_append
from sdg.llm import exchange
from sdg.llm.model import BudgetExceeded, Completion, LanguageModel, Message, ModelError, Sampling
from sdg.skills.settings import Count, NotNegative, Positive

MAX_LEDGER_BYTES = 2**26
MAX_QUESTIONS = 500_000
"""Most lines of a ledger: each is parsed once."""


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """Limits at which a run stops cleanly; null means none. The run may go on with larger ones."""

    tokens: Count | None = None
    """prompt and completion tokens, cached replies not counted"""
    money: Positive | None = None
    """most money for tokens, in the unit of the prices"""
    minutes: Positive | None = None
    """time after which a command asks no further question"""
    prompt_price: NotNegative = 0.0
    """money for a million prompt tokens"""
    completion_price: NotNegative = 0.0
    """money for a million completion tokens"""
    cached_price: NotNegative | None = None
    """money for a million prompt tokens that the server's cache held; null: as other prompt tokens"""

    def price(self, prompt_tokens: int, completion_tokens: int, *, cached_tokens: int = 0) -> float:
        """The money for these tokens; the cached ones are among those of the prompt."""
        from_cache = min(cached_tokens, prompt_tokens)
        cached_price = self.prompt_price if self.cached_price is None else self.cached_price
        money = (prompt_tokens - from_cache) * self.prompt_price + from_cache * cached_price
        return (money + completion_tokens * self.completion_price) / 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money that were spent."""

    tokens: int = 0
    money: float = 0.0

    def plus(self, more: "Spent") -> "Spent":
        """The sum of both."""
        return Spent(self.tokens + more.tokens, self.money + more.money)


class BudgetedModel:
    """A model that refuses to go on when the budget is spent. Cached replies cost nothing; an answer that broke off
    costs the tokens that were sent.

    `ledger` is a file of the spending, shared by the processes of a run and by its resumptions.
    """

    def __init__(self, model: LanguageModel, budget: BudgetSettings, *, ledger: Path | None = None) -> None:
        self.name, self._model = model.name, model
        self._budget, self._ledger = budget, ledger
        self._spending = self._total = Spent()
        self._position = 0
        self._began = time.monotonic()
        self._under_way = 0
        self._turn = threading.Condition()

    @property
    def spending(self) -> Spent:
        """Tokens and money spent so far. Raises ModelError where the ledger can't be read."""
        return self._spending if self._ledger is None else self._add(Spent())

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The model's reply. Once a limit is reached, raises BudgetExceeded instead of asking."""
        prompt_tokens, _ = exchange.tokens_of(messages, Completion("", ""))
        max_cost = Spent(prompt_tokens + sampling.max_tokens, self._budget.price(prompt_tokens, sampling.max_tokens))
        with self._turn:
            self._turn.wait_for(lambda: not self._under_way or self._fits_budget(max_cost))
            self._check(self.spending)
            self._under_way += 1
        cost = Spent()
        try:
            completion = self._model.complete(messages, sampling=sampling)
            cost = self._cost_of(messages, completion)
        except ModelError as error:
            if error.billed is not None:
                cost = self._cost_of(messages, error.billed)
            raise
        finally:
            with self._turn:
                self._under_way -= 1
                self._turn.notify_all()
                if cost.tokens:
                    self._spending = self._add(cost)
        return completion

    def _cost_of(self, messages: Sequence[Message], completion: Completion) -> Spent:
        if completion.cached:
            return Spent()
        prompt, reply = exchange.tokens_of(messages, completion)
        return Spent(prompt + reply, self._budget.price(prompt, reply, cached_tokens=completion.cached_tokens))

    def _fits_budget(self, max_cost: Spent) -> bool:
        """Whether the questions under way and one more may all cost `max_cost` within the limits."""
        limits, spending = self._budget, self.spending
        questions = self._under_way + 1
        if limits.tokens is not None and spending.tokens + questions * max_cost.tokens > limits.tokens:
            return False
        return limits.money is None or spending.money + questions * max_cost.money <= limits.money

    def _check(self, spending: Spent) -> None:
        limits = self._budget
        minutes = (time.monotonic() - self._began) / 60
        if limits.tokens is not None and spending.tokens >= limits.tokens:
            reason = f"{limits.tokens} tokens is spent ({spending.tokens}): raise budget.tokens to go on."
        elif limits.money is not None and spending.money >= limits.money:
            reason = f"{limits.money:g} is spent ({spending.money:.4g}): raise budget.money to go on."
        elif limits.minutes is not None and minutes >= limits.minutes:
            reason = f"{limits.minutes:g} minutes is spent: the same command goes on."
        else:
            return
        raise BudgetExceeded(f"The budget of {reason}")

    def _add(self, more: Spent) -> Spent:
        if self._ledger is None:
            return self._spending.plus(more)
        try:
            with lock_to_append(self._ledger) as file:
                self._read_additions(file)
                total = self._total
                if more.tokens:
                    # The name tells equal lines apart where the ledgers of a run's shards are put together.
                    row = {"tokens": more.tokens, "money": more.money, "name": secrets.token_hex(4)}
                    file.write(json.dumps(row).encode() + b"\n")
                    os.fsync(file.fileno())
        except OSError as error:
            raise ModelError(f"The ledger {self._ledger} can't be used: {error.strerror or error}.") from error
        return total.plus(more)

    def _read_additions(self, file: FileIO) -> None:
        """Add the lines written since the last look to the total."""
        size = file.seek(0, os.SEEK_END)
        if size < self._position:
            self._position = 0
            self._total = Spent()
        file.seek(self._position)
        data = file.read(MAX_LEDGER_BYTES)
        if size > MAX_LEDGER_BYTES or data.count(b"\n") > MAX_QUESTIONS:
            raise OSError(errno.EFBIG, f"it is too large, at most {MAX_QUESTIONS} questions are read")
        self._position += len(data)
        for line in data.splitlines():
            try:
                entry = json.loads(line)
                more = Spent(int(entry["tokens"]), float(entry["money"]))
            except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
                continue  # a torn line, left by a kill between two writes
            if more.tokens >= 0 and 0 <= more.money < math.inf:  # nobody is paid back, and no budget is turned off
                self._total = self._total.plus(more)


@dataclass(frozen=True, slots=True)
class Typical:
    """The usual size of one kind of question: tokens of prompt and completion, and questions for each unit of work."""

    prompt_tokens: int
    completion_tokens: int
    questions: float = 1.0


HYPOTHESIS = Typical(1500, 500, 1.5)
"""An instruction's subgoals, with retries and repairs."""
TRANSLATION = Typical(2900, 1200, 0.1)
"""A grounded subgoal's API name; one question asks for some ten."""
EPISODE = Typical(4000, 1800, 1.3)
"""An instruction's programs: the first one and its repairs."""
CHAT_EPISODE = Typical(900, 150, 40.0)
"""An episode with a question for every action."""
REPLY_SECONDS = 30.0
"""For a reasoning model; a fast one takes a tenth."""


def describe_cost(work: Iterable[tuple[Typical, int]], budget: BudgetSettings, *, concurrency: int) -> str:
    """One line about these units of work of each kind: questions, tokens, money where prices are known, and time at
    that concurrency. A guess within a factor of three: whether a run costs cents or hundreds, minutes or days."""
    counts = [(round(kind.questions * units), kind) for kind, units in work]
    questions = sum(count for count, _ in counts)
    prompt = sum(count * kind.prompt_tokens for count, kind in counts)
    completion = sum(count * kind.completion_tokens for count, kind in counts)
    money = budget.price(prompt, completion)
    cost = f"{money:.2f} in money" if money else "no prices are set (budget.prompt_price, budget.completion_price)"
    minutes = questions * REPLY_SECONDS / max(concurrency, 1) / 60
    wait = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    return (
        f"the model will be asked some {questions} questions, {(prompt + completion) / 1e6:.2g} M tokens; {cost}; "
        f"about {wait} of waiting at {concurrency} at a time and {REPLY_SECONDS:.0f} s a reply"
    )
