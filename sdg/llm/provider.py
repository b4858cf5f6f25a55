"""What a kind of model is: how one is made from settings, and what that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sdg.llm.budget import BudgetLimits, Prices
from sdg.llm.model import LanguageModel


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model, and what is put around it. Paths that are None leave their wrapper out.

    `kind` is a key of `sdg.llm.registry.PROVIDERS` or `module:attribute`. `timeout_seconds` is the longest silence of a
    server, `reply_seconds` the most that a reply may take. `concurrency` is how many questions may be under way.
    `transcript` is what kind replay reads, `record` is where exchanges are written. `trusted` says that the user named
    `base_url`: a key goes nowhere else. Keys stay in the environment. `privacy` is off, on, or a recogniser's
    `module:attribute`: whether placeholders are sent in place of sensitive values.
    """

    kind: str = "babylang"
    name: str = ""
    base_url: str | None = None
    trusted: bool = True
    timeout_seconds: float = 600.0
    reply_seconds: float = 3600.0
    retries: int = 4
    concurrency: int = 16
    transcript: Path | None = None
    record: Path | None = None
    cache: Path | None = None
    ledger: Path | None = None
    privacy: str = "off"
    limits: BudgetLimits = field(default_factory=BudgetLimits)
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of model.

    `needs` are the settings that must be given; in KIND:NAME the name is the first of them. `network`: it reaches a
    server, so processes that ask it aren't cut off, replies are cached and questions asked many at a time.
    `key_variable` is the environment variable of its key, which is kept out of every file. `rule_based`: it stands in
    for a language model, and figures say so. `prices` hold where the settings name none.
    """

    make: Callable[[ModelSettings], LanguageModel]
    needs: tuple[str, ...] = ()
    network: bool = False
    key_variable: str = ""
    rule_based: bool = False
    prices: Prices = field(default_factory=Prices)
