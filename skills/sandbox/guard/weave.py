"""Rewrites an inspected tree: steps are counted in loops, calls and comprehensions, and operators that can explode
become calls that look at sizes first.

Names of the guard's own functions begin with a dot, which no source can spell.
"""

from __future__ import annotations

import ast
from typing import cast

from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.meter import COUNTER
from sdg.skills.sandbox.guard.outline import FRESH, is_fresh, targets_of
from sdg.skills.sandbox.guard.weave_counting import call, constant, load, size_of
from sdg.skills.sandbox.guard.weave_expressions import BINARY, ExpressionWeaver


class Weaver(ExpressionWeaver):
    """Definitions and statements of one source, and through its bases all that is in them."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._leaves = self._find_leaves(node)
        fresh = [statement for statement in node.body if is_fresh(statement)]
        names = [target.id for statement in fresh for target in targets_of(statement)]
        rest: list[ast.stmt] = [self.visit(statement) for statement in node.body if statement not in fresh]
        node.body = [*rest, _function(FRESH, [ast.Global(names=names), *map(self.visit, fresh)])] if fresh else rest
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        ticks = self._tick_statements(node.body)
        self._returns.append(node.name in self._truths)
        outer, self._calls_only = self._calls_only, 0
        node.args = self.visit(node.args)
        body = self._statements(node.body)
        self._calls_only = outer
        self._returns.pop()
        if self._may_recur(node):
            leave = [cast(ast.stmt, ast.Expr(call(".leave")))]
            body = [ast.Expr(call(".enter")), ast.Try(body=body, handlers=[], orelse=[], finalbody=leave)]
        scope = [name for name in body if isinstance(name, ast.Nonlocal)]
        node.body = [ast.Global(names=[COUNTER]), *scope, *ticks, *(s for s in body if s not in scope)]
        node.returns = None
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        with self._by_calls():
            node.defaults = [self.visit(default) for default in node.defaults]
            node.kw_defaults = [self.visit(default) if default else None for default in node.kw_defaults]
        for argument in [*node.posonlyargs, *node.args, *node.kwonlyargs]:
            argument.annotation = None
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        wrapped = self._may_recur(node)
        size = size_of([node.body])
        node.args = self.visit(node.args)
        with self._by_calls():
            tick = self._tick(size)
            node.body = ast.BoolOp(op=ast.And(), values=[tick, self.visit(node.body)])
        return call(".deeper", node) if wrapped else node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            woven = self.visit(statement)
            out.extend(woven if isinstance(woven, list) else [woven])
        return out

    def visit_For(self, node: ast.For) -> ast.For:
        ticks = self._tick_statements(node.body)
        node.iter = self._rows(node.target, self._iterated(node.iter))
        node.body = [*ticks, *self._statements(node.body)]
        node.orelse = self._statements(node.orelse)
        node.target = self.visit(node.target)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        ticks = self._tick_statements([*node.body, ast.Expr(node.test)])
        node.test = self.visit(node.test)
        node.body = [*ticks, *self._statements(node.body)]
        node.orelse = self._statements(node.orelse)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.visit(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        node.finalbody = self._statements(node.finalbody)
        for handler in node.handlers:
            handler.body = self._statements(handler.body)
            kind = handler.type
            if isinstance(kind, ast.Tuple):
                kind.elts = [load("." + cast(ast.Name, name).id) for name in kind.elts]
            else:
                handler.type = load("." + (kind.id if isinstance(kind, ast.Name) else "Exception"))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        raised = node.exc
        name = raised.func if isinstance(raised, ast.Call) else raised
        if isinstance(name, ast.Name) and name.id in self._errors:
            values = raised.args if isinstance(raised, ast.Call) else []
            node.exc = call(".error", load("." + name.id), *(self.visit(value) for value in values))
        elif isinstance(raised, ast.Call):
            raise Refused(f"raise one of these: {', '.join(self._errors)}", line=node.lineno)
        elif raised is not None:
            node.exc = self.visit(raised)
        node.cause = None
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            both = isinstance(node.value, ast.BoolOp) and self._returns[-1]
            node.value = self.visit(node.value)
            if both:
                node.value = ast.IfExp(test=node.value, body=constant(True), orelse=constant(False))
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.visit(node.test)
        node.msg = call(".text", self.visit(node.msg)) if node.msg is not None else None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            node.value = call(".star", node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        harmless = self._kinds.harmless(node.op, read, node.value)
        if harmless or isinstance(node.op, ast.RShift | ast.Div):
            node.target, node.value = self.visit(node.target), self.visit(node.value)
            return node
        before: list[ast.stmt] = []
        target = node.target
        if isinstance(target, ast.Subscript):
            target.value, first = self._once(self.visit(target.value))
            target.slice, second = self._once(self._key(target.slice))
            before = [*first, *second]
            current: ast.expr = ast.Subscript(value=target.value, slice=target.slice, ctx=ast.Load())
        else:
            current = load(cast(ast.Name, target).id)
        value = call(f".i{BINARY[type(node.op)]}", current, self.visit(node.value))
        return [*before, ast.Assign(targets=[target], value=value)]

    def _once(self, node: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """A way to name a value twice: itself when it is a name or a constant, else a temporary."""
        if isinstance(node, ast.Name | ast.Constant):
            return node, []
        name = self._temporary()
        return load(name), [ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=node)]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if isinstance(node.value, ast.Constant):
            return ast.Pass()
        node.value = self.visit(node.value)
        return node


def _function(name: str, body: list[ast.stmt]) -> ast.FunctionDef:
    made = cast(ast.FunctionDef, ast.parse("def made(): pass").body[0])
    made.name, made.body = name, body
    return made
