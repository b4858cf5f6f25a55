"""Loops of a check: over things (in any order, or nearest first), sets of numbers, constants, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import CannotLower, Label, Source, Stream, Value, joined, width

if TYPE_CHECKING:
    from sdg.skills.checks.lowering.statements import Statements

_MAX_UNROLLED = 8
_MAX_NESTED = 2
Visit = Callable[[Value], None]
Inside = Callable[[ast.expr], None]


class Loops:
    """Writes loops. A body is a function that is told the element; `inside` bodies get a comprehension's element
    expression instead, in the scope in which it stands."""

    def __init__(self, writer: Statements) -> None:
        self._w = writer
        self._scope = writer.scope
        self._asm = writer.asm

    def iterate(self, value: Value, visit: Visit, *, inside: Inside | None = None, ordered: bool = False) -> None:
        """Write a loop over a list. Without `ordered` the body must not care which element comes first; where it turns
        out that it can raise, the order matters after all and the loop is written again."""
        saved = self._scope.save()
        faults = self._asm.faults
        self._loop(value, visit, inside=inside, ordered=ordered)
        if self._asm.faults > faults and not ordered:
            self._scope.restore(saved)
            self._loop(value, visit, inside=inside, ordered=True)

    def _loop(self, value: Value, visit: Visit, *, inside: Inside | None, ordered: bool) -> None:
        stream = value.stream
        if value.kind == "items" and isinstance(value.constant, tuple):
            self._unroll(value.constant, visit)
        elif value.kind == m.NUMBERS:
            self._base(m.NEXT_BIT, value.registers[0], lambda at: visit(Value("int", (at,))))
        elif stream is not None and stream.source is not None:
            op = m.NEXT_OBJECT if stream.source.kind == "objects" else m.NEXT_MATCH
            if op == m.NEXT_MATCH and ordered:
                self._nearest_first(stream.source, visit)
            else:
                self._base(op, max(stream.source.slot, 0), lambda at: visit(Value("object", (at,))))
        elif stream is not None:
            self._comprehension(stream, visit, inside=inside, ordered=ordered)
        else:
            raise CannotLower(f"a loop over a {value.kind} has no lowered form")

    def _unroll(self, items: tuple[Value, ...], visit: Visit) -> None:
        if len(items) > _MAX_UNROLLED:
            raise CannotLower("a loop over so many constants has no lowered form")
        for item in items:
            after = Label()
            self._scope.tops.append(after)
            visit(item)
            self._scope.tops.pop()
            self._asm.place(after)

    def _nearest_first(self, source: Source, visit: Visit) -> None:
        order, thing = self._asm.order(), self._asm.register()
        self._scope.owned.add(thing)
        self._asm.emit(m.SORT, order, source.slot)

        def body(at: int) -> None:
            self._asm.emit(m.MOVE, thing, at, order)
            visit(Value("object", (thing,)))

        self._base(m.NEXT_SORTED, order, body)

    def _base(self, op: int, b: int, body: Callable[[int], None]) -> None:
        if self._scope.depth >= _MAX_NESTED:
            raise CannotLower("three loops inside one another could spend the budget")
        at, top, end = self._asm.register(), Label(), Label()
        self._scope.owned.add(at)
        self._asm.emit(m.LOAD, at, -1)
        self._asm.place(top)
        self._asm.emit(op, at, b, end)
        self._scope.depth += 1
        self._scope.tops.append(top)
        with self._scope.branch():
            body(at)
        self._scope.tops.pop()
        self._scope.depth -= 1
        self._asm.emit(m.JUMP, c=top)
        self._asm.place(end)

    def _comprehension(self, stream: Stream, visit: Visit, *, inside: Inside | None, ordered: bool) -> None:
        scope = self._scope
        outer = scope.variables, scope.assigned

        def nest(place: int) -> None:
            if place < len(stream.generators):
                generator = stream.generators[place]
                self._loop(self._w.value(generator.iter), lambda v: body(v, place), inside=None, ordered=ordered)
            elif inside is not None and stream.element is not None:
                inside(stream.element)
            elif stream.element is not None:
                element = self._w.value(stream.element)
                with scope.names(*outer, nonnull=scope.nonnull & set(outer[0])):
                    visit(element)

        def body(element: Value, place: int) -> None:
            generator, top = stream.generators[place], scope.tops[-1]
            before = dict(scope.variables), set(scope.assigned)
            scope.bind(generator.target, element)
            for test in generator.ifs:
                self._w.condition(test, top, when=False)
            nest(place + 1)
            scope.variables, scope.assigned = before

        variables = dict(stream.variables)
        with scope.names(variables, set(stream.assigned), nonnull=set(scope.nonnull)):
            nest(0)

    def first(self, value: Value, *, default: Value | None) -> Value:
        """The first element of a list, or the default; without one the check raises when the list is empty."""
        found_kind = self._element_kind(value)
        kind = joined(found_kind, default) if default is not None else found_kind
        if kind.kind not in ("object", "int", "bool", "pair"):
            raise CannotLower(f"the first {kind.kind} has no lowered form")
        registers = tuple(self._asm.register() for _ in range(width(kind.kind)))
        found = Label()

        def visit(element: Value) -> None:
            self._asm.copy(element, registers)
            self._asm.emit(m.JUMP, c=found)

        self.iterate(value, visit, ordered=True)
        if default is None:
            self._asm.emit(m.RETURN, m.FAULT)
        else:
            self._asm.copy(default, registers)
        self._asm.place(found)
        return Value(kind.kind, registers, nullable=kind.nullable)

    def _element_kind(self, value: Value) -> Value:
        seen: list[Value] = []
        saved = self._scope.save()
        self.iterate(value, seen.append)
        self._scope.restore(saved)
        if not seen:
            raise CannotLower("an empty list has no lowered form")
        return seen[0]

    def extreme(self, value: Value, key: ast.Lambda, *, least: bool) -> Value:
        """The first object of the smallest (largest) key. The check raises when there is none."""
        best, bound = self._asm.register(), self._asm.register()
        self._asm.emit(m.LOAD, best, -1)

        def visit(element: Value) -> None:
            if element.kind != "object":
                raise CannotLower("min and max by key are lowered for objects only")
            size = self._key(key, element)
            take, worse = Label(), Label()
            self._asm.emit(m.JUMP_LT_C, best, 0, take)
            self._asm.emit(m.JUMP_LE, *((bound, size) if least else (size, bound)), worse)
            self._asm.place(take)
            self._asm.emit(m.MOVE, bound, size, -1)
            self._asm.emit(m.MOVE, best, element.registers[0], -1)
            self._asm.place(worse)

        self.iterate(value, visit, ordered=True)
        self._asm.emit(m.CHECK, best)
        return Value("object", (best,))

    def _key(self, key: ast.Lambda, element: Value) -> int:
        scope = self._scope
        names = {**scope.variables, key.args.args[0].arg: element}
        with scope.names(names, scope.assigned | {key.args.args[0].arg}, nonnull=set(scope.nonnull)):
            size = self._w.value(key.body)
        if size.kind not in ("int", "bool"):
            raise CannotLower("keys must be whole numbers")
        return self._asm.load(size)
