"""Many questions at a time, because a model may take a minute to answer each one."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling, Unavailable

A = TypeVar("A")
B = TypeVar("B")


def in_order(function: Callable[[A], B], items: Sequence[A], *, at_once: int) -> Iterator[B]:
    """The results of `function` for the items, in their order, with at most `at_once` calls under way in threads.

    The order is the same as without threads, so that files written from the results are the same byte for byte. The
    first exception in that order is raised here; then items that weren't begun are dropped, and calls under way are
    waited for, because their replies are paid for and cached.
    """
    if at_once <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    futures: list[Future[B]] = [Future() for _ in items]
    todo = iter(zip(futures, items, strict=True))  # next() of a list's iterator is one step of the interpreter
    # Daemons: Ctrl-C doesn't wait for a model that may take minutes.
    threads = [threading.Thread(target=_work, args=(function, todo), daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    try:
        for future in futures:
            yield future.result()
    except Exception:
        list(todo)
        for thread in threads:
            thread.join()
        raise
    finally:
        list(todo)


def _work(function: Callable[[A], B], todo: Iterator[tuple[Future[B], A]]) -> None:
    for future, item in todo:
        try:
            future.set_result(function(item))
        except BaseException as error:  # raised where the result is read
            future.set_exception(error)


FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 60.0
"""Longest pause before a retry; a request for a longer one counts as a refusal."""


class RetryingModel:
    """A model that is asked again, at most `retries` times, when it is `Unavailable`; other errors go through.

    Pauses double, or are as long as the server asks. The jitter comes from the sampling's seed.
    """

    def __init__(self, model: LanguageModel, *, retries: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name, self._model = model.name, model
        self._retries, self._sleep = retries, sleep

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The model's reply in the end. Raises ModelError."""
        jitter = random.Random(sampling.seed)
        attempt = 0
        while True:
            try:
                return self._model.complete(messages, sampling=sampling)
            except Unavailable as error:
                wish = error.after_seconds
                if attempt == self._retries or (wish or 0.0) > MAX_WAIT_SECONDS:
                    raise ModelError(f"{error} Tried {attempt + 1} times.") from None
                wait = FIRST_WAIT_SECONDS * 2**attempt * (1 + jitter.random()) if wish is None else wish
                self._sleep(min(wait, MAX_WAIT_SECONDS))
                attempt += 1
