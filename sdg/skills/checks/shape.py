"""The shape of a check function, apart from its argument: a verified sign of the subgoal's meaning.

Two subgoals of one skill ("discover the red key", "locate a green lamp") have check functions of one shape. Only text
is read here; nothing is compiled or run, and source that does not parse has a shape of its own instead of an error.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from sdg.sandbox.guard.syntax import MAX_PARSED_CHARS, parse_code
from sdg.skills.checks.template import is_answer, parsed_check
from sdg.skills.subgoal import CheckFunction

ARGUMENT = "ARGUMENT"
"""Replaces the literals that spell the skill's argument."""
OTHER = "OTHER"
"""Replaces literals of other things that the subgoal names: A in "put A next to B", where B is the argument."""

_CACHE_SIZE = 4096  # a review compares every check with many others
_WORD = re.compile(r"[a-z]+|#\d+")
_LOCAL_NAME = re.compile(r"f|v\d+")
_ARTICLES = frozenset({"a", "an", "the"})


@lru_cache(maxsize=_CACHE_SIZE)
def canonical_source(source: str, *, argument: str, description: str = "", api: str = "") -> str:
    """The check's source with locals renamed, docstrings dropped and the literals of this one subgoal put into slots.

    `argument`, `description` and `api` are the subgoal's parameter, its text and its API name: a literal is the
    argument when all its words are words of the argument, and OTHER when they are words of the description that
    are not part of the API name. Everything else ("open", numbers) has a meaning and stays.
    """
    tree = parse_code(source)
    if tree is None:
        return " ".join(source[:MAX_PARSED_CHARS].split())
    slots = _Slots(_words(argument), _words(description) - _words(api.replace("_", " ")), _local_names(tree))
    return ast.unparse(ast.fix_missing_locations(slots.visit(tree)))


@lru_cache(maxsize=_CACHE_SIZE)
def signature(canonical: str) -> frozenset[str]:
    """The questions in canonical source: names it calls, fields it reads, texts it compares, `not` and `not in`.

    Control flow, order, numbers and the spelling of locals are left out, so that a loop and a generator expression that
    ask the same have one signature. Source that doesn't parse has itself as its only element.
    """
    tree = parsed_check(canonical)
    return frozenset({canonical}) if tree is None else frozenset(_questions(tree))


@lru_cache(maxsize=_CACHE_SIZE)
def core(canonical: str) -> str:
    """The canonical source without leading protective clauses such as "still carrying A".

    Those are `if ...: return False` statements before the first mention of the argument, and assignments that nothing
    else needs. Source with only such clauses, or that never names an argument, is returned as it is.
    """
    tree = parse_code(canonical)
    function = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if not isinstance(function, ast.FunctionDef) or ARGUMENT not in canonical:
        return canonical
    first = next((number for number, statement in enumerate(function.body) if ARGUMENT in ast.dump(statement)), 0)
    body = function.body[first:]
    for statement in reversed(function.body[:first]):
        is_clause = isinstance(statement, ast.If) and not statement.orelse and is_answer(statement.body, False)
        is_needless = isinstance(statement, ast.Assign) and not _is_needed(statement, body)
        if not is_clause and not is_needless:
            body.insert(0, statement)
    function.body = body
    return ast.unparse(function)


def _is_needed(assignment: ast.Assign, body: list[ast.stmt]) -> bool:
    names = {node.id for target in assignment.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return any(isinstance(node, ast.Name) and node.id in names for statement in body for node in ast.walk(statement))


@lru_cache(maxsize=_CACHE_SIZE)
def is_tied_to_its_layout(source: str) -> bool:
    """Whether a check names places by numbers ("it stands at (-4, 0)", "in place 3"), which mean nothing elsewhere.

    Whole numbers other than 0 and 1 count as places; a check that doesn't parse isn't tied to anything.
    """
    tree = parsed_check(source)
    numbers = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)) if tree is not None else ()
    return any(type(number) is int and number not in (0, 1) for number in numbers)


def asked_by(check: CheckFunction, argument: str) -> frozenset[str]:
    """The signature of a check written for an argument, without its protective clauses."""
    return signature(core(canonical_source(check.source, argument=argument)))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard similarity of two signatures in [0, 1]; two empty ones are alike."""
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _ARTICLES


def _local_names(tree: ast.AST) -> dict[str, str]:
    """Names that the source itself binds -> v0, v1, ...; functions it defines -> `f`. Other names are the world's."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.setdefault(node.id, f"v{len(names)}")
        elif isinstance(node, ast.arg):
            names.setdefault(node.arg, f"v{len(names)}")
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = "f"
    return names


class _Slots(ast.NodeTransformer):
    """Renames locals and puts slots in place of literals; nothing in it is quadratic, so hostile length is harmless."""

    def __init__(self, argument_words: frozenset[str], other_words: frozenset[str], names: dict[str, str]) -> None:
        self._argument_words, self._other_words, self._names = argument_words, other_words, names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = "f"
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=self._names.get(node.arg, node.arg))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id=self._names.get(node.id, node.id), ctx=node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, str):
            return node
        words = _words(node.value)
        if words and words <= self._argument_words:
            return ast.Constant(value=ARGUMENT)
        if words and words <= self._argument_words | self._other_words:
            return ast.Constant(value=OTHER)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant(value=ARGUMENT)  # a text put together at run time: no literal of its own to compare


def _questions(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if not _LOCAL_NAME.fullmatch(node.func.id):
                yield node.func.id + "()"
        elif isinstance(node, ast.Attribute):
            yield "." + node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield repr(node.value)
        elif isinstance(node, ast.NotIn):
            yield "not in"
        elif isinstance(node, ast.Not):
            yield "not"
