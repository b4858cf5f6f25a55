"""Judges and rewrites a tree in one walk: what isn't listed is refused, and every operator, subscript, method, loop and
text becomes a call that looks at sizes first.

    for o in things:                          for o in things:
        if o.x < 3: near[o.name] += 1   ->        .tick(72)
                                                  if .lt(o.x, 3):
                                                      .items[.t1] = .iadd(.items[.t1 := (near, o.name)], 1)

Names of the guard's own functions begin with a dot, which no source can spell: builtins and functions of the host that
are rebound are the source's own business, what modules hold lies under `.x_MODULE.NAME`, methods under `.m_NAME`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from itertools import count
from types import CodeType
from typing import Any

from sdg.sandbox.guard import advice
from sdg.sandbox.guard.errors import Refused
from sdg.sandbox.guard.helpers import BUILTINS, METHODS
from sdg.sandbox.guard.helpers import NAMES as MODULES
from sdg.sandbox.guard.meter import FILENAME, UNITS_PER_STEP
from sdg.sandbox.guard.operators import BINARY
from sdg.sandbox.guard.syntax import (
    FIELDS,
    HINTS,
    NAMES,
    OPERATORS,
    REFUSED,
    WOVEN,
    call,
    compare_values,
    compile_tree,
    is_starred,
    load,
    loads,
)
from sdg.sandbox.guard.table import PLAIN_TYPES

NODES_PER_STEP = UNITS_PER_STEP
CALL_NODES = 24
MAX_TOLD = 8
"""Refusals told at once."""
_WEIGHTS: dict[type, int] = {
    ast.Call: CALL_NODES, ast.List: 5, ast.Tuple: 3, ast.Dict: 12, ast.Set: 12, ast.Lambda: 32, ast.ListComp: 8,
    ast.FunctionDef: 32, ast.SetComp: 12, ast.DictComp: 12, ast.GeneratorExp: 18,
}  # fmt: skip
_HINT_MODULES = frozenset({"typing", "__future__", "collections.abc"})
_SUPPRESS = ".x_contextlib.suppress"
_MEMBERS = frozenset(f".x_{module}.{name}" for module, names in MODULES.items() for name in names)
_IMPORTS = _MEMBERS | {_SUPPRESS} | {f".x_{module}" for module in MODULES}
_TEXT_FUNCTIONS = frozenset({"lower", "upper", "strip", "title", "capitalize", "casefold"})
"""Methods of str that may be passed on as functions: `key=str.lower`."""
_CONSUMERS = frozenset({"any", "all", "sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "min", "max"})
"""Builtins that are done with an iterator when they return."""
_REFLECTION = frozenset({"type", "getattr", "hasattr"})


def size_of(*nodes: ast.AST) -> int:
    """How much work nodes stand for; a call may be one of the host's, a display takes memory."""
    return sum(_WEIGHTS.get(type(part), 1) for node in nodes for part in ast.walk(node))


class Weaver(ast.NodeTransformer):
    """Weaves one source and notes all that is wrong with it.

    `variables` are names that the source binds, `kept` those of the host that it must not bind. In the function `truth`
    `return a and b` means its truth.
    """

    def __init__(self, tree: ast.Module, *, fields: Collection[str], functions: Collection[str],
                 errors: Collection[str], kept: Collection[str], variables: Collection[str]) -> None:  # fmt: skip
        self._fields, self._functions, self.errors, self._kept = fields, functions, errors, kept
        self._variables, self._read = variables, frozenset(loads(tree))
        named = [self._names_of(node) or {} for node in ast.walk(tree)]
        self._imported = {name: member for names in named for name, member in names.items()}
        self._known = {*variables, *functions, *self._imported, *BUILTINS}
        self.truth = self._function = ""
        self._temporaries = map(".t{}".format, count())
        self._problems: dict[str, int] = {}

    def compiled(self, tree: ast.Module, *, name: str = FILENAME) -> CodeType:
        """The woven tree as code. Raises `Refused` with all that was noted, if anything was."""
        woven = ast.fix_missing_locations(self.visit(tree))
        found = sorted(self._problems.items(), key=lambda problem: problem[1] or 10**6)[:MAX_TOLD]
        if found:
            rest = [f"line {line}: {message}" if line else message for message, line in found[1:]]
            raise Refused("\n".join([found[0][0], *rest]), line=found[0][1])
        return compile_tree(woven, name=name)

    def refuse(self, node: ast.AST | None, message: str) -> None:
        self._problems.setdefault(message, getattr(node, "lineno", 0))

    # Judging --------------------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> Any:
        """Judge and weave one node; what replaces it stands on its line."""
        plain = self._plainer(node)
        if not self._is_listed(plain):
            return node
        woven = super().visit(plain)
        woven = WOVEN[type(woven)](woven) if type(woven) in WOVEN and woven is plain else woven
        return ast.copy_location(woven, node) if isinstance(woven, ast.expr | ast.stmt) else woven

    def _plainer(self, node: ast.AST) -> ast.AST:
        """An import that can be done without as `pass`, `with suppress(...)` as a try statement, others as they are."""
        match node:
            case ast.With([ast.withitem(ast.Call(ast.Name(name), kinds, []), None)], body):
                if self._imported.get(name) == _SUPPRESS:
                    handler = ast.ExceptHandler(type=ast.Tuple(elts=kinds, ctx=ast.Load()), body=[ast.Pass()])
                    tried = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
                    return ast.fix_missing_locations(ast.copy_location(tried, node))
        return node if self._names_of(node) is None else ast.copy_location(ast.Pass(), node)

    def _names_of(self, node: ast.AST) -> dict[str, str] | None:
        """What the names of an import stand for, None where it is no import that this guard can do without.

        Those can be of what there is, of what only type hints need, and of known modules that nothing uses.
        """
        if not isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "level", False):
            return None
        found: dict[str, str] = {}
        for alias in node.names:
            module, bound = getattr(node, "module", alias.name), alias.asname or alias.name
            member = f".x_{module}" if isinstance(node, ast.Import) else f".x_{module}.{alias.name}"
            if member in _IMPORTS and bound not in self._variables and bound not in self._functions:
                found[bound] = member
            elif module not in _HINT_MODULES and (bound in self._read or not advice.is_module(module)):
                return None
        return found

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
        named = getattr(node, NAMES.get(type(node), ""), None) or []
        is_bound = not isinstance(node, ast.keyword) and not isinstance(getattr(node, "ctx", None), ast.Load)
        for name in [named] if isinstance(named, str) else named:
            if not name.isascii():
                self.refuse(node, f"use plain ASCII names, not {name!r}")
            if name.startswith("__"):
                self.refuse(node, advice.private(name))
            if is_bound and name in self._kept:
                self.refuse(node, f"{name} is given and cannot be redefined: choose another name")
        if type(node) in HINTS:
            setattr(node, HINTS[type(node)], None)
        return True

    # Functions ------------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name in self._functions and node.name in loads(node):
            self.refuse(
                node, f"{node.name} is given, and in a function of that name it means itself: choose another name"
            )
        cost, outer, self._function, node.decorator_list = units(*node.body), self._function, node.name, []
        self.generic_visit(node)
        self._function = outer
        if any(isinstance(part, ast.Yield) for part in ast.walk(node)):
            node.decorator_list = [call(".counted", cost)]
        else:  # the same without a frame of ours
            left = ast.Expr(call(".leave"))
            node.body = [ast.Expr(call(".enter", cost)), ast.Try(node.body, [], [], [left])]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        counted = call(".counted", units(node.body))
        self.generic_visit(node)
        return ast.Call(func=counted, args=[node], keywords=[])

    def visit_Return(self, node: ast.Return) -> ast.Return:
        both = isinstance(node.value, ast.BoolOp) and self._function == self.truth
        self.generic_visit(node)
        if both and node.value is not None:
            node.value = ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=node.value))
        return node

    # Statements -----------------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        ticks = ast.Expr(call(".tick", units(*node.body, *([node.test] if isinstance(node, ast.While) else []))))
        self.generic_visit(node)
        if isinstance(node, ast.For) and is_starred(node.target):
            node.iter = call(".rows", node.iter)
        node.body.insert(0, ticks)
        return node

    visit_While = visit_For

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type or load("Exception")]
        if not all(isinstance(kind, ast.Name) and kind.id in self.errors for kind in kinds):
            self.refuse(node, f"except can name these only: {', '.join(self.errors)}")
        names: list[ast.expr] = [load(f".e_{getattr(kind, 'id', '')}") for kind in kinds]
        node.type, node.name = ast.Tuple(elts=names, ctx=ast.Load()), node.name or next(self._temporaries)
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(call(".caught", load(node.name))))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        raised, texts = (node.exc.func, node.exc.args) if isinstance(node.exc, ast.Call) else (node.exc, [])
        name = raised.id if isinstance(raised, ast.Name) else ""
        if name in self.errors:
            node.exc = call(".error", load(f".e_{name}"), *texts)
        elif raised is not None and (raised is not node.exc or name not in self._variables):
            self.refuse(node, f"raise one of these, as in raise ValueError('...'): {', '.join(self.errors)}")
        node.cause = self.visit(node.cause) and None if node.cause else None
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        """The new value is made by a function, and put where the old one was: an item's place is evaluated once."""
        held = target = self.visit(node.target)
        if isinstance(target, ast.Subscript):
            name = next(self._temporaries)
            place = ast.NamedExpr(target=ast.Name(id=name, ctx=ast.Store()), value=target.slice)
            held, target.slice = ast.Subscript(value=target.value, slice=place, ctx=ast.Load()), load(name)
        elif isinstance(target, ast.Name):
            held = load(target.id)
        new = call(f".i{BINARY.get(type(node.op).__name__, '')}", held, self.visit(node.value))
        return ast.Assign(targets=[target], value=new)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Yield):
            node.value.value = self.visit(node.value.value) if node.value.value else None
            return node
        return self.generic_visit(node)

    # Expressions ----------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id.startswith("."):
            return node
        name = self._imported.get(node.id, node.id)
        if name in self.errors and name not in self._variables:
            self.refuse(node, f"{name} can only be raised or named in except")
        elif name not in self._known and name not in _MEMBERS and not name.startswith("__"):
            self.refuse(node, advice.unknown(node.id, functions=self._functions))
        return ast.Name(id=name, ctx=node.ctx)

    def _given(self, node: ast.expr) -> str:
        """The name that an expression is, "" for any other and for one that the source binds."""
        return node.id if isinstance(node, ast.Name) and node.id not in self._variables else ""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A field as it is; a method, which nothing calls here, as a function of its own."""
        owner = self._given(node.value)
        member = f"{self._imported.get(owner)}.{node.attr}"
        if member in _MEMBERS or (owner == "str" and node.attr in _TEXT_FUNCTIONS):
            return load(member if member in _MEMBERS else f".m_{node.attr}")
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, f"{node.attr} cannot be set: what functions return is read-only; use a variable")
        elif node.attr not in self._fields and node.attr not in METHODS:
            unknown = next((name for name in loads(node.value) if name not in self._known), "")
            told = advice.attribute(node, fields=self._fields, functions=self._functions)
            is_owned = unknown and node.attr not in self._functions
            self.refuse(node, advice.unknown(unknown, functions=self._functions) if is_owned else told)
            return node
        elif owner in PLAIN_TYPES or node.attr not in {*self._fields, "get"}:
            self.refuse(node, f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)")
        self.generic_visit(node)
        return node if node.attr in self._fields else call(".getter", node.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, name, receiver = node.func, self._given(node.func), list[ast.expr]()
        if isinstance(function, ast.Attribute) and self._is_method(function):
            name, receiver = function.attr, [self.visit(function.value)]
            node.func = load(f".m_{name}")
        elif name in _REFLECTION and name not in self._functions:
            return self._reflected(node, name)
        else:
            node.func = self.visit(function)
            if isinstance(function, ast.Attribute) and function.attr in self._fields:
                self.refuse(node, f"{function.attr} is a value, not a method: write it without brackets")
        is_consumed = name in _CONSUMERS or (name == "join" and receiver)
        match node.args:
            case [ast.GeneratorExp() as items] if is_consumed and not node.keywords:
                node.args = [*receiver, self.visit_ListComp(items)]
            case _:
                node.args = [*receiver, *map(self.visit, node.args)]
        node.keywords = [self.visit(word) for word in node.keywords]
        return node

    def _is_method(self, node: ast.Attribute) -> bool:
        """Whether what is called there is a method of the value before it."""
        owner = self._given(node.value)
        return node.attr in METHODS and owner not in self._imported and owner not in PLAIN_TYPES

    def _reflected(self, node: ast.Call, name: str) -> ast.expr:
        """`type(value)`, and getattr and hasattr with a constant name."""
        wanted = {"type": (1,), "getattr": (2, 3), "hasattr": (2,)}[name]
        asked = str(getattr(node.args[1], "value", "")) if len(node.args) > 1 else "value"
        if node.keywords or len(node.args) not in wanted or not asked.isidentifier() or asked.startswith("_"):
            self.refuse(node, advice.unknown(name, functions=self._functions))
        elif name == "getattr" and len(node.args) == 2:
            return self.visit(ast.copy_location(ast.Attribute(value=node.args[0], attr=asked, ctx=ast.Load()), node))
        return call(f".{name}", *map(self.visit, node.args))

    def visit_ListComp(self, node: Any) -> Any:
        parts = [getattr(node, part) for part in ("elt", "key", "value") if hasattr(node, part)]
        ticks = call(".tick", units(*parts, *(test for generator in node.generators for test in generator.ifs)))
        self.generic_visit(node)
        for generator in node.generators:
            generator.ifs.insert(0, ticks)
            if is_starred(generator.target):
                generator.iter = call(".rows", generator.iter)
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed."""
        for part in (node.left, *node.comparators):
            if self._given(part) in self._functions:
                self.refuse(part, advice.uncalled_advice(self._given(part)))
        self.generic_visit(node)
        return self._chained(node.left, node.ops, node.comparators)

    def _chained(self, left: ast.expr, ops: list[ast.cmpop], sides: list[ast.expr]) -> ast.expr:
        """Comparisons of which each goes on with the right side of the one before, in a lambda that holds both."""
        if len(ops) == 1:
            return compare_values(ops[0], left, sides[0])
        names = [next(self._temporaries), next(self._temporaries)]
        both = [compare_values(ops[0], *map(load, names)), self._chained(load(names[1]), ops[1:], sides[1:])]
        arguments = ast.arguments(
            posonlyargs=[], args=list(map(ast.arg, names)), kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        function = ast.Lambda(args=arguments, body=ast.BoolOp(op=ast.And(), values=both))
        return ast.Call(func=function, args=[left, sides[0]], keywords=[])


def units(*nodes: ast.AST) -> ast.expr:
    """What so many nodes cost: whole steps."""
    return ast.Constant(value=UNITS_PER_STEP * (1 + size_of(*nodes) // NODES_PER_STEP))
