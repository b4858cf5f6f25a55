"""Calls in a check: perception functions, builtins, small helper functions and text methods of fields."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import CannotLower, Source, Stream, Value, parts

if TYPE_CHECKING:
    from sdg.skills.checks.lowering.writer import Writer

_ALL = 1 << 30
_MAX_INLINED = 3
_NUMBERS = frozenset({"int", "bool"})


class Calls:
    """Writes calls."""

    def __init__(self, writer: Writer) -> None:
        self._w = writer
        self._scope = writer.scope
        self._asm = writer.asm
        self._machine = writer.machine
        self._functions: dict[str, Callable[[ast.Call], Value]] = {
            self._machine.all_things: self._all_things, self._machine.find: self._find,
            self._machine.is_free: self._free, "abs": self._abs,
            "int": self._int, "bool": self._bool, "any": self._quantified, "all": self._quantified, "len": self._len,
            "sum": self._sum, "set": self._set, "list": self._list, "next": self._next, "min": self._extreme,
            "max": self._extreme, "sorted": self._sorted,
        }  # fmt: skip

    def call(self, node: ast.Call) -> Value:
        """The value of a call."""
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name) or node.func.id in self._scope.variables:
            raise CannotLower("this call has no lowered form")
        name = node.func.id
        if name in self._scope.helpers:
            return self._inline(node, self._scope.helpers[name])
        if name in self._machine.facts and not node.args:
            kind, facts = self._machine.facts[name]
            if kind == "pair":
                return Value("pair", tuple(self._scope.fact(m.INT, fact).registers[0] for fact in facts))
            return replace(self._scope.fact(kind, facts[0]), nullable=kind == m.THING)
        writer = self._functions.get(name)
        if writer is None or (node.keywords and name not in ("min", "max")):
            raise CannotLower(f"{name}() has no lowered form")
        return writer(node)

    def _inline(self, node: ast.Call, helper: ast.FunctionDef) -> Value:
        """A helper function of one return statement, written where it is called."""
        body = [s for s in helper.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        expression = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
        names = [argument.arg for argument in helper.args.args]
        if expression is None or node.keywords or len(node.args) != len(names) or self._scope.inlined >= _MAX_INLINED:
            raise CannotLower(f"the helper function {helper.name} has no lowered form")
        given = dict(zip(names, [self._w.value(argument) for argument in node.args], strict=True))
        self._scope.inlined += 1
        with self._scope.names(given, set(names), nonnull=set()):
            value = self._w.value(expression)
        self._scope.inlined -= 1
        return value

    def _argument(self, node: ast.Call, *kinds: str) -> Value:
        if len(node.args) != 1:
            raise CannotLower("this call has no lowered form")
        value = self._w.value(node.args[0])
        if value.kind not in kinds:
            raise CannotLower(f"this call of a {value.kind} has no lowered form")
        return value

    def _all_things(self, node: ast.Call) -> Value:
        if node.args:
            raise CannotLower(f"{self._machine.all_things}() takes no argument")
        return Value("stream", stream=Stream(source=Source("objects")))

    def _find(self, node: ast.Call) -> Value:
        text = str(self._argument(node, "text").constant)
        try:
            target = self._machine.parse(text)
        except ValueError:
            raise CannotLower(f"{text[:40]!r} describes nothing, so the check raises") from None
        return Value("stream", stream=Stream(source=Source("matches", slot=self._asm.slot(target))))

    def _free(self, node: ast.Call) -> Value:
        x, y = self._asm.pair(self._argument(node, "pair"))
        return self._asm.fresh("bool", m.FREE, x, y)

    def _abs(self, node: ast.Call) -> Value:
        return self._asm.fresh("int", m.ABSOLUTE, self._asm.load(self._argument(node, "int", "bool")))

    def _int(self, node: ast.Call) -> Value:
        return replace(self._argument(node, "int", "bool"), kind="int")

    def _bool(self, node: ast.Call) -> Value:
        if len(node.args) != 1:
            raise CannotLower("bool() without a value")
        return self._w.truth(node.args[0])

    def _quantified(self, node: ast.Call) -> Value:
        return self._w.truth(node)

    def _len(self, node: ast.Call) -> Value:
        value = self._argument(node, "stream", m.NUMBERS, "items")
        if value.stream is not None and value.stream.lazy:
            raise CannotLower("a generator has no length, so the check raises")
        if value.kind == m.NUMBERS:
            return self._asm.fresh("int", m.POPCOUNT, value.registers[0])
        if value.kind == "items" and isinstance(value.constant, tuple):
            return Value("int", constant=len(value.constant))
        source = value.stream.source if value.stream is not None else None
        if source is not None and source.kind == "matches":
            return self._asm.fresh("int", m.COUNT, source.slot, _ALL)
        return self._tally(value, lambda element: Value("int", constant=1))

    def _sum(self, node: ast.Call) -> Value:
        return self._tally(self._argument(node, "stream"), lambda element: element)

    def _tally(self, value: Value, amount: Callable[[Value], Value]) -> Value:
        total = self._asm.register()
        self._asm.emit(m.LOAD, total, 0)

        def visit(element: Value) -> None:
            added = amount(element)
            if added.kind not in _NUMBERS:
                raise CannotLower(f"a sum of {added.kind} has no lowered form")
            self._asm.emit(m.ADD, total, total, self._asm.load(added))

        self._w.loops.iterate(value, visit)
        return Value("int", (total,))

    def _set(self, node: ast.Call) -> Value:
        return replace(self._argument(node, m.NUMBERS), constant="set")

    def _list(self, node: ast.Call) -> Value:
        value = self._argument(node, "stream")
        return replace(value, stream=replace(value.stream, lazy=False)) if value.stream is not None else value

    def _next(self, node: ast.Call) -> Value:
        if not 1 <= len(node.args) <= 2 or not isinstance(node.args[0], ast.GeneratorExp):
            raise CannotLower("next() is lowered for generator expressions only")
        default = self._w.value(node.args[1]) if len(node.args) == 2 else None
        return self._w.loops.first(self._w.value(node.args[0]), default=default)

    def _sorted(self, node: ast.Call) -> Value:
        raise CannotLower("sorted() has no lowered form")

    def _extreme(self, node: ast.Call) -> Value:
        least = isinstance(node.func, ast.Name) and node.func.id == "min"
        if len(node.args) == 1 and len(node.keywords) == 1 and node.keywords[0].arg == "key":
            key = node.keywords[0].value
            if isinstance(key, ast.Lambda) and len(key.args.args) == 1:
                return self._w.loops.extreme(self._argument(node, "stream"), key, least=least)
        values = [self._w.value(argument) for argument in node.args]
        if len(values) < 2 or node.keywords or any(value.kind not in _NUMBERS for value in values):
            raise CannotLower("this min or max has no lowered form")
        found = values[0]
        for value in values[1:]:
            op = m.LEAST if least else m.MOST
            found = self._asm.fresh("int", op, self._asm.load(found), self._asm.load(value))
        return found

    def _method(self, node: ast.Call, function: ast.Attribute) -> Value:
        """What a text method says of each of the few texts that a field can have is known beforehand."""
        value = self._w.value(function.value)
        if value.kind not in self._machine.texts or node.keywords:
            raise CannotLower(f"the method {function.attr} has no lowered form")
        if function.attr in ("lower", "strip") and not node.args:
            return value
        arguments = [self._w.value(argument).constant for argument in node.args]
        if function.attr not in ("startswith", "endswith") or len(arguments) != 1 or not isinstance(arguments[0], str):
            raise CannotLower(f"the method {function.attr} has no lowered form")
        ask: Any = str.startswith if function.attr == "startswith" else str.endswith
        return self._asm.mask(value, [ask(text, arguments[0]) for text in self._machine.texts[value.kind]])


def halves(value: Value) -> tuple[Value, ...]:
    """A pair as two numbers."""
    return parts(value) if value.constant else tuple(Value("int", (register,)) for register in value.registers)
