"""What a server of OpenAI's protocol answered, read: one JSON object, or the same in pieces (server-sent events).

A stream of pieces such as

    data: {"choices": [{"delta": {"content": "Goal 1: "}}]}
    data: {"choices": [{"delta": {"content": "find it"}, "finish_reason": "stop"}]}
    data: {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 12}}
    data: [DONE]

is the same answer as {"choices": [{"message": {"content": "Goal 1: find it"}, "finish_reason": "stop"}], "usage": ...}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


class Unreadable(ValueError):
    """The bytes hold no whole answer; the message says what is wrong, as the end of a sentence about the server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The first choice's text ("" for one without), why it ended, and the tokens that were counted (0 if they weren't).

    `completion_tokens` include `reasoning_tokens`, `prompt_tokens` include `cached_tokens`.
    """

    text: str
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


def read_answer(body: bytes) -> Answer:
    """The answer in a body of either form, whatever its Content-Type says. Raises Unreadable."""
    said = body.decode("utf-8", "replace").lstrip()
    if said.startswith(("data:", "event:", "id:", "retry:", ":")):
        return _from_pieces(_pieces(said))
    try:
        whole = json.loads(said)
    except (ValueError, RecursionError):
        raise Unreadable("answered with something that isn't JSON") from None
    choice = _choice(whole)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise Unreadable("answered without any choice")
    return Answer(_text(message), _word(choice.get("finish_reason")), **_usage(whole))


def _from_pieces(pieces: Iterator[Mapping[str, Any]]) -> Answer:
    texts: list[str] = []
    reason, usage, begun = "", _usage({}), False
    for piece in pieces:
        if piece.get("error"):
            raise Unreadable(f"broke off ({message_of(json.dumps(piece).encode())})")
        usage = _usage(piece) if piece.get("usage") else usage
        choice = _choice(piece)
        if choice is not None:
            begun = True
            reason = _word(choice.get("finish_reason")) or reason
            delta = choice.get("delta")
            texts.append(_text(delta) if isinstance(delta, dict) else "")
    if not begun:
        raise Unreadable("answered without any choice")
    if not reason:
        raise Unreadable("broke off in the middle of its answer")
    return Answer("".join(texts), reason, **usage)


def _pieces(said: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a stream; one that isn't JSON is what a lost connection leaves, and ends it."""
    for line in said.split("\n"):  # not splitlines: U+2028 may stand in a text
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data:
            continue
        if data == "[DONE]":
            return
        try:
            piece = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(piece, dict):
            yield piece


def _choice(answer: object) -> Mapping[str, Any] | None:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _text(message: Mapping[str, Any]) -> str:
    """What a message says: its content, the texts of its parts, or why the model won't."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    return next((text for text in (content, message.get("refusal")) if isinstance(text, str) and text), "")


def _usage(answer: object) -> dict[str, int]:
    usage = answer.get("usage") if isinstance(answer, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    return {
        "prompt_tokens": _count(usage, "prompt_tokens"),
        "completion_tokens": _count(usage, "completion_tokens"),
        "cached_tokens": _count(usage.get("prompt_tokens_details"), "cached_tokens"),
        "reasoning_tokens": _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    }


def _count(counts: object, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and value >= 0 else 0


def _word(value: object) -> str:
    return value[:40] if isinstance(value, str) else ""


def message_of(body: bytes) -> str:
    """What a server says of its own error, on one line of at most 300 characters."""
    said = body[:4000].decode("utf-8", "replace")
    try:
        error = json.loads(body)["error"]
        said = str(error["message"]) + (f", {error['code']}" if error.get("code") else "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return " ".join(said.split())[:300]
