"""One exchange with a model as plain JSON, and the key by which equal questions are recognised."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sdg.llm.model import COUNTS, Completion, Message, Sampling

IMAGE_CHARS = 4000
"""Characters that a picture counts for: some thousand tokens."""


def key(model: str, messages: Sequence[Message], sampling: Sampling) -> str:
    """SHA-256 of model, conversation and sampling: the prompts' own text is in it, so a changed prompt is a new key."""
    question = {"model": model, "messages": plain_messages(messages), "sampling": plain_sampling(sampling)}
    return hashlib.sha256(json.dumps(question, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def plain_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The conversation as dicts with role and content; images are replaced by their SHA-256."""
    digests = [" ".join(hashlib.sha256(image).hexdigest() for image in message.images) for message in messages]
    return [
        {"role": message.role, "content": message.content} | ({"images": images} if images else {})
        for message, images in zip(messages, digests, strict=True)
    ]


def plain_sampling(sampling: Sampling) -> dict[str, Any]:
    """The settings that a completion is drawn with, as a dict, without the stage that asks for it."""
    return {name: value for name, value in asdict(sampling).items() if name != "stage"}


def reply_of(plain: object, *, cached: bool = False) -> Completion:
    """The completion of a dict of its fields. Raises ValueError for anything else."""
    if not isinstance(plain, dict) or not isinstance(plain.get("text"), str):
        raise ValueError("no reply is stored here")
    numbers: dict[str, Any] = {name: plain.get(name) for name in COUNTS}
    extra = plain["extra"].items() if isinstance(plain.get("extra"), dict) else ()
    return Completion(
        plain["text"],
        str(plain.get("model", "")),
        finish_reason=str(plain.get("finish_reason", "")),
        cached=cached,
        extra={str(name): str(value) for name, value in extra},
        **numbers,
    )


def tokens_of(messages: Sequence[Message], completion: Completion) -> tuple[int, int]:
    """Prompt and completion tokens: as the server counted, or a quarter of the characters where it didn't."""
    size = sum(len(message.content) + IMAGE_CHARS * len(message.images) for message in messages)
    return completion.prompt_tokens or size // 4 + 1, completion.completion_tokens or len(completion.text) // 4 + 1
