"""An interpreter of check functions whose values are arrays over rows.

A check that gives the reward is asked millions of times. Models write short, similar checks: quantifiers and loops over
things, comparisons of fields and positions. These are evaluated with numpy; any other check is `Unsupported` and is
asked row by row behind the guard. Every array has three axes (row, thing of the outer loop, thing of the inner loop),
of length 1 where a value doesn't depend on it. For example, with n rows that know m things at most,

    for thing in find_objects("lamp"):         thing: i64 (1, m, 1); active where a row has such a thing: bool (n, m, 1)
        if thing.distance == 1:                active &= bool (n, m, 1)
            return True                        rows in which anything is active here return True

A row in which the interpreted check raises (a field of None, the first of an empty list) is false. In a loop the order
of things decides whether it raises: such rows are uncertain, and only they are asked behind the guard. So both ways
agree in every state.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sdg.envs.batch import BOOL, INT, NUMBERS, PAIR, THING, Columns
from sdg.sandbox.guard.guard import BUDGET_STEPS
from sdg.sandbox.guard.weave import steps

if TYPE_CHECKING:
    from sdg.skills.checks.reward import VectorizedCheck

TEXT, THINGS = "text", "things"
"""Kinds of values used only here: the number of one of a check's texts, and a list of things."""

MAX_DEPTH = 2
MAX_LOOP_STEPS = BUDGET_STEPS // 2
"""Most steps that a check's loops may cost where most things are known: more could exceed the guard's budget."""
MAX_NUMBER = 1_000_000
_MAX_NUMBERS = 31  # bits of a NUMBERS
_COMPARISON_STEPS = {PAIR: 2, NUMBERS: 5}
"""Steps that the guard takes to compare such values, beside those of the nodes."""
_NOWHERE = np.zeros((1, 1, 1), bool)

_ORDERS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Unsupported(Exception):
    """A check can't be evaluated over arrays and is asked row by row."""


class Text(int):
    """The number of one of a check's texts; its repr differs from that of a plain number in the same place."""

    def __repr__(self) -> str:
        return f"Text({int(self)})"


@dataclass(frozen=True, slots=True)
class Value:
    """An array, two Values (PAIR), or the number of a text (TEXT).

    A THING that a loop runs over has its `axis`. THINGS are bool (n, m), `nearest_first` or as they were first seen.
    """

    kind: str
    data: Any
    nearest_first: bool = False
    axis: int = 0


NONE = Value(THING, np.full((1, 1, 1), -1))


class Evaluation:
    """One evaluation of one form over n rows."""

    def __init__(
        self, form: "VectorizedCheck", memory: Any, columns: Columns, rows: np.ndarray, which: np.ndarray
    ) -> None:
        self.form, self.reader = form, form.reader
        self.memory, self.columns = memory, columns
        self.rows, self.which = rows, which
        self.depth = self.loop_steps = 0
        self.result = np.zeros((len(rows), 1, 1), bool)
        self.failed, self.uncertain = np.zeros((2, len(rows)), bool)
        self.active = np.ones((len(rows), 1, 1), bool)
        """Where the current code runs; values mean nothing elsewhere."""
        self.stopped = _NOWHERE
        """Where a `return` was met, in this turn of the loop or in the function."""
        self.loop_answer: bool | None = None
        """The answer of all returns of a loop, so that it doesn't matter which thing returns first."""
        self.variables: dict[str, Value] = {}

    @contextmanager
    def where(self, here: np.ndarray) -> Iterator[None]:
        """Code evaluated in this block runs only `here`; its assignments are dropped afterwards."""
        active, variables = self.active, self.variables
        self.active, self.variables = active & here, dict(variables)
        yield
        self.active, self.variables = active, variables

    def fail(self, here: np.ndarray) -> None:
        """Note that the interpreted check raises `here`; in a loop, only if it gets there before it answers."""
        mask = self.uncertain if self.depth else self.failed
        mask |= (self.active & here).any(axis=(1, 2)) & ~self.uncertain

    # Statements ------------------------------------------------------------------------------------------------------

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Run statements where `active`, until they return."""
        for statement in body:
            self.active = self.active & ~self.stopped
            match statement:
                case ast.Return(value=ast.expr() as expression):
                    if self.depth == 0:
                        # The guard takes the truth value of these and of nothing else.
                        is_choice = isinstance(expression, ast.BoolOp)
                        answer = self.truth(expression) if is_choice else self.array(expression, BOOL)
                        self.result = np.where(self.active, answer, self.result)
                    elif not isinstance(expression, ast.Constant) or self.loop_answer is (expression.value is False):
                        raise Unsupported("a loop returns more than one constant")
                    else:
                        self.loop_answer = self.array(expression, BOOL).item()
                    self.stopped = self.stopped | self.active
                case ast.If():
                    holds = self.truth(statement.test)
                    for branch, here in ((statement.body, holds), (statement.orelse, ~holds)):
                        with self.where(here):
                            self.run(branch)
                case ast.Assign(targets=[target]):
                    self._assign(target, self.value(statement.value))
                case ast.For(orelse=[]):
                    before, self.stopped = self.stopped, _NOWHERE
                    with self.for_all(statement.target, statement.iter, body=statement.body):
                        self.run(statement.body)
                        exits = self.stopped.any(axis=self.depth, keepdims=True)
                    self.stopped = before | exits
                    if self.depth == 0 and self.loop_answer is not None:
                        self.result = np.where(exits, self.loop_answer, self.result)
                        self.loop_answer = None
                case _ if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    raise Unsupported(type(statement).__name__)

    @contextmanager
    def for_all(self, target: ast.expr, source: ast.expr, *, body: Sequence[ast.AST]) -> Iterator[None]:
        """Code evaluated in this block runs for each of some things at once, along one more axis."""
        source_value = self.value(source)
        if self.depth == MAX_DEPTH or source_value.kind != THINGS:
            raise Unsupported("a loop that is deep, or over something else than things")
        things = source_value.data.shape[1]
        self._charge(steps(*body) + _steps_of_calls(body, things), depth=self.depth + 1)
        shape = (1, -1, 1) if self.depth == 0 else (1, 1, -1)
        with self.where(source_value.data.reshape(len(source_value.data), *shape[1:])):
            self.depth += 1
            self._assign(target, Value(THING, np.arange(things).reshape(shape), axis=self.depth))
            yield
            self.depth -= 1

    def _charge(self, cost: int, *, depth: int) -> None:
        """Add the guard's steps for each turn of `depth` nested loops. Raises Unsupported beyond MAX_LOOP_STEPS."""
        self.loop_steps += cost * self.columns.present.shape[1] ** depth
        if self.loop_steps > MAX_LOOP_STEPS:
            raise Unsupported("loops that could take too many steps")

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Tuple) and value.kind == PAIR and len(target.elts) == 2:
            for element, element_value in zip(target.elts, value.data, strict=True):
                self._assign(element, element_value)
        elif isinstance(target, ast.Name) and target.id not in self.variables:
            self.variables[target.id] = value
        else:
            raise Unsupported("an assignment to something else than a new name")

    # Expressions -----------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """An expression's value where `active`."""
        match node:
            case ast.Constant(value=Text() as text):
                return Value(TEXT, int(text))
            case ast.Constant(value=None):
                return NONE
            case ast.Constant(value=int() as number) if abs(number) <= MAX_NUMBER:
                return Value(BOOL if isinstance(number, bool) else INT, np.full((1, 1, 1), number))
            case ast.Name(id=name) if name in self.variables:
                return self.variables[name]
            case ast.Attribute():
                thing = self.value(node.value)
                if thing.kind != THING or node.attr not in self.reader.fields:
                    raise Unsupported(f"a field of {thing.kind}")
                self.fail(thing.data < 0)
                kind, columns = self.reader.fields[node.attr]
                return _of_kind(kind, [self._look_up(self.columns.things[:, :, column], thing) for column in columns])
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(name, node.args)
            case ast.Compare():
                return Value(BOOL, self._compare(node))
            case ast.UnaryOp(op=ast.Not()):
                return Value(BOOL, ~self.truth(node.operand))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, second = self.array(node.left, INT), self.array(node.right, INT)
                return Value(INT, first + second if isinstance(node.op, ast.Add) else first - second)
            case ast.Subscript(slice=ast.Constant(value=int() as index)) if not isinstance(index, Text):
                value = self.value(node.value)
                if value.kind == PAIR and index in (0, 1):
                    return cast(Value, value.data[index])
                if value.kind != THINGS or index != 0:
                    raise Unsupported(f"item {index} of {value.kind}")
                self.fail(~value.data.any(axis=1)[:, None, None])
                return self._first(value)
            case ast.Tuple(elts=[first, second]):
                return Value(PAIR, (self.value(first), self.value(second)))
            case ast.ListComp(elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=item)) as loop]):
                if name == item and self.depth == 0:
                    here, _ = self._elements(node, self.value)
                    return replace(self.value(loop.iter), data=here[:, :, 0])
        raise Unsupported(type(node).__name__)

    def array(self, node: ast.expr, kind: str) -> np.ndarray:
        """The array of an expression that must be of this kind."""
        value = self.value(node)
        if value.kind != kind:
            raise Unsupported(f"{value.kind} in place of {kind}")
        return np.asarray(value.data)

    def truth(self, node: ast.expr) -> np.ndarray:
        """Where an expression counts as true."""
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            holds = self.truth(node.values[0])
            for operand in node.values[1:]:
                with self.where(holds if is_and else ~holds):
                    holds = holds & self.truth(operand) if is_and else holds | self.truth(operand)
            return holds
        value = self.value(node)
        if value.kind in (BOOL, INT, NUMBERS):
            return np.asarray(value.data != 0)
        if value.kind in (THING, THINGS):
            return np.asarray(value.data >= 0 if value.kind == THING else value.data.any(axis=1)[:, None, None])
        raise Unsupported(f"the truth of {value.kind}")

    def _look_up(self, column: np.ndarray, thing: Value) -> np.ndarray:
        """The value of an array (n, m) at a thing's place; a loop's thing needs no look-up."""
        if thing.axis:
            return column[:, :, None] if thing.axis == 1 else column[:, None, :]
        places = np.broadcast_to(thing.data, (len(column), *thing.data.shape[1:]))
        flat = np.maximum(places, 0).reshape(len(column), -1)
        return np.take_along_axis(column, flat, axis=1).reshape(places.shape)

    def _first(self, things: Value) -> Value:
        """The first of some things; None where a row has none of them."""
        count = things.data.shape[1]
        distances = self.columns.things[:, :, self.reader.distance].astype(np.int64) if things.nearest_first else 0
        place = np.where(things.data, distances * count + np.arange(count), np.iinfo(np.int64).max).argmin(axis=1)
        return Value(THING, np.where(things.data.any(axis=1), place, -1)[:, None, None])

    def _compare(self, node: ast.Compare) -> np.ndarray:
        holds = np.ones((1, 1, 1), bool)
        for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
            with self.where(holds):
                holds = holds & self._holds(op, left, right)
        return holds

    def _holds(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> np.ndarray:
        first = self.value(left)
        if isinstance(op, ast.In | ast.NotIn):
            result = self._contains(right, first)
        elif (second := self.value(right)) is NONE and isinstance(op, ast.Is | ast.IsNot) and first.kind == THING:
            result = first.data < 0
        elif isinstance(op, ast.Eq | ast.NotEq):
            result = self._equal(first, second)
        elif type(op) in _ORDERS and first.kind == second.kind == INT:
            result = _ORDERS[type(op)](first.data, second.data)
        else:
            raise Unsupported(f"{type(op).__name__} of {first.kind}")
        return ~result if isinstance(op, ast.NotIn | ast.NotEq | ast.IsNot) else result

    def _equal(self, first: Value, second: Value) -> np.ndarray:
        if first.kind in _COMPARISON_STEPS:
            self._charge(_COMPARISON_STEPS[first.kind], depth=self.depth)
        if first.kind == second.kind == PAIR:
            (x, y), (other_x, other_y) = first.data, second.data
            return self._equal(x, other_x) & self._equal(y, other_y)
        if second.kind == TEXT and first.kind in self.reader.texts:
            return np.asarray(first.data == self.form.encode(second.data, first.kind)[self.which][:, None, None])
        if first.kind != second.kind or first.kind in (TEXT, THINGS):
            raise Unsupported(f"whether {first.kind} equals {second.kind}")
        return np.asarray(first.data == second.data)

    def _contains(self, node: ast.expr, item: Value) -> np.ndarray:
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and all(
            isinstance(element, ast.Constant) for element in node.elts
        ):
            self._charge(
                len(node.elts) // 8 + max(sum(map(len, texts)) for texts in self.form.texts) // 96, depth=self.depth
            )
            return reduce(operator.or_, (self._equal(item, self.value(element)) for element in node.elts), _NOWHERE)
        value = self.value(node)
        if value.kind == NUMBERS and item.kind == INT:
            fits = (item.data >= 0) & (item.data < _MAX_NUMBERS)
            return fits & (value.data >> np.where(fits, item.data, 0) & 1 == 1)
        if value.kind == THINGS and item.kind == THING:
            return self._look_up(value.data, item) & (item.data >= 0)
        raise Unsupported(f"whether {value.kind} has {item.kind}")

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, name: str, arguments: list[ast.expr]) -> Value:
        match name, arguments:
            case _, [] if name in self.reader.facts:
                return self._fact(*self.reader.facts[name])
            case self.reader.all_things, []:
                return Value(THINGS, self.columns.present)
            case self.reader.find, [argument]:
                description = self.value(argument)
                if description.kind != TEXT:
                    raise Unsupported("a description that isn't a text of its own")
                targets = self.form.encode(description.data, THINGS)[self.which]
                self.fail((targets[:, -1] == 0)[:, None, None])
                fitting = self.reader.matches(self.memory, self.rows, self.columns, targets[:, :-1])
                return Value(THINGS, fitting, nearest_first=True)
            case self.reader.is_free, [argument]:
                position = self.value(argument)
                if position.kind != PAIR or any(coordinate.kind != INT for coordinate in position.data):
                    raise Unsupported("a place that isn't a pair of numbers")
                x, y, rows = np.broadcast_arrays(
                    *(coordinate.data for coordinate in position.data), self.rows[:, None, None]
                )
                return Value(
                    BOOL, self.reader.is_free_at(self.memory, rows.ravel(), x.ravel(), y.ravel()).reshape(x.shape)
                )
            case "bool", [argument]:
                return Value(BOOL, self.truth(argument))
            case "abs", [argument]:
                return Value(INT, abs(self.array(argument, INT)))
            case "any" | "all", [ast.GeneratorExp() | ast.ListComp() as node]:
                here, holds = self._elements(node, self.truth)
                axes = tuple(range(self.depth + 1, self.depth + 1 + len(node.generators)))
                decisive = (here & (holds if name == "any" else ~holds)).any(axis=axes, keepdims=True)
                return Value(BOOL, decisive if name == "any" else ~decisive)
            case "len", [argument]:
                value = self.value(argument)
                if value.kind == THINGS:
                    return Value(INT, value.data.sum(axis=1)[:, None, None])
                if value.kind == NUMBERS:
                    return Value(INT, np.bitwise_count(value.data).astype(np.int64))
            case "next", [ast.GeneratorExp() as node, ast.Constant(value=None)]:
                return self._first(self.value(ast.ListComp(node.elt, node.generators)))
        raise Unsupported(f"a call of {name}")

    def _fact(self, kind: str, columns: tuple[int, ...]) -> Value:
        parts = [self.columns.facts[:, column, None, None] for column in columns]
        if kind == THING:
            is_it = (self.columns.things[:, :, 0] == parts[0][:, :, 0]) & self.columns.present
            return self._first(Value(THINGS, is_it))
        return _of_kind(kind, parts)

    def _elements(self, node: ast.GeneratorExp | ast.ListComp, evaluate: Callable[[ast.expr], Any]) -> tuple[Any, Any]:
        """Where an element is yielded, and its value by `evaluate`, along one more axis for each generator."""
        with ExitStack() as blocks:
            for number, generator in enumerate(node.generators):
                rest = [*generator.ifs, *node.generators[number + 1 :], node.elt]
                blocks.enter_context(self.for_all(generator.target, generator.iter, body=rest))
                for test in generator.ifs:
                    blocks.enter_context(self.where(self.truth(test)))
            return self.active, evaluate(node.elt)


def _of_kind(kind: str, parts: Sequence[np.ndarray]) -> Value:
    """The arrays of a fact or a field as a value of its kind."""
    if kind == PAIR:
        return Value(PAIR, tuple(Value(INT, part.astype(np.int64)) for part in parts))
    return Value(kind, parts[0] != 0 if kind == BOOL else parts[0].astype(np.int64))


def _steps_of_calls(body: Sequence[ast.AST], things: int) -> int:
    """Steps that calls and memberships in a turn cost beside their nodes: each goes through up to `things` things."""
    kinds = [type(inner) for node in body for inner in ast.walk(node)]
    return 3 * kinds.count(ast.Call) + (2 + things // 4) * (kinds.count(ast.In) + kinds.count(ast.NotIn))
