"""Models by kind, and the wrappers around them: a new kind is one factory and one line here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sdg.llm.address import check_address, untrusted
from sdg.llm.budget import Budgeted, Limits, Prices
from sdg.llm.cache import Cached
from sdg.llm.faulty import Faulty
from sdg.llm.model import LanguageModel, ModelError
from sdg.llm.transcript import Recorded, Replayed


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model, and what is put around it. Paths that are None leave their wrapper out.

    `transcript` is what kind replay reads, `record` is where exchanges are written; `fault_rate` in [0, 1] is the share
    of replies that are spoilt on purpose. Prices are money for a million tokens. `trusted` says that the user named
    `base_url`: a key from the environment goes nowhere else.
    """

    kind: str = "babylang"
    name: str = ""
    base_url: str | None = None
    trusted: bool = True
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    retries: int = 4
    transcript: Path | None = None
    record: Path | None = None
    cache: Path | None = None
    ledger: Path | None = None
    fault_rate: float = 0.0
    fault_seed: int = 0
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)


def build(settings: ModelSettings) -> LanguageModel:
    """The model with its wrappers, from the inside out: budget, cache, faults, transcript.

    The budget counts what reaches the model, so cached replies are free; the transcript records what callers were told.
    Raises ModelError for a kind that doesn't exist or settings that don't fit it.
    """
    factory = FACTORIES.get(settings.kind)
    if factory is None:
        raise ModelError(f"There is no model kind {settings.kind!r}; there are {', '.join(FACTORIES)}.")
    model = factory(settings)
    if settings.limits != Limits():
        model = Budgeted(model, settings.limits, prices=settings.prices, ledger=settings.ledger)
    if settings.cache is not None:
        model = Cached(model, settings.cache)
    if settings.fault_rate > 0:
        model = Faulty(model, rate=settings.fault_rate, seed=settings.fault_seed)
    if settings.record is not None:
        model = Recorded(model, settings.record, secrets=_secrets(settings))
    return model


def _babylang(settings: ModelSettings) -> LanguageModel:
    from sdg.llm.babylang.model import BabyLang

    return BabyLang()


def _faulty(settings: ModelSettings) -> LanguageModel:
    from sdg.llm.babylang.model import BabyLang

    return Faulty(BabyLang(), rate=settings.fault_rate or 0.5, seed=settings.fault_seed)


def _openai(settings: ModelSettings) -> LanguageModel:
    from sdg.llm.openai import Endpoint, OpenAIModel

    if not settings.name:
        raise ModelError("A model of kind openai needs a name: set model.name.")
    try:
        check_address(settings.base_url)
    except ValueError as error:
        raise ModelError(f"{error}.") from None
    if not settings.trusted and os.environ.get("OPENAI_API_KEY"):
        raise ModelError(untrusted(settings.base_url or ""))
    return OpenAIModel(
        Endpoint(
            settings.name,
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
        )
    )


def _replay(settings: ModelSettings) -> LanguageModel:
    if settings.transcript is None:
        raise ModelError("A model of kind replay needs a transcript: set model.transcript.")
    return Replayed(settings.transcript)


def _secrets(settings: ModelSettings) -> tuple[str, ...]:
    return tuple(key for key in (settings.api_key, os.environ.get("OPENAI_API_KEY")) if key)


FACTORIES: Mapping[str, Callable[[ModelSettings], LanguageModel]] = {
    "babylang": _babylang,
    "faulty": _faulty,
    "openai": _openai,
    "replay": _replay,
}
"""Kind -> factory. Kind faulty is babylang with mistakes, to exercise repair and debugging."""
