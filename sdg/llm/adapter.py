"""A model object of a user's own: it needs nothing but `complete(messages)`, which returns text.

class Mine:
    def complete(self, messages):
        return my_client.chat([(message.role, message.content) for message in messages])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling, Unavailable


class Adapted:
    """Any object with `complete(messages)` as a `LanguageModel`; its name is its `name` or that of its class.

    `complete` may take `sampling` by keyword, and may return text, a `Completion`, or anything with a text in `.text`.
    A lost connection or a timeout is `Unavailable`, everything else that it raises a ModelError.
    """

    def __init__(self, model: object) -> None:
        complete = getattr(model, "complete", None)
        if not callable(complete) or isinstance(model, type):
            raise ModelError(
                f"{model!r:.80} can't be a model: give an object with a method complete(messages) that returns text."
            )
        self._complete: Callable[..., object] = complete
        self._takes_sampling = _takes(complete, "sampling")
        named = getattr(model, "name", "")
        self._name = named if isinstance(named, str) and named else type(model).__name__

    @property
    def name(self) -> str:
        """What it is called in transcripts."""
        return self._name

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """What the object says. Raises ModelError for whatever it raises, and for a reply that is no text."""
        told = {"sampling": sampling} if self._takes_sampling else {}
        try:
            said = self._complete(tuple(messages), **told)
        except ModelError:
            raise
        except Exception as error:
            kind = Unavailable if isinstance(error, ConnectionError | TimeoutError) else ModelError
            said = " ".join(str(error).split())
            raise kind(f"The model {self.name} raised {type(error).__name__}: {said:.300}") from error
        if isinstance(said, Completion) and isinstance(said.text, str):
            return said if said.model else replace(said, model=self.name)
        text = said if isinstance(said, str) else getattr(said, "text", None)
        if not isinstance(text, str):
            raise ModelError(
                f"The model {self.name} returned {said!r:.80} ({type(said).__name__}): complete(messages) returns text."
            )
        return Completion(text, self.name)


def as_model(model: object) -> LanguageModel:
    """The object as a `LanguageModel`. Raises ModelError for one without `complete`."""
    return Adapted(model)


def _takes(function: Callable[..., object], keyword: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return keyword in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())
