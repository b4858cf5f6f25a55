"""Every operator of generated code as a function that looks at sizes first."""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.formats import Formats
from sdg.skills.sandbox.guard.meter import CONTAINERS, DICTS, MOST, NUMBERS, SCALARS, SETS, Meter, fit

BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "LShift": "lshift", "RShift": "rshift", "BitOr": "or_", "BitAnd": "and_", "BitXor": "xor",
}  # fmt: skip
COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "In": "in", "NotIn": "notin"}
_SMALL = 1 << 64
_VALUES: type = type({}.values())
_SEQUENCES: frozenset[type] = frozenset({list, tuple, str, deque})
_GROWTH: dict[str, Callable[[int, int], int]] = {
    "mul": lambda left, right: left.bit_length() + right.bit_length() - 1,
    "lshift": lambda left, right: left.bit_length() + right,
    "pow": lambda left, right: (left.bit_length() - 1) * right,
}
"""Bits of a whole number that an operator makes of two."""


class Operators:
    """The operators of one piece of generated code, by the names of the weaver's tables."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._percent = Formats(meter).percent
        self.calls: dict[str, Callable[..., Any]] = {
            "in": self.contains, "notin": lambda item, inside: not self.contains(item, inside), "item": self.item,
            "put": self.put, "delete": self.delete, "slice": slice, "unary": self.unary,
        }  # fmt: skip
        for name in BINARY.values():
            self.calls[name] = self._binary(name, getattr(operator, name))
            self.calls["i" + name] = self._binary(name, getattr(operator, "i" + name.strip("_")), in_place=True)
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            self.calls[name] = self._compare(getattr(operator, name))

    def _binary(self, name: str, function: Callable[[Any, Any], Any], *, in_place: bool = False) -> Callable[..., Any]:
        """An operator: on numbers it is bounded, on everything else looked at and charged."""
        grows, meter, prepare = _GROWTH.get(name), self._meter, self._prepare

        def apply(left: Any, right: Any) -> Any:
            if type(left) in NUMBERS and type(right) in NUMBERS:
                if grows is not None and type(left) is not float and type(right) is not float:
                    fit(grows(left, right), "bits")
                if type(left) is int and not -_SMALL < left < _SMALL:
                    meter.tick(left.bit_length() >> 6)
                return bounded(function(left, right))
            if name == "mod" and type(left) is str:
                return self._percent(left, right)
            right = prepare(name, left, right, in_place=in_place)
            value = function(left, right)
            return value if value is left else meter.made(value)

        return apply

    def _prepare(self, name: str, left: Any, right: Any, *, in_place: bool) -> Any:
        """The right operand of two of which one is no number, charged by what the operator does with it."""
        kind, other, meter = type(left), type(right), self._meter
        if name == "add" and kind in _SEQUENCES and (other in _SEQUENCES or in_place):
            right = meter.bulk(right) if in_place and kind in (list, deque) else right
            fit(len(left) + len(right), "characters" if kind is str else "items")
            meter.tick(len(right) >> 2)
        elif name == "mul" and {kind, other} & _SEQUENCES and {kind, other} & NUMBERS:
            items, times = (left, right) if kind in _SEQUENCES else (right, left)
            fit(len(items) * int(times), "characters" if type(items) is str else "items")
            meter.tick(max(0, len(items) * int(times) >> 3))
        elif (kind in SETS and other in SETS) or (kind in DICTS and other in DICTS):
            self._merge(left, right)
            fit(len(left) + len(right), "items")
        elif kind in CONTAINERS or other in CONTAINERS:
            raise TypeError(
                f"this operator takes two numbers, two sets or two dicts, not a {kind.__name__} and a {other.__name__}"
            )
        return right

    def _merge(self, *sides: Any) -> None:
        """Members of sets and dicts keep their hashes, but equal ones are compared in full."""
        for side in sides:
            self._meter.tick(4 * len(side) + (self._meter.weigh(side) if type(side) is Counter else 0))
            if not SCALARS.issuperset(map(type, side)):
                self._meter.keys(side)

    def _compare(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        meter = self._meter

        def compare(left: Any, right: Any) -> Any:
            kind, other = type(left), type(right)
            if kind is str and other is str:
                if len(left) > 64:
                    meter.tick(min(len(left), len(right)) >> 5)
            elif kind in CONTAINERS and other in CONTAINERS:
                if (kind in SETS and other in SETS) or (kind in DICTS and other in DICTS):
                    self._merge(left, right)
                meter.weigh(left if len(left) < len(right) else right)
            return function(left, right)

        return compare

    def contains(self, item: Any, inside: Any) -> bool:
        kind, meter = type(inside), self._meter
        if kind in DICTS or kind in SETS:
            meter.key(item, len(inside))
            meter.weigh(inside if kind is _VALUES else item)
        elif kind is str:
            meter.tick(search_cost(inside, item))
        elif kind is range:
            return type(item) in NUMBERS and item == item // 1 and int(item) in inside
        elif type(item) in SCALARS and kind in CONTAINERS:
            meter.tick((len(inside) >> 2) + len(inside) * (len(item) >> 5 if type(item) is str else 0))
        elif kind not in SCALARS:
            return any(meter.tick(2) and (other is item or self.calls["eq"](other, item)) for other in inside)
        return item in inside

    def item(self, value: Any, index: Any) -> Any:
        """`value[index]`, of a slice too."""
        kind = type(value)
        if kind in DICTS:
            self._meter.key(index, len(value))
        elif type(index) is slice:
            return self._meter.made(value[index])
        elif kind is deque:
            self._meter.tick(len(value) >> 6)
        elif kind in self._meter.records and type(index) is str and index in kind.__dataclass_fields__:
            return getattr(value, index)
        return value[index]

    def put(self, new: Any, value: Any, index: Any) -> None:
        """`value[index] = new`."""
        if type(value) in DICTS:
            self._meter.key(index, len(value))
            self._meter.tick(6)
        elif type(value) is not list and type(value) is not deque:
            raise TypeError(f"the items of a {type(value).__name__} cannot be set: make a list or a dict of your own")
        elif type(index) is slice:
            new = self._meter.bulk(new)
            fit(len(value) + len(new), "items")
            self._meter.tick(len(value) >> 3)
        value[index] = new

    def delete(self, value: Any, index: Any) -> None:
        """`del value[index]`."""
        if type(value) in DICTS:
            self._meter.key(index, len(value))
        else:
            self._meter.tick(len(value) >> 4)
        del value[index]

    def unary(self, name: str, value: Any) -> Any:
        """`-value`, `+value` and `~value`: of a Counter they make a new one."""
        if type(value) is Counter:
            self._meter.tick(8 * len(value))
        return -value if name == "USub" else +value if name == "UAdd" else ~value


class Heaps:
    """The functions of heapq for one piece of generated code; `lt` is its metered `<`: C would compare for nothing."""

    def __init__(self, meter: Meter, lt: Callable[[Any, Any], Any]) -> None:
        self._meter, self._lt = meter, lt

    def heappush(self, heap: list[Any], item: Any) -> Any:
        heap.append(item)
        self._rise(heap, 0, len(heap) - 1)

    def heappop(self, heap: list[Any]) -> Any:
        last = heap.pop()
        return self.heapreplace(heap, last) if heap else last

    def heapreplace(self, heap: list[Any], item: Any) -> Any:
        top, heap[0] = heap[0], item
        self._sink(heap, 0)
        return top

    def _rise(self, heap: list[Any], top: int, place: int) -> None:
        while place > top and self._lt(heap[place], heap[parent := (place - 1) >> 1]):
            self._meter.tick(4)
            heap[place], heap[parent] = heap[parent], heap[place]
            place = parent

    def _sink(self, heap: list[Any], top: int) -> None:
        """Down to a leaf along the smaller children, and up again: the order that CPython leaves."""
        place = top
        while (child := 2 * place + 1) < len(heap):
            self._meter.tick(6)
            if child + 1 < len(heap) and not self._lt(heap[child], heap[child + 1]):
                child += 1
            heap[place], heap[child] = heap[child], heap[place]
            place = child
        self._rise(heap, top, place)

    def heapify(self, heap: list[Any]) -> None:
        for place in reversed(range(len(heap) // 2)):
            self._sink(heap, place)


def search_cost(text: str, part: Any) -> int:
    """What looking for a text in another costs at worst: the product of their lengths."""
    if type(part) is tuple:  # texts to choose from; what else lies in it is refused, and not walked through
        return sum(1 + search_cost(text, each) for each in part if type(each) is str)
    length = len(part) if type(part) is str else 1
    return (len(text) >> 6) + (len(text) * length >> 9 if 1 < length <= len(text) else 0)


def bounded(value: Any) -> Any:
    """A number that quadratic arithmetic may touch."""
    if type(value) is int and not -_SMALL < value < _SMALL and value.bit_length() > MOST["bits"]:
        raise TooLarge(f"a whole number of {value.bit_length()} bits; at most {MOST['bits']} are allowed")
    if type(value) is complex:
        raise ValueError("a root of a negative number")
    return value
