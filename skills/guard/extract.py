"""The one piece of code in a language model's reply."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

from skills.guard.errors import Refused

MAX_REPLY_CHARACTERS = 200_000
_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*)[^`\n]*$")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python-repl", "tool_code"})
_DEFINITION = re.compile(r"^(async[ \t]+)?def[ \t]+\w")


def extract_code(reply: str) -> str:
    """The Python source in a reply: its one fenced block (closed or not, indented or not), or the bare code.

    Prose around the code is dropped and line ends become LF. Raises `Refused` when there is no code or more than one
    block defines a function: guessing which was meant would hide a mistake.
    """
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise Refused(f"The reply has {len(reply)} characters; at most {MAX_REPLY_CHARACTERS} are read.")
    text = reply.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blocks = _fenced(text.split("\n"))
    if not blocks:
        return _bare(text)
    python = [code for language, code in blocks if language.lower() in _PYTHON]
    defining = [code for code in python if any(_DEFINITION.match(line) for line in code.split("\n"))]
    if len(defining) == 1:
        return defining[0]
    if defining:
        raise Refused(f"The reply has {len(defining)} code blocks that define functions; give exactly one code block.")
    raise Refused(
        "The reply's code block defines no function; give one code block with the function that was asked for."
    )


def _fenced(lines: list[str]) -> list[tuple[str, str]]:
    """(language, dedented code) of every fenced block; one that is never closed runs to the end."""
    blocks: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    inside: list[str] = []
    for line in [*lines, None]:
        fence = _FENCE.match(line) if line is not None else None
        if opened is None:
            opened, inside = fence, []
        elif line is None or (fence and not fence["language"] and fence["mark"][:3] == opened["mark"][:3]):
            blocks.append((opened["language"], textwrap.dedent("\n".join(inside)).strip("\n") + "\n"))
            opened = None
        else:
            inside.append(line)
    return blocks


def _bare(text: str) -> str:
    """The code of a reply without fences: all of it when it parses, else its unindented functions without the prose."""
    code = textwrap.dedent(text).strip("\n") + "\n"
    if _parses(code):
        return code
    lines = code.split("\n")
    starts = [number for number, line in enumerate(lines) if _DEFINITION.match(line)]
    if not starts:
        return code
    end = starts[0]
    while end < len(lines) and (lines[end][:1] in ("", " ", "\t", "#", ")") or _DEFINITION.match(lines[end])):
        end += 1
    if any(start > end for start in starts):
        raise Refused("There is prose between the functions; give exactly one code block with all of them.")
    cut = "\n".join(lines[starts[0] : end]).rstrip() + "\n"
    return cut if _parses(cut) else code


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
