"""What is read out of a model's answer to a screen: JSON with thoughts and commands. Replies are hostile data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.prompts.replies import MAX_REPLY_CHARS

MOST_COMMANDS = 30
MOST_TRIES = 20
"""Braces at which the object is looked for."""


class NoCommands(ValueError):
    """A reply names no commands; the message says what it lacks."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's thoughts, by the paper's five names, and the commands that it wants, as it wrote them."""

    commands: tuple[Any, ...]
    thoughts: Mapping[str, str]


def read_answer(reply: str) -> Answer:
    """The last object with "commands" in a reply. Raises NoCommands for prose, a cut-off reply, too many commands."""
    if len(reply) > MAX_REPLY_CHARS:
        raise NoCommands(f"the answer has {len(reply)} characters; at most {MAX_REPLY_CHARS} are read")
    found = [each for each in _objects(reply) if "commands" in each]
    if not found:
        raise NoCommands('the answer holds no JSON object with "commands"')
    commands, thoughts = found[-1]["commands"], found[-1].get("thoughts")
    if not isinstance(commands, Sequence) or isinstance(commands, str) or not commands:
        raise NoCommands('"commands" must be a list with at least one command')
    if len(commands) > MOST_COMMANDS:
        raise NoCommands(f"{len(commands)} commands at once are too many: at most {MOST_COMMANDS}")
    kept = thoughts.items() if isinstance(thoughts, Mapping) else ()
    return Answer(tuple(commands), {str(name)[:40]: str(words)[:500] for name, words in kept})


def _objects(reply: str) -> list[dict[str, Any]]:
    """JSON objects in a text, from the outermost braces; each character is looked at a bounded number of times."""
    decoder, found, at = json.JSONDecoder(strict=False), [], 0
    for _ in range(MOST_TRIES):
        at = reply.find("{", at)
        if at < 0:
            break
        try:
            value, at = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
