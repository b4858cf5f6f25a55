"""Models by name, and the wrappers around them: a new provider is one file and one line here.

A user's own model is named `module:attribute`: a `Provider`, an object with `complete(messages)`, or a class or
function that gives such an object when called without arguments.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from sdg.envs.registry import Registry, RegistryError
from sdg.llm.asking import RetryingModel
from sdg.llm.budget import BudgetedModel
from sdg.llm.model import Completion, LanguageModel, Message, ModelError, Sampling, Unavailable
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.transcript import RecordingModel

PROVIDERS = Registry[object](
    "model provider",
    {
        "babylang": "sdg.llm.rule_based:BABYLANG",
        "openai": "sdg.llm.openai.client:PROVIDER",
        "phoneclumsy": "sdg.llm.webrules.phones:CLUMSY",
        "phonerandom": "sdg.llm.webrules.phones:RANDOM",
        "phonerules": "sdg.llm.webrules.phones:PHONERULES",
        "replay": "sdg.llm.transcript:PROVIDER",
        "webrules": "sdg.llm.webrules.rules:WEBRULES",
    },
)


def build_unprotected(settings: ModelSettings) -> LanguageModel:
    """The model with its wrappers, from the inside out: budget, retries, transcript. It sees private values:
    `sdg.privacy.protector.build_model` puts the last wrapper around it.

    The budget counts each attempt that reaches the model, so replies from the transcript (`cache`) are free; the
    transcript has what callers received. Raises ModelError for a kind that doesn't exist or settings that don't fit it.
    """
    try:
        provider = provider_of(settings.kind)
    except RegistryError as error:
        raise ModelError(f"{error}.") from None
    for need in provider.needs:
        if not getattr(settings, need):
            raise ModelError(f"A model of kind {settings.kind} needs a {need}: set model.{need}.")
    model: LanguageModel = provider.make(settings)
    budget = settings.budget
    if any(limit is not None for limit in (budget.tokens, budget.money, budget.minutes)):
        model = BudgetedModel(model, budget, ledger=settings.ledger)
    if settings.retries:
        model = RetryingModel(model, retries=settings.retries)
    if settings.record is not None:
        secrets = [os.environ.get(provider.key_variable, "").strip()]
        model = RecordingModel(model, settings.record, secrets=secrets, answers=settings.cache)
    return model


def provider_of(kind: str) -> Provider:
    """The provider behind a key or `module:attribute`. Raises RegistryError."""
    entry = PROVIDERS.get(kind)
    if isinstance(entry, Provider):
        return entry
    if not (callable(entry) or hasattr(entry, "complete")):
        raise RegistryError(f"the model provider {kind!r} ({type(entry).__name__}) has no method complete(messages)")
    return Provider(partial(_own, kind, entry), network=bool(getattr(entry, "network", True)))


def is_rule_based(kind: str) -> bool:
    """Whether a kind is rule-based, no language model. A user's own kind isn't imported to find out."""
    return kind in PROVIDERS.entries and provider_of(kind).rule_based


def concurrency_of(settings: ModelSettings) -> int:
    """How many questions may be under way at once; 1 for a model that runs on the local cores."""
    return settings.concurrency if provider_of(settings.kind).network else 1


def parse_llm(llm: str) -> dict[str, str]:
    """KIND, KIND:NAME or MODULE:ATTRIBUTE[:NAME], as `--llm` takes them, as settings. Raises RegistryError."""
    kind, _, name = llm.partition(":")
    if name and kind not in PROVIDERS.entries:
        attribute, _, name = name.partition(":")
        kind = f"{kind}:{attribute}"
    needs = provider_of(kind).needs
    return {"kind": kind} | ({needs[0] if needs else "name": name} if name else {})


def _own(kind: str, entry: Callable[[], object] | object, settings: ModelSettings) -> LanguageModel:
    if isinstance(entry, type) or not hasattr(entry, "complete"):
        assert callable(entry)
        try:
            entry = entry()
        except Exception as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"Making the model {kind} raises {type(error).__name__}: {reason:.300}") from error
    return ModelAdapter(entry)


class ModelAdapter:
    """Any object with `complete(messages)` as a `LanguageModel`; its name is its `name` or its class's.

    `complete` may take `sampling` by keyword, and may return text, a `Completion`, or anything with a text in `.text`.
    A lost connection or a timeout becomes `Unavailable`, any other exception a ModelError.
    """

    def __init__(self, model: object) -> None:
        complete = getattr(model, "complete", None)
        if not callable(complete) or isinstance(model, type):
            raise ModelError(
                f"{model!r:.80} can't be a model: give an object with a method complete(messages) that returns text."
            )
        self._complete: Callable[..., object] = complete
        parameters: Mapping[str, inspect.Parameter] = {}
        with suppress(TypeError, ValueError):
            parameters = inspect.signature(complete).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        self._takes_sampling = takes_any or "sampling" in parameters
        name = getattr(model, "name", "")
        self.name = name if isinstance(name, str) and name else type(model).__name__
        """Its name in transcripts."""

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """The object's reply. Raises ModelError for whatever it raises, and for a reply that isn't text."""
        options = {"sampling": sampling} if self._takes_sampling else {}
        try:
            reply = self._complete(tuple(messages), **options)
        except ModelError:
            raise
        except Exception as error:
            kind = Unavailable if isinstance(error, ConnectionError | TimeoutError) else ModelError
            reason = " ".join(str(error).split())
            raise kind(f"The model {self.name} raised {type(error).__name__}: {reason:.300}") from error
        if isinstance(reply, Completion) and isinstance(reply.text, str):
            return reply if reply.model else replace(reply, model=self.name)
        text = reply if isinstance(reply, str) else getattr(reply, "text", None)
        if not isinstance(text, str):
            raise ModelError(
                f"The model {self.name} returned {reply!r:.80} ({type(reply).__name__}): "
                "complete(messages) returns text."
            )
        return Completion(text, self.name)
