"""Only an unconfined process asks the language model; a worker sends its question to its parent, as plain data.

So only a process that runs no generated code has network, key and transcript.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sdg.llm import exchange
from sdg.llm.model import Completion, LanguageModel, Message, Sampling
from sdg.llm.provider import ModelSettings
from sdg.llm.registry import ModelAdapter, parse_llm
from sdg.privacy.protector import build_model
from sdg.sandbox.process import line
from sdg.skills.strict_json import decode

MAX_CHARACTERS = 4_000_000
"""Longest conversation that a worker may ask about."""


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation that a worker asks about."""

    messages: tuple[Message, ...]
    sampling: Sampling


class ParentModel:
    """A worker's model, which asks the parent; for workers alone."""

    name = "the parent's model"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The reply of the parent's model. Raises the same errors as that model."""
        reply = line.ask({"messages": exchange.plain_messages(messages), "sampling": asdict(sampling)})
        return exchange.reply_of(reply, cached=reply["cached"])


def model_of(settings: ModelSettings) -> LanguageModel:
    """The model that this process may ask. Raises ModelError for settings of no known model."""
    return ParentModel() if line.is_open() else _model_here(settings)


@contextlib.contextmanager
def lend_model(model: object) -> Iterator[ModelSettings]:
    """Settings under which this process answers with `model`: an object with `complete(messages)`, or `--llm`'s text.

    Raises ModelError for an object without that method, RegistryError for a text that names no model.
    """
    if isinstance(model, str):
        values = parse_llm(model)
        transcript = Path(values["transcript"]) if "transcript" in values else None
        yield ModelSettings(values["kind"], values.get("name", ""), transcript=transcript)
        return
    settings = ModelSettings("lent", name=str(id(model)))
    _lent_models[settings] = ModelAdapter(model)
    try:
        yield settings
    finally:
        del _lent_models[settings]


_lent_models: dict[ModelSettings, LanguageModel] = {}
"""The user's own models: they don't travel, so workers ask for them here."""


def _model_here(settings: ModelSettings) -> LanguageModel:
    """One model a process, so that all threads that ask it share a connection, known replies and a budget."""
    if settings in _lent_models:
        return _lent_models[settings]
    with _building:
        return _build_once(settings)


_building = threading.Lock()
_build_once = lru_cache(maxsize=4)(build_model)


def answer(settings: ModelSettings, request: Any) -> dict[str, Any]:
    """A worker's question put to the model, in the parent.

    Raises ValueError for a request that is no question, ModelError as the model does.
    """
    question = decode(Question, request, place="a worker's question")
    if sum(len(message.content) for message in question.messages) > MAX_CHARACTERS:
        raise ValueError(f"a worker asked about more than {MAX_CHARACTERS} characters")
    return asdict(_model_here(settings).complete(question.messages, sampling=question.sampling))
