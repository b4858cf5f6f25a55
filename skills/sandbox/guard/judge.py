"""Judges the nodes of a tree: what isn't listed is noted, and what has a plainer form is given it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.meter import UNITS_PER_STEP
from sdg.skills.sandbox.guard.rules import HINTS, NAMES_BOUND, REFUSED, WOVEN
from sdg.skills.sandbox.guard.syntax import FIELDS, OPERATORS, call, load, store

NODES_PER_STEP = UNITS_PER_STEP
CALL_NODES = 24
MAX_TOLD = 8
"""Refusals told at once."""
_WEIGHTS: dict[type, int] = {
    ast.Call: CALL_NODES, ast.List: 5, ast.Tuple: 3, ast.Dict: 12, ast.Set: 12, ast.Lambda: 10, ast.ListComp: 8,
    ast.SetComp: 12, ast.DictComp: 12, ast.GeneratorExp: 18,
}  # fmt: skip
_HINT = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load)


def size_of(nodes: Any) -> int:
    """How much work nodes stand for; a call may be one of the host's, a display takes memory."""
    return sum(_WEIGHTS.get(type(part), 1) for node in nodes for part in ast.walk(node))


class Judge(ast.NodeTransformer):
    """Walks one source and notes all that is wrong with it.

    `imported` are names that stand for something of a module, `variables` those that the source binds, `kept` those of
    the host that it must not bind. In the function `truth` `return a and b` means its truth.
    """

    truth = ""

    def __init__(self, *, fields: Collection[str], functions: Collection[str], errors: Collection[str],
                 kept: Collection[str], imported: Mapping[str, str], variables: Collection[str]) -> None:  # fmt: skip
        self._fields, self._functions, self._errors, self._kept = fields, functions, errors, kept
        self._imported, self._variables = imported, variables
        self._function, self._tries, self._temporaries = "", 0, 0
        self.problems: dict[str, int] = {}

    def report(self) -> None:
        """Raises `Refused` with all that was noted, if anything was."""
        found = sorted(self.problems.items(), key=lambda problem: problem[1] or 10**6)[:MAX_TOLD]
        if found:
            rest = [f"line {line}: {message}" if line else message for message, line in found[1:]]
            raise Refused("\n".join([found[0][0], *rest]), line=found[0][1])

    def refuse(self, node: ast.AST | None, message: str) -> None:
        self.problems.setdefault(message, getattr(node, "lineno", 0))

    def visit(self, node: ast.AST) -> Any:
        """Judge and weave one node; what replaces it stands on its line."""
        plain = self._plainer(node)
        if not self._is_listed(plain):
            return node
        woven = super().visit(plain)
        woven = WOVEN[type(woven)](woven) if type(woven) in WOVEN and woven is plain else woven
        for part in woven if isinstance(woven, list) else [woven]:
            if isinstance(part, ast.expr | ast.stmt | ast.excepthandler) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return woven

    def _is_listed(self, node: ast.AST) -> bool:
        known = FIELDS.get(type(node))
        if known is None:
            if not isinstance(node, OPERATORS) or isinstance(node, ast.MatMult):
                self.refuse(node, advice.statement(node))
            return False
        if any(getattr(node, part, None) for part in node._fields if part not in known):
            self.refuse(node, f"this form of {type(node).__name__} is not allowed")
        for kinds, is_wrong, message in REFUSED:
            if isinstance(node, kinds) and is_wrong(node):
                self.refuse(node, message)
        bound = getattr(node, NAMES_BOUND.get(type(node), ""), None) or []
        for name in [bound] if isinstance(bound, str) else bound:
            self._check_name(node, name, bound=True)
        if type(node) in HINTS:
            self._check_hint(getattr(node, HINTS[type(node)]))
            setattr(node, HINTS[type(node)], None)
        return True

    def _plainer(self, node: ast.AST) -> ast.AST:
        """`with suppress(...)` as a try statement, `match` over plain values as an if statement, others as they are."""
        if isinstance(node, ast.With) and len(node.items) == 1 and not node.items[0].optional_vars:
            match node.items[0].context_expr:
                case ast.Call(ast.Name(name), kinds, []) if self._imported.get(name) == ".x_contextlib.suppress":
                    handler = ast.ExceptHandler(type=ast.Tuple(elts=kinds, ctx=ast.Load()), body=[ast.Pass()])
                    node = located(ast.Try(body=node.body, handlers=[handler], orelse=[], finalbody=[]), node)
        elif isinstance(node, ast.Match):
            subject = self._temporary()
            tests = [_matches(case.pattern, subject) for case in node.cases]
            rest: list[ast.stmt] = []
            for case, test in zip(reversed(node.cases), reversed(tests), strict=True):
                both = ast.BoolOp(op=ast.And(), values=[test, case.guard]) if case.guard else test
                rest = [ast.If(test=both, body=case.body, orelse=rest)]
            whole = [ast.Assign(targets=[store(subject)], value=node.subject), *rest]
            if None not in tests:
                node = located(ast.If(test=ast.Constant(value=True), body=whole, orelse=[]), node)
        return node

    def _ticks(self, *parts: ast.AST) -> ast.expr:
        """An expression that charges whole steps for so many nodes and is True."""
        return call(".tick", units(*parts))

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".t{self._temporaries}"

    def _check_name(self, node: ast.AST, name: str, *, bound: bool = False) -> None:
        """A name must be ASCII and not one of the interpreter's; what the host keeps cannot be bound."""
        if not name.isascii():
            self.refuse(node, f"use plain ASCII names, not {name!r}")
        if name.startswith("__"):
            self.refuse(node, advice.private(name))
        if bound and name in self._kept:
            self.refuse(node, f"{name} is given and cannot be redefined: choose another name")

    def _check_hint(self, node: ast.expr | None) -> None:
        """A type hint is never compiled; it is a plain one."""
        for part in ast.walk(node) if node is not None else ():
            if not isinstance(part, _HINT):
                self.refuse(node, "a type hint must be a plain type")
            elif isinstance(part, ast.Name | ast.Attribute):
                self._check_name(part, part.id if isinstance(part, ast.Name) else part.attr)


def units(*parts: ast.AST) -> ast.expr:
    return ast.Constant(value=UNITS_PER_STEP * (1 + size_of(parts) // NODES_PER_STEP))


def _matches(pattern: ast.pattern, subject: str) -> Any:
    """What a pattern of constants, `|` and `_` asks of the subject; None for any other."""
    match pattern:
        case ast.MatchAs(None, None):
            return ast.Constant(value=True)
        case ast.MatchSingleton(value):
            return ast.Compare(left=load(subject), ops=[ast.Is()], comparators=[ast.Constant(value=value)])
        case ast.MatchValue(ast.Constant() | ast.UnaryOp() as value):
            return ast.Compare(left=load(subject), ops=[ast.Eq()], comparators=[value])
        case ast.MatchOr(patterns):
            tests = [_matches(part, subject) for part in patterns]
            return None if None in tests else ast.BoolOp(op=ast.Or(), values=tests)
    return None


def located(made: Any, node: ast.AST) -> Any:
    for part in ast.walk(made):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made
