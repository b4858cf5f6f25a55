"""The whitelist covers the grammar of this Python, and code is found in replies."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from sdg.prompts.replies import extract_code
from sdg.sandbox.guard import GeneratedError, Guard, Refused, Signature
from sdg.sandbox.guard.library import BUILTINS
from sdg.sandbox.guard.syntax import FIELDS

GUARD = Guard({"look": Signature("look")}, returns=bool)


@pytest.mark.parametrize("node", list(FIELDS), ids=lambda node: node.__name__)
def test_listed_nodes_have_exactly_the_listed_fields(node: type[ast.AST]) -> None:
    new = set(node._fields) - set(FIELDS[node])
    assert new <= {"type_params"}, "a newer Python has added a field: it is refused unless it is empty"


def test_every_statement_and_expression_is_either_listed_or_refused() -> None:
    kinds = [k for k in vars(ast).values() if isinstance(k, type) and issubclass(k, ast.stmt | ast.expr)]
    unlisted = {k.__name__ for k in kinds if k not in FIELDS and k._fields and k not in (ast.stmt, ast.expr)}
    assert {
        "Import",
        "ImportFrom",
        "ClassDef",
        "AsyncFunctionDef",
        "Global",
        "Await",
    } <= unlisted


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("match 1:\n        case 1:\n            return True", "use if / elif / else"),
        ("yield 1", "build and return a list"),
        ("with look():\n        return True", "nothing to open or to close"),
        ("return type(1) == int", "isinstance"),
        ("return getattr(look(), 'name', None)", "as in value.name"),
        ("return hasattr(look(), 'name')", "as in value.name"),
        ("return '%s' % 1 == '1'", "write an f-string"),
        ("return f'{1}%d' % 1 == '1'", "write an f-string"),
        ("return '{}'.format(1) == '1'", "use an f-string"),
        ("return f'{1:>{2}}' == ' 1'", "short formats"),
        ("class A:\n        pass", "use plain functions and values"),
        ("return f'{\"\u00a0\"}' == ''", "give it a name first"),
        ("return '\\ud800' == ''", "half a character"),
    ],
)
def test_what_the_language_lacks_is_refused_with_what_to_write(line: str, advice: str) -> None:
    with pytest.raises(Refused, match=re.escape(advice)):
        GUARD.load(f"def check():\n    {line}\n")


def test_a_text_is_formatted_by_f_strings_alone() -> None:
    with pytest.raises(GeneratedError, match="% is for numbers: write an f-string"):
        Guard({}).load("def program():\n    text = '%s'\n    text %= 1\n    return text\n")({})


def test_of_two_functions_of_one_name_the_last_counts() -> None:
    assert Guard({}).load("def f():\n    return 1\ndef f():\n    return 2\n")({}) == 2


@pytest.mark.parametrize(
    "source", ["return", "x: int\ndef check():\n    return True", "while True:\n    pass", "nonlocal n\n"]
)
def test_statements_without_a_value_at_the_top_are_refused(source: str) -> None:
    with pytest.raises(Refused, match="outside functions"):
        GUARD.load(source, entry="check")


def test_no_name_reaches_more_than_plain_functions() -> None:
    forbidden = {
        "eval",
        "exec",
        "open",
        "getattr",
        "setattr",
        "type",
        "vars",
        "globals",
        "locals",
        "dir",
        "id",
        "hash",
        "format",
        "object",
    }
    assert not forbidden & BUILTINS


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("def check():\r\n    return True\r\n", "def check():\n    return True\n"),
        ("```python\ndef check():\n    return True\n```", "def check():\n    return True\n"),
        ("Sure:\n```\ndef check():\n    return True\n```\nDone.", "def check():\n    return True\n"),
        ("1. So:\n   ```py\n   def check():\n       return True\n   ```\n", "def check():\n    return True\n"),
        ("```python\ndef check():\n    return True\n", "def check():\n    return True\n"),
        ("The check:\n\ndef check():\n    return True\n\nIt is true.", "def check():\n    return True\n"),
        ("```text\nplan\n```\n```python\ndef check():\n    return True\n```", "def check():\n    return True\n"),
    ],
)
def test_code_is_found_in_replies(reply: str, code: str) -> None:
    assert extract_code(reply) == code


@pytest.mark.parametrize(
    "reply", ["```python\ndef a():\n    pass\n```\n```python\ndef b():\n    pass\n```", "```python\nx = 1\n```"]
)
def test_replies_without_exactly_one_function_block_are_refused(reply: str) -> None:
    with pytest.raises(Refused, match="code block"):
        extract_code(reply)


def test_prose_is_cut_off_but_nothing_indented_is() -> None:
    with pytest.raises(Refused, match="not valid Python"):
        GUARD.load(extract_code("def check():\n    x = 1\n    return <condition>\n"))


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def check():\n    x = 1\n    import os\n    return True", 3),
        ("def check():\n    return (1 +\n", 2),
        ("x = [y]\ndef check():\n    return True", 1),
    ],
)
def test_refusals_name_the_line(source: str, line: int) -> None:
    with pytest.raises(Refused) as caught:
        GUARD.load(source)
    assert caught.value.line == line


def test_loading_gives_no_warnings_and_no_bytes_of_plain_code() -> None:
    guarded = GUARD.load("def check():\n    return 1 is 1 and '\\d' == '\\\\d'\n")
    assert guarded({}) is True
    assert guarded.source.startswith("def check")


def test_nesting_is_accepted_up_to_a_depth_and_refused_from_there_on() -> None:
    def is_accepted(depth: int) -> bool:
        try:
            return GUARD.load(f"def check():\n    return {'[' * depth}{']' * depth} != 1\n")({}) is True
        except Refused:
            return False

    accepted = [is_accepted(depth) for depth in range(1, 80)]
    assert accepted == sorted(accepted, reverse=True)
    assert accepted[40]
    assert not accepted[70]


@pytest.mark.parametrize(
    "expression",
    ["range(4).count('a')", "range(4).index(2)", "'abc'.replace('', '-', 2)", "'-'.join(iter('abc'))", "{3, 4}.pop()"],
)
def test_what_is_rarely_written_is_answered_as_python_does(expression: str) -> None:
    source = f"from collections import Counter\ndef check():\n    return {expression}\n"
    assert Guard({}).load(source)({}) == eval(expression, {"Counter": Counter})
