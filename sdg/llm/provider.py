"""Kinds of models: how one is made from settings, and the settings that it needs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sdg.llm.budget import BudgetSettings
from sdg.llm.model import LanguageModel
from sdg.skills.settings import Natural, Positive, Size


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and how it is asked. Keys stay in the environment."""

    kind: str = "babylang"
    """babylang: the offline rule-based planner; openai: any server of OpenAI's protocol; replay; or a model of your
    own as module:attribute"""
    name: str = ""
    """model name as the server knows it; openai only"""
    base_url: str | None = None
    """address of the server, such as http://127.0.0.1:8000/v1; null for OpenAI's own"""
    timeout_seconds: Positive = 600.0
    """longest silence, before a reply begins and between its pieces"""
    reply_seconds: Positive = 3600.0
    """longest time for one reply"""
    concurrency: Size = 16
    """questions to a server that may be under way at once"""
    retries: Natural = 4
    """how often a failed request is sent again"""


@dataclass(frozen=True, slots=True)
class ModelSettings(ModelChoice):
    """A model and the wrappers around it. A path that is None leaves out its wrapper.

    `transcript` is what kind replay reads, `record` is where exchanges are written, from which `cache` answers equal
    questions. `trusted` says that the user named `base_url`: a key is sent nowhere else. `privacy` is off, on, or a
    recogniser's `module:attribute`: whether placeholders replace sensitive values in what is sent.
    """

    trusted: bool = True
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
