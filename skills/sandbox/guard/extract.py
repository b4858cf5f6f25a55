"""The one piece of code in a language model's reply."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

from sdg.skills.sandbox.guard.errors import Refused

MAX_REPLY_CHARACTERS = 200_000
_FENCE = re.compile(
    r"^[ \t>]*+(?:(?:[-*+]|\d{1,3}[.)])[ \t]++)?(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^`\n]*+$"
)
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python-repl", "pycon", "tool_code"})
_DEFINITION = re.compile(r"^(async[ \t]+)?def[ \t]+\w")
_INNER = re.compile(r"\bdef[ \t]+\w+[ \t]*\(")
_PROMPT = re.compile(r"^(>>>|\.\.\.)( |$)")
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_WANTED = "reply with one ```python code block and nothing else"


def extract_code(reply: str) -> str:
    """The Python source in a reply: its one fenced block (closed or not, indented or not), or the bare code.

    Prose around the code and what a model thought aloud before it are dropped; line ends become LF. Raises `Refused`
    when there is no code or more than one block defines a function: guessing which was meant would hide a mistake.
    """
    text = without_thoughts(reply)
    if len(text) > MAX_REPLY_CHARACTERS:
        raise Refused(f"The reply has {len(text)} characters; at most {MAX_REPLY_CHARACTERS} are read.")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blocks = _fenced(text.split("\n"))
    if not blocks:
        return _bare(text)
    python = [_unprompted(code) for language, code in blocks if language.lower() in _PYTHON]
    defining = [code for code in python if any(_DEFINITION.match(line) for line in code.split("\n"))]
    if len(defining) == 1:
        return defining[0]
    if defining:
        raise Refused(f"The reply has {len(defining)} code blocks that define functions; give exactly one code block.")
    if any(_INNER.search(code) for _, code in blocks):
        raise Refused(f"The reply's code block is not plain Python: {_WANTED}, with `def` at the beginning of a line.")
    raise Refused(
        "The reply's code block defines no function; give one code block with the function that was asked for."
    )


def without_thoughts(reply: str) -> str:
    """What a reply says after the model thought aloud: all behind the last tag that ends thoughts."""
    return _THOUGHT.split(reply)[-1]


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


def _unprompted(code: str) -> str:
    """Code without the prompts of an interactive session."""
    lines = code.rstrip("\n").split("\n")
    if not lines[0].startswith(">>> "):
        return code
    return "\n".join(line[4:] for line in lines if _PROMPT.match(line)) + "\n"


def _bare(text: str) -> str:
    """The code of a reply without fences: all of it when it parses, else its functions without the prose.

    Functions stand at one margin, the first one's. Raises `Refused` for prose without any.
    """
    code = _unprompted(textwrap.dedent(text).strip("\n") + "\n")
    first, _, rest = code.partition("\n")
    code = rest if first.strip().lower() in _PYTHON - {""} else code
    lines = code.split("\n")
    starts = [number for number, line in enumerate(lines) if _DEFINITION.match(line.lstrip())]
    if _parses(code) or not starts:
        _refuse_prose(code)
        return code
    margin = len(lines[starts[0]]) - len(lines[starts[0]].lstrip())
    lines = [line[margin:] if not line[:margin].strip() else line for line in lines]
    starts = [number for number in starts if _DEFINITION.match(lines[number])]
    end = starts[0]
    while end < len(lines) and (lines[end][:1] in ("", " ", "\t", "#", ")") or _DEFINITION.match(lines[end])):
        end += 1
    if any(start > end for start in starts):
        raise Refused("There is prose between the functions; give exactly one code block with all of them.")
    cut = "\n".join(lines[starts[0] : end]).rstrip() + "\n"
    return cut if _parses(cut) else code


def _refuse_prose(code: str) -> None:
    """Raises `Refused` for a reply that holds no Python at all, or holds it inside something else."""
    if code.lstrip()[:1] in ("{", "[") and "def " in code:
        raise Refused(f"The reply is JSON, not code: {_WANTED}.")
    if _parses(code):
        return
    if _INNER.search(code):
        raise Refused(f"The reply's code does not stand by itself: {_WANTED}, with `def` at the beginning of a line.")
    if not re.search(r"^[ \t]*(def|if|for|while|return|import|from|class|async)\b|=", code, re.MULTILINE):
        raise Refused(f"The reply holds no code: {_WANTED}, with the function that was asked for in it.")


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
