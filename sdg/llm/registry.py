"""Models by name, and the wrappers around them: a new provider is one file, and one line here to ship it.

A user's own is named `module:attribute`: a `Provider`, an object with `complete(messages)`, or a class or function
that gives such an object when it is called without arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from sdg.envs.registry import Registry, RegistryError
from sdg.llm.adapter import as_model
from sdg.llm.budget import Budgeted, Limits, Prices
from sdg.llm.cache import Cached
from sdg.llm.faulty import Faulty
from sdg.llm.model import LanguageModel, ModelError
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.retry import Retried
from sdg.llm.transcript import Recorded

PROVIDERS = Registry[object](
    "model provider",
    {
        "babylang": "sdg.llm.stand_in:BABYLANG",
        "faulty": "sdg.llm.stand_in:FAULTY",
        "openai": "sdg.llm.openai.client:PROVIDER",
        "replay": "sdg.llm.transcript:PROVIDER",
        "webrules": "sdg.llm.webrules.model:WEBRULES",
    },
)

WRAPPERS = Registry[Callable[[LanguageModel, str], LanguageModel]](
    "wrapper", {"privacy": "sdg.gate.privacy.protector:protected"}
)
"""By name alone, for the gate knows models and not the other way round."""


def build(settings: ModelSettings) -> LanguageModel:
    """The model with its wrappers, from the inside out: retries, budget, cache, faults, transcript, privacy.

    The budget counts what reaches the model, so cached replies are free; the transcript records what callers were told.
    Raises ModelError for a kind that doesn't exist or settings that don't fit it.
    """
    try:
        provider = provider_of(settings.kind)
    except RegistryError as error:
        raise ModelError(f"{error}.") from None
    for need in provider.needs:
        if not getattr(settings, need):
            raise ModelError(f"A model of kind {settings.kind} needs a {need}: set model.{need}.")
    model: LanguageModel = provider.make(settings)
    if settings.retries:
        model = Retried(model, retries=settings.retries)
    if settings.limits != Limits():
        model = Budgeted(model, settings.limits, prices=prices_of(settings), ledger=settings.ledger)
    if settings.cache is not None:
        model = Cached(model, settings.cache)
    if settings.fault_rate > 0 and settings.kind != "faulty":
        model = Faulty(model, rate=settings.fault_rate, seed=settings.fault_seed)
    if settings.record is not None:
        model = Recorded(model, settings.record, secrets=[os.environ.get(provider.key_variable, "")])
    if settings.privacy != "off":
        try:
            model = WRAPPERS.get("privacy")(model, settings.privacy)
        except ValueError as error:
            raise ModelError(f"The model isn't asked: {error}.") from None
    return model


def provider_of(kind: str) -> Provider:
    """The provider behind a key or `module:attribute`. Raises RegistryError."""
    found = PROVIDERS.get(kind)
    if isinstance(found, Provider):
        return found
    if not (callable(found) or hasattr(found, "complete")):
        raise RegistryError(f"the model provider {kind!r} ({type(found).__name__}) has no method complete(messages)")
    return Provider(partial(_own, kind, found), network=bool(getattr(found, "network", True)))


def is_rule_based(kind: str) -> bool:
    """Whether a kind stands in for a language model. A user's own isn't imported to find out."""
    return kind in PROVIDERS.entries and provider_of(kind).rule_based


def prices_of(settings: ModelSettings) -> Prices:
    """What the tokens of a model cost: as the settings say, or else its provider."""
    return settings.prices if settings.prices != Prices() else provider_of(settings.kind).prices


def concurrency_of(settings: ModelSettings) -> int:
    """How many questions may be under way at once; 1 for a model that answers on this machine's own cores."""
    return settings.concurrency if provider_of(settings.kind).network else 1


def named(llm: str) -> dict[str, str]:
    """KIND, KIND:NAME or MODULE:ATTRIBUTE[:NAME], as `--llm` takes them, as settings. Raises RegistryError."""
    kind, _, name = llm.partition(":")
    if name and kind not in PROVIDERS.entries:
        attribute, _, name = name.partition(":")
        kind = f"{kind}:{attribute}"
    needs = provider_of(kind).needs
    return {"kind": kind} | ({needs[0] if needs else "name": name} if name else {})


def _own(kind: str, found: Callable[[], object] | object, settings: ModelSettings) -> LanguageModel:
    if isinstance(found, type) or not hasattr(found, "complete"):
        assert callable(found)
        try:
            found = found()
        except Exception as error:
            said = " ".join(str(error).split())
            raise ModelError(f"Making the model {kind} raises {type(error).__name__}: {said:.300}") from error
    return as_model(found)
