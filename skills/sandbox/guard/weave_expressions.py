"""Weaves expressions: operators and comparisons that can explode become calls that look at sizes first."""

from __future__ import annotations

import ast
from typing import Any, cast

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.signature import FLAT
from sdg.skills.sandbox.guard.syntax import TEXT_FUNCTIONS
from sdg.skills.sandbox.guard.weave_calls import CallWeaver
from sdg.skills.sandbox.guard.weave_counting import call, constant, load, size_of, starred

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mult", ast.Pow: "pow", ast.LShift: "lshift", ast.Mod: "mod",
    ast.FloorDiv: "floordiv", ast.BitOr: "bitor", ast.BitAnd: "bitand", ast.BitXor: "bitxor",
}  # fmt: skip
_COMPARE = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.In: "in",
    ast.NotIn: "notin",
}  # fmt: skip
_LAZY = ("enumerate", "zip", "reversed", "range")


class ExpressionWeaver(CallWeaver):
    """Expressions of one source."""

    def _iterated(self, node: ast.expr) -> ast.expr:
        """What a counted loop runs over: there the C forms of enumerate, zip and reversed are safe."""
        if isinstance(node, ast.Call) and self._kinds.is_builtin(node.func, *_LAZY) and not starred(node):
            name = cast(ast.Name, node.func).id
            arguments = [
                self._iterated(argument) if name != "range" else self.visit(argument) for argument in node.args
            ]
            keywords = [ast.keyword(arg=word.arg, value=self.visit(word.value)) for word in node.keywords]
            return ast.Call(func=load(f".raw_{name}"), args=arguments, keywords=keywords)
        return cast(ast.expr, self.visit(node))

    def _rows(self, target: ast.expr, items: ast.expr) -> ast.expr:
        """What `for first, *rest in` takes apart: rows of bounded length, since C code would take all there is."""
        starred = any(isinstance(part, ast.Starred) for part in ast.walk(target))
        return call(".rows", items) if starred else items

    def _comprehension(self, node: Any, *parts: str) -> ast.expr:
        sizes = [size_of(generator.ifs) for generator in node.generators]
        sizes[-1] += size_of([getattr(node, part) for part in parts])
        for generator, size in zip(node.generators, sizes, strict=True):
            with self._by_calls():
                generator.iter = self._rows(generator.target, self._iterated(generator.iter))
            generator.ifs = [self._tick(size), *(self.visit(condition) for condition in generator.ifs)]
            generator.target = self.visit(generator.target)
        for part in parts:
            setattr(node, part, self.visit(getattr(node, part)))
        return cast(ast.expr, node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehension(node, "elt")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._comprehension(node, "elt")

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        small = self._kinds.is_small_key(node.elt)
        self._comprehension(node, "elt")
        node.elt = node.elt if small else call(".key", node.elt)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        small = self._kinds.is_small_key(node.key)
        self._comprehension(node, "key", "value")
        node.key = node.key if small else call(".key", node.key)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        harmless = self._kinds.harmless(node.op, node.left, node.right)
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        return node if harmless else call("." + BINARY[type(node.op)], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        safe = [self._comparable(op, sides[i], sides[i + 1]) for i, op in enumerate(node.ops)]
        node.ops = [_not_identity(op, sides[i], sides[i + 1]) for i, op in enumerate(node.ops)]
        woven: list[ast.expr] = [self.visit(side) for side in sides]
        node.left, node.comparators = woven[0], woven[1:]
        if all(safe):
            return node
        if len(node.ops) == 1:
            return call("." + _COMPARE[type(node.ops[0])], *woven)
        return self._chain(node, woven)

    def _comparable(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
        """Whether a comparison is short whatever its operands hold."""
        flat_left, flat_right = self._kinds.of(left) >= FLAT, self._kinds.of(right) >= FLAT
        if isinstance(op, ast.Is | ast.IsNot):
            return True
        if isinstance(op, ast.In | ast.NotIn):
            display = isinstance(right, ast.List | ast.Tuple | ast.Set | ast.Dict) and not starred(right)
            return flat_right or (flat_left and display)
        return flat_left or flat_right or self._is_short(left) or self._is_short(right)

    def _is_short(self, node: ast.expr) -> bool:
        """A literal container of flat values: comparing with it ends as soon as it does; a set would hash a view."""
        if isinstance(node, ast.Dict):
            parts = [*node.keys, *node.values]
            return all(part is not None and self._kinds.of(part) >= FLAT for part in parts)
        shapes = (ast.List, ast.Tuple) if self._kinds.views else (ast.List, ast.Tuple, ast.Set)
        if isinstance(node, shapes) and not starred(node):
            return all(self._kinds.of(part) >= FLAT for part in node.elts)
        return False

    def _chain(self, node: ast.Compare, sides: list[ast.expr]) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed."""
        pairs: list[ast.expr] = []
        left = sides[0]
        for place, op in enumerate(node.ops):
            right = sides[place + 1]
            again = right
            if place + 1 < len(node.ops) and not isinstance(right, ast.Name | ast.Constant):
                if self._calls_only:
                    return self._chain_of_calls(node.ops, sides)
                name = self._temporary()
                right, again = ast.NamedExpr(target=ast.Name(id=name, ctx=ast.Store()), value=right), load(name)
            function = _COMPARE.get(type(op))
            pairs.append(
                call("." + function, left, right) if function else ast.Compare(left=left, ops=[op], comparators=[right])
            )
            left = again
        return ast.BoolOp(op=ast.And(), values=pairs)

    def _chain_of_calls(self, ops: list[ast.cmpop], sides: list[ast.expr]) -> ast.expr:
        """The same where nothing can be assigned: (lambda left, middle: left < middle and middle < ...)(a, b)."""
        function = _COMPARE.get(type(ops[0]))
        if len(ops) == 1:
            return call("." + function, *sides) if function else ast.Compare(sides[0], ops, sides[1:])
        names = [self._temporary(), self._temporary()]
        pair = self._chain_of_calls(ops[:1], [load(name) for name in names])
        rest = self._chain_of_calls(ops[1:], [load(names[1]), *sides[2:]])
        parameters = ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        both = ast.BoolOp(op=ast.And(), values=[pair, rest])
        return ast.Call(func=ast.Lambda(args=parameters, body=both), args=sides[:2], keywords=[])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        index = node.slice
        flat = self._kinds.of(node.value) >= FLAT
        node.value = self.visit(node.value)
        if not isinstance(index, ast.Slice):
            node.slice = self._key(index) if isinstance(node.ctx, ast.Store) else self._wanted(index)
            return node
        bounds = [self.visit(bound) if bound else constant(None) for bound in (index.lower, index.upper, index.step)]
        if flat:
            node.slice = ast.Slice(lower=bounds[0], upper=bounds[1], step=bounds[2])
            return node
        return call(".slice", node.value, *bounds)

    def _key(self, node: ast.expr) -> ast.expr:
        """What is stored under."""
        small = self._kinds.is_small_key(node)
        woven: ast.expr = self.visit(node)
        return woven if small else call(".key", woven)

    def _wanted(self, node: ast.expr) -> ast.expr:
        """What is looked for: a number of any size does no harm where none of that size can be stored."""
        flat = self._kinds.of(node) >= FLAT
        woven: ast.expr = self.visit(node)
        return woven if flat else call(".key", woven)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._kinds.is_builtin(node.value, "str") and node.attr in TEXT_FUNCTIONS:
            return load(f".str_{node.attr}")
        if node.attr == "get":  # key=counts.get is how dicts are asked for their largest value
            return call(".getter", self.visit(node.value))
        if node.attr not in self._kinds.fields:
            raise Refused(
                f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)", line=node.lineno
            )
        node.value = self.visit(node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if isinstance(node.ctx, ast.Load) and name not in self._kinds.variables and name not in self._kinds.functions:
            if name in self._errors:
                raise Refused(f"{name} can only be raised or named in except", line=node.lineno)
            if name not in self._builtins:
                raise Refused(advice.unknown(name, functions=self._kinds.functions), line=node.lineno)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        values = []
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            values.append(self.visit(value) if key is not None else call(".merged", self.visit(value)))
            node.keys[place] = self._key(key) if key is not None else None
        node.values = values
        return node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        unpacks = starred(node)
        node.elts = [self.visit(item) if isinstance(item, ast.Starred) else self._key(item) for item in node.elts]
        return call(".set", ast.List(elts=node.elts, ctx=ast.Load())) if unpacks else node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        if isinstance(node.ctx, ast.Store):
            return node
        return ast.Starred(value=call(".star", self.visit(node.value)), ctx=ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                flat = self._kinds.of(part.value) >= FLAT
                value = self.visit(part.value)
                helper = ".formatted" if part.format_spec is not None else ".text"
                if part.conversion == ord("r"):
                    helper, part.conversion = ".repr", -1
                part.value = value if flat and helper == ".text" else call(helper, value)
        return node


def _not_identity(op: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.cmpop:
    """`x is "red"` is meant as ==, and whether it happens to be true is up to the interpreter."""
    if isinstance(op, ast.Is | ast.IsNot):
        for side in (left, right):
            if isinstance(side, ast.Constant) and type(side.value) in (str, int, float):
                return ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()
    return op
