"""Any server that speaks OpenAI's chat protocol: OpenAI itself, vLLM, llama.cpp, Ollama, with or without a key.

The only file that knows the `openai` package. Its own retries are switched off; waiting, limits and messages are ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from sdg.llm.model import Completion, Message, ModelError, Sampling

MAX_BODY_BYTES = 4 * 2**20
MAX_WAIT_SECONDS = 60.0
"""Longest pause before a retry; a server that asks for a longer one has said no."""
FIRST_WAIT_SECONDS = 0.5
KEY_VARIABLE = "OPENAI_API_KEY"

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_OPTIONAL = ("response_format", "max_tokens", "seed", "temperature")
"""Parameters that some servers refuse; each is left out (max_tokens: renamed) once a server has said so."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server is and how patient we are with it. `base_url` None is OpenAI's own; `api_key` never shows."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    retries: int = 4


class _Retry(Exception):
    """This attempt failed; another one may not. `after` is how long the server asks us to wait, in seconds."""

    def __init__(self, error: ModelError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class OpenAIModel:
    """A language model behind an endpoint. Every failure is a ModelError with one message that says what to do."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self._refused: set[str] = set()
        self._key = endpoint.api_key or os.environ.get(KEY_VARIABLE) or ""
        self._client: Any = None

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""
        return self.endpoint.model

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """Ask the server, again after a pause where that may help. Raises ModelError."""
        jitter = random.Random(sampling.seed)
        for attempt in range(self.endpoint.retries + 1):
            try:
                return self._attempt(messages, sampling)
            except _Retry as retry:
                wait = (
                    retry.after if retry.after is not None else FIRST_WAIT_SECONDS * 2**attempt * (1 + jitter.random())
                )
                if attempt == self.endpoint.retries or (retry.after or 0) > MAX_WAIT_SECONDS:
                    raise ModelError(f"{retry.error} Tried {attempt + 1} times.") from None
                self._sleep(min(wait, MAX_WAIT_SECONDS))
        raise AssertionError("the loop above returns or raises")

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _attempt(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        # A server may refuse several parameters, one at a time.
        for _ in range(len(_OPTIONAL) + 1):
            status, headers, body = self._post(self._request(messages, sampling))
            if status not in (400, 422) or not self._leave_out(body, sampling):
                return self._read(status, headers, body)
        return self._read(status, headers, body)

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        request: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            limit: sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
        }
        if sampling.json_mode:
            request["response_format"] = {"type": "json_object"}
        return {name: value for name, value in request.items() if name not in self._refused}

    def _leave_out(self, body: bytes, sampling: Sampling) -> bool:
        """Note which parameter a refusal names; whether there is one that was still sent."""
        said = body.decode("utf-8", "replace")
        sent = [name for name in _OPTIONAL if name not in self._refused]
        named = [name for name in sent if name in said and (name != "response_format" or sampling.json_mode)]
        self._refused.update(named[:1])
        return bool(named)

    def _post(self, request: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and at most MAX_BODY_BYTES of the body. Raises _Retry for what the network did."""
        import openai

        deadline = time.monotonic() + self.endpoint.timeout_seconds
        try:
            with self._open().chat.completions.with_streaming_response.create(**request) as response:
                return response.status_code, response.headers, _bounded(response.iter_bytes(), deadline)
        except openai.APIStatusError as error:
            return error.status_code, error.response.headers, _body_of(error)
        except (openai.APITimeoutError, TimeoutError):
            raise _Retry(self._timed_out()) from None
        except openai.APIConnectionError as error:
            raise _Retry(self._unreachable(error.__cause__ or error)) from None
        except openai.OpenAIError as error:
            raise ModelError(self._hide(f"{self._who()} could not be asked: {error}.")) from None
        except ModelError:
            raise
        except Exception as error:
            # What the HTTP library raises while the body is read isn't translated by the client.
            timed_out = "timeout" in type(error).__name__.lower()
            raise _Retry(self._timed_out() if timed_out else self._unreachable(error)) from None

    def _open(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                api_key=self._key or "none",
                base_url=self.endpoint.base_url,
                timeout=self.endpoint.timeout_seconds,
                max_retries=0,
            )
        return self._client

    def _read(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        if status != 200:
            raise self._failure(status, headers, body)
        try:
            answer = json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise _Retry(ModelError(f"{self._who()} answered with something that isn't JSON.")) from None
        text = _text_of(answer)
        if text is None:
            raise _Retry(ModelError(f"{self._who()} answered without any choice: try again or another model."))
        tokens = _usage_of(answer)
        # A server that repeats the key must not get it into journals, caches and reports.
        return Completion(
            self._hide(text), self.endpoint.model, tokens.get("prompt_tokens", 0), tokens.get("completion_tokens", 0)
        )

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        said = self._hide(_message_of(body))
        error = ModelError(
            f"{self._who()} answered HTTP {status}{f' ({said})' if said else ''}. {_advice(status, said)}"
        )
        spent = "quota" in said and "insufficient" in said
        return _Retry(error, _retry_after(headers)) if status in _RETRIED and not spent else error

    def _timed_out(self) -> ModelError:
        seconds = f"{self.endpoint.timeout_seconds:g}"
        return ModelError(f"{self._who()} did not answer within {seconds} s: raise model.timeout_seconds, or check it.")

    def _unreachable(self, error: BaseException) -> ModelError:
        reason = self._hide(str(error) or type(error).__name__)
        return ModelError(f"{self._who()} can't be reached ({reason:.200}): is the server running, is base_url right?")

    def _who(self) -> str:
        return f"Model {self.endpoint.model!r} at {self.endpoint.base_url or 'OpenAI'}"

    def _hide(self, said: str) -> str:
        return said.replace(self._key, "[key]") if len(self._key) > 3 else said


def _bounded(chunks: Any, deadline: float) -> bytes:
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


def _text_of(answer: object) -> str | None:
    """The first choice's text ("" for a choice without one), None when there is no choice."""
    with contextlib.suppress(KeyError, IndexError, TypeError):
        content = answer["choices"][0]["message"]["content"]  # type: ignore[index]
        return content if isinstance(content, str) else ""
    return None


def _usage_of(answer: object) -> dict[str, int]:
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return {k: v for k, v in usage.items() if type(v) is int and v >= 0} if isinstance(usage, dict) else {}


def _message_of(body: bytes) -> str:
    said = body[:4000].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        error = json.loads(body)["error"]
        said = str(error["message"]) + (f", {error['code']}" if error.get("code") else "")
    return " ".join(said.split())[:300]


def _advice(status: int, said: str) -> str:
    if status in (401, 403):
        return f"Set {KEY_VARIABLE} to a key that this server accepts."
    if status == 404:
        return "Check the model's name and base_url (it usually ends in /v1)."
    if status == 429:
        return "The rate or quota is used up: wait, lower the number of processes, or raise the quota."
    if status in (400, 413, 422):
        return "The server refuses the request: check model.name, and whether the prompt fits the model's context."
    return "The server has a fault of its own: try again later."


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
