"""Asking again, around any model: what is unavailable now may not be in a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling, Unavailable

FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 60.0
"""Longest pause before a retry; a server that asks for a longer one has said no."""


class Retried:
    """A model that is asked again, at most `retries` times, when it is `Unavailable`; other errors go through.

    Pauses double, or are what the server asks for. The jitter comes from the sampling's seed.
    """

    def __init__(self, model: LanguageModel, *, retries: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self._model, self._retries, self._sleep = model, retries, sleep

    @property
    def name(self) -> str:
        """The name of the model that is asked."""
        return self._model.name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """What the model says in the end. Raises ModelError."""
        jitter = random.Random(sampling.seed)
        attempt = 0
        while True:
            try:
                return self._model.complete(messages, sampling=sampling)
            except Unavailable as error:
                wait = error.after_seconds
                if attempt == self._retries or (wait or 0.0) > MAX_WAIT_SECONDS:
                    raise ModelError(f"{error} Tried {attempt + 1} times.") from None
                wait = FIRST_WAIT_SECONDS * 2**attempt * (1 + jitter.random()) if wait is None else wait
                self._sleep(min(wait, MAX_WAIT_SECONDS))
                attempt += 1
