"""Any server that speaks OpenAI's chat protocol: OpenAI itself, vLLM, llama.cpp, Ollama, with or without a key.

The only file that knows the `openai` package. The package's retries are switched off: `sdg.llm.asking` retries.
"""

import base64
import contextlib
import html
import json
import math
import os
import re
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

from sdg.envs.files import MAX_LINE_VALUES, count_values
from sdg.errors import SDGError
from sdg.llm.model import Completion, Message, ModelError, Sampling, Unavailable, whole_letters
from sdg.llm.provider import ModelSettings, Provider
from sdg.llm.secrets import TRUST_VARIABLE, check_address, hider

CONNECT_SECONDS = 30.0
MAX_REASON_CHARS = 40
"""Characters of the reason for which an answer ended that are kept."""
MAX_MESSAGE_CHARS = 300
MAX_ERROR_CHARS = 60_000
"""Characters of a server's error that are read; less than what the transport lets through, so that no key is cut."""
KEY_VARIABLE = "OPENAI_API_KEY"
OWN_ADDRESS = "https://api.openai.com/v1"
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers for OpenAI itself, and the variables that hold them."""

_SENT_FAILURES = frozenset({"ReadError", "ReadTimeout", "RemoteProtocolError", "TimeoutError"})
"""Failures after the question was sent."""
_RETRY_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DRAW_PARAMETERS = frozenset({"seed", "temperature"})
_OPTIONAL = ("stream_options", "stream", "max_completion_tokens", *sorted(_DRAW_PARAMETERS))
"""Parameters that some servers refuse, longer names first: left out once a question was answered only without them.
The second name of the limit isn't among them, because a budget reckons with the limit."""


class OpenAIModel:
    """A language model behind an address. Every failure is a ModelError with one message that says what to do.

    May be asked from several threads at once. `base_url` None is OpenAI's own. `timeout_seconds` is the longest
    silence: until an answer begins, and between its pieces; a reasoning model, or a server that doesn't stream, is
    silent for minutes.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings, self.name = settings, settings.name
        self._unsupported: set[str] = set()
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        if not re.fullmatch("[!-~]*", self._key):  # HTTP's library would refuse it by an error that shows the key
            raise ModelError(f"{KEY_VARIABLE} has a blank, a line break or a letter that no key has: set it again.")
        self._hide = hider([self._key], mark="[key]")
        self._opening = threading.Lock()
        self._client: Any = None

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        """Ask the server; the reply says under "left_out" what of the sampling it refuses.

        Raises Unavailable where asking again may help, ModelError where it won't.
        """
        left_out = set(self._unsupported)
        # A server may refuse several parameters, one at a time.
        for _ in range(len(_OPTIONAL) + 1):
            request = self._request(messages, sampling, left_out)
            status, headers, body, until = self._post(request)
            refused = _refused(body, request) if status in (400, 422) else []
            if not refused:
                break
            left_out.add(refused[0])
        completion = self._read(status, headers, body, until=until)
        lost = ", ".join(sorted(left_out & _DRAW_PARAMETERS))
        if not left_out & _DRAW_PARAMETERS <= self._unsupported:
            warnings.warn(f"{self._server_name()} refuses {lost}: its replies are drawn in its own way", stacklevel=2)
        self._unsupported |= left_out
        return replace(completion, extra={"left_out": lost}) if lost else completion

    def _request(self, messages: Sequence[Message], sampling: Sampling, left_out: Collection[str]) -> dict[str, Any]:
        # OpenAI's newer models refuse max_tokens, many other servers know nothing else.
        limit = "max_tokens" if "max_completion_tokens" in left_out else "max_completion_tokens"
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": _content(message)} for message in messages],
            limit: sampling.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if "stream" in left_out:
            del request["stream_options"]
        return {name: value for name, value in request.items() if name not in left_out}

    def _post(self, request: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes, float]:
        """Status, headers, body, whose size `BoundedTransport` limits, and until when it may be read.

        Raises Unavailable for network failures.
        """
        import openai

        body = bytearray()
        status = 0
        try:
            with self._open().chat.completions.with_streaming_response.create(**request) as response:
                until = time.monotonic() + self._limit()
                status = response.status_code
                for chunk in response.iter_bytes():
                    body += chunk
                return status, response.headers, bytes(body), until
        except openai.APIStatusError as error:
            return error.status_code, error.response.headers, _body_of(error), math.inf
        except ModelError as error:
            error.billed = _partial_answer(bytes(body))
            raise
        except Exception as error:
            # The client doesn't translate what the HTTP library raises while the body is read.
            cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
            # A question that was read whole is billed, however the answer ends.
            billed = _partial_answer(bytes(body)) if status == 200 or type(cause).__name__ in _SENT_FAILURES else None
            if isinstance(cause, TimeoutError):
                raise Unavailable(
                    f"{self._server_name()} did not finish within {self._limit():g} s: raise model.reply_seconds "
                    "or lower model.max_tokens.",
                    billed=billed,
                ) from None
            reason = self._hide(str(cause) or type(cause).__name__)
            if "timeout" in type(error).__name__.lower():
                seconds = self.settings.timeout_seconds
                problem = f"did not answer within {seconds:g} s: raise model.timeout_seconds, or check it."
            elif isinstance(error, openai.OpenAIError) and not isinstance(error, openai.APIConnectionError):
                raise ModelError(f"{self._server_name()} could not be asked: {reason}.") from None
            else:
                problem = f"can't be reached ({reason:.200}): is the server running, is base_url right?"
            raise Unavailable(f"{self._server_name()} {problem}", billed=billed) from None

    def _limit(self) -> float:
        return max(self.settings.reply_seconds, self.settings.timeout_seconds)

    def _open(self) -> Any:
        if self.settings.base_url is None and not self._key:
            raise ModelError(
                f"{self._server_name()} needs a key: set {KEY_VARIABLE}, or model.base_url for another server."
            )
        with self._opening:
            if self._client is None:
                import openai

                from sdg.llm.openai.transport import BoundedTransport

                silence = self.settings.timeout_seconds
                headers = {"Authorization": f"Bearer {self._key or 'none'}"}
                if self.settings.base_url is None:  # only OpenAI is told the account
                    headers |= {header: os.environ[name] for header, name in _ACCOUNT.items() if os.environ.get(name)}
                self._client = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self.settings.base_url or OWN_ADDRESS,
                    timeout=openai.Timeout(silence, connect=min(CONNECT_SECONDS, silence)),
                    max_retries=0,
                    # A server that redirects the question could send it to anybody.
                    http_client=openai.DefaultHttpxClient(
                        transport=BoundedTransport(self._limit(), headers), follow_redirects=False
                    ),
                )
            return self._client

    def _read(self, status: int, headers: Mapping[str, str], body: bytes, *, until: float) -> Completion:
        if status != 200:
            message = self._hide(message_of(body))[:MAX_MESSAGE_CHARS]
            advice = _ADVICE.get(status, "The server has a fault of its own: try again later.")
            text = f"{self._server_name()} answered HTTP {status}{f' ({message})' if message else ''}. {advice}"
            out_of_quota = "quota" in message and "insufficient" in message
            may_help = status in _RETRY_STATUSES and not out_of_quota
            raise Unavailable(text, _retry_after(headers)) if may_help else ModelError(text)
        try:
            answer = read_completion(body, until=until)
        except Unreadable as error:
            kind = ModelError if isinstance(error, Flood) else Unavailable
            message = f"{self._server_name()} {self._hide(str(error))[:MAX_MESSAGE_CHARS]}: try again or another model."
            raise kind(message, billed=error.billed) from None
        # If a server repeats the key, the key must not get into journals and reports.
        reason = self._hide(answer.finish_reason)[:MAX_REASON_CHARS]
        return replace(answer, text=self._hide(answer.text), finish_reason=reason, model=self.name)

    def _server_name(self) -> str:
        return f"Model {self.name!r} at {self.settings.base_url or 'OpenAI'}"


def _content(message: Message) -> str | list[dict[str, Any]]:
    """The text alone or, with images, its parts in the protocol's form."""
    if not message.images:
        return message.content
    places = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in message.images]
    images = [{"type": "image_url", "image_url": {"url": place}} for place in places]
    return [{"type": "text", "text": message.content}, *images]


_ADVICE = {
    404: "Check the model's name and base_url (it usually ends in /v1).",
    429: "The rate or quota is used up: wait, lower model.concurrency, or raise the quota.",
    **dict.fromkeys((401, 403), f"Set {KEY_VARIABLE} to a key that this server accepts."),
    **dict.fromkeys((301, 302, 303, 307, 308), "It sends on to another address: nothing was sent there, set base_url."),
    **dict.fromkeys(
        (400, 413, 422),
        "The server refuses the request: check model.name, and whether the prompt fits the model's context.",
    ),
}


def _refused(body: bytes, request: Collection[str]) -> list[str]:
    """The optional parameters of a request that an error names: as its `param`, in its message or, where neither names
    one of the request's, anywhere in the body, which may echo the whole request."""
    param: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        param = _nested_value(json.loads(body), "error", "param")
    texts = [param] if param in [*request] else [message_of(body), body.decode("utf-8", "replace")]
    names = ([name for name in _OPTIONAL if name in request and name in text] for text in texts)
    return next(filter(None, names), [])


def _body_of(error: Any) -> bytes:
    with contextlib.suppress(Exception):
        return bytes(error.response.content)
    return str(error).encode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After asks for, as a number or a date; None when it doesn't say.

    A date that is hours away is ignored, because then the server's clock or ours must have jumped.
    """
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(Exception):  # a server writes what it likes: years that no calendar has, too
        seconds = parsedate_to_datetime(value).timestamp() - time.time()
        return max(0.0, seconds) if seconds < 3600.0 else None
    return None


def _make(settings: ModelSettings) -> OpenAIModel:
    try:
        check_address(settings.base_url)
    except ValueError as error:
        raise ModelError(f"{error}.") from None
    if settings.base_url is None and os.environ.get("OPENAI_BASE_URL"):
        raise ModelError(
            "OPENAI_BASE_URL isn't read, because a run records whom it asked: --set model.base_url=ADDRESS, or unset "
            "it to ask OpenAI itself."
        )
    if not settings.trusted and os.environ.get(KEY_VARIABLE):
        url = settings.base_url or ""
        raise ModelError(
            f"A config file says that the model is at {url}, and your OPENAI_API_KEY would be sent there. If you trust "
            f"it: --set model.base_url={url}, or {TRUST_VARIABLE}={url} in the environment. If not: unset "
            "OPENAI_API_KEY."
        )
    return OpenAIModel(settings)


PROVIDER = Provider(_make, needs=("name",), network=True, key_variable=KEY_VARIABLE)


class Unreadable(SDGError):
    """The bytes hold no whole answer; the message says why, as the end of a sentence about the server.

    `billed` is the answer as far as it was read.
    """

    billed = Completion("", "")


class Flood(Unreadable):
    """A large body that is no answer: asking again would most likely cost as much time again."""


LARGE_BYTES = 2**20
"""From this size on a body without an answer is a flood."""
MAX_PIECES = 300_000
"""Most pieces of a stream: three times what fits into the largest body at some 300 bytes a token."""
_PIECE = re.compile(r"^data:[^\S\n]*+(\S.*)", re.MULTILINE)  # not splitlines, because U+2028 may occur in a text
_USAGE = {
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
}
"""Counts of a completion, and where a server reports them."""


def read_completion(body: bytes, *, until: float = math.inf) -> Completion:
    """The first choice in a body, streamed or whole, whatever its Content-Type; the text is "" where it has none.

    Raises Unreadable: a Flood for a large body without an answer, for too many pieces, and for those that aren't read
    `until` then, on the monotonic clock.
    """
    unreadable = Flood if len(body) > LARGE_BYTES else Unreadable
    text = body.decode("utf-8", "replace").lstrip()
    streamed = text.startswith(("data:", "event:", "id:", "retry:", ":"))
    texts: list[str] = []
    reason = ""
    usage: Any = None
    fault: Unreadable | None = None
    try:
        for number, piece in enumerate(_pieces(text) if streamed else [_parse(text)]):
            if number >= MAX_PIECES or time.monotonic() > until:
                raise Flood(f"sent an answer whose pieces are too many or take too long ({number} were read)")
            if streamed and _nested_value(piece, "error"):
                raise Unreadable(f"broke off: {message_of(json.dumps(piece).encode())}")
            usage = _nested_value(piece, "usage") or usage
            choice = _nested_value(piece, "choices", 0)
            message = _nested_value(choice, "delta" if streamed else "message")
            if isinstance(choice, dict) and (streamed or isinstance(message, dict)):
                texts.append(_text_of(message))
                finish = choice.get("finish_reason")
                reason = whole_letters(finish) if isinstance(finish, str) and finish else reason
        if not texts:
            raise unreadable("answered without any choice")
        if streamed and not reason:
            raise Unreadable("broke off in the middle of its answer")
    except Unreadable as error:
        fault = error
    except (ValueError, RecursionError):
        fault = unreadable("answered with something that isn't JSON")
    counts = {name: _nested_value(usage, *place) for name, place in _USAGE.items()}
    answer = Completion("".join(texts), "", finish_reason=reason, **counts)
    if fault is not None:
        # Thoughts have no text, but each piece is a token at least.
        tokens = answer.completion_tokens or max(len(texts), len(answer.text) // 4)
        fault.billed = replace(answer, completion_tokens=tokens)
        raise fault
    return answer


def _partial_answer(body: bytes) -> Completion:
    """The beginning of a lost answer, as far as it can be read."""
    try:
        return read_completion(body)
    except Unreadable as error:
        return error.billed


def _pieces(text: str) -> Iterator[object]:
    """The JSON values of a stream. Anything else was left by a lost connection, and ends it."""
    for match in _PIECE.finditer(text):
        data = match[1].strip()
        if data == "[DONE]":
            return
        try:
            yield _parse(data)
        except (ValueError, RecursionError):
            return


def _parse(text: str) -> object:
    """The JSON value of a text. Raises Flood for too many values, which take thirty times the memory once parsed."""
    if count_values(text.encode()) > MAX_LINE_VALUES:
        raise Flood("sent an answer of too many values")
    return json.loads(text)


def _nested_value(value: Any, *keys: str | int) -> Any:
    """The value under these keys in nested JSON, None where there is none."""
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _text_of(message: object) -> str:
    """A message's text: its content, the texts of its parts, or why the model refuses."""
    content = _nested_value(message, "content")
    if isinstance(content, list):
        content = "".join(text for part in content if isinstance(text := _nested_value(part, "text"), str))
    candidates = (content, _nested_value(message, "refusal"))
    return whole_letters(next((text for text in candidates if isinstance(text, str) and text), ""))


def message_of(body: bytes) -> str:
    """A server's message about its error, on one line; it is cut for users only after secrets are hidden."""
    text = body[:MAX_ERROR_CHARS].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        error = json.loads(body)["error"]
        text = str(error["message"]) + (f", {error['code']}" if error.get("code") else "")
    text = html.unescape(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text))  # a key may be written so
    return " ".join(text.split())[:MAX_ERROR_CHARS]


_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
