"""Judges and rewrites a tree in one walk: what isn't listed is refused, and every operator, subscript, method, loop and
text becomes a call that looks at sizes first.

    for o in things:                          for o in things:
        if o.x < 3: near[o.name] += 1   ->        .tick(72)
                                                  if .lt(o.x, 3):
                                                      .put(.iadd(.item((.t1 := near), (.t2 := o.name)), 1), .t1, .t2)

Names of the guard's own functions begin with a dot, which no source can spell: builtins and functions of the host that
are rebound are the source's own business, what modules hold lies under `.x_MODULE.NAME`, methods under `.m_NAME`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.helpers import BUILTINS, METHODS
from sdg.skills.sandbox.guard.judge import Judge, located, units
from sdg.skills.sandbox.guard.operators import BINARY
from sdg.skills.sandbox.guard.outline import is_constant, is_literal
from sdg.skills.sandbox.guard.rules import compared
from sdg.skills.sandbox.guard.syntax import call, load, loads, store
from sdg.skills.sandbox.guard.table import PLAIN_TYPES

_TEXT_FUNCTIONS = frozenset({"lower", "upper", "strip", "title", "capitalize", "casefold"})
"""Methods of str that may be passed on as functions: `key=str.lower`."""
_CONSUMERS = frozenset({"any", "all", "sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "min", "max"})
"""Builtins that are done with an iterator when they return."""


class Weaver(Judge):
    """Weaves one source, with all that is wrong with it noted."""

    # Functions ------------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name in self._functions and node.name in loads(node):
            self.refuse(
                node, f"{node.name} is given, and in a function of that name it means itself: choose another name"
            )
        enter, ticks, is_generator = call(".enter", units(*node.body)), self._ticks(*node.body), _yields(node)
        node.body, node.returns, node.decorator_list = [*_made_anew(node.args, self._imported), *node.body], None, []
        outer, self._function, self._tries = (self._function, self._tries), node.name, 0
        self.generic_visit(node)
        self._function, self._tries = outer
        if is_generator:  # its depth is counted by the iterator that it is wrapped in
            node.decorator_list = [load(".generator")]
            node.body = [ast.Expr(ticks), *node.body]
        else:
            leave = ast.Expr(call(".leave"))
            node.body = [ast.Expr(enter), ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[leave])]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        ticks = self._ticks(node.body)
        self.generic_visit(node)
        node.body = ast.BoolOp(op=ast.And(), values=[ticks, node.body])
        return call(".deeper", node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        both = isinstance(node.value, ast.BoolOp) and self._function == self.truth
        self.generic_visit(node)
        if both and node.value is not None:
            node.value = ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=node.value))
        return node

    # Statements -----------------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.For:
        ticks, is_starred = self._ticks(*node.body), _is_starred(node.target)
        self._target(node.target, None)
        self.generic_visit(node)
        node.iter = call(".rows", node.iter) if is_starred else node.iter
        node.body.insert(0, ast.Expr(ticks))
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        ticks = self._ticks(*node.body, ast.Expr(node.test))
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(ticks))
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        self._tries += 1
        self.generic_visit(node)
        self._tries -= 1
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        if not all(isinstance(kind, ast.Name) and kind.id in self._errors for kind in kinds):
            self.refuse(node, f"except can name these only: {', '.join(self._errors)}")
        names = [load(f".e_{getattr(kind, 'id', '')}") for kind in kinds] if node.type else [load(".e_Exception")]
        node.type, node.name = None, node.name or self._temporary()
        self.generic_visit(node)
        node.type = ast.Tuple(elts=names, ctx=ast.Load())
        node.body.insert(0, ast.Expr(call(".caught", load(node.name))))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        called = node.exc if isinstance(node.exc, ast.Call) else None
        raised, texts = (called.func, called.args) if called else (node.exc, [])
        node.cause = self.visit(node.cause) and None if node.cause else None
        if isinstance(raised, ast.Name) and raised.id in self._errors:
            node.exc = call(".error", load(f".e_{raised.id}"), *map(self.visit, texts))
        elif isinstance(node.exc, ast.Name) and node.exc.id in self._variables:
            self.generic_visit(node)
        elif raised is not None:
            self.refuse(node, f"raise one of these, as in raise ValueError('...'): {', '.join(self._errors)}")
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        plain = ast.Assign(targets=[node.target], value=node.value) if node.value is not None else ast.Pass()
        return self.visit(ast.copy_location(plain, node))

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value, stores = self.visit(node.value), list[ast.stmt]()
        node.value = call(".star", value) if any(map(_is_starred, node.targets)) else value
        node.targets = [self._target(target, stores) for target in node.targets]
        return [node, *stores]

    def _target(self, node: ast.expr, stores: list[ast.stmt] | None, *, inner: bool = False) -> ast.expr:
        """What is assigned to, with temporaries for its subscripts, which `stores` then puts where they belong; where
        there is None it is names only."""
        if isinstance(node, ast.Tuple | ast.List):
            if inner and any(isinstance(item, ast.Starred) for item in node.elts):
                self.refuse(node, "a star inside a nested pattern is not allowed: unpack it in a line of its own")
            node.elts = [self._target(item, stores, inner=True) for item in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self._target(node.value, None)
        elif isinstance(node, ast.Subscript) and stores is not None:
            name = self._temporary()
            put = call(".put", load(name), self.visit(node.value), self.visit(node.slice))
            stores.append(ast.copy_location(ast.Expr(put), node))
            return ast.copy_location(store(name), node)
        elif isinstance(node, ast.Attribute):
            self.refuse(node, f"{node.attr} cannot be set: what functions return is read-only; use a variable")
        elif isinstance(node, ast.Name):
            self._check_name(node, node.id, bound=True)
        else:
            self.refuse(node, "only names and items of your own lists and dicts can be assigned to")
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        function, target = f".i{BINARY.get(type(node.op).__name__, '')}", node.target
        if isinstance(target, ast.Subscript):
            names = [self._temporary(), self._temporary()]
            parts = [
                ast.NamedExpr(target=store(name), value=self.visit(part))
                for name, part in zip(names, (target.value, target.slice), strict=True)
            ]
            new = call(function, call(".item", *parts), self.visit(node.value))
            return ast.Expr(call(".put", new, *map(load, names)))
        self._target(target, None)
        new = call(function, load(getattr(target, "id", "")), self.visit(node.value))
        return ast.Assign(targets=[target], value=new)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                out.append(ast.Expr(call(".delete", self.visit(target.value), self.visit(target.slice))))
            elif isinstance(target, ast.Name):
                out.append(ast.Delete(targets=[self._target(target, None)]))
        return out

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Yield) and not self._tries:
            node.value.value = self.visit(node.value.value) if node.value.value else None
            return node
        return self.generic_visit(node)

    # Expressions ----------------------------------------------------------------------------------------------------

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self._target(node.target, None)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = self._imported.get(node.id, node.id)
        self._check_name(node, node.id, bound=not isinstance(node.ctx, ast.Load))
        if name in self._errors and name not in self._variables:
            self.refuse(node, f"{name} can only be raised or named in except")
        elif not any(name in known for known in (self._variables, self._functions, BUILTINS, self._imported)):
            if not name.startswith((".t", ".missing", "__")):
                self.refuse(node, advice.unknown(node.id, functions=self._functions))
        return ast.Name(id=name, ctx=node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A field as it is; a method, which nothing calls here, as a function of its own."""
        owner = node.value.id if isinstance(node.value, ast.Name) and node.value.id not in self._variables else ""
        member = f"{self._imported.get(owner)}.{node.attr}"
        if member in self._imported:
            return load(member)
        if owner == "str" and node.attr in _TEXT_FUNCTIONS:
            return load(f".m_{node.attr}")
        if node.attr not in self._fields and node.attr not in METHODS:
            told = advice.attribute(node, fields=self._fields, functions=self._functions, bound=self._variables)
            self.refuse(node, told)
            return node
        if owner in PLAIN_TYPES:
            self.refuse(node, f"call {node.attr} on a value, as in value.{node.attr}(...)")
        elif node.attr not in self._fields and node.attr != "get":
            self.refuse(node, f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)")
        self.generic_visit(node)
        return node if node.attr in self._fields else call(".getter", node.value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, receiver = node.func, list[ast.expr]()
        name = function.id if isinstance(function, ast.Name) and function.id not in self._variables else ""
        if isinstance(function, ast.Attribute) and not self._is_value(function):
            name, receiver = function.attr, [self.visit(function.value)]
            node.func = load(f".m_{name}")
        elif name in ("type", "getattr", "hasattr") and name not in self._functions:
            return self._reflected(node, name)
        else:
            node.func = self.visit(function)
            if isinstance(function, ast.Attribute) and function.attr in self._fields:
                self.refuse(node, f"{function.attr} is a value, not a method: write it without brackets")
        first = node.args[0] if node.args else None
        is_consumed = name in _CONSUMERS or (name == "join" and receiver)
        if is_consumed and isinstance(first, ast.GeneratorExp) and len(node.args) == 1 and not node.keywords:
            node.args = [*receiver, self._comprehension(first, "elt")]
        else:
            node.args = [*receiver, *map(self.visit, node.args)]
        for word in node.keywords:
            self._check_name(word.value, word.arg or "")
            word.value = self.visit(word.value) if word.arg else call(".merged", self.visit(word.value))
        return node

    def _is_value(self, node: ast.Attribute) -> bool:
        """Whether what is called there is no method of the value before it."""
        owner = node.value.id if isinstance(node.value, ast.Name) and node.value.id not in self._variables else ""
        return node.attr not in METHODS or owner in self._imported or (owner in PLAIN_TYPES)

    def _reflected(self, node: ast.Call, name: str) -> ast.expr:
        """`type(value)`, and getattr and hasattr with a constant name."""
        given = node.args
        if not node.keywords and name == "type" and len(given) == 1:
            return call(".type", self.visit(given[0]))
        field = given[1].value if len(given) in (2, 3) and isinstance(given[1], ast.Constant) else ""
        if node.keywords or not str(field).isidentifier() or str(field).startswith("_"):
            self.refuse(node, advice.unknown(name, functions=self._functions))
            return node
        if name == "getattr" and len(given) == 2:
            return self.visit(ast.copy_location(ast.Attribute(value=given[0], attr=str(field), ctx=ast.Load()), node))
        return call(f".{name}", *map(self.visit, given))

    def _comprehension(self, node: Any, *parts: str) -> Any:
        counted = [list(generator.ifs) for generator in node.generators]
        counted[-1] += [getattr(node, part) for part in parts]
        for generator, what in zip(node.generators, counted, strict=True):
            ticks, is_starred = self._ticks(*what), _is_starred(generator.target)
            self._target(generator.target, None)
            self.visit(generator)
            generator.iter = call(".rows", generator.iter) if is_starred else generator.iter
            generator.ifs.insert(0, ticks)
        for part in parts:
            setattr(node, part, self.visit(getattr(node, part)))
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._comprehension(node, "elt")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return call(".lazy", self._comprehension(node, "elt"))

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return call(".set", self._comprehension(ast.ListComp(elt=node.elt, generators=node.generators), "elt"))

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        pair = ast.Tuple(elts=[node.key, node.value], ctx=ast.Load())
        return call(".dict", self._comprehension(ast.ListComp(elt=pair, generators=node.generators), "elt"))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed."""
        for part in (node.left, *node.comparators):
            if isinstance(part, ast.Name) and part.id in self._functions and part.id not in self._variables:
                self.refuse(part, advice.uncalled(part.id))
        self.generic_visit(node)
        return self._chained(node.left, node.ops, node.comparators)

    def _chained(self, left: ast.expr, ops: list[ast.cmpop], sides: list[ast.expr]) -> ast.expr:
        """Comparisons of which each goes on with the right side of the one before, in a lambda that holds both."""
        if len(ops) == 1:
            return compared(ops[0], left, sides[0])
        names = [self._temporary(), self._temporary()]
        both = [compared(ops[0], *map(load, names)), self._chained(load(names[1]), ops[1:], sides[1:])]
        arguments = ast.arguments(
            posonlyargs=[], args=list(map(ast.arg, names)), kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        function = ast.Lambda(args=arguments, body=ast.BoolOp(op=ast.And(), values=both))
        return ast.Call(func=function, args=[left, sides[0]], keywords=[])


def _is_starred(target: ast.expr) -> bool:
    """Whether C code would take all there is apart."""
    return any(isinstance(part, ast.Starred) for part in ast.walk(target))


def _yields(node: ast.AST) -> bool:
    """Whether a function yields itself, not one that is defined in it."""
    inner = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.FunctionDef | ast.Lambda)]
    return any(isinstance(part, ast.Yield) or _yields(part) for part in inner)


def _made_anew(node: ast.arguments, imported: Collection[str]) -> list[ast.stmt]:
    """What makes those defaults anew in each call that could be changed; they are taken out of the arguments."""
    made: list[ast.stmt] = []
    positional = [*node.posonlyargs, *node.args]
    for parameters, defaults in (
        (positional[-len(node.defaults) :], node.defaults),
        (node.kwonlyargs, node.kw_defaults),
    ):
        for place, default in enumerate(defaults):
            if default is not None and is_literal(default, imported) and not is_constant(default):
                name = parameters[place].arg
                missing = ast.Compare(left=load(name), ops=[ast.Is()], comparators=[load(".missing")])
                made.append(ast.If(test=missing, body=[ast.Assign(targets=[store(name)], value=default)], orelse=[]))
                defaults[place] = load(".missing")
    return [located(statement, statement.body[0].value) for statement in made]  # type: ignore[attr-defined]
