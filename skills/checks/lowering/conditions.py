"""Conditions of a check as jumps: and / or / not with short circuits, comparisons, any and all, membership."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import NUMBERS, CannotLower, Label, Value, halves

if TYPE_CHECKING:
    from sdg.skills.checks.lowering.statements import Statements

_JUMPS: dict[type, tuple[int, int]] = {
    ast.Eq: (m.JUMP_EQ_C, m.JUMP_NE_C), ast.NotEq: (m.JUMP_NE_C, m.JUMP_EQ_C), ast.Lt: (m.JUMP_LT_C, m.JUMP_GE_C),
    ast.LtE: (m.JUMP_LE_C, m.JUMP_GT_C), ast.Gt: (m.JUMP_GT_C, m.JUMP_LE_C), ast.GtE: (m.JUMP_GE_C, m.JUMP_LT_C),
}  # fmt: skip
"""Comparison with a constant -> the jump where it holds and the jump where it doesn't."""
_REGISTER_JUMPS: dict[int, tuple[int, bool]] = {
    m.JUMP_EQ_C: (m.JUMP_EQ, False), m.JUMP_NE_C: (m.JUMP_NE, False), m.JUMP_LT_C: (m.JUMP_LT, False),
    m.JUMP_LE_C: (m.JUMP_LE, False), m.JUMP_GT_C: (m.JUMP_LT, True), m.JUMP_GE_C: (m.JUMP_LE, True),
}  # fmt: skip
"""The same between two registers, and whether they are swapped."""
_MIRRORED: dict[type, type] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


class Conditions:
    """Writes conditions."""

    def __init__(self, writer: Statements) -> None:
        self._w = writer
        self._scope = writer.scope
        self._asm = writer.asm
        self._machine = writer.machine

    def condition(self, node: ast.expr, label: Label, *, when: bool) -> None:
        """Jump to `label` if the truth of an expression is `when`, else go on behind it."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._w.condition(node.operand, label, when=not when)
        elif isinstance(node, ast.BoolOp):
            self._several(node, label, when=when)
        elif isinstance(node, ast.Compare):
            self._comparison(node, label, when=when)
            self._scope.learn(node, holds=not when)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
            self._quantified(node, label, when=when)
        else:
            self.truthy(self._w.value(node), label, when=when)
            self._scope.learn(node, holds=not when)

    def _several(self, node: ast.BoolOp, label: Label, *, when: bool) -> None:
        """Where one part decides, each jumps to `label`; else the first that decides otherwise jumps past the rest."""
        if isinstance(node.op, ast.Or) is when:
            for part in node.values:
                self._w.condition(part, label, when=when)
            return
        end = Label()
        with self._scope.branch():
            for part in node.values[:-1]:
                self._w.condition(part, end, when=not when)
            self._w.condition(node.values[-1], label, when=when)
        self._asm.place(end)

    def truthy(self, value: Value, label: Label, *, when: bool) -> None:
        """The same for a value that is written already."""
        if value.kind == "none" or (value.kind in ("text", *NUMBERS) and not value.registers):
            self._always(bool(value.constant), label, when=when)
        elif value.kind == "object" and value.nullable:
            self._asm.emit(m.JUMP_GE_C if when else m.JUMP_LT_C, value.registers[0], 0, label)
        elif value.kind in ("object", "pair", *self._machine.parameters):
            self._always(True, label, when=when)
        elif value.kind in ("int", "bool", m.NUMBERS) or value.kind in self._machine.texts:
            self._asm.emit(m.JUMP_NE_C if when else m.JUMP_EQ_C, value.registers[0], 0, label)
        elif value.stream is not None and value.stream.lazy:
            self._always(True, label, when=when)
        elif value.kind == "stream":
            self._exists(value, label, when=when)
        elif isinstance(value.constant, tuple):
            self._always(bool(value.constant), label, when=when)
        else:
            raise CannotLower(f"the truth of a {value.kind} has no lowered form")

    def _always(self, truth: bool, label: Label, *, when: bool) -> None:
        if truth is when:
            self._asm.emit(m.JUMP, c=label)

    def _exists(self, value: Value, label: Label, *, when: bool) -> None:
        """Whether a list has any element."""
        source = value.stream.source if value.stream is not None else None
        if source is not None and source.kind == "matches":
            register = self._asm.fresh("int", m.COUNT, source.slot, 1).registers[0]
            self._asm.emit(m.JUMP_NE_C if when else m.JUMP_EQ_C, register, 0, label)
            return
        found = label if when else Label()
        self._w.loops.iterate(value, lambda element: self._asm.emit(m.JUMP, c=found))
        self._end_search(found, label, when=when)

    def _end_search(self, found: Label, label: Label, *, when: bool) -> None:
        if not when:
            self._asm.emit(m.JUMP, c=label)
            self._asm.place(found)

    def _quantified(self, node: ast.Call, label: Label, *, when: bool) -> None:
        """any is a search for a true element, all the failure of a search for a false one."""
        if len(node.args) != 1 or node.keywords:
            raise CannotLower("any and all take one list")
        sought = isinstance(node.func, ast.Name) and node.func.id == "any"
        when = when is sought
        found = label if when else Label()
        self._w.loops.iterate(
            self._w.value(node.args[0]),
            lambda element: self.truthy(element, found, when=sought),
            inside=lambda element: self._judge(element, found, when=sought),
        )
        self._end_search(found, label, when=when)

    def _judge(self, element: ast.expr, found: Label, *, when: bool) -> None:
        with self._scope.branch():
            self._w.condition(element, found, when=when)

    # comparisons -----------------------------------------------------------------------------------------------------

    def _comparison(self, node: ast.Compare, label: Label, *, when: bool) -> None:
        values = [node.left, *node.comparators]
        if len(node.ops) == 1:
            self._one(node.ops[0], self._w.value(values[0]), values[1], label=label, when=when)
            return
        end = label if not when else Label()
        left = self._w.value(values[0])
        for place, op in enumerate(node.ops):
            last = place + 1 == len(node.ops)
            right = self._w.value(values[place + 1])
            self._pair(op, left, right, label=label if last else end, when=when if last else False)
            left = right
        if when:
            self._asm.place(end)

    def _one(self, op: ast.cmpop, left: Value, right: ast.expr, *, label: Label, when: bool) -> None:
        self._pair(op, left, self._w.value(right), label=label, when=when)

    def _pair(self, op: ast.cmpop, left: Value, right: Value, *, label: Label, when: bool) -> None:
        if isinstance(op, ast.In | ast.NotIn):
            self._within(left, right, label, when=when is isinstance(op, ast.In))
        elif isinstance(op, ast.Is | ast.IsNot):
            if right.kind not in ("none", "object", "bool") or left.kind in ("int", "pair"):
                raise CannotLower("`is` has a lowered form for objects and None only")
            self.equal(left, right, label, when=when is isinstance(op, ast.Is))
        elif isinstance(op, ast.Eq | ast.NotEq):
            self.equal(left, right, label, when=when is isinstance(op, ast.Eq))
        elif left.kind in NUMBERS and right.kind in NUMBERS:
            self._numbers(type(op), left, right, label=label, when=when)
        else:
            raise CannotLower(f"an order of {left.kind} and {right.kind} has no lowered form")

    def _numbers(self, op: type, left: Value, right: Value, *, label: Label, when: bool) -> None:
        if not left.registers and right.registers:
            left, right, op = right, left, _MIRRORED.get(op, op)
        jump = _JUMPS[op][0 if when else 1]
        a = self._asm.load(left)
        if not right.registers and isinstance(right.constant, int) and abs(right.constant) < 2**31:
            self._asm.emit(jump, a, int(right.constant), label)
            return
        jump, swapped = _REGISTER_JUMPS[jump]
        b = self._asm.load(right)
        self._asm.emit(jump, *((b, a) if swapped else (a, b)), label)

    def equal(self, left: Value, right: Value, label: Label, *, when: bool) -> None:
        """Jump to `label` if whether two values are equal is `when`."""
        parameters, texts = self._machine.parameters, self._machine.texts
        if right.kind in texts or (right.kind == "object" and left.kind == "none"):
            left, right = right, left
        jumps = (m.JUMP_EQ, m.JUMP_EQ_C) if when else (m.JUMP_NE, m.JUMP_NE_C)
        if left.kind in NUMBERS and right.kind in NUMBERS:
            self._numbers(ast.Eq, left, right, label=label, when=when)
        elif left.kind == right.kind == "pair":
            self._pairs(left, right, label, when=when)
        elif left.kind == "object" and right.kind == "none":
            if left.nullable:
                self._asm.emit(jumps[1], left.registers[0], -1, label)
            else:
                self._always(False, label, when=when)
        elif left.kind == right.kind and (left.kind == "object" or left.kind in texts):
            self._asm.emit(jumps[0], left.registers[0], right.registers[0], label)
        elif left.kind == right.kind == "none":
            self._always(True, label, when=when)
        elif right.kind == "text" and left.kind in parameters:
            slot = self._asm.slot(self._machine.target_of(left.kind, str(right.constant)))
            wanted = self._scope.once("int", m.SLOT, slot, parameters[left.kind])
            self._asm.emit(jumps[0], left.registers[0], wanted.registers[0], label)
        elif right.kind == "text" and left.kind in texts:
            known = texts[left.kind]
            index = known.index(str(right.constant)) if right.constant in known else m.NO_TEXT
            self._asm.emit(jumps[1], left.registers[0], index, label)
        elif left.stream is not None and not left.stream.lazy and right.constant == ():
            self._exists(left, label, when=not when)
        else:
            raise CannotLower(f"a comparison of {left.kind} and {right.kind} has no lowered form")

    def _pairs(self, left: Value, right: Value, label: Label, *, when: bool) -> None:
        (a, b), (c, d) = halves(left), halves(right)
        if not when:
            self._numbers(ast.Eq, a, c, label=label, when=False)
            self._numbers(ast.Eq, b, d, label=label, when=False)
            return
        end = Label()
        self._numbers(ast.Eq, a, c, label=end, when=False)
        self._numbers(ast.Eq, b, d, label=label, when=True)
        self._asm.place(end)

    def _within(self, item: Value, inside: Value, label: Label, *, when: bool) -> None:
        if inside.kind == m.NUMBERS and item.kind in NUMBERS:
            found = self._asm.fresh("bool", m.BIT, inside.registers[0], self._asm.load(item))
            self.truthy(found, label, when=when)
        elif inside.kind in self._machine.texts and item.kind == "text":
            held = [str(item.constant) in text for text in self._machine.texts[inside.kind]]
            self.truthy(self._asm.mask(inside, held), label, when=when)
        elif inside.kind in ("items", "stream", "pair"):
            self._search(item, inside, label, when=when)
        else:
            raise CannotLower(f"`in` a {inside.kind} has no lowered form")

    def _search(self, item: Value, inside: Value, label: Label, *, when: bool) -> None:
        source = inside.stream.source if inside.stream is not None else None
        if source is not None and source.kind == "matches" and item.kind == "object":
            matches = self._asm.fresh("bool", m.MATCHES, item.registers[0], source.slot)
            self.truthy(matches, label, when=when)
            return
        if inside.kind == "pair":
            inside = Value("items", constant=halves(inside))
        found = label if when else Label()
        self._w.loops.iterate(inside, lambda element: self.equal(item, element, found, when=True))
        self._end_search(found, label, when=when)
