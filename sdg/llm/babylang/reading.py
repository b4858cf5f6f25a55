"""What the rule-based stand-in reads: the conversation's text and nothing else.

Sections are Markdown headings, data are fenced blocks, functions are signatures followed by what they are said to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdg.llm.model import Message

_FENCE = re.compile(r"^(`{3,})[^\n`]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_SIGNATURE = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?`?(?:def[ \t]+)?([A-Za-z_]\w*)"
    r"\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*(?:->[^\n:`]*)?[:`]?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a prompt offers: name, parameter names, and what the prompt says it does."""

    name: str
    parameters: tuple[str, ...]
    description: str

    @property
    def arity(self) -> int:
        """How many arguments it takes."""
        return len(self.parameters)


def whole(messages: Sequence[Message]) -> str:
    """All that was said to the model: every turn but its own."""
    return "\n\n".join(message.content for message in messages if message.role != "assistant")


def section(text: str, title: str) -> str:
    """The last section whose heading begins with `title` (any case), subsections included; "" when there is none."""
    found: list[str] | None = None
    level = 0
    for line, heading, depth in _lines(text):
        if heading is not None and heading.lower().startswith(title.lower()):
            found, level = [], depth
        elif heading is not None and depth <= level:
            level = 0
        elif found is not None and level:
            found.append(line)
    return "\n".join(found or ())


def has_section(text: str, title: str) -> bool:
    """Whether a heading of `text` begins with `title` (any case)."""
    return any(heading is not None and heading.lower().startswith(title.lower()) for _, heading, _ in _lines(text))


def block(text: str) -> str:
    """The content of the first fenced block in `text`, or "" when there is none."""
    match = _FENCE.search(text)
    return match.group(2).strip("\n") if match else ""


def functions(text: str) -> tuple[Function, ...]:
    """Every function signature at the beginning of a line, with the text up to the next signature."""
    found = list(_SIGNATURE.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)] * bool(found)
    read = [_function(match, text[match.end() : end]) for match, end in zip(found, ends, strict=True)]
    return tuple({function.name: function for function in read}.values())


def _function(match: re.Match[str], description: str) -> Function:
    parameters = (part.split(":")[0].split("=")[0].strip() for part in _commas(match.group(2)))
    paragraph = re.split(r"\n[ \t]*\n", description.lstrip("\n"), maxsplit=1)[0]
    named = tuple(part for part in parameters if part not in {"", "self", "*", "/"})
    return Function(match.group(1), named, paragraph.strip())


def _commas(text: str) -> list[str]:
    return re.split(r",(?![^\[\]]*\])", text)


def _lines(text: str) -> Iterator[tuple[str, str | None, int]]:
    """Each line, the heading it is (None for others) and its depth; lines in fenced blocks are no headings."""
    fence = ""
    for line in text.split("\n"):
        run = re.match(r"`{3,}", line)
        if fence or run:
            closes = bool(fence) and line.rstrip() == fence
            fence = "" if closes else fence or (run.group() if run else "")
            yield line, None, 0
            continue
        heading = re.match(r"(#{1,6})\s+(.*\S)", line)
        yield (line, heading.group(2), len(heading.group(1))) if heading else (line, None, 0)
