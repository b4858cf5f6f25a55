"""Kinds of models: how one is made from settings, and the settings that it needs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sdg.llm.budget import BudgetSettings
from sdg.llm.model import LanguageModel


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model, and which wrappers around it. A path that is None leaves out its wrapper.

    `kind` is a key of `sdg.llm.registry.PROVIDERS` or `module:attribute`. `timeout_seconds` is a server's longest
    silence, `reply_seconds` the longest time for a reply. `concurrency` is how many questions may be under way.
    `transcript` is what kind replay reads, `record` is where exchanges are written, from which `cache` answers equal
    questions. `trusted` says that the user named `base_url`: a key is sent nowhere else. Keys stay in the environment.
    `privacy` is off, on, or a recogniser's `module:attribute`: whether placeholders replace sensitive values in what is
    sent.
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
    cache: bool = False
    ledger: Path | None = None
    privacy: str = "off"
    budget: BudgetSettings = field(default_factory=BudgetSettings)


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of model.

    `needs` are the settings that must be given; in KIND:NAME the name is the first of them. `network`: it needs a
    server, so that processes that ask it keep their network, replies are kept and many questions are asked at a time.
    `key_variable` is the environment variable of its key, which is kept out of every file. `rule_based`: it is no
    language model, and figures say so.
    """

    make: Callable[[ModelSettings], LanguageModel]
    needs: tuple[str, ...] = ()
    network: bool = False
    key_variable: str = ""
    rule_based: bool = False
