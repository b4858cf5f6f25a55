"""One protocol for every language model; caches, retries, budgets and transcripts are wrappers around it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sdg.errors import SDGError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; `images` are PNG, for models that see."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a completion is drawn. `seed` makes repeats differ and replays agree.

    `stage` says who asks (hypothesize, induce, solve), for the transcript; it isn't part of the question.
    """

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 16_000
    stage: str = ""


COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
MAX_COUNT = 10**9
"""Most tokens that one reply can plausibly have taken."""


def token_count(reported: object) -> int:
    """The reported number of tokens; 0 if it is missing or implausible."""
    return reported if type(reported) is int and 0 <= reported <= MAX_COUNT else 0


def whole_letters(text: str) -> str:
    """The text without halves of letters (lone surrogates), which models, pages and JSON may hold and no file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and what it cost, in tokens as counted by the server (0 where it counts none, or no plausible number).

    `cached_tokens` are those of the prompt that the server's own cache held, `reasoning_tokens` those of the completion
    that were thoughts, not text. `finish_reason` is the server's word for why it ended: stop, length, tool_calls.
    `cached`: the reply comes from our cache and cost nothing.
    """

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    finish_reason: str = ""
    cached: bool = False
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in COUNTS:
            object.__setattr__(self, name, token_count(getattr(self, name)))


class LanguageModel(Protocol):
    """Completes conversations."""

    @property
    def name(self) -> str:
        """Model name as it is recorded in transcripts; rule-based planners say so in it."""
        ...

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """Complete the conversation.

        Raises `ModelError` when there is no reply and `BudgetExceeded` when a budget forbids the call.
        """
        ...


class ModelError(SDGError, RuntimeError):
    """No usable reply: says who was asked, for what, what came back and what to do about it.

    `billed` is what a server sent before it failed, which it bills although nobody can use it; None where it sent none.
    """

    def __init__(self, message: str = "", *, billed: Completion | None = None) -> None:
        super().__init__(message)
        self.billed = billed


class Unavailable(ModelError):
    """No reply this time, though the same question may get one later; `after_seconds` is the server's own wish."""

    def __init__(self, message: str, after_seconds: float | None = None, *, billed: Completion | None = None) -> None:
        super().__init__(message, billed=billed)
        self.after_seconds = after_seconds


class NotRecorded(ModelError):
    """A recording has no further reply for this episode, because training gave another result than in the recording."""


class BudgetExceeded(ModelError):
    """The token or money budget is spent; what was finished before stays valid."""
