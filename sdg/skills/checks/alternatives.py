"""A check that fires for several reasons, reduced to those that held when its subgoal was reached.

Models write goals that are only sometimes needed ("unless a green lamp is known, look into the drawer"),
and checks that are lenient ("it faces the lamp or holds it"):

    def check():                                     def check():
        if find("green lamp"):
            return True                      ->
        seen = looked_into()                             seen = looked_into()
        return "drawer" in seen                          return "drawer" in seen

A skill practised and called with the left check would be done before it began wherever a green lamp is known. The world
has shown how the subgoal was reached, so alternatives that didn't hold then are left out.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sdg.skills.checks.template import is_answer, parsed_check, written_check
from sdg.skills.subgoal import CheckFunction

MAX_ALTERNATIVES = 12
"""Most alternatives of a check that are tested; a check with more stays as it is."""


def reached_by(check: CheckFunction, fires: Callable[[CheckFunction], bool]) -> CheckFunction:
    """The check without alternatives that don't fire where it fires; `fires` asks about the moment it was reached.

    Alternatives are ways to `return True` and operands of an `or` that makes the answer true. The check itself is
    returned where it has only one, doesn't parse, doesn't fire, or nothing is left out.
    """
    whole = tree = parsed_check(check.source)
    if tree is None:
        return check
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == check.name), None)
    ways = list(_ways(function.body)) if function is not None else []
    if function is None or (len(ways) < 2 and not any(_choices(function))) or not fires(check):
        return check
    if 1 < len(ways) <= MAX_ALTERNATIVES:
        silent = [
            way
            for way in ways
            if not fires(written_check(check.name, _without(tree, [another for another in ways if another is not way])))
        ]
        tree = _without(tree, silent) if 0 < len(silent) < len(ways) else tree
    place = 0
    while place < MAX_ALTERNATIVES and place < len(choices := list(_choices(_function(tree, check.name)))):
        count = len(choices[place].values)
        operands = [
            number
            for number in range(count)
            if fires(written_check(check.name, _with_operands(tree, check.name, place, [number])))
        ]
        if 0 < len(operands) < count:
            tree = _with_operands(tree, check.name, place, operands)
        if len(operands) != 1:  # one operand that held has replaced the `or`, and this place is tested again
            place += 1
    smaller = written_check(check.name, tree)
    return check if tree is whole or not fires(smaller) else smaller


def _with_operands(tree: ast.Module, name: str, place: int, numbers: Sequence[int]) -> ast.Module:
    """The tree with only some operands of the `or` at a place."""
    tree = copy.deepcopy(tree)
    choice = list(_choices(_function(tree, name)))[place]
    values = [choice.values[number] for number in numbers]
    return Replacer({choice: values[0] if len(numbers) == 1 else ast.BoolOp(ast.Or(), values)}).visit(tree)


def _ways(body: Sequence[ast.stmt]) -> Iterator[ast.If | ast.Return]:
    """The statements by which a function can answer yes, in their order."""
    for statement in body:
        if isinstance(statement, ast.Return):
            if statement.value is not None and not isinstance(statement.value, ast.Constant):
                yield statement
        elif isinstance(statement, ast.If) and is_answer(statement.body, True):
            yield statement
            yield from _ways(statement.orelse)
        elif isinstance(statement, ast.If | ast.For | ast.While):
            yield from _ways(statement.body)
            yield from _ways(statement.orelse)


def _without(tree: ast.Module, ways: Sequence[ast.If | ast.Return]) -> ast.Module:
    """The tree without some ways to say yes: a test is skipped, an answer becomes no."""
    copies: dict[int, ast.AST] = {}
    tree = copy.deepcopy(tree, copies)  # type: ignore[arg-type]
    replacements = [
        (way.orelse or ast.Pass()) if isinstance(way, ast.If) else ast.Return(ast.Constant(False)) for way in ways
    ]
    return Replacer({copies[id(way)]: replacement for way, replacement in zip(ways, replacements, strict=True)}).visit(
        tree
    )


class Replacer(ast.NodeTransformer):
    """Replaces some nodes by others."""

    def __init__(self, others: Mapping[ast.AST, Any]) -> None:
        self.others = others

    def visit(self, node: ast.AST) -> Any:
        return self.others[node] if node in self.others else self.generic_visit(node)


def _choices(function: ast.FunctionDef) -> Iterator[ast.BoolOp]:
    """The `or`s that make an answer true, so none under `not` or in a call other than any(...)."""
    for way in _ways(function.body):
        answer = way.test if isinstance(way, ast.If) else way.value
        if answer is not None:
            yield from _ors(answer)


def _ors(expression: ast.expr) -> Iterator[ast.BoolOp]:
    if isinstance(expression, ast.BoolOp):
        if isinstance(expression.op, ast.Or):
            yield expression
        for value in expression.values:
            yield from _ors(value)
    match expression:
        case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() | ast.ListComp() as elements, *_]):
            yield from _ors(elements.elt)
            for loop in elements.generators:
                for test in loop.ifs:
                    yield from _ors(test)


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
