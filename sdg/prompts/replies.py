"""What is read out of a model's reply: fenced code. Replies are hostile data; nothing is run here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sdg.llm.model import Completion
from sdg.skills.sandbox.guard.extract import without_thoughts

MAX_REPLY_CHARS = 64_000

_FENCE_LINE = re.compile(r"^[ \t>]*(?:\d+[.)][ \t]*)?(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*$")
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+([A-Za-z_]\w*)[ \t]*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block: language tag, text with common indent removed, and where it starts and ends in the reply."""

    language: str
    text: str
    start: int
    end: int


def tidy(reply: str) -> str:
    """A reply without what was thought aloud before it, zero bytes and byte order marks, its line ends LF.

    It is cut at MAX_REPLY_CHARS.
    """
    said = without_thoughts(reply)[:MAX_REPLY_CHARS]
    return said.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").replace("\ufeff", "")


def cut_off(reply: Completion, limit: int) -> str:
    """What to tell a model whose reply may have ended at its limit of tokens, "" where it didn't."""
    if reply.completion_tokens < limit:
        return ""
    return f"The answer was cut off at the limit of {limit} tokens: think and write less."


def code_blocks(reply: str) -> tuple[CodeBlock, ...]:
    """Every fenced block of a tidied reply; an unclosed last fence ends with the reply."""
    return tuple(_blocks(reply))


def functions_in(source: str) -> tuple[str, ...]:
    """Names of the functions that `source` defines at any depth, as they stand in the text."""
    return tuple(_DEF.findall(source))


def _blocks(reply: str) -> Iterator[CodeBlock]:
    fence, language, begin, lines, offset = "", "", 0, list[str](), 0
    for line in reply.split("\n"):
        match = _FENCE_LINE.match(line)
        if not fence and match:
            fence, language, begin, lines = match.group(1), match.group(2).lower(), offset, []
        elif (
            fence
            and match
            and match.group(1)[0] == fence[0]
            and len(match.group(1)) >= len(fence)
            and not match.group(2)
        ):
            yield CodeBlock(language, _dedented(lines), begin, offset + len(line))
            fence = ""
        elif fence:
            lines.append(line)
        offset += len(line) + 1
    if fence:
        yield CodeBlock(language, _dedented(lines), begin, len(reply))


def _dedented(lines: list[str]) -> str:
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")
