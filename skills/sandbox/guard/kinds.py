"""Which expressions stay small whatever the code does: so that `a.x - b.x` needs no checks at run time.

Names are told apart by spelling alone, over the whole source: a name is FLAT when everything ever bound to it is.
The greatest fixpoint is taken, from "all are numbers" downwards. Numbers can still grow (`x = x + x` in a loop), so
arithmetic stays as it is only where one side is *limited*: a least fixpoint, so that no name in it depends on itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sdg.skills.sandbox.guard.methods import TEXT_TESTS, TEXT_TO_TEXT
from sdg.skills.sandbox.guard.signature import ANY, FLAT, NUMBER, Signature

_TO_NUMBER = frozenset({"len", "abs", "int", "float", "round", "sum", "ord", "bool", "isinstance", "any", "all"})
_ALWAYS_NUMBER = (ast.Div, ast.FloorDiv, ast.Pow, ast.LShift, ast.RShift)
_PASSES = 25
MAX_DEGREE = 8
"""So many small numbers may be multiplied unchecked: 64 bits each, and some more for sums."""
_SMALL_RESULTS = frozenset({"len", "bool", "isinstance", "any", "all", "ord"})


@dataclass
class Kinds:
    """Judges expressions of one source. `fields` and `functions` are the host's; `variables` those the source binds."""

    fields: Mapping[str, int]
    functions: Mapping[str, Signature]
    variables: frozenset[str]
    names: dict[str, int] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)
    views: bool = True
    """Whether the source may hold views of dicts: they take any iterable in `-`, `&`, `|` and `^`, flat ones too."""
    _degrees: dict[str, int] = field(default_factory=dict)
    _known: dict[ast.expr, int] = field(default_factory=dict)
    _known_limits: dict[ast.expr, bool] = field(default_factory=dict)

    def learn(self, tree: ast.Module) -> None:
        """Find the kind of every name by iteration to the greatest fixpoint."""
        self.views = _holds_views(tree)
        bindings = _Bindings(_calls_of_helpers(tree))
        bindings.visit(tree)
        self._settle_names(bindings.found)
        for _ in range(_PASSES):
            self._known_limits.clear()
            names = (name for name in bindings.found if name not in self.limited)
            found = {name for name in names if all(map(self._bound_limit, bindings.found[name]))}
            if not found:
                break
            self.limited |= found
            for name in found:
                self._degrees[name] = max(self.degree(binding.value) for binding in bindings.found[name])
        self._known_limits.clear()

    def _settle_names(self, found: Mapping[str, list[_Binding]]) -> None:
        """Downwards until nothing changes; a chain of names that takes longer leaves all of them ANY."""
        self.names = dict.fromkeys(found, NUMBER)
        for _ in range(_PASSES):
            self._known.clear()
            names = {name: min(self._bound_kind(binding) for binding in bound) for name, bound in found.items()}
            if names == self.names:
                return
            self.names = {name: min(kind, self.names[name]) for name, kind in names.items()}
        self.names = dict.fromkeys(found, ANY)
        self._known.clear()

    def _bound_kind(self, binding: _Binding) -> int:
        value = binding.value
        if value is None:
            return ANY
        if binding.part and binding.each and isinstance(value, ast.Call) and self.is_builtin(value.func, "enumerate"):
            return NUMBER if binding.first and len(value.args) == 1 and not value.keywords else ANY
        kind = self.element(value) if binding.each else self.of(value)
        return min(kind, FLAT) if binding.part else kind

    def _bound_limit(self, binding: _Binding) -> bool:
        if binding.value is None or self._bound_kind(binding) == ANY:
            return False
        if binding.each and isinstance(binding.value, ast.Call):
            return all(self.is_limited(a) for a in binding.value.args) or self.is_builtin(
                binding.value.func, "enumerate"
            )
        return self.is_limited(binding.value)

    def is_limited(self, node: ast.expr) -> bool:
        """Whether a flat expression cannot grow from one loop to the next, because no name in it depends on itself."""
        known = self._known_limits.get(node)
        if known is None:
            known = self._known_limits[node] = self._judge_limit(node)
        return known

    def _judge_limit(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant | ast.Compare):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.limited
        if isinstance(node, ast.Attribute):
            return node.attr in self.fields
        if self.of(node) == ANY and not isinstance(node, ast.BinOp):
            return False
        if isinstance(node, ast.Call):
            return self._is_limited_call(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            return False
        if self.degree(node) > MAX_DEGREE:
            return False
        return all(self.is_limited(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

    def is_small_key(self, node: ast.expr) -> bool:
        """Whether an expression may be stored as a key as it is: flat, and no number of more than 60 bits."""
        return self.of(node) >= FLAT and self.is_limited(node) and self.degree(node) == 1

    def degree(self, node: ast.AST | None) -> int:
        """How many small numbers are multiplied in an expression: b = a * a, c = b * b, ... double it each time."""
        if node is None or isinstance(node, ast.Constant | ast.Attribute):
            return 1
        if isinstance(node, ast.Name):
            return self._degrees.get(node.id, 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.degree(node.left) + self.degree(node.right)
        if isinstance(node, ast.Call) and self.is_builtin(node.func, "int"):
            if any(self.of(argument) != NUMBER for argument in node.args):
                return MAX_DEGREE  # a text of many digits
        return max((self.degree(part) for part in ast.iter_child_nodes(node)), default=1)

    def _is_limited_call(self, node: ast.Call) -> bool:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self.is_limited(function.value) and function.attr in TEXT_TO_TEXT | TEXT_TESTS
        if not isinstance(function, ast.Name) or function.id in self.variables:
            return False
        if function.id in self.functions or function.id in _SMALL_RESULTS:
            return True
        return function.id != "sum" and not node.keywords and all(self.is_limited(argument) for argument in node.args)

    def of(self, node: ast.expr | None) -> int:
        """The kind of an expression; ANY for whatever is not listed."""
        if node is None:
            return ANY
        kind = self._known.get(node)
        if kind is None:
            judge = _JUDGES.get(type(node))
            kind = self._known[node] = judge(self, node) if judge else ANY
        return kind

    def element(self, node: ast.expr) -> int:
        """The kind of what iterating over an expression yields."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not self._shadowed(node.func.id, "range"):
            return NUMBER
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return min((self.of(item) for item in node.elts), default=NUMBER)
        return FLAT if self.of(node) >= FLAT else ANY

    def is_builtin(self, node: ast.expr, *names: str) -> bool:
        """Whether an expression is one of these builtins, not rebound by the source."""
        return isinstance(node, ast.Name) and node.id in names and node.id not in self.variables

    def _shadowed(self, name: str, wanted: str) -> bool:
        return name != wanted or name in self.variables

    def _constant(self, node: ast.Constant) -> int:
        return NUMBER if type(node.value) in (int, float, bool) else FLAT

    def _name(self, node: ast.Name) -> int:
        return self.names.get(node.id, ANY)

    def _attribute(self, node: ast.Attribute) -> int:
        return self.fields.get(node.attr, ANY)

    def _subscript(self, node: ast.Subscript) -> int:
        return FLAT if self.of(node.value) >= FLAT else ANY

    def _tuple(self, node: ast.Tuple) -> int:
        """Flat only when its items cannot be such tuples themselves, else they could nest without end."""
        flat = len(node.elts) <= 8 and all(
            self.of(item) == NUMBER or (isinstance(item, ast.Constant | ast.Attribute) and self.of(item))
            for item in node.elts
        )
        return FLAT if flat else ANY

    def _call(self, node: ast.Call) -> int:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr in TEXT_TESTS:
                return NUMBER
            return FLAT if function.attr in TEXT_TO_TEXT and self.of(function.value) >= FLAT and not node.args else ANY
        if not isinstance(function, ast.Name) or function.id in self.variables:
            return ANY
        if function.id in self.functions:
            return self.functions[function.id].returns
        if function.id in _TO_NUMBER:
            return NUMBER
        if function.id in ("min", "max") and len(node.args) > 1 and not node.keywords:
            return min(self.of(argument) for argument in node.args)
        if function.id == "str" and len(node.args) == 1:
            return FLAT if self.of(node.args[0]) >= FLAT else ANY
        return ANY

    def _binary(self, node: ast.BinOp) -> int:
        return self.operation(node.op, left=self.of(node.left), right=self.of(node.right))

    def operation(self, op: ast.operator, *, left: int, right: int) -> int:
        """The kind of a binary operation: sets, texts and lists fail or never get here."""
        if isinstance(op, _ALWAYS_NUMBER):
            return NUMBER
        if isinstance(op, ast.Sub):
            return NUMBER if left or right else ANY
        if isinstance(op, ast.Mult):
            return NUMBER if left == right == NUMBER else ANY
        if isinstance(op, ast.Mod):
            return NUMBER
        return NUMBER if NUMBER in (left, right) else ANY

    def harmless(self, op: ast.operator, left: ast.expr, right: ast.expr) -> bool:
        """Whether an operator may stay as it is."""
        a, b = self.of(left), self.of(right)
        limited_left, limited_right = self.is_limited(left), self.is_limited(right)
        if self.views and ANY in (a, b) and isinstance(op, ast.Sub | ast.BitAnd | ast.BitOr | ast.BitXor):
            return False
        if isinstance(op, ast.Add):
            both = a >= FLAT and b >= FLAT and limited_left and limited_right
            return both or (a == NUMBER and limited_left) or (b == NUMBER and limited_right)
        if isinstance(op, ast.Sub):
            return (a >= FLAT and limited_left) or (b >= FLAT and limited_right)
        if isinstance(op, ast.Div | ast.RShift):
            return True
        if isinstance(op, ast.Mult):
            small = self.degree(left) + self.degree(right) <= MAX_DEGREE
            return a == b == NUMBER and limited_left and limited_right and small
        if isinstance(op, ast.Mod | ast.FloorDiv):
            return a == NUMBER and limited_left and isinstance(right, ast.Constant) and b == NUMBER
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return NUMBER in (a, b)
        return False

    def _unary(self, node: ast.UnaryOp) -> int:
        return NUMBER

    def _several(self, node: ast.BoolOp) -> int:
        return min(self.of(value) for value in node.values)

    def _choice(self, node: ast.IfExp) -> int:
        return min(self.of(node.body), self.of(node.orelse))

    def _walrus(self, node: ast.NamedExpr) -> int:
        return self.of(node.value)


_JUDGES: dict[type, Callable[[Kinds, Any], int]] = {
    ast.Constant: Kinds._constant,
    ast.Name: Kinds._name,
    ast.Attribute: Kinds._attribute,
    ast.Subscript: Kinds._subscript,
    ast.Tuple: Kinds._tuple,
    ast.Call: Kinds._call,
    ast.BinOp: Kinds._binary,
    ast.UnaryOp: Kinds._unary,
    ast.Compare: Kinds._unary,
    ast.BoolOp: Kinds._several,
    ast.IfExp: Kinds._choice,
    ast.NamedExpr: Kinds._walrus,
}


@dataclass(frozen=True)
class _Binding:
    """One thing that is bound to a name: a value, what iterating it yields (`each`), or a part of either."""

    value: ast.expr | None
    each: bool = False
    part: bool = False
    first: bool = False


class _Bindings(ast.NodeVisitor):
    """Everything that is bound to each name."""

    def __init__(self, calls: Mapping[str, list[ast.Call]]) -> None:
        self.found: dict[str, list[_Binding]] = {}
        self._calls = calls

    def _bind(self, target: ast.expr, value: ast.expr | None, *, each: bool = False) -> None:
        if isinstance(target, ast.Name):
            self._add(target.id, _Binding(value, each=each))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, each=each)

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr | None, *, each: bool) -> None:
        if any(isinstance(item, ast.Starred) for item in target.elts):
            value = None
        values = value.elts if isinstance(value, ast.Tuple) and not each else []
        same = len(values) == len(target.elts) and not any(isinstance(item, ast.Starred) for item in values)
        for place, item in enumerate(target.elts):
            if same:
                self._bind(item, values[place])
            elif isinstance(item, ast.Name):
                self._add(item.id, _Binding(value, each=each, part=True, first=place == 0))
            else:
                self._bind(item, None)

    def _add(self, name: str, binding: _Binding) -> None:
        self.found.setdefault(name, []).append(binding)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind(node.target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            read = ast.Name(id=node.target.id, ctx=ast.Load())
            self._bind(node.target, ast.BinOp(left=read, op=node.op, right=node.value))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, node.iter, each=True)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._bind(node.target, node.iter, each=True)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self._add(node.arg, _Binding(None))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._add(node.name, _Binding(None))
        if node.name in self._calls and not node.args.kwonlyargs and not node.args.posonlyargs:
            for place, argument in enumerate(node.args.args):
                for call in self._calls[node.name]:
                    self._add(argument.arg, _Binding(_given(call, place, argument.arg, node.args)))
            for part in (*node.args.defaults, *node.body):
                self.visit(part)
            return
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._add(node.name, _Binding(None))
        self.generic_visit(node)


def _holds_views(tree: ast.Module) -> bool:
    """Whether `items()` or `keys()` is called anywhere but in the head of a loop."""
    loops = (node.iter for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension))
    heads = {id(head.func) for head in loops if isinstance(head, ast.Call)}
    methods = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ("items", "keys"))
    return any(id(method) not in heads for method in methods)


def _calls_of_helpers(tree: ast.Module) -> dict[str, list[ast.Call]]:
    """Calls of each function that is defined once and only ever called: its parameters are what these calls give."""
    defined = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls: dict[str, list[ast.Call]] = {name: [] for name in defined if defined.count(name) == 1}
    uses: dict[str, int] = dict.fromkeys(calls, 0)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in uses:
            uses[node.id] += 1
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in calls:
            calls[node.func.id].append(node)
    return {name: found for name, found in calls.items() if found and len(found) == uses[name]}


def _given(call: ast.Call, place: int, name: str, arguments: ast.arguments) -> ast.expr | None:
    """What a call gives for a parameter, None when that can't be told."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if place < len(call.args):
        return call.args[place]
    for word in call.keywords:
        if word.arg == name:
            return word.value
    default = place - (len(arguments.args) - len(arguments.defaults))
    return arguments.defaults[default] if default >= 0 else None
