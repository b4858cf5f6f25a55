"""What is rewritten in the language itself before anything is judged: the whitelist then sees the result.

Imports of modules that the sandbox has become names that no source can spell, `with suppress(...)` a try statement,
`match` over plain values an if statement, getattr with a constant name an attribute. What can't be rewritten stays as
it is and is refused by the whitelist, in words for its author.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.modules import NAMES as MODULES

_SUPPRESS = ".suppress"
_HINTS = frozenset({"typing", "__future__", "collections.abc"})
YIELD = ".yield"
"""What is called in place of `yield`, where nothing is to be done when an iterator is thrown away."""


def loads(node: ast.AST) -> Iterator[str]:
    """Names that are read anywhere in a tree."""
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))


def load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=load(name), args=list(arguments), keywords=[])


def yields(node: ast.AST) -> bool:
    """Whether a function yields itself, not one that is defined in it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Yield) or (isinstance(part, ast.Name) and part.id == YIELD):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda) and yields(part):
            return True
    return False


class Desugar(ast.NodeTransformer):
    """Rewrites one tree, of which `shadowed` are the names that it binds itself or that the host gives."""

    def __init__(self, shadowed: frozenset[str]) -> None:
        self._shadowed = shadowed
        self._modules: dict[str, str] = {}
        self._members: dict[str, str] = {}
        self._subjects = self._tries = 0

    def visit_Module(self, node: ast.Module) -> ast.Module:
        used = set(loads(node))
        for part in ast.walk(node):
            for name, block in ast.iter_fields(part):
                if name in ("body", "orelse", "finalbody") and isinstance(block, list):
                    kept = [s for s in block if not self._is_resolved(s, used)]
                    setattr(part, name, kept or ([] if name != "body" or part is node else [ast.Pass()]))
        self.generic_visit(node)
        return node

    def _is_resolved(self, node: ast.AST, used: set[str]) -> bool:
        """Whether an import is done with: its names are known from here on, or nothing uses them."""
        if not isinstance(node, ast.Import | ast.ImportFrom):
            return False
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            name, bound = alias.name, alias.asname or alias.name
            if bound in self._shadowed or (isinstance(node, ast.ImportFrom) and node.level):
                return False
            if module and name in MODULES.get(module, ()):
                self._members[bound] = f".x_{module}.{name}"
            elif module == "contextlib" and name == "suppress":
                self._members[bound] = _SUPPRESS
            elif not module and name in MODULES:
                self._modules[bound] = name
            elif module in _HINTS or name in _HINTS:  # what is left of them stands in type hints
                continue
            elif bound in used or (module or name).partition(".")[0] not in advice.MODULES:
                return False
        return True

    def visit_Name(self, node: ast.Name) -> ast.expr:
        member = self._members.get(node.id)
        return ast.copy_location(load(member), node) if member and isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        owner = node.value
        if isinstance(owner, ast.Name) and node.attr in MODULES.get(self._modules.get(owner.id, ""), ()):
            return ast.copy_location(load(f".x_{self._modules[owner.id]}.{node.attr}"), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self._shadowed else ""
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return node
        if name == "type" and len(node.args) == 1:
            node.func = load(".type")
        elif name in ("getattr", "hasattr") and len(node.args) in (2, 3) and isinstance(node.args[1], ast.Constant):
            field = str(node.args[1].value)
            if field.isidentifier() and not field.startswith("_"):
                if name == "getattr" and len(node.args) == 2:
                    return ast.copy_location(ast.Attribute(value=node.args[0], attr=field, ctx=ast.Load()), node)
                node.func = load(f".{name}")
        return ast.fix_missing_locations(ast.copy_location(node, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outer, self._tries = self._tries, 0
        self.generic_visit(node)
        self._tries = outer
        return node

    def visit_Try(self, node: ast.stmt) -> ast.stmt:
        self._tries += 1
        self.generic_visit(node)
        self._tries -= 1
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Yield) and not self._tries:
            node.value = _located(call(YIELD, node.value.value or ast.Constant(value=None)), node)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        self.visit_Try(node)
        entered = node.items[0].context_expr
        if len(node.items) > 1 or node.items[0].optional_vars or not isinstance(entered, ast.Call) or entered.keywords:
            return node
        if not isinstance(entered.func, ast.Name) or entered.func.id != _SUPPRESS:
            return node
        kinds = ast.Tuple(elts=entered.args, ctx=ast.Load())
        handler = ast.ExceptHandler(type=kinds, name=None, body=[ast.Pass()])
        return _located(ast.Try(body=node.body, handlers=[handler], orelse=[], finalbody=[]), node)

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        self._subjects += 1
        subject = f".match{self._subjects}"
        tests = [_matches(case.pattern, subject) for case in node.cases]
        if any(test is None for test in tests):
            return node
        rest: list[ast.stmt] = []
        for case, test in zip(reversed(node.cases), reversed(tests), strict=True):
            both = ast.BoolOp(op=ast.And(), values=[test, case.guard]) if case.guard and test else test
            rest = [_located(ast.If(test=both, body=case.body, orelse=rest), node)] if both else rest
        store = ast.Assign(targets=[ast.Name(id=subject, ctx=ast.Store())], value=node.subject)
        return [_located(store, node), *rest]


def _matches(pattern: ast.pattern, subject: str) -> ast.expr | None:
    """What a pattern of constants, `|` and `_` asks of the subject; None for any other."""
    if isinstance(pattern, ast.MatchAs):
        return None if pattern.pattern or pattern.name else ast.Constant(value=True)
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(left=load(subject), ops=[ast.Is()], comparators=[ast.Constant(value=pattern.value)])
    if isinstance(pattern, ast.MatchValue) and isinstance(pattern.value, ast.Constant | ast.UnaryOp):
        return ast.Compare(left=load(subject), ops=[ast.Eq()], comparators=[pattern.value])
    if isinstance(pattern, ast.MatchOr):
        tests = [test for part in pattern.patterns if (test := _matches(part, subject)) is not None]
        return ast.BoolOp(op=ast.Or(), values=tests) if len(tests) == len(pattern.patterns) else None
    return None


def _located(made: Any, node: ast.AST) -> Any:
    for part in ast.walk(made):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made
