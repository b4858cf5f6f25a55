"""What is known at one point of a check while its program is written: names, and which may be missing or None."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import Assembler, CannotLower, Label, Value, parts


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
