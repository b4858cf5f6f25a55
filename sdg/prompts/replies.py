"""The reader of a language model's replies: fenced blocks, the one piece of code in them, and numbers.

Replies are hostile data; nothing is run here. Each line is looked at once and no regular expressions are used: a model
that degenerates into blanks must cost nothing.
"""

from dataclasses import dataclass
from itertools import takewhile

from sdg.llm.model import Completion
from sdg.sandbox.guard import Refused
from sdg.sandbox.guard.syntax import parse_code

MAX_REPLY_CHARS = 64_000
MAX_REPLY_LINES = 4_000
MAX_BLOCKS = 400
_BLANKS = " \t"
_DEFINES = ("def ", "async def ")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python-repl", "pycon", "tool_code"})
_STATEMENTS = frozenset({"def", "if", "for", "while", "return", "import", "from", "class", "async"})
_THOUGHTS = tuple(f"</{form}>" for word in ("think", "thinking", "thought", "reasoning")
                  for form in (word, word.upper(), word.capitalize()))  # fmt: skip
_REQUEST = "reply with one ```python code block and nothing else"


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced block: language tag, text with common indent removed, and where it starts and ends in the reply."""

    language: str
    text: str
    start: int
    end: int


def tidy(reply: str) -> str:
    """A reply without the thoughts before it, zero bytes and byte order marks, and with LF line ends.

    It is cut at MAX_REPLY_CHARS and MAX_REPLY_LINES.
    """
    answer = reply
    for tag in _THOUGHTS:
        answer = answer.rpartition(tag)[2]
    answer = answer[:MAX_REPLY_CHARS].replace("\r\n", "\n").translate({ord("\r"): "\n", 0: None, ord("\ufeff"): None})
    return "\n".join(answer.split("\n", MAX_REPLY_LINES)[:MAX_REPLY_LINES])


def code_blocks(reply: str) -> tuple[CodeBlock, ...]:
    """The first MAX_BLOCKS fenced blocks of a tidied reply, indented or not; an unclosed one ends with the reply."""
    opening: tuple[str, str] | None = None
    begin = offset = 0
    lines, blocks = list[str](), list[CodeBlock]()
    for line in reply.split("\n"):
        fence = fence_of(line)
        if opening is None:
            opening, begin, lines = fence, offset, []
        elif fence and fence[0].startswith(opening[0]) and not fence[1]:
            blocks.append(CodeBlock(opening[1], _dedent(lines), begin, offset + len(line)))
            opening = None
        else:
            lines.append(line)
        offset += len(line) + 1
    if opening is not None:
        blocks.append(CodeBlock(opening[1], _dedent(lines), begin, len(reply)))
    return tuple(blocks[:MAX_BLOCKS])


def fence_of(line: str) -> tuple[str, str] | None:
    """The fence (``` or ~~~, in its full length) and the language of a line that opens or closes a block."""
    if "```" not in line and "~~~" not in line:
        return None
    rest = line.lstrip(" \t>")
    marker, _, behind = rest.partition(" ")
    is_number = marker[:-1].isdecimal() and marker[-1:] in (".", ")") and len(marker) < 5
    if is_number or marker in ("-", "*", "+"):
        rest = behind.lstrip(_BLANKS)
    mark = rest[: len(rest) - len(rest.lstrip(rest[:1]))] if rest[:1] in ("`", "~") else ""
    rest = rest[len(mark) :]
    if len(mark) < 3 or "`" in rest:
        return None
    return mark, (rest.split(maxsplit=1) or [""])[0].lower()


def functions_in(source: str) -> tuple[str, ...]:
    """Names of the functions that `source` defines at any depth, as they stand in the text."""
    heads = [line.partition("(")[0].split() for line in source.split("\n") if "(" in line]
    definitions = [words for words in heads if words[:-1] in (["def"], ["async", "def"])]
    return tuple(words[-1] for words in definitions if words[-1].isidentifier())


def extract_code(reply: str) -> str:
    """The Python source in a reply: its one fenced block (closed or not, indented or not), or the bare code.

    Prose around the code and a model's thoughts before it are dropped; line ends become LF. Raises `Refused` when there
    is no code or more than one block defines a function: guessing which was meant would hide a mistake.
    """
    if len(reply) > 4 * MAX_REPLY_CHARS:
        raise Refused(f"The reply has {len(reply)} characters; at most {4 * MAX_REPLY_CHARS} are read.")
    text = tidy(reply)
    blocks = code_blocks(text)
    if not blocks:
        return _bare(text)
    python = [_without_prompts(block.text + "\n") for block in blocks if block.language in _PYTHON]
    candidates = [code for code in python if any(line.startswith(_DEFINES) for line in code.split("\n"))]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise Refused(
            f"The reply has {len(candidates)} code blocks that define functions; give exactly one code block."
        )
    if any("(" in block.text.partition("def ")[2] for block in blocks):
        raise Refused(f"The reply's code block is not plain Python: {_REQUEST}, with `def` at the beginning of a line.")
    raise Refused(
        "The reply's code block defines no function; give one code block with the function that was asked for."
    )


def _dedent(lines: list[str]) -> str:
    margins = [line[: len(line) - len(line.lstrip(_BLANKS))] for line in lines if line.strip()]
    first, last = min(margins, default=""), max(margins, default="")  # in order: they differ soonest
    margin = next((place for place, sign in enumerate(first) if sign != last[place]), len(first))
    return "\n".join(line[margin:] if line.strip() else "" for line in lines).strip("\n")


def _without_prompts(code: str) -> str:
    """Code without the prompts of an interactive session."""
    lines = code.rstrip("\n").split("\n")
    if not lines[0].startswith(">>> "):
        return code
    return "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")) or line in (">>>", "...")) + "\n"


def _bare(text: str) -> str:
    """The code of a reply without fences: all of it when it parses, else its functions without the prose.

    All functions must be indented like the first. Raises `Refused` for prose without any.
    """
    code = _without_prompts(_dedent(text.split("\n")) + "\n")
    first, _, rest = code.partition("\n")
    code = rest if first.strip().lower() in _PYTHON - {""} else code
    if code.lstrip()[:1] in ("{", "[") and "def " in code:
        raise Refused(f"The reply is JSON, not code: {_REQUEST}.")
    if parse_code(code) is not None:
        return code
    lines = code.split("\n")
    start = next((number for number, line in enumerate(lines) if line.lstrip().startswith(_DEFINES)), None)
    if start is None:
        if "(" in code.partition("def ")[2]:
            raise Refused(f"The reply's code is not alone: {_REQUEST}, with `def` at the beginning of a line.")
        if "=" not in code and not _STATEMENTS.intersection(line.lstrip().partition(" ")[0] for line in lines):
            raise Refused(f"The reply holds no code: {_REQUEST}, with the function that was asked for in it.")
        return code
    margin = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    goes_on = tuple(margin + sign for sign in (" ", "\t", "#", ")", *_DEFINES))
    body = list(takewhile(lambda line: not line.strip() or line.startswith(goes_on), lines[start:]))
    if any(line.startswith(goes_on[-2:]) for line in lines[start + len(body) :]):
        raise Refused("There is prose between the functions; give exactly one code block with all of them.")
    functions = _dedent(body) + "\n"
    return functions if parse_code(functions) is not None else code


def cut_off(reply: Completion, limit: int) -> str:
    """A notice for a model whose reply may have ended at its limit of tokens, "" for any other."""
    if reply.finish_reason != "length" and reply.completion_tokens < limit:
        return ""
    return f"The answer was cut off at the limit of {limit} tokens: think and write less."


def leading_number(text: str) -> tuple[str, str]:
    """The digits that a text begins with ("" for none), six at most, and what follows them."""
    rest = text.lstrip("0123456789")
    return text[: len(text) - len(rest)][:6], rest
