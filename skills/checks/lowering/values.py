"""Values of a check's expressions: fields, arithmetic, pairs, choices, calls, and lists that are never built."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import NUMBERS, CannotLower, Label, Source, Stream, Value, joined, parts, width

if TYPE_CHECKING:
    from sdg.skills.checks.lowering.statements import Statements

_ALL = 1 << 30
_MAX_INLINED = 3
_ARITHMETIC = {ast.Add: m.ADD, ast.Sub: m.SUBTRACT, ast.Mult: m.MULTIPLY, ast.FloorDiv: m.FLOOR, ast.Mod: m.MODULO}
_SETS: dict[type, int] = {ast.Sub: m.ANDNOT, ast.BitAnd: m.AND, ast.BitOr: m.OR}
_BOOLEAN_CALLS = frozenset({"any", "all", "bool"})


class Values:
    """Writes expressions for their values."""

    def __init__(self, writer: Statements) -> None:
        self._w = writer
        self._scope = writer.scope
        self._asm = writer.asm
        self._machine = writer.machine
        self._writers: dict[type, Any] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.NamedExpr: self._walrus, ast.Tuple: self._items, ast.List: self._items, ast.Set: self._items,
            ast.Subscript: self._subscript, ast.UnaryOp: self._unary, ast.BinOp: self._binary, ast.Compare: self.truth,
            ast.BoolOp: self._several, ast.IfExp: self._choice, ast.ListComp: self._list, ast.GeneratorExp: self._list,
            ast.Call: self._call,
        }  # fmt: skip
        self._functions: dict[str, Callable[[ast.Call], Value]] = {
            self._machine.all_things: self._all_things, self._machine.find: self._find,
            self._machine.is_free: self._free, "abs": self._abs,
            "int": self._int, "bool": self._bool, "any": self._quantified, "all": self._quantified, "len": self._len,
            "sum": self._sum, "set": self._set, "list": self._listed, "next": self._next, "min": self._extreme,
            "max": self._extreme, "sorted": self._sorted,
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
        thing = self.value(node.value)
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
        value = self.value(node.value)
        if node.target.id not in self._scope.single or self._scope.depth:
            raise CannotLower("a walrus in a loop has no lowered form")
        self._scope.bind(node.target, value)
        return value

    def _items(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        values = tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Tuple) and len(values) == 2 and all(value.kind in NUMBERS for value in values):
            return Value("pair", constant=values)
        return Value("items", constant=values)

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
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
        value = self.value(node.operand)
        if not isinstance(node.op, ast.USub) or value.kind not in NUMBERS:
            raise CannotLower("this operator has no lowered form")
        if isinstance(value.constant, int):
            return Value("int", constant=-value.constant)
        zero = self._asm.load(Value("int", constant=0))
        return self._asm.fresh("int", m.SUBTRACT, zero, value.registers[0])

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
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
        kind = joined(self.value(node.body), self.value(node.orelse))
        self._scope.restore(saved)
        if kind.kind in ("stream", "items", "text", m.NUMBERS):
            raise CannotLower(f"a conditional {kind.kind} has no lowered form")
        registers = tuple(self._asm.register() for _ in range(width(kind.kind)))
        otherwise, end = Label(), Label()
        with self._scope.branch():
            self._w.condition(node.test, otherwise, when=False)
            self._asm.copy(self.value(node.body), registers)
        self._asm.emit(m.JUMP, c=end)
        self._asm.place(otherwise)
        with self._scope.branch():
            self._scope.learn(node.test, holds=False)
            self._asm.copy(self.value(node.orelse), registers)
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

    # calls -----------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
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
        given = dict(zip(names, [self.value(argument) for argument in node.args], strict=True))
        self._scope.inlined += 1
        with self._scope.names(given, set(names), nonnull=set()):
            value = self.value(expression)
        self._scope.inlined -= 1
        return value

    def _argument(self, node: ast.Call, *kinds: str) -> Value:
        if len(node.args) != 1:
            raise CannotLower("this call has no lowered form")
        value = self.value(node.args[0])
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
        return self.truth(node.args[0])

    def _quantified(self, node: ast.Call) -> Value:
        return self.truth(node)

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
            if added.kind not in NUMBERS:
                raise CannotLower(f"a sum of {added.kind} has no lowered form")
            self._asm.emit(m.ADD, total, total, self._asm.load(added))

        self._w.loops.iterate(value, visit)
        return Value("int", (total,))

    def _set(self, node: ast.Call) -> Value:
        return replace(self._argument(node, m.NUMBERS), constant="set")

    def _listed(self, node: ast.Call) -> Value:
        value = self._argument(node, "stream")
        return replace(value, stream=replace(value.stream, lazy=False)) if value.stream is not None else value

    def _next(self, node: ast.Call) -> Value:
        if not 1 <= len(node.args) <= 2 or not isinstance(node.args[0], ast.GeneratorExp):
            raise CannotLower("next() is lowered for generator expressions only")
        default = self.value(node.args[1]) if len(node.args) == 2 else None
        return self._w.loops.first(self.value(node.args[0]), default=default)

    def _sorted(self, node: ast.Call) -> Value:
        raise CannotLower("sorted() has no lowered form")

    def _extreme(self, node: ast.Call) -> Value:
        least = isinstance(node.func, ast.Name) and node.func.id == "min"
        if len(node.args) == 1 and len(node.keywords) == 1 and node.keywords[0].arg == "key":
            key = node.keywords[0].value
            if isinstance(key, ast.Lambda) and len(key.args.args) == 1:
                return self._w.loops.extreme(self._argument(node, "stream"), key, least=least)
        values = [self.value(argument) for argument in node.args]
        if len(values) < 2 or node.keywords or any(value.kind not in NUMBERS for value in values):
            raise CannotLower("this min or max has no lowered form")
        found = values[0]
        for value in values[1:]:
            op = m.LEAST if least else m.MOST
            found = self._asm.fresh("int", op, self._asm.load(found), self._asm.load(value))
        return found

    def _method(self, node: ast.Call, function: ast.Attribute) -> Value:
        """What a text method says of each of the few texts that a field can have is known beforehand."""
        value = self.value(function.value)
        if value.kind not in self._machine.texts or node.keywords:
            raise CannotLower(f"the method {function.attr} has no lowered form")
        if function.attr in ("lower", "strip") and not node.args:
            return value
        arguments = [self.value(argument).constant for argument in node.args]
        if function.attr not in ("startswith", "endswith") or len(arguments) != 1 or not isinstance(arguments[0], str):
            raise CannotLower(f"the method {function.attr} has no lowered form")
        ask: Any = str.startswith if function.attr == "startswith" else str.endswith
        return self._asm.mask(value, [ask(text, arguments[0]) for text in self._machine.texts[value.kind]])


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
