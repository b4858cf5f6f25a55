"""The parts that write a check's program, together: each needs the others, for expressions nest."""

from __future__ import annotations

import ast

from sdg.envs.check_machine import CheckMachine
from sdg.skills.checks.lowering.calls import Calls
from sdg.skills.checks.lowering.code import Label, Value
from sdg.skills.checks.lowering.conditions import Conditions
from sdg.skills.checks.lowering.loops import Loops
from sdg.skills.checks.lowering.scope import Scope
from sdg.skills.checks.lowering.values import Values


class Writer:
    """Writes expressions into `scope.asm`."""

    def __init__(self, *, single: frozenset[str], helpers: dict[str, ast.FunctionDef], machine: CheckMachine) -> None:
        self.scope = Scope(single=single, helpers=helpers)
        self.asm = self.scope.asm
        self.machine = machine
        self.loops = Loops(self)
        self.calls = Calls(self)
        self._values = Values(self)
        self._conditions = Conditions(self)

    def value(self, node: ast.expr) -> Value:
        """Write an expression and say where its value is."""
        return self._values.value(node)

    def truth(self, node: ast.expr) -> Value:
        """A condition as a bool in a register."""
        return self._values.truth(node)

    def condition(self, node: ast.expr, label: Label, *, when: bool) -> None:
        """Jump to `label` if the truth of an expression is `when`, else go on behind it."""
        self._conditions.condition(node, label, when=when)

    def truthy(self, value: Value, label: Label, *, when: bool) -> None:
        """The same for a value that is written already."""
        self._conditions.truthy(value, label, when=when)

    def equal(self, left: Value, right: Value, label: Label, *, when: bool) -> None:
        """Jump to `label` if whether two values are equal is `when`."""
        self._conditions.equal(left, right, label, when=when)
