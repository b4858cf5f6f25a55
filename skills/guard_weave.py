"""Rewrites an inspected tree: steps are counted in loops, calls and comprehensions, and operators that can explode
become calls that look at sizes first.

Names of the guard's own functions begin with a dot, which no source can spell.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, cast

from skills.guard_builtins import PLAIN_TYPES, RAW
from skills.guard_errors import Refused
from skills.guard_kinds import Kinds
from skills.guard_meter import COUNTER
from skills.guard_methods import METHODS, TEXT_TESTS, TEXT_TO_TEXT
from skills.guard_signature import FLAT, NUMBER
from skills.guard_syntax import TEXT_FUNCTIONS, is_type_list

NODES_PER_STEP = 24
CALL_NODES = 24
_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mult", ast.Pow: "pow", ast.LShift: "lshift", ast.Mod: "mod",
    ast.FloorDiv: "floordiv", ast.BitOr: "bitor", ast.BitAnd: "bitand", ast.BitXor: "bitxor",
}  # fmt: skip
_COMPARE = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.In: "in",
    ast.NotIn: "notin",
}  # fmt: skip
_LAZY = ("enumerate", "zip", "reversed", "range")
_CALLBACKS = frozenset({"map", "filter", "sorted", "min", "max"})


class Weaver(ast.NodeTransformer):
    """One source at a time. `truths` names the functions whose `return a and b` means its truth."""

    def __init__(
        self, kinds: Kinds, *, builtins: frozenset[str], errors: Mapping[str, type], truths: frozenset[str]
    ) -> None:
        self._kinds = kinds
        self._builtins = builtins
        self._errors = errors
        self._truths = truths
        self._calls_only = 0
        self._temporaries = 0
        self._returns: list[bool] = []
        self._leaves: frozenset[str] = frozenset()

    def visit(self, node: ast.AST) -> Any:
        """Weave one node; what replaces it stands on its line."""
        woven = super().visit(node)
        if isinstance(woven, ast.expr | ast.stmt) and not hasattr(woven, "lineno"):
            ast.copy_location(woven, node)
        return woven

    # -- counting

    def _tick(self, nodes: int) -> ast.expr:
        """An expression that charges steps and is True."""
        steps = 1 + nodes // NODES_PER_STEP
        if self._calls_only:
            return _call(".tick", _constant(steps))
        less = ast.BinOp(left=_load(COUNTER), op=ast.Sub(), right=_constant(steps))
        left = ast.NamedExpr(target=ast.Name(id=COUNTER, ctx=ast.Store()), value=less)
        enough = ast.Compare(left=left, ops=[ast.GtE()], comparators=[_constant(0)])
        return ast.BoolOp(op=ast.Or(), values=[enough, _call(".spent")])

    def _tick_statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        steps = 1 + size_of(body) // NODES_PER_STEP
        charge = ast.AugAssign(target=ast.Name(id=COUNTER, ctx=ast.Store()), op=ast.Sub(), value=_constant(steps))
        short = ast.Compare(left=_load(COUNTER), ops=[ast.Lt()], comparators=[_constant(0)])
        return [charge, ast.If(test=short, body=[ast.Expr(_call(".spent"))], orelse=[])]

    @contextmanager
    def _by_calls(self) -> Any:
        """Where an assignment expression cannot charge: in lambdas and in what a comprehension runs over."""
        self._calls_only += 1
        yield
        self._calls_only -= 1

    # -- definitions

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._leaves = self._find_leaves(node)
        node.body = [self.visit(statement) for statement in node.body]
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
            leave = [cast(ast.stmt, ast.Expr(_call(".leave")))]
            body = [ast.Expr(_call(".enter")), ast.Try(body=body, handlers=[], orelse=[], finalbody=leave)]
        scope = [name for name in body if isinstance(name, ast.Nonlocal)]
        node.body = [ast.Global(names=[COUNTER]), *scope, *ticks, *(s for s in body if s not in scope)]
        node.returns = None
        return node

    def _find_leaves(self, tree: ast.Module) -> frozenset[str]:
        """Functions that call nothing which could call them: themselves leaves, or calling only leaves."""
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names = [function.name for function in functions]
        rebound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        rebound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for _ in functions:
            found = {f.name for f in functions if names.count(f.name) == 1 and not self._may_recur(f)} - rebound
            if found == self._leaves:
                break
            self._leaves = frozenset(found)
        return self._leaves

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        with self._by_calls():
            node.defaults = [self.visit(default) for default in node.defaults]
            node.kw_defaults = [self.visit(default) if default else None for default in node.kw_defaults]
        for argument in [*node.posonlyargs, *node.args, *node.kwonlyargs]:
            argument.annotation = None
        return node

    def _may_recur(self, node: ast.FunctionDef | ast.Lambda) -> bool:
        """Whether a function calls anything that could call it back: variables, callbacks, other functions."""
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        calls = (part for top in body for part in ast.walk(top) if isinstance(part, ast.Call))
        return any(self._may_call_back(call) for call in calls)

    def _may_call_back(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Attribute):
            return function.attr == "sort"
        if not isinstance(function, ast.Name):
            return True
        if function.id in self._kinds.variables:
            return function.id not in self._leaves
        return function.id in _CALLBACKS and _passes_functions(call, self._kinds.variables)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        wrapped = self._may_recur(node)
        size = size_of([node.body])
        node.args = self.visit(node.args)
        with self._by_calls():
            tick = self._tick(size)
            node.body = ast.BoolOp(op=ast.And(), values=[tick, self.visit(node.body)])
        return _call(".deeper", node) if wrapped else node

    # -- statements

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            woven = self.visit(statement)
            out.extend(woven if isinstance(woven, list) else [woven])
        return out

    def visit_For(self, node: ast.For) -> ast.For:
        ticks = self._tick_statements(node.body)
        node.iter = self._iterated(node.iter)
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
                kind.elts = [_load("." + cast(ast.Name, name).id) for name in kind.elts]
            else:
                handler.type = _load("." + (kind.id if isinstance(kind, ast.Name) else "Exception"))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        raised = node.exc
        name = raised.func if isinstance(raised, ast.Call) else raised
        if isinstance(name, ast.Name) and name.id in self._errors:
            values = raised.args if isinstance(raised, ast.Call) else []
            node.exc = _call(".error", _load("." + name.id), *(self.visit(value) for value in values))
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
                node.value = ast.IfExp(test=node.value, body=_constant(True), orelse=_constant(False))
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.test = self.visit(node.test)
        node.msg = _call(".text", self.visit(node.msg)) if node.msg is not None else None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[self.visit(node.target)], value=self.visit(node.value))

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            node.value = _call(".star", node.value)
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
            current = _load(cast(ast.Name, target).id)
        value = _call(f".i{_BINARY[type(node.op)]}", current, self.visit(node.value))
        return [*before, ast.Assign(targets=[target], value=value)]

    def _once(self, node: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """A way to name a value twice: itself when it is a name or a constant, else a temporary."""
        if isinstance(node, ast.Name | ast.Constant):
            return node, []
        name = self._temporary()
        return _load(name), [ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=node)]

    def _temporary(self) -> str:
        self._temporaries += 1
        return f".t{self._temporaries}"

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if isinstance(node.value, ast.Constant):
            return ast.Pass()
        node.value = self.visit(node.value)
        return node

    # -- loops in expressions

    def _iterated(self, node: ast.expr) -> ast.expr:
        """What a counted loop runs over: there the C forms of enumerate, zip and reversed are safe."""
        if isinstance(node, ast.Call) and self._kinds.is_builtin(node.func, *_LAZY) and not _starred(node):
            name = cast(ast.Name, node.func).id
            arguments = [
                self._iterated(argument) if name != "range" else self.visit(argument) for argument in node.args
            ]
            keywords = [ast.keyword(arg=word.arg, value=self.visit(word.value)) for word in node.keywords]
            return ast.Call(func=_load(f".raw_{name}"), args=arguments, keywords=keywords)
        return cast(ast.expr, self.visit(node))

    def _comprehension(self, node: Any, *parts: str) -> ast.expr:
        sizes = [size_of(generator.ifs) for generator in node.generators]
        sizes[-1] += size_of([getattr(node, part) for part in parts])
        for generator, size in zip(node.generators, sizes, strict=True):
            with self._by_calls():
                generator.iter = self._iterated(generator.iter)
            generator.ifs = [self._tick(size), *(self.visit(condition) for condition in generator.ifs)]
            generator.target = self.visit(generator.target)
        for part in parts:
            setattr(node, part, self.visit(getattr(node, part)))
        return cast(ast.expr, node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehension(node, "elt")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._comprehension(node, "elt")

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        flat = self._kinds.of(node.elt) >= FLAT
        self._comprehension(node, "elt")
        node.elt = node.elt if flat else _call(".key", node.elt)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        flat = self._kinds.of(node.key) >= FLAT
        self._comprehension(node, "key", "value")
        node.key = node.key if flat else _call(".key", node.key)
        return node

    # -- expressions

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        harmless = self._kinds.harmless(node.op, node.left, node.right)
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        return node if harmless else _call("." + _BINARY[type(node.op)], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        safe = [self._comparable(op, sides[i], sides[i + 1]) for i, op in enumerate(node.ops)]
        node.ops = [_not_identity(op, sides[i], sides[i + 1]) for i, op in enumerate(node.ops)]
        woven: list[ast.expr] = [self.visit(side) for side in sides]
        node.left, node.comparators = woven[0], woven[1:]
        if all(safe):
            return node
        if len(node.ops) == 1:
            return _call("." + _COMPARE[type(node.ops[0])], *woven)
        return self._chain(node, woven)

    def _comparable(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
        """Whether a comparison is short whatever its operands hold."""
        flat_left, flat_right = self._kinds.of(left) >= FLAT, self._kinds.of(right) >= FLAT
        if isinstance(op, ast.Is | ast.IsNot):
            return True
        if isinstance(op, ast.In | ast.NotIn):
            display = isinstance(right, ast.List | ast.Tuple | ast.Set | ast.Dict) and not _starred(right)
            return flat_right or (flat_left and display)
        return flat_left or flat_right or self._is_short(left) or self._is_short(right)

    def _is_short(self, node: ast.expr) -> bool:
        """A literal container of flat values: comparing with it ends as soon as it does."""
        if isinstance(node, ast.Dict):
            parts = [*node.keys, *node.values]
            return all(part is not None and self._kinds.of(part) >= FLAT for part in parts)
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and not _starred(node):
            return all(self._kinds.of(part) >= FLAT for part in node.elts)
        return False

    def _chain(self, node: ast.Compare, sides: list[ast.expr]) -> ast.expr:
        """a < b < c with each part evaluated once and only when needed."""
        pairs: list[ast.expr] = []
        left = sides[0]
        for place, op in enumerate(node.ops):
            right = sides[place + 1]
            again = right
            if place + 1 < len(node.ops) and not isinstance(right, ast.Name | ast.Constant):
                if self._calls_only:
                    raise Refused("a chained comparison is not possible here: write it with `and`", line=node.lineno)
                name = self._temporary()
                right, again = ast.NamedExpr(target=ast.Name(id=name, ctx=ast.Store()), value=right), _load(name)
            function = _COMPARE.get(type(op))
            pairs.append(
                _call("." + function, left, right)
                if function
                else ast.Compare(left=left, ops=[op], comparators=[right])
            )
            left = again
        return ast.BoolOp(op=ast.And(), values=pairs)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        index = node.slice
        flat = self._kinds.of(node.value) >= FLAT
        node.value = self.visit(node.value)
        if not isinstance(index, ast.Slice):
            node.slice = self._key(index)
            return node
        bounds = [self.visit(bound) if bound else _constant(None) for bound in (index.lower, index.upper, index.step)]
        if flat:
            node.slice = ast.Slice(lower=bounds[0], upper=bounds[1], step=bounds[2])
            return node
        return _call(".slice", node.value, *bounds)

    def _key(self, node: ast.expr) -> ast.expr:
        flat = self._kinds.of(node) >= FLAT
        woven: ast.expr = self.visit(node)
        return woven if flat else _call(".key", woven)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._kinds.is_builtin(node.value, "str") and node.attr in TEXT_FUNCTIONS:
            return _load(f".str_{node.attr}")
        if node.attr not in self._kinds.fields:
            raise Refused(
                f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)", line=node.lineno
            )
        node.value = self.visit(node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if isinstance(node.ctx, ast.Load) and name not in self._kinds.variables and name not in self._kinds.functions:
            if name in self._errors:
                raise Refused(f"{name} can only be raised or named in except", line=node.lineno)
            if name not in self._builtins:
                raise Refused(f"the name {name!r} is not known; {self._available()}", line=node.lineno)
        return node

    def _available(self) -> str:
        functions = ", ".join(self._kinds.functions)
        return f"the functions are: {functions}; builtins such as len, any, all, min, max, sorted and range work too"

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        values = []
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            values.append(self.visit(value) if key is not None else _call(".merged", self.visit(value)))
            node.keys[place] = self._key(key) if key is not None else None
        node.values = values
        return node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        starred = _starred(node)
        node.elts = [self.visit(item) if isinstance(item, ast.Starred) else self._key(item) for item in node.elts]
        return _call("set", ast.List(elts=node.elts, ctx=ast.Load())) if starred else node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        if isinstance(node.ctx, ast.Store):
            return node
        return ast.Starred(value=_call(".star", self.visit(node.value)), ctx=ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                flat = self._kinds.of(part.value) >= FLAT
                value = self.visit(part.value)
                helper = ".formatted" if part.format_spec is not None else ".text"
                if part.conversion == ord("r"):
                    helper, part.conversion = ".repr", -1
                part.value = value if flat and helper == ".text" else _call(helper, value)
        return node

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method(node, function)
        if (
            isinstance(function, ast.Name)
            and function.id not in self._kinds.variables
            and function.id in self._builtins
        ):
            return self._builtin(node, function.id)
        if (
            isinstance(function, ast.Name)
            and function.id in self._kinds.fields
            and function.id not in self._kinds.variables
        ):
            raise Refused(f"{function.id} is not a function", line=node.lineno)
        direct = isinstance(function, ast.Name) and self._is_direct(node, function.id)
        node.func = _load("." + cast(ast.Name, function).id) if direct else self.visit(function)
        return self._with_arguments(node)

    def _is_direct(self, node: ast.Call, name: str) -> bool:
        """Whether a call of the host has the right number of arguments, all of them short by construction."""
        signature = self._kinds.functions.get(name)
        if (
            signature is None
            or node.keywords
            or _starred(node)
            or not signature.least <= len(node.args) <= signature.most
        ):
            return False
        return all(self._kinds.of(argument) >= FLAT and self._kinds.is_limited(argument) for argument in node.args)

    def _with_arguments(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(argument) for argument in node.args]
        for word in node.keywords:
            word.value = self.visit(word.value)
        return node

    def _builtin(self, node: ast.Call, name: str) -> ast.expr:
        if name == "isinstance":
            if len(node.args) != 2 or not is_type_list(node.args[1], self._kinds.variables):
                raise Refused("isinstance takes a value and plain types such as (int, str)", line=node.lineno)
            kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            types = ast.Tuple(elts=[_load(f".type_{cast(ast.Name, kind).id}") for kind in kinds], ctx=ast.Load())
            return _call(".raw_isinstance", self.visit(node.args[0]), types)
        if name in ("sorted", "min", "max") and self._by_flat_key(node):
            return self._with_flat_key(node, name)
        node.func = _load(f".raw_{name}" if self._bounded(node, name) else name)
        return self._with_arguments(node)

    def _with_flat_key(self, node: ast.Call, name: str) -> ast.expr:
        """sorted, min or max whose key is left uncounted: the function that calls it charges for it."""
        for word in node.keywords:
            if isinstance(word.value, ast.Lambda):
                with self._by_calls():
                    word.value.body = self.visit(word.value.body)
            else:
                word.value = self.visit(word.value)
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(func=_load(f".{name}_flat"), args=arguments, keywords=node.keywords)

    def _by_flat_key(self, node: ast.Call) -> bool:
        """Whether a call sorts or chooses by a small lambda that gives flat values and cannot call itself."""
        keys = [word.value for word in node.keywords if word.arg == "key"]
        if len(node.args) != 1 or _starred(node) or not keys or not isinstance(keys[0], ast.Lambda | ast.Attribute):
            return False
        if isinstance(keys[0], ast.Attribute):
            return self._kinds.is_builtin(keys[0].value, "str") and len(node.keywords) == 1
        key, names = keys[0], {word.arg for word in node.keywords}
        one = len(key.args.args) == 1 and not (key.args.defaults or key.args.kwonlyargs or key.args.posonlyargs)
        small = size_of([key.body]) < NODES_PER_STEP and self._kinds.of(key.body) >= FLAT
        allowed = (
            {"key", "reverse"} if isinstance(node.func, ast.Name) and node.func.id == "sorted" else {"key", "default"}
        )
        return one and small and self._kinds.is_limited(key.body) and not self._may_recur(key) and names <= allowed

    def _bounded(self, node: ast.Call, name: str) -> bool:
        """Whether the C builtin may be called as it is."""
        if name not in RAW or len(node.args) != 1 or node.keywords or _starred(node):
            return name == "range" and not node.keywords
        if name in ("any", "all"):
            return isinstance(node.args[0], ast.GeneratorExp)
        return name in ("len", "abs", "bool", "range") or (
            name in ("int", "float") and self._kinds.of(node.args[0]) == NUMBER
        )

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        name = function.attr
        if self._kinds.is_builtin(function.value, "str") and name in TEXT_FUNCTIONS:
            node.func = _load(f".str_{name}")
            return self._with_arguments(node)
        if self._kinds.is_builtin(function.value, *PLAIN_TYPES):
            raise Refused(f"call {name} on a value, as in value.{name}(...)", line=node.lineno)
        if name not in METHODS:
            raise Refused(f"{name} is a value, not a method: write it without brackets", line=node.lineno)
        if self._plain_method(node, function):
            function.value = self.visit(function.value)
            return self._with_arguments(node)
        node.args = [function.value, *node.args]
        node.func = _load(f".m_{name}")
        return self._with_arguments(node)

    def _plain_method(self, node: ast.Call, function: ast.Attribute) -> bool:
        """Methods that are short on any receiver that has them, or on this one."""
        if node.keywords or _starred(node):
            return False
        flat = all(self._kinds.of(argument) >= FLAT for argument in node.args)
        if function.attr in ("append", "items", "keys", "values"):
            return True
        if function.attr in ("get", "add", "discard"):
            return bool(node.args) and self._kinds.of(node.args[0]) >= FLAT
        return function.attr in TEXT_TO_TEXT | TEXT_TESTS and flat and self._kinds.of(function.value) >= FLAT


def _not_identity(op: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.cmpop:
    """`x is "red"` is meant as ==, and whether it happens to be true is up to the interpreter."""
    if isinstance(op, ast.Is | ast.IsNot):
        for side in (left, right):
            if isinstance(side, ast.Constant) and type(side.value) in (str, int, float):
                return ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()
    return op


def _passes_functions(node: ast.Call, variables: frozenset[str]) -> bool:
    """Whether a call's arguments could hold a function: any variable that is called or passed on may be one."""
    words = [word.value for word in node.keywords if word.arg == "key"]
    functions = [*node.args[:1], *words] if cast(ast.Name, node.func).id in ("map", "filter") else words
    return any(
        (isinstance(f, ast.Name) and f.id in variables) or not isinstance(f, ast.Name | ast.Lambda | ast.Attribute)
        for f in functions
    )


def _starred(node: ast.expr) -> bool:
    if isinstance(node, ast.Dict):
        return None in node.keys
    parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return any(isinstance(part, ast.Starred) for part in parts)


def size_of(nodes: Any) -> int:
    """How much work nodes stand for; a call may be one of the host's, which costs more than it shows."""
    return sum(CALL_NODES if isinstance(part, ast.Call) else 1 for node in nodes for part in ast.walk(node))


def _load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def _constant(value: object) -> ast.expr:
    return ast.Constant(value=value)  # type: ignore[arg-type]


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=_load(name), args=list(arguments), keywords=[])
