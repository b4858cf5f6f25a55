"""Rewrites an inspected tree: steps are counted in loops, calls and comprehensions, and every operator, subscript,
method and text becomes a call that looks at sizes first.

    for o in things:                          for o in things:
        if o.x < 3: near[o.name] += 1   ->        .tick(72)
                                                  if .lt(o.x, 3):
                                                      .t1 = near; .t2 = o.name
                                                      .put(.iadd(.item(.t1, .t2), 1), .t1, .t2)

Names of the guard's own functions begin with a dot, which no source can spell: builtins that are rebound are the
source's own business, host functions lie under `.h_NAME`, what modules hold under `.x_MODULE.NAME`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any, cast

from sdg.skills.sandbox.guard.desugar import YIELD, call, load, yields
from sdg.skills.sandbox.guard.meter import UNITS_PER_STEP
from sdg.skills.sandbox.guard.methods import METHODS
from sdg.skills.sandbox.guard.operators import BINARY, COMPARE
from sdg.skills.sandbox.guard.outline import is_constant, is_literal

NODES_PER_STEP = UNITS_PER_STEP
CALL_NODES = 24
_WEIGHTS: dict[type, int] = {
    ast.Call: CALL_NODES, ast.List: 5, ast.Tuple: 3, ast.Dict: 12, ast.Set: 12, ast.Lambda: 10, ast.ListComp: 8,
    ast.SetComp: 12, ast.DictComp: 12, ast.GeneratorExp: 18,
}  # fmt: skip
_CONSUMERS = frozenset({"any", "all", "sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "min", "max"})
"""Builtins that are done with an iterator when they return."""


def size_of(nodes: Any) -> int:
    """How much work nodes stand for; a call may be one of the host's, a display takes memory."""
    return sum(_WEIGHTS.get(type(part), 1) for node in nodes for part in ast.walk(node))


class Weaver(ast.NodeTransformer):
    """Weaves one source. `truths` are functions whose `return a and b` means its truth."""

    def __init__(self, *, functions: Collection[str], errors: Collection[str], variables: Collection[str],
                 fields: Collection[str], truths: Collection[str]) -> None:  # fmt: skip
        self._functions, self._errors, self._variables, self._fields = functions, errors, variables, fields
        self._truths = truths
        self._returns: list[bool] = []
        self._temporaries = 0

    def visit(self, node: ast.AST) -> Any:
        """Weave one node; what replaces it stands on its line."""
        woven = super().visit(node)
        for part in woven if isinstance(woven, list) else [woven]:
            if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return woven

    def _ticks(self, *parts: ast.AST) -> ast.expr:
        """An expression that charges steps and is True."""
        return call(".tick", _units(*parts))

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".t{self._temporaries}"

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            woven = self.visit(statement)
            out.extend(woven if isinstance(woven, list) else [woven])
        return out

    # Functions ------------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        enter, leave = call(".enter", _units(*node.body)), call(".leave")
        self._returns.append(node.name in self._truths)
        fresh = self._parameters(node.args)
        body = [*fresh, *self._statements(node.body)]
        self._returns.pop()
        scope = [part for part in body if isinstance(part, ast.Nonlocal)]
        body = [part for part in body if not isinstance(part, ast.Nonlocal)]
        node.returns = None
        if yields(node):  # its depth is counted by the iterator that it is wrapped in
            node.decorator_list = [load(".generator")]
            node.body = [*scope, ast.Expr(self._ticks(*body)), *body]
        else:
            tried = ast.Try(body=body, handlers=[], orelse=[], finalbody=[ast.Expr(leave)])
            node.body = [*scope, ast.Expr(enter), tried]
        return node

    def _parameters(self, node: ast.arguments) -> list[ast.stmt]:
        """Defaults that could be changed are made anew in each call, by the statements returned; others as written."""
        positional = [*node.posonlyargs, *node.args]
        pairs = list(zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True))
        pairs += [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d is not None]
        fresh: dict[ast.expr, ast.arg] = {
            default: parameter for parameter, default in pairs
            if is_literal(default) and not is_constant(default)
        }  # fmt: skip
        made: list[ast.stmt] = []
        for default, parameter in fresh.items():
            missing = ast.Compare(left=load(parameter.arg), ops=[ast.Is()], comparators=[load(".missing")])
            store = ast.Assign(targets=[ast.Name(id=parameter.arg, ctx=ast.Store())], value=self.visit(default))
            made.append(ast.If(test=missing, body=[store], orelse=[]))
        woven = lambda d: d and (load(".missing") if d in fresh else self.visit(d))  # noqa: E731
        node.defaults, node.kw_defaults = [woven(d) for d in node.defaults], [woven(d) for d in node.kw_defaults]
        for argument in [*positional, *node.kwonlyargs, node.vararg, node.kwarg]:
            if argument is not None:
                argument.annotation = None
        return made

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        node.args.kw_defaults = [default and self.visit(default) for default in node.args.kw_defaults]
        node.body = ast.BoolOp(op=ast.And(), values=[self._ticks(node.body), self.visit(node.body)])
        return call(".deeper", node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            both = isinstance(node.value, ast.BoolOp) and self._returns[-1]
            node.value = self.visit(node.value)
            if both:
                node.value = ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=node.value))
        return node

    # Statements -----------------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.For:
        ticks = self._ticks(*node.body)
        node.iter = self._rows(node.target, self.visit(node.iter))
        node.body = [ast.Expr(ticks), *self._statements(node.body)]
        node.orelse = self._statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        ticks = self._ticks(*node.body, ast.Expr(node.test))
        node.test = self.visit(node.test)
        node.body = [ast.Expr(ticks), *self._statements(node.body)]
        node.orelse = self._statements(node.orelse)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        node.name = node.name or self._temporary()
        node.body = [ast.Expr(call(".caught", load(node.name))), *self._statements(node.body)]
        if isinstance(node.type, ast.Tuple):
            node.type.elts = [load(f".e_{cast(ast.Name, kind).id}") for kind in node.type.elts]
        else:
            node.type = load(f".e_{node.type.id if isinstance(node.type, ast.Name) else 'Exception'}")
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        raised, node.cause = node.exc, None
        name = raised.func if isinstance(raised, ast.Call) else raised
        if isinstance(name, ast.Name) and name.id in self._errors:
            values = raised.args if isinstance(raised, ast.Call) else []
            node.exc = call(".error", load(f".e_{name.id}"), *map(self.visit, values))
        elif raised is not None:
            node.exc = self.visit(raised)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.visit(node.test)
        node.msg = call(".text", self.visit(node.msg)) if node.msg is not None else None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if node.value is None:
            return ast.Pass()
        return self.visit_Assign(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        node.value = self.visit(node.value)
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            node.value = call(".star", node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return self._put(node.value, node.targets[0])
        stores: list[ast.stmt] = []
        node.targets = [self._stored(target, stores) for target in node.targets]
        return [node, *stores]

    def _stored(self, target: ast.expr, stores: list[ast.stmt]) -> ast.expr:
        """A target with temporaries for its subscripts, which `stores` then puts where they belong."""
        if isinstance(target, ast.Subscript):
            name = self._temporary()
            stores.append(self._put(load(name), target))
            return ast.Name(id=name, ctx=ast.Store())
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self._stored(part, stores) for part in target.elts]
        return target

    def _put(self, value: ast.expr, target: ast.Subscript) -> ast.stmt:
        return ast.copy_location(
            ast.Expr(call(".put", value, self.visit(target.value), self.visit(target.slice))), target
        )

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        function, value, target = f".i{BINARY[type(node.op).__name__]}", self.visit(node.value), node.target
        if isinstance(target, ast.Name):
            return ast.Assign(targets=[target], value=call(function, load(target.id), value))
        names, parts = [self._temporary(), self._temporary()], [cast(ast.Subscript, target).value]
        parts.append(cast(ast.Subscript, target).slice)
        before: list[ast.stmt] = [
            ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=self.visit(part))
            for name, part in zip(names, parts, strict=True)
        ]
        new = call(function, call(".item", *map(load, names)), value)
        return [*before, ast.Expr(call(".put", new, *map(load, names)))]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [
            ast.Expr(call(".delete", self.visit(target.value), self.visit(target.slice)))
            if isinstance(target, ast.Subscript) else ast.Delete(targets=[target]) for target in node.targets
        ]  # fmt: skip

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if isinstance(node.value, ast.Constant):
            return ast.Pass()
        node.value = self.visit(node.value)
        return node

    # Expressions ----------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return load(f".h_{node.id}") if node.id in self._functions and isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A field as it is; a method, which nothing calls here, as a function of its own."""
        if isinstance(node.value, ast.Name) and node.value.id == "str" and "str" not in self._variables:
            return load(f".m_{node.attr}")
        node.value = self.visit(node.value)
        if node.attr in self._fields or node.attr not in METHODS:
            return node
        return call(".getter", node.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id == YIELD:
            return ast.Yield(value=self.visit(node.args[0]))
        consumes = isinstance(function, ast.Name) and function.id not in self._variables and function.id in _CONSUMERS
        if isinstance(function, ast.Attribute) and function.attr in METHODS:
            of_type = isinstance(function.value, ast.Name) and function.value.id == "str"
            of_type = of_type and "str" not in self._variables
            consumes = function.attr == "join"
            receiver = [] if of_type else [self.visit(function.value)]
            node.func = load(f".m_{function.attr}")
        else:
            receiver = []
            node.func = self.visit(function)
        first = node.args[0] if node.args else None
        if consumes and isinstance(first, ast.GeneratorExp) and len(node.args) == 1 and not node.keywords:
            node.args = [self._comprehension(first, "elt")]
        else:
            node.args = [self.visit(argument) for argument in node.args]
        node.args = [*receiver, *node.args]
        for word in node.keywords:
            word.value = self.visit(word.value) if word.arg else call(".merged", self.visit(word.value))
        return node

    def _rows(self, target: ast.expr, items: ast.expr) -> ast.expr:
        """What `for first, *rest in` takes apart: rows of bounded length, since C code would take all there is."""
        starred = any(isinstance(part, ast.Starred) for part in ast.walk(target))
        return call(".rows", items) if starred else items

    def _comprehension(self, node: Any, *parts: str) -> Any:
        counted = [list(generator.ifs) for generator in node.generators]
        counted[-1] += [getattr(node, part) for part in parts]
        for generator, what in zip(node.generators, counted, strict=True):
            ticks = self._ticks(*what)
            generator.iter = self._rows(generator.target, self.visit(generator.iter))
            generator.ifs = [ticks, *map(self.visit, generator.ifs)]
        for part in parts:
            setattr(node, part, self.visit(getattr(node, part)))
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return cast(ast.expr, self._comprehension(node, "elt"))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return call(".lazy", self._comprehension(node, "elt"))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return call(".set", self._comprehension(ast.ListComp(elt=node.elt, generators=node.generators), "elt"))

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        pair = ast.Tuple(elts=[node.key, node.value], ctx=ast.Load())
        return call(".dict", self._comprehension(ast.ListComp(elt=pair, generators=node.generators), "elt"))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return call(f".{BINARY[type(node.op).__name__]}", self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not) or isinstance(operand, ast.Constant):
            node.operand = operand
            return node
        return call(".unary", ast.Constant(value=type(node.op).__name__), operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        return self._compared(node.ops, sides)

    def _compared(self, ops: list[ast.cmpop], sides: list[ast.expr]) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed: what is more than a name is handed to
        `(lambda left, middle: left < middle and middle < c)(a, b)`."""
        if len(ops) == 1:
            op = _not_identity(ops[0], *sides)
            if isinstance(op, ast.Is | ast.IsNot):
                return ast.Compare(left=sides[0], ops=[op], comparators=sides[1:])
            return call(f".{COMPARE[type(op).__name__]}", *sides)
        if isinstance(sides[1], ast.Name | ast.Constant):
            first, rest = self._compared(ops[:1], sides[:2]), self._compared(ops[1:], sides[1:])
            return ast.BoolOp(op=ast.And(), values=[first, rest])
        names = [self._temporary(), self._temporary()]
        first = self._compared(ops[:1], [load(name) for name in names])
        rest = self._compared(ops[1:], [load(names[1]), *sides[2:]])
        parameters = ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        both = ast.Lambda(args=parameters, body=ast.BoolOp(op=ast.And(), values=[first, rest]))
        return ast.Call(func=both, args=sides[:2], keywords=[])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return call(".item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        bounds = (node.lower, node.upper, node.step)
        return call(".slice", *(self.visit(bound) if bound else ast.Constant(value=None) for bound in bounds))

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        values = []
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            node.keys[place] = call(".key", self.visit(key)) if key and not is_constant(key) else key
            values.append(self.visit(value) if key is not None else call(".merged", self.visit(value)))
        node.values = values
        return node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        return call(".set", ast.List(elts=[self.visit(item) for item in node.elts], ctx=ast.Load()))

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(value=call(".star", self.visit(node.value)), ctx=ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                shown = [self.visit(part.value)]
                if part.conversion != -1 or part.format_spec is not None:
                    shown.append(ast.Constant(value=part.conversion))
                if part.format_spec is not None:
                    shown.append(self.visit(part.format_spec))
                parts.append(call(".shown", *shown))
            else:
                parts.append(part)
        return call(".joined", *parts)


def _units(*parts: ast.AST) -> ast.expr:
    """Whole steps for so many nodes."""
    return ast.Constant(value=UNITS_PER_STEP * (1 + size_of(parts) // NODES_PER_STEP))


def _not_identity(op: ast.cmpop, *sides: ast.expr) -> ast.cmpop:
    """`x is "red"` is meant as ==, and whether it happens to be true is up to the interpreter."""
    if isinstance(op, ast.Is | ast.IsNot):
        for side in sides:
            if isinstance(side, ast.Constant) and type(side.value) in (str, int, float):
                return ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()
    return op
