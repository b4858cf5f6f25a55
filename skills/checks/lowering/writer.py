"""The parts that write a check's program, together: each needs the others, for expressions nest."""

from __future__ import annotations

import ast

from sdg.envs.check_machine import CheckMachine
from sdg.skills.checks.lowering.calls import Calls
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
        values = Values(self)
        self.value, self.truth = values.value, values.truth
        self.condition = Conditions(self).condition
