"""What a program is while it is written: instructions, labels, registers, values, and names with what they may hold."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sdg.envs import check_machine as m

NUMBERS = frozenset({"int", "bool"})
"""Kinds of values that are whole numbers."""


class CannotLower(Exception):
    """This source has no lowered form; the message says why. Internal: `lower` returns `NotLowerable`."""


@dataclass(frozen=True, eq=False)
class Label:
    """A place in a program, jumped to before it is known."""


@dataclass(frozen=True)
class Source:
    """What a loop over objects runs over. `slot` is the parameter that find_objects got, -1 for all objects."""

    kind: str
    slot: int = -1


@dataclass(frozen=True)
class Stream:
    """A list that was never built: loops, conditions and an element expression, compiled where the list is used.

    Either a `source` of objects, or a comprehension's `generators` and `element` with the names of the scope it stands
    in; `changing` says that one of them may be bound again, so that the list must be used on the spot, and `lazy` that
    it is a generator expression: true whatever it yields, without a length, and used up by the first look.
    """

    source: Source | None = None
    generators: tuple[ast.comprehension, ...] = ()
    element: ast.expr | None = None
    variables: Mapping[str, Value] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()
    changing: bool = False
    lazy: bool = False


@dataclass(frozen=True)
class Value:
    """What an expression is, while its program is written.

    `kind` is int, bool, object, pair, numbers, text, none, stream, items or a kind of text of the domain's. `registers`
    hold it, or `constant` is its value (an int, a text, or the tuple of Values of a literal list or tuple).
    `nullable` says that an object may be None.
    """

    kind: str
    registers: tuple[int, ...] = ()
    constant: object = None
    nullable: bool = False
    stream: Stream | None = None


class Assembler:
    """One program while it is written."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int | Label, int | Label, int | Label]] = []
        self.places: dict[Label, int] = {}
        self.slots: list[Hashable] = []
        self.faults = 0
        self._registers = 0
        self._orders = 0

    def emit(self, op: int, a: int = 0, b: int = 0, c: int | Label = 0) -> None:
        if op == m.CHECK or (op == m.RETURN and a == m.FAULT):
            self.faults += 1
        self.lines.append((op, a, b, c))

    def place(self, label: Label) -> None:
        self.places[label] = len(self.lines)

    def register(self) -> int:
        if self._registers >= m.N_REGISTERS:
            raise CannotLower("it needs too many intermediate values")
        self._registers += 1
        return self._registers - 1

    def order(self) -> int:
        if self._orders >= m.N_ORDERS:
            raise CannotLower("it walks through too many sorted lists")
        self._orders += 1
        return self._orders - 1

    def slot(self, target: Hashable) -> int:
        """A new parameter. Equal texts get one each: templates may replace them apart."""
        if len(self.slots) >= m.N_SLOTS:
            raise CannotLower("it names too many things")
        self.slots.append(target)
        return len(self.slots) - 1

    def mark(self) -> tuple[int, ...]:
        """Where the program stands, to go back to with `rewind`."""
        return len(self.lines), self._registers, self._orders, len(self.slots), self.faults

    def rewind(self, mark: tuple[int, ...]) -> None:
        """Forget everything written since `mark`."""
        lines, self._registers, self._orders, slots, self.faults = mark
        del self.lines[lines:]
        del self.slots[slots:]

    def finish(self) -> tuple[tuple[int, int, int, int], ...]:
        """The instructions, labels resolved to relative jumps."""
        done = []
        for place, line in enumerate(self.lines):
            a, b, c = (self.places[part] - place - 1 if isinstance(part, Label) else int(part) for part in line[1:])
            done.append((line[0], a, b, c))
        return tuple(done)

    # values ----------------------------------------------------------------------------------------------------------

    def load(self, value: Value) -> int:
        """The register of a value of one register, constants loaded."""
        if value.registers:
            return value.registers[0]
        register = self.register()
        if value.kind == "none":
            self.emit(m.LOAD, register, -1)
        elif isinstance(value.constant, int):
            if not -(2**31) < value.constant < 2**31:
                raise CannotLower("a number is too large")
            self.emit(m.LOAD, register, int(value.constant))
        else:
            raise CannotLower(f"a {value.kind} is not a number")
        return register

    def fresh(self, kind: str, op: int, b: int = 0, c: int = 0) -> Value:
        """A new register with the result of an operation."""
        register = self.register()
        self.emit(op, register, b, c)
        return Value(kind, (register,))

    def mask(self, value: Value, holds: list[bool]) -> Value:
        """A property of a field's text, as a bit for each text that it can have."""
        bits = sum(1 << index for index, true in enumerate(holds) if true)
        return self.fresh("bool", m.IN_MASK, value.registers[0], bits)

    def pair(self, value: Value) -> tuple[int, int]:
        """The registers of a pair."""
        if value.registers:
            return value.registers[0], value.registers[1]
        first, second = parts(value)
        return self.load(first), self.load(second)

    def copy(self, value: Value, registers: tuple[int, ...]) -> None:
        """Move a value into registers; None into the register of an object."""
        sources = value.registers or tuple(self.load(part) for part in parts(value))
        for target, source in zip(registers, sources, strict=True):
            if target != source:
                self.emit(m.MOVE, target, source, -1)


def parts(value: Value) -> tuple[Value, ...]:
    """A literal pair as its two values, anything else as itself."""
    if value.kind == "pair" and isinstance(value.constant, tuple):
        return value.constant
    return (value,)


def width(kind: str) -> int:
    """Registers that a value of a kind takes."""
    return 2 if kind == "pair" else 1


def joined(first: Value, second: Value) -> Value:
    """The kind of a value that is one of two. Raises `CannotLower` when no register could hold both."""
    kinds = {first.kind, second.kind}
    if len(kinds) == 1:
        return replace(first, nullable=first.nullable or second.nullable)
    if kinds == {"none", "object"}:
        return Value("object", nullable=True)
    if kinds == {"int", "bool"}:
        return Value("int")
    raise CannotLower(f"a value is sometimes {first.kind} and sometimes {second.kind}")


def halves(value: Value) -> tuple[Value, ...]:
    """A pair as two numbers."""
    return parts(value) if value.constant else tuple(Value("int", (register,)) for register in value.registers)


class Scope:
    """`single` are names that the source binds once; `helpers` the functions that it defines beside the check."""

    def __init__(self, *, single: frozenset[str], helpers: dict[str, ast.FunctionDef]) -> None:
        self.asm = Assembler()
        self.prologue: dict[tuple[int, int, int], int] = {}
        self.variables: dict[str, Value] = {}
        self.assigned: set[str] = set()
        self.nonnull: set[str] = set()
        self.owned: set[int] = set()
        self.homes: dict[str, tuple[int, ...]] = {}
        self.tops: list[Label] = []
        self.depth = 0
        self.inlined = 0
        self.single = single
        self.helpers = helpers

    def look_up(self, name: str) -> Value:
        """The value of a name. Raises `CannotLower` when it may have none here."""
        value = self.variables.get(name)
        if value is None:
            raise CannotLower(f"{name} has no lowered form")
        if name not in self.assigned:
            raise CannotLower(f"{name} may have no value yet")
        return replace(value, nullable=False) if name in self.nonnull else value

    def once(self, kind: str, op: int, b: int, c: int = 0) -> Value:
        """A value that does not change while a check runs; inside loops it is read before the program begins."""
        if not self.depth:
            return self.asm.fresh(kind, op, b, c)
        if (op, b, c) not in self.prologue:
            self.prologue[op, b, c] = self.asm.register()
        return Value(kind, (self.prologue[op, b, c],))

    def fact(self, kind: str, number: int) -> Value:
        """A fact about the agent."""
        return self.once(kind, m.FACT, number)

    def save(self) -> tuple[object, ...]:
        """Everything that writing changes, for `restore`."""
        names = dict(self.variables), set(self.assigned), set(self.nonnull)
        return self.asm.mark(), dict(self.prologue), names, set(self.owned), dict(self.homes)

    def restore(self, saved: tuple[object, ...]) -> None:
        """Forget what was written since `save`."""
        mark, self.prologue, names, self.owned, self.homes = saved  # type: ignore[assignment]
        self.variables, self.assigned, self.nonnull = names  # type: ignore[misc]
        self.asm.rewind(mark)  # type: ignore[arg-type]

    @contextmanager
    def branch(self) -> Iterator[None]:
        """What is learnt in code that may not run is forgotten after it."""
        assigned, nonnull = set(self.assigned), set(self.nonnull)
        yield
        self.assigned, self.nonnull = assigned & self.assigned, nonnull & self.nonnull

    @contextmanager
    def names(self, variables: dict[str, Value], assigned: set[str], *, nonnull: set[str]) -> Iterator[None]:
        """Another scope for a while."""
        outer = self.variables, self.assigned, self.nonnull
        self.variables, self.assigned, self.nonnull = variables, assigned, nonnull
        try:
            yield
        finally:
            self.variables, self.assigned, self.nonnull = outer

    def bind(self, target: ast.expr, value: Value) -> None:
        """Bind a loop's target, a name or a pair of names, to an element."""
        if isinstance(target, ast.Name):
            self.variables[target.id] = value
            self.assigned.add(target.id)
            self.nonnull.discard(target.id)
        elif isinstance(target, ast.Tuple | ast.List) and value.kind == "pair" and len(target.elts) == 2:
            halves = parts(value) if value.constant else tuple(Value("int", (r,)) for r in value.registers)
            for item, half in zip(target.elts, halves, strict=True):
                self.bind(item, half)
        else:
            raise CannotLower("this target of a loop or an assignment has no lowered form")

    def learn(self, node: ast.expr, *, holds: bool) -> None:
        """Behind a condition whose truth is known: names that are not None there."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.learn(node.operand, holds=not holds)
        elif isinstance(node, ast.Name) and holds:
            self._learn_name(node)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.left, ast.Name):
            other = node.comparators[0]
            absent = isinstance(node.ops[0], ast.Is | ast.Eq)
            present = isinstance(node.ops[0], ast.IsNot | ast.NotEq)
            if isinstance(other, ast.Constant) and other.value is None and (present if holds else absent):
                self._learn_name(node.left)

    def _learn_name(self, node: ast.Name) -> None:
        if node.id in self.single and node.id in self.variables:
            self.nonnull.add(node.id)
