"""Replies are hostile data: what reads them uses no regular expressions, and takes no longer than their length."""

from __future__ import annotations

import ast
import contextlib
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sdg.hypothesis.hypothesize import HypothesisError, parse
from sdg.induction.translate import parse as parse_translation
from sdg.prompts.replies import MAX_BLOCKS, MAX_REPLY_LINES, code_blocks, extract_code, tidy
from sdg.prompts.sources import amend_source, prune_source
from sdg.sandbox.guard import Refused
from sdg.sandbox.guard.syntax import MAX_PARSED_CHARS

ROOT = Path(__file__).parents[2]
READERS = [
    *sorted((ROOT / "sdg/sandbox/guard").glob("*.py")),
    *sorted((ROOT / "sdg/hypothesis").glob("*.py")),
    *sorted((ROOT / "sdg/deduction").glob("*.py")),
    *(ROOT / f"sdg/{name}.py" for name in ("induction/translate", "prompts/replies", "prompts/sources")),
]
LENGTH = 64_000
LONGEST = "a|b\n" * (MAX_PARSED_CHARS // 4)
DEGENERATE = {
    "blanks behind goal": "Goal" + " " * LENGTH + "x",
    "blanks in a goal": "Goal 1: a" + " " * LENGTH + "b",
    "blanks in a number": "1. a" + " " * LENGTH + "!",
    "blanks before a bar": "1. a | b" + " " * LENGTH + "|x",
    "many goals without one": ("goal" + " " * 200 + "x\n") * 310,
    "many goals": "Goal 1: a\n" * 6_400,
    "forty goals of much code": "".join(
        f"Goal {n}: x\n```python\ndef check_{n}():\n    return [{'1,' * 740}]\n```\n" for n in range(1, 41)
    ),
    "many steps": "step 1\nx\n" * 7_100,
    "many goals with code": "Goal 1: x\n```python\ndef check_1():\n    return True\n```\n" * 1_200,
    "fences": "```\n" * 16_000,
    "ticks": "`" * LENGTH,
    "tabs": "\t" * LENGTH,
    "lines": "\n" * LENGTH,
    "digits": "1" * LENGTH,
    "stars": "*" * LENGTH,
    "bars": "|" * LENGTH,
    "brackets": "(" * LENGTH,
    "thoughts": "</think>" * 8_000,
    "code": "```python\n" + "x = [1, 2, (3, 4)]\n" * 3_300,
    "bare functions": "def f():\n    return 1\n" * 2_900,
    "texts": "f'{" * 21_000,
    "words like functions": "Goal 1: a\n" + "def " * 16_000,
    "statements": "a|b\n" * 16_000,
}


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_regular_expression_reads_what_a_model_wrote(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {"re", "regex", "fnmatch", "textwrap"} & names, (
        f"{path.name} reads replies of a model: go through the text once, as sdg/prompts/replies.py does. A pattern"
        " with two repeats side by side takes hours on a reply of blanks."
    )


@pytest.mark.parametrize("name", DEGENERATE)
def test_a_reply_of_any_kind_is_read_in_a_moment(name: str) -> None:
    reply = DEGENERATE[name][:LENGTH]
    for read in (
        lambda: parse(reply, instruction="x"),
        lambda: parse_translation(reply, count=40),
        lambda: extract_code(reply),
        lambda: prune_source(reply, "check"),
        lambda: amend_source(reply[: MAX_PARSED_CHARS - 1], "check", earlier="def check():\n    return True\n"),
    ):
        taken = _seconds(read)
        if taken >= 0.1:  # measured side by side, because others use the machine, too
            pairs = [(_seconds(read), _seconds(lambda: ast.parse(LONGEST))) for _ in range(5)]
            taken, parsing = map(min, zip(*pairs, strict=True))
            assert taken < max(0.1, 3 * parsing), (
                "longer than Python's own parser takes for the longest code three times"
            )


def test_a_reply_is_cut_at_so_many_lines_and_blocks() -> None:
    assert tidy("a\n" * LENGTH).count("\n") == MAX_REPLY_LINES - 1
    assert len(code_blocks("```\n" * MAX_REPLY_LINES)) == MAX_BLOCKS
    assert extract_code("because\n" * (MAX_REPLY_LINES - 4) + "```\ndef f():\n    return 1\n```").startswith("def f")


def _seconds(read: Callable[[], object]) -> float:
    """Processor seconds of one reading; what measures coverage line by line and what all tests hold are set aside."""
    tracer = sys.gettrace()
    sys.settrace(None)
    gc.freeze()
    began = time.process_time()
    try:
        with contextlib.suppress(HypothesisError, Refused):
            read()
        return time.process_time() - began
    finally:
        gc.unfreeze()
        sys.settrace(tracer)
