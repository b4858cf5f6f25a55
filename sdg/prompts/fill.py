"""Prompts are files: `sdg/prompts/NAME.md` holds the turns of a conversation, with `$placeholders` for what changes.

A line `<!-- user -->`, `<!-- assistant -->` or `<!-- system -->` begins a turn. Text that comes from missions, models
or screens enters through `fence` or `one_line`, so that it can't close its own block or pass for a heading.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from string import Template
from typing import Literal, cast

from sdg.llm.model import Message

MAX_DATA_CHARS = 16_000
_TURN = re.compile(r"^<!-- (system|user|assistant) -->\s*$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u0085\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def conversation(name: str, /, **values: str) -> tuple[Message, ...]:
    """The turns of prompt `name` with its placeholders filled.

    Raises KeyError for a placeholder without a value and FileNotFoundError for a prompt that doesn't exist.
    """
    return tuple(Message(role, Template(turn).substitute(values).strip()) for role, turn in _turns(name))


def text(name: str, /, **values: str) -> str:
    """Prompt file `name` as one text, for parts that several prompts share."""
    return Template(_file_text(name)).substitute(values).strip()


def fence(data: str, label: str = "text") -> str:
    """`data` as a fenced block that it can't close itself: the fence is longer than any run of backticks inside."""
    clean = _CONTROL.sub(" ", data.replace("\r\n", "\n"))
    if len(clean) > MAX_DATA_CHARS:
        clean = clean[:MAX_DATA_CHARS] + "\n(cut here)"
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", clean))])
    return f"{ticks}{label}\n{clean.rstrip()}\n{ticks}"


def one_line(data: str, limit: int = 300) -> str:
    """`data` on one line without control characters, cut at `limit` characters."""
    line = " ".join(_CONTROL.sub(" ", data).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def number_lines(lines: Iterable[str]) -> str:
    """The lines as `1. ...`, each kept to one line."""
    return "\n".join(f"{number}. {one_line(line)}" for number, line in enumerate(lines, 1))


@cache
def _turns(name: str) -> tuple[tuple[Literal["system", "user", "assistant"], str], ...]:
    parts = _TURN.split(_file_text(name))
    roles = cast("list[Literal['system', 'user', 'assistant']]", parts[1::2])
    return tuple(zip(roles, parts[2::2], strict=True))


@cache
def _file_text(name: str) -> str:
    return (files("sdg") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
