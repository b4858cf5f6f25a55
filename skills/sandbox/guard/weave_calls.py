"""Weaves calls: builtins that are bounded as they are, methods by exact type, and the host's functions."""

from __future__ import annotations

import ast
from typing import cast

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.builtins import PLAIN_TYPES, RAW
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.methods import METHODS, TEXT_TESTS, TEXT_TO_TEXT
from sdg.skills.sandbox.guard.signature import FLAT, NUMBER
from sdg.skills.sandbox.guard.syntax import TEXT_FUNCTIONS, is_type_list
from sdg.skills.sandbox.guard.weave_counting import NODES_PER_STEP, Counting, call, load, size_of, starred


class CallWeaver(Counting):
    """Calls of one source."""

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
            told = f"{function.id} is not a function"
            raise Refused(
                f"{told}: {advice.NAMES[function.id]}" if function.id in advice.NAMES else told, line=node.lineno
            )
        direct = isinstance(function, ast.Name) and self._is_direct(node, function.id)
        node.func = load("." + cast(ast.Name, function).id) if direct else self.visit(function)
        return self._with_arguments(node)

    def _is_direct(self, node: ast.Call, name: str) -> bool:
        """Whether a call of the host has the right number of arguments, all of them short by construction."""
        signature = self._kinds.functions.get(name)
        if (
            signature is None
            or node.keywords
            or starred(node)
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
                raise Refused(
                    "isinstance takes a value and plain types such as (int, str); for others read their attributes",
                    line=node.lineno,
                )
            kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            types = ast.Tuple(elts=[load(f".type_{cast(ast.Name, kind).id}") for kind in kinds], ctx=ast.Load())
            return call(".raw_isinstance", self.visit(node.args[0]), types)
        if name in ("sorted", "min", "max") and self._by_flat_key(node):
            return self._with_flat_key(node, name)
        node.func = load(f".raw_{name}" if self._bounded(node, name) else name)
        return self._with_arguments(node)

    def _with_flat_key(self, node: ast.Call, name: str) -> ast.expr:
        """sorted, min or max whose key is left uncounted: the function that calls it charges for it."""
        for word in node.keywords:
            if isinstance(word.value, ast.Lambda):
                with self._by_calls():
                    word.value.body = self.visit(word.value.body)
            elif self._is_text_function(word.value) and self._kinds.element(node.args[0]) >= FLAT:
                word.value = load(f".short_{cast(ast.Attribute, word.value).attr}")  # of texts that are short
            else:
                word.value = self.visit(word.value)
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(func=load(f".{name}_flat"), args=arguments, keywords=node.keywords)

    def _is_text_function(self, node: ast.expr) -> bool:
        """Whether an expression is one of `str.lower`, `str.upper` and the like."""
        return (
            isinstance(node, ast.Attribute)
            and self._kinds.is_builtin(node.value, "str")
            and node.attr in TEXT_FUNCTIONS
        )

    def _by_flat_key(self, node: ast.Call) -> bool:
        """Whether a call sorts or chooses by a small lambda that gives flat values and cannot call itself."""
        keys = [word.value for word in node.keywords if word.arg == "key"]
        if len(node.args) != 1 or starred(node) or not keys or not isinstance(keys[0], ast.Lambda | ast.Attribute):
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
        if name not in RAW or len(node.args) != 1 or node.keywords or starred(node):
            return name == "range" and not node.keywords
        if name in ("any", "all"):
            return isinstance(node.args[0], ast.GeneratorExp)
        if name == "sum":  # what a generator expression yields is counted where it is made
            each = node.args[0].elt if isinstance(node.args[0], ast.GeneratorExp) else None
            return each is not None and self._kinds.of(each) == NUMBER and self._kinds.is_limited(each)
        return name in ("len", "abs", "bool", "range") or (
            name in ("int", "float") and self._kinds.of(node.args[0]) == NUMBER
        )

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        name = function.attr
        if self._kinds.is_builtin(function.value, "str") and name in TEXT_FUNCTIONS:
            node.func = load(f".str_{name}")
            return self._with_arguments(node)
        if self._kinds.is_builtin(function.value, *PLAIN_TYPES):
            raise Refused(f"call {name} on a value, as in value.{name}(...)", line=node.lineno)
        if name not in METHODS:
            raise Refused(f"{name} is a value, not a method: write it without brackets", line=node.lineno)
        if self._plain_method(node, function):
            function.value = self.visit(function.value)
            return self._with_arguments(node)
        node.args = [function.value, *node.args]
        node.func = load(f".m_{name}")
        return self._with_arguments(node)

    def _plain_method(self, node: ast.Call, function: ast.Attribute) -> bool:
        """Methods that are short on any receiver that has them, or on this one."""
        if node.keywords or starred(node):
            return False
        flat = all(self._kinds.of(argument) >= FLAT for argument in node.args)
        if function.attr in ("append", "items", "keys", "values"):
            return True
        if function.attr == "add":
            return bool(node.args) and self._kinds.is_small_key(node.args[0])
        if function.attr in ("get", "discard"):
            return bool(node.args) and self._kinds.of(node.args[0]) >= FLAT
        return function.attr in TEXT_TO_TEXT | TEXT_TESTS and flat and self._kinds.of(function.value) >= FLAT
