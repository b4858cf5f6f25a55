"""How the weaver counts: what a piece of code costs, where steps are charged, and which functions could recur."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, cast

from sdg.skills.sandbox.guard.kinds import Kinds
from sdg.skills.sandbox.guard.meter import COUNTER

NODES_PER_STEP = 24
CALL_NODES = 24
_PASSES = 10
_CALLBACKS = frozenset({"map", "filter", "sorted", "min", "max"})


class Counting(ast.NodeTransformer):
    """What all parts of the weaver share. `truths` names the functions whose `return a and b` means its truth."""

    def __init__(
        self, kinds: Kinds, *, builtins: frozenset[str], errors: Mapping[str, type], truths: frozenset[str]
    ) -> None:
        self._kinds = kinds
        self._builtins = builtins
        self._errors = errors
        self._truths = truths
        self._calls_only = 0
        self._temporaries = 0
        self._returns: list[bool] = []
        self._leaves: frozenset[str] = frozenset()

    def visit(self, node: ast.AST) -> Any:
        """Weave one node; what replaces it stands on its line."""
        woven = super().visit(node)
        for part in woven if isinstance(woven, list) else ():
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        if isinstance(woven, ast.expr | ast.stmt) and not hasattr(woven, "lineno"):
            ast.copy_location(woven, node)
        return woven

    def _tick(self, nodes: int) -> ast.expr:
        """An expression that charges steps and is True."""
        steps = 1 + nodes // NODES_PER_STEP
        if self._calls_only:
            return call(".tick", constant(steps))
        less = ast.BinOp(left=load(COUNTER), op=ast.Sub(), right=constant(steps))
        left = ast.NamedExpr(target=ast.Name(id=COUNTER, ctx=ast.Store()), value=less)
        enough = ast.Compare(left=left, ops=[ast.GtE()], comparators=[constant(0)])
        return ast.BoolOp(op=ast.Or(), values=[enough, call(".spent")])

    def _tick_statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        steps = 1 + size_of(body) // NODES_PER_STEP
        charge = ast.AugAssign(target=ast.Name(id=COUNTER, ctx=ast.Store()), op=ast.Sub(), value=constant(steps))
        short = ast.Compare(left=load(COUNTER), ops=[ast.Lt()], comparators=[constant(0)])
        return [charge, ast.If(test=short, body=[ast.Expr(call(".spent"))], orelse=[])]

    @contextmanager
    def _by_calls(self) -> Any:
        """Where an assignment expression cannot charge: in lambdas and in what a comprehension runs over."""
        self._calls_only += 1
        yield
        self._calls_only -= 1

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".t{self._temporaries}"

    def _may_recur(self, node: ast.FunctionDef | ast.Lambda) -> bool:
        """Whether a function calls anything that could call it back: variables, callbacks, other functions."""
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        calls = (part for top in body for part in ast.walk(top) if isinstance(part, ast.Call))
        return any(self._may_call_back(call) for call in calls)

    def _may_call_back(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Attribute):
            return function.attr == "sort"
        if not isinstance(function, ast.Name):
            return True
        if function.id in self._kinds.variables:
            return function.id not in self._leaves
        return function.id in _CALLBACKS and passes_functions(call, self._kinds.variables)

    def _find_leaves(self, tree: ast.Module) -> frozenset[str]:
        """Functions that call nothing which could call them: themselves leaves, or calling only leaves."""
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names = [function.name for function in functions]
        rebound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        rebound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for _ in range(_PASSES):
            found = {f.name for f in functions if names.count(f.name) == 1 and not self._may_recur(f)} - rebound
            if found == self._leaves:
                break
            self._leaves = frozenset(found)
        return self._leaves


def passes_functions(node: ast.Call, variables: frozenset[str]) -> bool:
    """Whether a call's arguments could hold a function: any variable that is called or passed on may be one."""
    words = [word.value for word in node.keywords if word.arg == "key"]
    functions = [*node.args[:1], *words] if cast(ast.Name, node.func).id in ("map", "filter") else words
    return any(
        (isinstance(f, ast.Name) and f.id in variables) or not isinstance(f, ast.Name | ast.Lambda | ast.Attribute)
        for f in functions
    )


def starred(node: ast.expr) -> bool:
    if isinstance(node, ast.Dict):
        return None in node.keys
    parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return any(isinstance(part, ast.Starred) for part in parts)


def size_of(nodes: Any) -> int:
    """How much work nodes stand for; a call may be one of the host's, which costs more than it shows."""
    return sum(CALL_NODES if isinstance(part, ast.Call) else 1 for node in nodes for part in ast.walk(node))


def load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def constant(value: object) -> ast.expr:
    return ast.Constant(value=value)  # type: ignore[arg-type]


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=load(name), args=list(arguments), keywords=[])
