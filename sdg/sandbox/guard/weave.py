"""Judges and rewrites a tree in one walk: what isn't listed is refused, and every operator, subscript, method, loop and
text becomes a call that checks sizes first.

    for o in things:                          for o in things:
        if o.x < 3: near[o.name] += 1   ->        .tick(72)
                                                  if .lt(o.x, 3):
                                                      .items[.t1] = .iadd(.items[.t1 := (near, o.name)], 1)

Names of the guard's own functions begin with a dot, which no source can spell, so that a source that rebinds builtins
or functions of the host affects only itself. Members of modules are named `.x_MODULE.NAME`, methods `.m_NAME`.
"""

import ast
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from types import CodeType
from typing import Any

from sdg.sandbox.guard import advice
from sdg.sandbox.guard.errors import Refused
from sdg.sandbox.guard.library import BUILTINS, METHODS, MODULES
from sdg.sandbox.guard.meter import UNITS_PER_STEP
from sdg.sandbox.guard.syntax import (
    FIELDS,
    HINTS,
    OPERATORS,
    REFUSED,
    WOVEN,
    call,
    comparison_name,
    compile_tree,
    load,
    loads,
    unpack,
)
from sdg.sandbox.guard.table import BINARY, PLAIN_TYPES

MAX_REPORTED, MAX_NOTED = 8, 99
"""Refusals in one message, and those after which the rest isn't judged."""
_WEIGHTS: dict[type, int] = {
    ast.Call: 24, ast.List: 5, ast.Tuple: 3, ast.Dict: 12, ast.Set: 12, ast.Lambda: 32, ast.ListComp: 8,
    ast.FunctionDef: 32, ast.SetComp: 12, ast.DictComp: 12, ast.GeneratorExp: 18,
}  # fmt: skip
"""Units of work of a node, 1 for other nodes: a call may call the host, a display takes memory."""
_MEMBERS = frozenset(f".x_{module}.{name}" for module, names in MODULES.items() for name in names)
_IMPORTS = _MEMBERS | {f".x_{module}" for module in MODULES}
_TEXT_FUNCTIONS = frozenset({"lower", "upper", "strip", "title", "capitalize", "casefold"})
"""Methods of str that may be passed on as functions: `key=str.lower`."""
MAX_RAW = 4
"""Generators that consumers iterate inside one another without counting as calls, because each takes five frames."""
_CONSUMERS = frozenset({"any", "all", "sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "min", "max"})
"""Builtins that keep no iterator after they return."""


_NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


class Weaver(ast.NodeTransformer):
    """Weaves one source and notes all that is wrong with it.

    `bound` maps names that the source binds to their nodes, `fixed` are host names that it must not bind.
    """

    def __init__(self, tree: ast.Module, *, fields: Collection[str], functions: Collection[str],
                 errors: Collection[str], bound: Mapping[str, ast.AST], fixed: Collection[str]) -> None:  # fmt: skip
        self._fields, self._functions = fields, functions
        self._errors, self._bindings = errors, bound
        self._loads, self._problems = frozenset(loads(tree)), dict[str, int]()
        self._temporaries, self._raw = map(".t{}".format, count()), 0
        self._names = {*bound, *functions, *BUILTINS}
        self._imports = self._imports_of(tree.body)
        for name in sorted(bound.keys() & fixed):
            self.refuse(bound[name], f"{name} is given and cannot be redefined: choose another name")

    def compile(self, tree: ast.Module) -> CodeType:
        """The woven tree as code. Raises `Refused` with all that was noted, if anything was."""
        woven = ast.fix_missing_locations(self.visit(tree))
        problems = sorted(self._problems.items(), key=lambda problem: problem[1] or 10**6)[:MAX_REPORTED]
        if problems:
            rest = [f"line {line}: {message}" if line else message for message, line in problems[1:]]
            raise Refused("\n".join([problems[0][0], *rest]), line=problems[0][1])
        return compile_tree(woven)

    def refuse(self, node: ast.AST | None, message: str) -> None:
        self._problems.setdefault(message, getattr(node, "lineno", 0))

    # Judging --------------------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> Any:
        """Judge and weave one node; its replacement keeps its line number."""
        if len(self._problems) > MAX_NOTED:
            return node
        field_names = FIELDS.get(type(node))
        if isinstance(node, ast.Import | ast.ImportFrom) and self._names_of(node) is not None:
            return ast.copy_location(ast.Pass(), node)
        if field_names is None:
            if not isinstance(node, OPERATORS) or isinstance(node, ast.MatMult):
                self.refuse(node, advice.statement(node))
            return node
        if any(getattr(node, part, None) for part in node._fields if part not in field_names):
            self.refuse(node, f"this form of {type(node).__name__} is not allowed")
        for kinds, is_wrong, message in REFUSED:
            if isinstance(node, kinds) and is_wrong(node):
                self.refuse(node, message)
        if type(node) in HINTS:
            setattr(node, HINTS[type(node)], None)
        woven = super().visit(node)
        woven = WOVEN[type(woven)](woven) if type(woven) in WOVEN and woven is node else woven
        return ast.copy_location(woven, node) if isinstance(woven, ast.expr | ast.stmt) else woven

    def _names_of(self, node: ast.AST) -> dict[str, str] | None:
        """The members that an import imports, by name; None where it is no import or isn't allowed.

        Allowed are imports of available members, of what only type hints need, and of known modules that nothing uses.
        """
        if not isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "level", False):
            return None
        members: dict[str, str] = {}
        for alias in node.names:
            module, name = getattr(node, "module", alias.name), alias.asname or alias.name
            member = f".x_{module}" if isinstance(node, ast.Import) else f".x_{module}.{alias.name}"
            if member in _IMPORTS:
                members[name] = member
                if name in self._bindings or name in self._functions:
                    self.refuse(self._bindings.get(name), f"{name} is imported, too: choose another name for this one")
            elif module not in advice.HINT_MODULES and (
                name in self._loads or str(module).partition(".")[0] not in advice.MODULES
            ):
                return None
        return members

    def _imports_of(self, nodes: Iterable[ast.AST]) -> dict[str, str]:
        """The members that these nodes import, by the names that stand for them."""
        members: dict[str, str] = {}
        for node in nodes:
            imported = self._names_of(node) or {}
            if any(members.get(name, member) != member for name, member in imported.items()):
                self.refuse(node, f"{', '.join(imported)}: a name is imported as two things, choose another")
            members |= imported
        return members

    # Statements -----------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in self._functions and node.name in loads(node):
            self.refuse(
                node, f"{node.name} is given, and in a function of that name it means itself: choose another name"
            )
        node.decorator_list = [call(".counted", units(*node.body))]
        inner = {part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)} - {node}
        outside = self._imports
        self._imports = outside | self._imports_of({*ast.walk(node)}.difference(*map(ast.walk, inner)))
        self.generic_visit(node)
        self._imports = outside
        return node

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        ticks = ast.Expr(call(".tick", units(*node.body, *([node.test] if isinstance(node, ast.While) else []))))
        self.generic_visit(node)
        node.body[:0] = [ticks, *(self._bind(node) if isinstance(node, ast.For) else ())]
        return node

    visit_While = visit_For

    def _bind(self, loop: ast.For | ast.comprehension) -> list[ast.Assign]:
        """Let a loop go over sets in order, and bind a name where it bound a pattern, which is unpacked then."""
        loop.iter = call(".ordered", loop.iter)
        target = loop.target
        if not isinstance(target, ast.Tuple | ast.List):
            return []
        name = next(self._temporaries)
        loop.target = ast.Name(id=name, ctx=ast.Store())
        return unpack(target, load(name), self._temporaries)

    def visit_Assign(self, node: ast.Assign) -> list[ast.Assign]:
        """An assignment for each target and each pattern in it, because a pattern may get another value."""
        self.generic_visit(node)
        value = node.value
        assignments: list[ast.Assign] = []
        if len(node.targets) > 1:
            name = next(self._temporaries)
            assignments.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value))
            value = load(name)
        assignments += [part for target in node.targets for part in unpack(target, value, self._temporaries)]
        return [ast.copy_location(assignment, node) for assignment in assignments]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type or load("Exception")]
        names = [getattr(kind, "id", "") for kind in kinds]
        if set(names).difference(self._errors):
            self.refuse(node, f"except can name these only: {', '.join(self._errors)}")
        node.type = ast.Tuple(elts=[load(f".e_{name}") for name in names], ctx=ast.Load())
        node.name = node.name or next(self._temporaries)
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(call(".caught", load(node.name))))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        kind, texts = (node.exc.func, node.exc.args) if isinstance(node.exc, ast.Call) else (node.exc, [])
        name = kind.id if isinstance(kind, ast.Name) else ""
        if name in self._errors:
            node.exc = call(".error", load(f".e_{name}"), *texts)
        elif kind is not None and (kind is not node.exc or name not in self._bindings):
            self.refuse(node, f"raise one of these, as in raise ValueError('...'): {', '.join(self._errors)}")
        self.generic_visit(node)  # the cause is judged like all code, then left out
        node.cause = None
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        """A function makes the new value, which replaces the old one; an item's subscript is evaluated only once."""
        old = target = self.visit(node.target)
        if isinstance(target, ast.Subscript):
            name = next(self._temporaries)
            place = ast.NamedExpr(target=ast.Name(id=name, ctx=ast.Store()), value=target.slice)
            old = ast.Subscript(value=target.value, slice=place, ctx=ast.Load())
            target.slice = load(name)
        elif isinstance(target, ast.Name):
            old = load(target.id)
        new = call(f".i{BINARY.get(type(node.op).__name__, '')}", old, self.visit(node.value))
        return ast.Assign(targets=[target], value=new)

    # Expressions ----------------------------------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`int | float`, where a plain type is named, is the tuple of all types, which isinstance takes as well."""
        sides = node.left, node.right
        if not isinstance(node.op, ast.BitOr) or PLAIN_TYPES.keys().isdisjoint(map(self._free_name, sides)):
            return self.generic_visit(node)
        return ast.Tuple(
            elts=[kind for side in map(self.visit, sides) for kind in getattr(side, "elts", [side])], ctx=ast.Load()
        )

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        wrapper = call(".counted", units(node.body))
        self.generic_visit(node)
        return ast.Call(func=wrapper, args=[node], keywords=[])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = self._imports.get(node.id, node.id)
        if name in self._errors and name not in self._bindings:
            self.refuse(node, f"{name} can only be raised or named in except")
        elif name not in self._names and name not in _MEMBERS and not node.id.startswith("."):
            self.refuse(node, advice.unknown(node.id, functions=self._functions))
        return ast.Name(id=name, ctx=node.ctx)

    def _free_name(self, node: ast.expr) -> str:
        """An expression's name, "" where it isn't a name or the source binds it."""
        return node.id if isinstance(node, ast.Name) and node.id not in self._bindings else ""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Keep a field as it is; turn a method that isn't called here into a function."""
        owner = self._free_name(node.value)
        member = f"{self._imports.get(owner)}.{node.attr}"
        if member in _MEMBERS or (owner == "str" and node.attr in _TEXT_FUNCTIONS):
            return load(member if member in _MEMBERS else f".m_{node.attr}")
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, f"{node.attr} cannot be set: what functions return is read-only; use a variable")
        elif node.attr not in {*self._fields, *METHODS}:
            # An unknown owner is refused instead.
            if node.attr in self._functions or {*self._names, *self._imports}.issuperset(loads(node.value)):
                self.refuse(node, advice.attribute(node, fields=self._fields, functions=self._functions))
        elif owner in PLAIN_TYPES or node.attr not in {*self._fields, "get"}:
            self.refuse(node, f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)")
        self.generic_visit(node)
        return node if node.attr in self._fields else call(".getter", node.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        receiver: list[ast.expr] = []
        if (
            isinstance(function, ast.Attribute)
            and function.attr in METHODS
            and self._free_name(function.value) not in {*self._imports, *PLAIN_TYPES}
        ):
            receiver = [self.visit(function.value)]
            node.func = load(f".m_{function.attr}")
        else:
            node.func = self.visit(function)
            if isinstance(function, ast.Attribute) and function.attr in self._fields:
                self.refuse(node, f"{function.attr} is a value, not a method: write it without brackets")
        is_raw = (
            self._free_name(function) in _CONSUMERS
            and [*map(type, node.args), *node.keywords] == [ast.GeneratorExp]
            and self._raw < MAX_RAW
        )
        self._raw += is_raw
        node.args = [*receiver, *map(self.visit_ListComp if is_raw else self.visit, node.args)]
        self._raw -= is_raw
        node.keywords = list(map(self.visit, node.keywords))
        return node

    def visit_ListComp(self, node: Any) -> Any:
        parts = [getattr(node, part) for part in ("elt", "key", "value") if hasattr(node, part)]
        tests = [test for generator in node.generators for test in generator.ifs]
        inner = [[generator.iter] for generator in node.generators[1:]]  # evaluated again for each outer item
        ticks = [call(".tick", units(*parts, *tests, *iters)) for iters in (*inner, [])]
        self.generic_visit(node)
        generators, node.generators = node.generators, []
        for generator, tick in zip(generators, ticks, strict=True):
            tests = [tick, *generator.ifs]
            generator.ifs = []
            unpacked = [
                ast.comprehension(
                    target=assignment.targets[0],
                    iter=ast.List(elts=[assignment.value], ctx=ast.Load()),
                    ifs=[],
                    is_async=0,
                )
                for assignment in self._bind(generator)
            ]
            node.generators += [generator, *unpacked]
            node.generators[-1].ifs = tests
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed: a lambda holds each part but the first."""
        for name in filter(self._functions.__contains__, map(self._free_name, (node.left, *node.comparators))):
            self.refuse(node, f"{name} is a function: call it, as in {name}()")
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        tests = [load(comparison_name(op, *sides[place : place + 2])) for place, op in enumerate(node.ops)]
        if len(tests) == 1:
            return ast.Call(func=tests[0], args=sides, keywords=[])
        parts = [ast.Lambda(args=_NO_ARGUMENTS, body=side) for side in node.comparators]
        return call(".chain", node.left, *(part for pair in zip(tests, parts, strict=True) for part in pair))


def units(*nodes: ast.AST) -> ast.expr:
    """The cost of these nodes, in whole steps."""
    return ast.Constant(value=UNITS_PER_STEP * steps(*nodes))


def steps(*nodes: ast.AST) -> int:
    """Steps that one turn of a loop with these nodes takes."""
    return 1 + sum(_WEIGHTS.get(type(part), 1) for node in nodes for part in ast.walk(node)) // UNITS_PER_STEP
