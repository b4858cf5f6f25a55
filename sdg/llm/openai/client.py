"""Any server that speaks OpenAI's chat protocol: OpenAI itself, vLLM, llama.cpp, Ollama, with or without a key.

The only file that knows the `openai` package. Its own retries are switched off: `sdg.llm.retry` asks again.
"""

from __future__ import annotations

import base64
import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from sdg.llm.address import check_address, untrusted
from sdg.llm.model import Completion, Message, ModelError, Sampling, Unavailable
from sdg.llm.openai.answer import Unreadable, message_of, read_answer
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.secrets import hider

MAX_BODY_BYTES = 32 * 2**20
"""A streamed token takes some 300 bytes."""
CONNECT_SECONDS = 30.0
KEY_VARIABLE = "OPENAI_API_KEY"

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_OPTIONAL = ("stream_options", "stream", "max_completion_tokens", "max_tokens", "seed", "temperature")
"""Parameters that some servers refuse: each is left out once a server has said so, longer names looked for first."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server is and how patient we are with it, in seconds. `base_url` None is OpenAI's own.

    `timeout_seconds` is the longest silence: until an answer begins, and between its pieces. A reasoning model, or a
    server that doesn't stream, says nothing for minutes. `reply_seconds` is the most that one answer may take.
    """

    model: str
    base_url: str | None = None
    timeout_seconds: float = 600.0
    reply_seconds: float = 3600.0


class OpenAIModel:
    """A language model behind an endpoint. Every failure is a ModelError with one message that says what to do.

    May be asked from several threads at once.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._refused: set[str] = set()
        self._key = os.environ.get(KEY_VARIABLE, "")
        self._hide = hider([self._key], mark="[key]")
        self._opening = threading.Lock()
        self._client: Any = None

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self.endpoint.model

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """Ask the server. Raises Unavailable where asking again may help, ModelError where it won't."""
        # A server may refuse several parameters, one at a time.
        for _ in range(len(_OPTIONAL) + 1):
            sent = self._request(messages, sampling)
            status, headers, body = self._post(sent)
            if status not in (400, 422) or not self._leave_out(body, sent):
                break
        return self._read(status, headers, body)

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        # OpenAI's newer models refuse max_tokens, many other servers know nothing else.
        limit = "max_tokens" if "max_completion_tokens" in self._refused else "max_completion_tokens"
        request: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": [{"role": message.role, "content": _content(message)} for message in messages],
            limit: sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if "stream" in self._refused:
            del request["stream_options"]
        return {name: value for name, value in request.items() if name not in self._refused}

    def _leave_out(self, body: bytes, sent: Mapping[str, Any]) -> bool:
        """Note which parameter a refusal names; whether there is one that was sent."""
        said = body.decode("utf-8", "replace")
        named = [name for name in _OPTIONAL if name in sent and name in said]
        self._refused.update(named[:1])
        return bool(named)

    def _post(self, request: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and at most MAX_BODY_BYTES of the body. Raises Unavailable for what the network did."""
        import openai

        limit = max(self.endpoint.reply_seconds, self.endpoint.timeout_seconds)
        try:
            with self._open().chat.completions.with_streaming_response.create(**request) as response:
                return response.status_code, response.headers, _bounded(response.iter_bytes(), seconds=limit)
        except openai.APIStatusError as error:
            return error.status_code, error.response.headers, _body_of(error)
        except openai.APITimeoutError:
            raise self._timed_out() from None
        except TimeoutError:
            raise Unavailable(
                f"{self._who()} did not finish within {limit:g} s: raise model.reply_seconds or lower model.max_tokens."
            ) from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error.__cause__ or error) from None
        except openai.OpenAIError as error:
            raise ModelError(self._hide(f"{self._who()} could not be asked: {error}.")) from None
        except ModelError:
            raise
        except Exception as error:
            # What the HTTP library raises while the body is read isn't translated by the client.
            timed_out = "timeout" in type(error).__name__.lower()
            raise self._timed_out() if timed_out else self._unreachable(error) from None

    def _open(self) -> Any:
        with self._opening:
            if self._client is None:
                import openai

                silence = self.endpoint.timeout_seconds
                self._client = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self.endpoint.base_url,
                    timeout=openai.Timeout(silence, connect=min(CONNECT_SECONDS, silence)),
                    max_retries=0,
                )
            return self._client

    def _read(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        if status != 200:
            raise self._failure(status, headers, body)
        try:
            answer = read_answer(body)
        except Unreadable as error:
            raise Unavailable(self._hide(f"{self._who()} {error}: try again or another model.")) from None
        return Completion(
            self._hide(answer.text),  # A server that repeats the key must not get it into journals and reports.
            self.endpoint.model,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            cached_tokens=answer.cached_tokens,
            reasoning_tokens=answer.reasoning_tokens,
            finish_reason=answer.finish_reason,
        )

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        said = self._hide(message_of(body))
        told = f"{self._who()} answered HTTP {status}{f' ({said})' if said else ''}. {_advice(status)}"
        spent = "quota" in said and "insufficient" in said
        return Unavailable(told, _retry_after(headers)) if status in _TRY_AGAIN and not spent else ModelError(told)

    def _timed_out(self) -> Unavailable:
        seconds = f"{self.endpoint.timeout_seconds:g}"
        return Unavailable(
            f"{self._who()} did not answer within {seconds} s: raise model.timeout_seconds, or check it."
        )

    def _unreachable(self, error: BaseException) -> Unavailable:
        reason = self._hide(str(error) or type(error).__name__)
        return Unavailable(f"{self._who()} can't be reached ({reason:.200}): is the server running, is base_url right?")

    def _who(self) -> str:
        return f"Model {self.endpoint.model!r} at {self.endpoint.base_url or 'OpenAI'}"


def _content(message: Message) -> str | list[dict[str, Any]]:
    """The text alone, or, where there are images, its parts as the protocol has them."""
    if not message.images:
        return message.content
    places = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in message.images]
    images = [{"type": "image_url", "image_url": {"url": place}} for place in places]
    return [{"type": "text", "text": message.content}, *images]


def _advice(status: int) -> str:
    if status in (401, 403):
        return f"Set {KEY_VARIABLE} to a key that this server accepts."
    if status == 404:
        return "Check the model's name and base_url (it usually ends in /v1)."
    if status == 429:
        return "The rate or quota is used up: wait, lower model.concurrency, or raise the quota."
    if status in (400, 413, 422):
        return "The server refuses the request: check model.name, and whether the prompt fits the model's context."
    return "The server has a fault of its own: try again later."


def _bounded(chunks: Iterable[bytes], *, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise ModelError(f"The server's answer is longer than {MAX_BODY_BYTES} bytes: this is no chat completion.")
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(body)


def _body_of(error: Any) -> bytes:
    with contextlib.suppress(Exception):
        return bytes(error.response.content[:MAX_BODY_BYTES])
    return str(error).encode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After asks for, as a number or a date; None when it doesn't say.

    A date that is hours away speaks of a clock that jumped, the server's or ours, and says nothing.
    """
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        seconds = parsedate_to_datetime(value).timestamp() - time.time()
        return max(0.0, seconds) if seconds < 3600.0 else None
    return None


def _make(settings: ModelSettings) -> OpenAIModel:
    try:
        check_address(settings.base_url)
    except ValueError as error:
        raise ModelError(f"{error}.") from None
    if not settings.trusted and os.environ.get(KEY_VARIABLE):
        raise ModelError(untrusted(settings.base_url or ""))
    return OpenAIModel(
        Endpoint(
            settings.name,
            base_url=settings.base_url,
            timeout_seconds=settings.timeout_seconds,
            reply_seconds=settings.reply_seconds,
        )
    )


PROVIDER = Provider(_make, needs=("name",), network=True, key_variable=KEY_VARIABLE)
