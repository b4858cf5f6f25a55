"""What is refused of a node for its own sake, and what a node becomes once its parts are woven: two tables."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.formats import LONG_FORMAT, is_short_format
from sdg.skills.sandbox.guard.operators import BINARY, COMPARE
from sdg.skills.sandbox.guard.syntax import call

MAX_STARS = 8
MAX_FORMATTED = 32
_UNCALLABLE = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr)
_PLAIN = (str, bool, float, int, type(None), type(Ellipsis))

Rule = tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[[Any], Any], str]

REFUSED: tuple[Rule, ...] = (
    (ast.FunctionDef, lambda node: node.decorator_list, "decorators are not allowed: write a plain def"),
    (ast.comprehension, lambda node: node.is_async, "async is not allowed"),
    (ast.Expr, lambda node: isinstance(node.value, ast.Starred), "a star cannot stand alone"),
    (ast.AnnAssign, lambda node: not isinstance(node.target, ast.Name), "only names can have type hints"),
    (ast.Constant, lambda node: type(node.value) is int and node.value.bit_length() > 64, "the number is too large"),
    (
        ast.Constant,
        lambda node: type(node.value) not in _PLAIN,
        "constants of bytes and imaginary numbers are not allowed: use plain numbers and texts",
    ),
    (ast.Call, lambda node: isinstance(node.func, _UNCALLABLE), "this cannot be called"),
    (
        (ast.Call, ast.List, ast.Tuple, ast.Set, ast.Dict),
        lambda node: _stars(node) > MAX_STARS,
        f"more than {MAX_STARS} stars in one place",
    ),
    (
        ast.Raise,
        lambda node: isinstance(node.exc, ast.Call) and (node.exc.keywords or len(node.exc.args) > 1),
        'an exception takes one text: raise ValueError("...")',
    ),
    (
        ast.JoinedStr,
        lambda node: sum(isinstance(part, ast.FormattedValue) for part in node.values) > MAX_FORMATTED,
        f"more than {MAX_FORMATTED} values in one f-string: join a list of texts",
    ),
    (ast.FormattedValue, lambda node: not is_short_format(_spec(node)), LONG_FORMAT),
    (
        ast.Tuple,
        lambda node: any(isinstance(item, ast.Slice) for item in node.elts),
        "a slice stands alone between brackets, as in items[1:2]",
    ),
    (
        ast.Compare,
        lambda node: len(node.ops) > 1 and any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)),
        "write := in a line of its own, not inside a chain of comparisons",
    ),
    (
        ast.Try,
        lambda node: any(getattr(part, "finalbody", []) for inner in node.finalbody for part in ast.walk(inner)),
        "a finally inside a finally is not allowed: write it in a function of its own",
    ),
    (
        ast.Delete,
        lambda node: not all(isinstance(target, ast.Subscript | ast.Name) for target in node.targets),
        "del is allowed for variables and items of your own lists and dicts only",
    ),
)
"""Kinds of nodes, what must not be true of them, and what is said when it is."""

NAMES_BOUND: dict[type[ast.AST], str] = {
    ast.FunctionDef: "name", ast.arg: "arg", ast.ExceptHandler: "name", ast.Nonlocal: "names"
}  # fmt: skip
HINTS: dict[type[ast.AST], str] = {ast.FunctionDef: "returns", ast.arg: "annotation", ast.AnnAssign: "annotation"}
"""Fields with names that a node binds, and with type hints, which are judged and dropped."""

WOVEN: dict[type[ast.AST], Callable[[Any], ast.AST]] = {
    ast.BinOp: lambda node: call(f".{BINARY.get(type(node.op).__name__, '')}", node.left, node.right),
    ast.UnaryOp: lambda node: node
    if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
    else call(".unary", ast.Constant(value=type(node.op).__name__), node.operand),
    ast.Subscript: lambda node: call(".item", node.value, node.slice),
    ast.Slice: lambda node: call(".slice", *map(_or_none, (node.lower, node.upper, node.step))),
    ast.Set: lambda node: call(".set", ast.List(elts=node.elts, ctx=ast.Load())),
    ast.Dict: lambda node: ast.Dict(
        keys=[key if key is None or isinstance(key, ast.Constant) else call(".key", key) for key in node.keys],
        values=[
            call(".merged", value) if key is None else value
            for key, value in zip(node.keys, node.values, strict=True)
        ],
    ),
    ast.Starred: lambda node: node
    if isinstance(node.ctx, ast.Store)
    else ast.Starred(value=call(".star", node.value), ctx=node.ctx),
    ast.JoinedStr: lambda node: call(".joined", *node.values),
    ast.FormattedValue: lambda node: call(
        ".shown", node.value, ast.Constant(value=node.conversion), *filter(None, [node.format_spec])
    ),
    ast.Assert: lambda node: ast.Assert(test=node.test, msg=call(".text", node.msg) if node.msg else None),
    ast.Expr: lambda node: ast.Pass() if isinstance(node.value, ast.Constant) else node,
}  # fmt: skip
"""What stands for a node whose parts are woven."""


def compared(op: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
    """`x is "red"` is meant as ==, and whether it happens to be true is up to the interpreter."""
    is_text = any(isinstance(side, ast.Constant) and type(side.value) in (str, int, float) for side in (left, right))
    if isinstance(op, ast.Is | ast.IsNot) and not is_text:
        return ast.Compare(left=left, ops=[op], comparators=[right])
    return call(f".{COMPARE.get(type(op).__name__) or ('eq' if isinstance(op, ast.Is) else 'ne')}", left, right)


def _stars(node: ast.AST) -> int:
    merged = node.keys.count(None) if isinstance(node, ast.Dict) else 0
    return merged + sum(type(child) is ast.Starred for child in ast.iter_child_nodes(node))


def _spec(node: ast.FormattedValue) -> str:
    """A format that is written out; one that is computed is looked at when it is there."""
    pieces = getattr(node.format_spec, "values", [])
    return "".join(str(piece.value) for piece in pieces if all(isinstance(each, ast.Constant) for each in pieces))


def _or_none(bound: ast.expr | None) -> ast.expr:
    return bound or ast.Constant(value=None)
