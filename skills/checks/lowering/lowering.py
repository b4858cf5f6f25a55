"""Checks in batch: the guarded source lowered to a few integers for one compiled kernel over memory rows.

A check that pays a reward is asked millions of times. What models write is short and alike: quantifiers and loops over
found objects, comparisons of fields and positions. That much is lowered; anything else is `NotLowerable` with a reason
and is interpreted. Texts that name things are parameters (`Target`s), so that like checks share one program and a new
argument needs no new one. The lowered check agrees with the interpreted one in every state, faults included.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdg.envs.check_machine import N_SLOTS, CheckMachine
from sdg.skills.checks.lowering.code import CannotLower, Value
from sdg.skills.checks.lowering.statements import Statements
from sdg.skills.sandbox.guard import Refused
from sdg.skills.sandbox.guard.syntax import parse
from sdg.skills.sandbox.guard.weave import NODES_PER_STEP, size_of
from sdg.skills.subgoal import CheckFunction

__all__ = ["Batch", "Lowered", "NotLowerable", "lower", "slots_of"]

_MOST_STEPS = 15_000
_PASSES = 6


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program (instructions of four integers) and what it is about."""

    code: tuple[tuple[int, int, int, int], ...]
    targets: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class NotLowerable:
    """Why a check has no lowered form; it is interpreted."""

    reason: str


def lower(check: CheckFunction, machine: CheckMachine) -> Lowered | NotLowerable:
    """Lower a check's source. It must be source that the guard accepted: here nothing is refused, only left alone."""
    try:
        tree = parse(check.source)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        constants: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = node.value
            elif not isinstance(node, ast.FunctionDef | ast.Expr):
                return NotLowerable("it has more than functions and constants")
        function = functions.pop(check.name, None)
        if function is None:
            return NotLowerable("it has no function to lower")
        if _work(function, depth=0, things=machine.most_things) > _MOST_STEPS:
            return NotLowerable("its loops could spend the budget")
        kinds: dict[str, Value] = {}
        for _ in range(_PASSES):
            writer = Statements(function, helpers=functions, constants=constants, kinds=kinds, machine=machine)
            written = writer.write()
            if not writer.changed:
                return Lowered(*written)
        return NotLowerable("its variables change what they hold")
    except CannotLower as error:
        return NotLowerable(str(error))
    except Refused as error:
        return NotLowerable(f"it is refused: {error}")


def _work(node: ast.AST, *, depth: int, things: int) -> int:
    """Steps of the interpreted check's budget that its loops may spend with as many things as there can be."""
    loops = isinstance(node, ast.For | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp)
    depth += len(getattr(node, "generators", [0])) if loops else 0
    steps = (1 + size_of(node) // NODES_PER_STEP) * things ** min(depth, 4) if loops else 0
    return steps + sum(_work(child, depth=depth, things=things) for child in ast.iter_child_nodes(node))


def slots_of(targets: Sequence[Any]) -> np.ndarray:
    """Parameters of one program as i16 (N_SLOTS, 4)."""
    rows = np.full((N_SLOTS, 4), -1, np.int16)
    rows[:, 2] = 0
    for place, target in enumerate(targets):
        rows[place] = target
    return rows


class Batch:
    """Programs side by side for one call of the kernel. Equal programs are kept once."""

    def __init__(self, machine: CheckMachine) -> None:
        self.machine = machine
        self.code = np.zeros((0, 4), np.int32)
        self.starts = np.zeros(0, np.int64)
        self._known: dict[tuple[tuple[int, int, int, int], ...], int] = {}

    def add(self, program: Lowered) -> int:
        """The number of a program, new or known."""
        number = self._known.get(program.code)
        if number is None:
            number = self._known[program.code] = len(self.starts)
            self.starts = np.append(self.starts, len(self.code))
            self.code = np.concatenate([self.code, np.array(program.code, np.int32).reshape(-1, 4)])
        return number

    def outcomes(self, memory: Any, program_of: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """FALSE, TRUE or FAULT as i8 (n,) for memory rows 0..n-1: program_of[i] (i64 (n,); -1 is FALSE) about row i
        with the parameters targets[i] (i16 (n, N_SLOTS, 4)). ValueError for shapes and numbers that don't fit."""
        n = len(program_of)
        if targets.shape != (n, N_SLOTS, 4) or n > self.machine.rows_of(memory):
            raise ValueError(f"targets must be ({n}, {N_SLOTS}, 4) for {n} rows, not {targets.shape}")
        if n and not -1 <= int(program_of.min()) <= int(program_of.max()) < len(self.starts):
            raise ValueError(f"programs are numbered 0 to {len(self.starts) - 1}")
        out = np.zeros(n, np.int8)
        numbers, parameters = program_of.astype(np.int64, copy=False), targets.astype(np.int16, copy=False)
        scratch = np.empty(self.machine.scratch, np.int64)
        self.machine.run(memory, self.code, self.starts, numbers, parameters, scratch, out)
        return out
