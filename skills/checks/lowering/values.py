"""Values of a check's expressions: fields, arithmetic, pairs, choices, and lists that are never built."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import CannotLower, Label, Stream, Value, joined, parts, width

if TYPE_CHECKING:
    from sdg.skills.checks.lowering.writer import Writer

NUMBERS = frozenset({"int", "bool"})
_ARITHMETIC = {ast.Add: m.ADD, ast.Sub: m.SUBTRACT, ast.Mult: m.MULTIPLY, ast.FloorDiv: m.FLOOR, ast.Mod: m.MODULO}
_SETS: dict[type, int] = {ast.Sub: m.ANDNOT, ast.BitAnd: m.AND, ast.BitOr: m.OR}
_BOOLEAN_CALLS = frozenset({"any", "all", "bool"})


class Values:
    """Writes expressions for their values."""

    def __init__(self, writer: Writer) -> None:
        self._w = writer
        self._scope = writer.scope
        self._asm = writer.asm
        self._machine = writer.machine
        self._writers: dict[type, Any] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.NamedExpr: self._walrus, ast.Tuple: self._items, ast.List: self._items, ast.Set: self._items,
            ast.Subscript: self._subscript, ast.UnaryOp: self._unary, ast.BinOp: self._binary, ast.Compare: self.truth,
            ast.BoolOp: self._several, ast.IfExp: self._choice, ast.ListComp: self._list, ast.GeneratorExp: self._list,
            ast.Call: writer.calls.call,
        }  # fmt: skip

    def value(self, node: ast.expr) -> Value:
        """Write an expression and say where its value is."""
        writer = self._writers.get(type(node))
        if writer is None:
            raise CannotLower(f"{type(node).__name__} has no lowered form")
        found: Value = writer(node)
        return found

    def _constant(self, node: ast.Constant) -> Value:
        if node.value is None:
            return Value("none")
        kind = {bool: "bool", int: "int", str: "text"}.get(type(node.value))
        if kind is None:
            raise CannotLower(f"the constant {node.value!r} has no lowered form")
        return Value(kind, constant=node.value)

    def _name(self, node: ast.Name) -> Value:
        return self._scope.look_up(node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        thing = self._w.value(node.value)
        if thing.kind != "object":
            raise CannotLower(f"a {thing.kind} has no fields")
        if thing.nullable:
            self._asm.emit(m.CHECK, thing.registers[0])
        if node.attr not in self._machine.fields:
            raise CannotLower(f"the field {node.attr} has no lowered form")
        kind, numbers = self._machine.fields[node.attr]
        one = m.INT if kind == "pair" else kind
        read = [self._asm.fresh(one, m.FIELD, thing.registers[0], number) for number in numbers]
        return Value("pair", tuple(value.registers[0] for value in read)) if kind == "pair" else read[0]

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self._w.value(node.value)
        if node.target.id not in self._scope.single or self._scope.depth:
            raise CannotLower("a walrus in a loop has no lowered form")
        self._scope.bind(node.target, value)
        return value

    def _items(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        values = tuple(self._w.value(item) for item in node.elts)
        if isinstance(node, ast.Tuple) and len(values) == 2 and all(value.kind in NUMBERS for value in values):
            return Value("pair", constant=values)
        return Value("items", constant=values)

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self._w.value(node.value)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if type(index) is not int or index not in (0, 1):
            raise CannotLower("this subscript has no lowered form")
        if value.kind == "pair":
            return parts(value)[index] if value.constant else Value("int", (value.registers[index],))
        if value.stream is not None and not value.stream.lazy and index == 0:
            return self._w.loops.first(value, default=None)
        raise CannotLower("this subscript has no lowered form")

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        value = self._w.value(node.operand)
        if not isinstance(node.op, ast.USub) or value.kind not in NUMBERS:
            raise CannotLower("this operator has no lowered form")
        if isinstance(value.constant, int):
            return Value("int", constant=-value.constant)
        zero = self._asm.load(Value("int", constant=0))
        return self._asm.fresh("int", m.SUBTRACT, zero, value.registers[0])

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self._w.value(node.left), self._w.value(node.right)
        if left.kind == right.kind == m.NUMBERS:
            return self._sets(node.op, left, right)
        if left.kind not in NUMBERS or right.kind not in NUMBERS:
            raise CannotLower(f"arithmetic on {left.kind} and {right.kind} has no lowered form")
        if isinstance(node.op, ast.Pow) and right.constant == 2:
            base = self._asm.load(left)
            return self._asm.fresh("int", m.MULTIPLY, base, base)
        op = _ARITHMETIC.get(type(node.op))
        divides = op in (m.FLOOR, m.MODULO)
        if op is None or (divides and not (isinstance(right.constant, int) and right.constant > 0)):
            raise CannotLower("this arithmetic has no lowered form")
        return self._asm.fresh("int", op, self._asm.load(left), self._asm.load(right))

    def _sets(self, op: ast.operator, left: Value, right: Value) -> Value:
        """Differences and unions of sets of numbers. Lists have none, so both must have been made sets."""
        if type(op) not in _SETS or left.constant != "set" or right.constant != "set":
            raise CannotLower("this operation on numbers has no lowered form")
        both = self._asm.fresh(m.NUMBERS, _SETS[type(op)], left.registers[0], right.registers[0])
        return replace(both, constant="set")

    def _several(self, node: ast.BoolOp) -> Value:
        """and / or have the value of one of their parts, which is their truth only where all parts are bools."""
        if not all(is_boolean(part, self._machine) for part in node.values):
            raise CannotLower("and / or of values that are not True or False has no lowered form")
        return self.truth(node)

    def truth(self, node: ast.expr) -> Value:
        """A condition as a bool in a register."""
        register, end = self._asm.register(), Label()
        self._asm.emit(m.LOAD, register, 1)
        with self._scope.branch():
            self._w.condition(node, end, when=True)
        self._asm.emit(m.LOAD, register, 0)
        self._asm.place(end)
        return Value("bool", (register,))

    def _choice(self, node: ast.IfExp) -> Value:
        saved = self._scope.save()
        kind = joined(self._w.value(node.body), self._w.value(node.orelse))
        self._scope.restore(saved)
        if kind.kind in ("stream", "items", "text", m.NUMBERS):
            raise CannotLower(f"a conditional {kind.kind} has no lowered form")
        registers = tuple(self._asm.register() for _ in range(width(kind.kind)))
        otherwise, end = Label(), Label()
        with self._scope.branch():
            self._w.condition(node.test, otherwise, when=False)
            self._asm.copy(self._w.value(node.body), registers)
        self._asm.emit(m.JUMP, c=end)
        self._asm.place(otherwise)
        with self._scope.branch():
            self._scope.learn(node.test, holds=False)
            self._asm.copy(self._w.value(node.orelse), registers)
        self._asm.place(end)
        return Value(kind.kind, registers, nullable=kind.nullable)

    def _list(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """A comprehension with the scope it stands in; its loops are written where it is used."""
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        free = {name.id for name in names} - bound
        for name in free & self._scope.variables.keys():
            self._scope.look_up(name)
        stream = Stream(
            generators=tuple(node.generators),
            element=node.elt,
            variables=dict(self._scope.variables),
            assigned=frozenset(self._scope.assigned),
            lazy=isinstance(node, ast.GeneratorExp),
            changing=bool((free & self._scope.variables.keys()) - self._scope.single),
        )
        return Value("stream", stream=stream)


def is_boolean(node: ast.expr, machine: m.CheckMachine) -> bool:
    """Whether an expression's value is True or False by its form."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    if isinstance(node, ast.BoolOp):
        return all(is_boolean(part, machine) for part in node.values)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.attr in ("startswith", "endswith")
        return isinstance(function, ast.Name) and function.id in (*_BOOLEAN_CALLS, machine.is_free)
    return isinstance(node, ast.Attribute) and machine.fields.get(node.attr, ("",))[0] == m.BOOL
