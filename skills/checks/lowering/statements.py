"""Statements of a check as instructions: assignments, conditions, loops with break and else, early returns."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from sdg.envs import check_machine as m
from sdg.skills.checks.lowering.code import CannotLower, Label, Scope, Value, joined, width
from sdg.skills.checks.lowering.conditions import Conditions
from sdg.skills.checks.lowering.loops import Loops
from sdg.skills.checks.lowering.values import Values, is_boolean

_STATIC = frozenset({"stream", "items", "text", m.NUMBERS})
"""Kinds of values that variables hold by name alone, so that they can be bound only once."""


class Statements:
    """Writes the body of one check function; its parts need each other, for expressions nest.

    `kinds` is what earlier passes found each rebound variable to hold.
    """

    def __init__(
        self, function: ast.FunctionDef, *, helpers: dict[str, ast.FunctionDef], constants: dict[str, ast.expr],
        kinds: dict[str, Value], machine: m.CheckMachine,
    ) -> None:  # fmt: skip
        bound = Counter(
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        single = frozenset(name for name, times in bound.items() if times == 1) | frozenset(constants)
        self.scope, self.machine = Scope(single=single, helpers=helpers), machine
        self.asm = self.scope.asm
        self.loops, values = Loops(self), Values(self)
        self.value, self.truth = values.value, values.truth
        self.condition = Conditions(self).condition
        self._kinds = kinds
        self._breaks: list[Label] = []
        self.changed = False
        for name, expression in constants.items():
            self.scope.bind(ast.Name(id=name, ctx=ast.Store()), self.value(expression))
        self._function = function

    def write(self) -> tuple[tuple[tuple[int, int, int, int], ...], tuple[Hashable, ...]]:
        """The whole program, facts that loops read before the function, and its parameters."""
        if not self._block(self._function.body):
            self.asm.emit(m.RETURN, m.FAULT)
        body = self.asm.finish()
        before = [(op, register, b, c) for (op, b, c), register in self.scope.prologue.items()]
        return (*before, *body), tuple(self.asm.slots)

    def _block(self, body: Sequence[ast.stmt]) -> bool:
        """Write statements; whether control never goes on behind them."""
        writers: dict[type, Callable[..., bool]] = {
            ast.Return: self._return, ast.If: self._if, ast.For: self._for, ast.Assign: self._assign,
            ast.Expr: self._expression, ast.AugAssign: self._augment, ast.AnnAssign: self._annotated,
            ast.Pass: lambda node: False, ast.Break: self._break, ast.Continue: self._continue,
        }  # fmt: skip
        for node in body:
            if type(node) not in writers:
                raise CannotLower(f"{type(node).__name__} has no lowered form")
            if writers[type(node)](node):
                return True
        return False

    def _expression(self, node: ast.Expr) -> bool:
        if not isinstance(node.value, ast.Constant):
            raise CannotLower("an expression whose value is dropped has no lowered form")
        return False

    def _return(self, node: ast.Return) -> bool:
        if isinstance(node.value, ast.Constant) and type(node.value.value) is bool:
            self.asm.emit(m.RETURN, int(node.value.value))
            return True
        if node.value is None:
            self.asm.emit(m.RETURN, m.FAULT)
            return True
        if not (isinstance(node.value, ast.BoolOp) or is_boolean(node.value, self.machine)):
            saved = self.scope.save()
            kind = self.value(node.value).kind
            self.scope.restore(saved)
            if kind != "bool":
                raise CannotLower(f"it returns a {kind}, not True or False")
        no = Label()
        with self.scope.branch():
            self.condition(node.value, no, when=False)
        self.asm.emit(m.RETURN, m.TRUE)
        self.asm.place(no)
        self.asm.emit(m.RETURN, m.FALSE)
        return True

    def _if(self, node: ast.If) -> bool:
        scope = self.scope
        otherwise, end = Label(), Label()
        before = set(scope.assigned), set(scope.nonnull)
        self.condition(node.test, otherwise, when=False)
        self.scope.learn(node.test, holds=True)
        first_ends = self._block(node.body)
        first = scope.assigned, scope.nonnull
        if not first_ends:
            self.asm.emit(m.JUMP, c=end)
        self.asm.place(otherwise)
        scope.assigned, scope.nonnull = set(before[0]), set(before[1])
        scope.learn(node.test, holds=False)
        second_ends = self._block(node.orelse)
        self.asm.place(end)
        if second_ends and not first_ends:
            scope.assigned, scope.nonnull = first
        elif not first_ends:
            scope.assigned, scope.nonnull = scope.assigned & first[0], scope.nonnull & first[1]
        return first_ends and second_ends

    def _for(self, node: ast.For) -> bool:
        values = self.value(node.iter)
        end = Label()
        repeated = {
            part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }

        def visit(element: Value) -> None:
            self._breaks.append(end)
            before = set(self.scope.assigned), set(self.scope.nonnull)
            self.scope.bind(node.target, element)
            self._block(node.body)
            self.scope.assigned, self.scope.nonnull = before
            self._breaks.pop()

        self.scope.nonnull -= repeated
        self.loops.iterate(values, visit, ordered=not is_order_free(node))
        ends = self._block(node.orelse)
        self.asm.place(end)
        has_break = any(isinstance(part, ast.Break) for part in ast.walk(node))
        return ends and not has_break

    def _break(self, node: ast.Break) -> bool:
        self.asm.emit(m.JUMP, c=self._breaks[-1])
        return True

    def _continue(self, node: ast.Continue) -> bool:
        self.asm.emit(m.JUMP, c=self.scope.tops[-1])
        return True

    def _annotated(self, node: ast.AnnAssign) -> bool:
        return self._bind(node.target, self.value(node.value)) if node.value is not None else False

    def _assign(self, node: ast.Assign) -> bool:
        if len(node.targets) != 1:
            raise CannotLower("a = b = ... has no lowered form")
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = [self._settled(self.value(item)) for item in node.value.elts]
            if len(values) != len(target.elts):
                raise CannotLower("an unpacking of the wrong length")
            for item, value in zip(target.elts, values, strict=True):
                self._bind(item, value)
            return False
        return self._bind(target, self.value(node.value))

    def _augment(self, node: ast.AugAssign) -> bool:
        if not isinstance(node.target, ast.Name):
            raise CannotLower("this assignment has no lowered form")
        read = ast.Name(id=node.target.id, ctx=ast.Load())
        return self._bind(node.target, self.value(ast.BinOp(left=read, op=node.op, right=node.value)))

    def _settled(self, value: Value) -> Value:
        """A value that stays what it is when variables and loops go on: copied out of registers that change."""
        if not any(register in self.scope.owned for register in value.registers):
            return value
        registers = tuple(self.asm.register() for _ in value.registers)
        self.asm.copy(value, registers)
        return Value(value.kind, registers, nullable=value.nullable)

    def _bind(self, target: ast.expr, value: Value) -> bool:
        if isinstance(target, ast.Name) and target.id not in self.scope.single:
            self._rebind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List) and value.kind == "pair":
            names = [item.id for item in target.elts if isinstance(item, ast.Name)]
            if len(names) != 2 or any(name not in self.scope.single for name in names):
                raise CannotLower("this unpacking has no lowered form")
            self.scope.bind(target, self._settled(value))
        else:
            if value.stream is not None and (value.stream.changing or value.stream.lazy):
                raise CannotLower(
                    "a generator, or a list made of values which change, has no lowered form in a variable"
                )
            self.scope.bind(target, self._settled(value))
        return False

    def _rebind(self, name: str, value: Value) -> None:
        """Assign to a variable that is assigned in several places: it has registers of its own."""
        if value.kind in _STATIC:
            raise CannotLower(f"{name}, a {value.kind} that is bound in several places, has no lowered form")
        known = self._kinds.get(name, value)
        kind = joined(known, value)
        if name not in self._kinds or kind.kind != known.kind or kind.nullable != known.nullable:
            self._kinds[name] = Value(kind.kind, nullable=kind.nullable)
            self.changed = True
        if name not in self.scope.homes:
            self.scope.homes[name] = tuple(self.asm.register() for _ in range(width(kind.kind)))
            self.scope.owned.update(self.scope.homes[name])
        self.asm.copy(value, self.scope.homes[name])
        held = "object" if kind.kind == "none" else kind.kind
        self.scope.bind(
            ast.Name(id=name, ctx=ast.Store()),
            Value(held, self.scope.homes[name], nullable=kind.nullable or kind.kind == "none"),
        )


def is_order_free(node: ast.For) -> bool:
    """Whether a loop comes to the same whatever the order of its elements (as far as nothing in it raises).

    All its returns return one constant; what it assigns for later is one constant a name, or a count; no condition
    reads such a name.
    """
    returns, constants, counted = set(), dict[str, set[str]](), set[str]()
    local = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    inside = [part for statement in node.body for part in ast.walk(statement)]
    for part in inside:
        if isinstance(part, ast.Return):
            if not isinstance(part.value, ast.Constant):
                return False
            returns.add(part.value.value)
        elif isinstance(part, ast.For):
            local |= {name.id for name in ast.walk(part.target) if isinstance(name, ast.Name)}
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant):
            for target in part.targets:
                constants.setdefault(ast.unparse(target), set()).add(repr(part.value.value))
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add):
            counted.add(ast.unparse(part.target))
        elif isinstance(part, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            return False
    leaves = any(isinstance(part, ast.Return | ast.Break) for part in inside)
    read = {part.id for part in inside if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    carried = set(constants) | counted
    return (
        len(returns) <= 1
        and all(len(values) == 1 for values in constants.values())
        and not (counted and leaves)
        and not (constants and counted and set(constants) & counted)
        and not read & carried
        and not (returns and constants)
    )
