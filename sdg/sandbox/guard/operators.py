"""Every operator of generated code as a function that looks at sizes first."""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from sdg.sandbox.guard.meter import (
    CONTAINERS,
    DICTS,
    HASHED,
    NUMBERS,
    SCALARS,
    SETS,
    Defaults,
    Lazy,
    Meter,
    fit,
)

BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "LShift": "lshift", "RShift": "rshift", "BitOr": "or_", "BitAnd": "and_", "BitXor": "xor",
}  # fmt: skip
COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "In": "in", "NotIn": "notin"}
_SMALL = 1 << 64
_VALUES: type = type({}.values())
_SEQUENCES: frozenset[type] = frozenset({list, tuple, str, deque})
_SIZED = CONTAINERS | {str}
_GROWTH: dict[str, Callable[[int, int], int]] = {
    "mul": lambda left, right: left.bit_length() + right.bit_length() - 1,
    "lshift": lambda left, right: left.bit_length() + right,
    "pow": lambda left, right: max(left.bit_length() - 1, right.bit_length() >> 6) * right,
}
"""Bits of a whole number that an operator makes of two."""
_TAKES_ALL: dict[tuple[str, type], str] = {
    ("add", list): "list",
    ("add", deque): "list",
    ("or_", dict): "dict",
    ("or_", Defaults): "dict",
}
"""What the right side of `+=` and `|=` becomes, which may be anything to iterate over."""


class Operators(Meter):
    """A meter with the operators of one piece of generated code: `calls` has them by the names of the weaver's tables.

    `operators[value, index]` stands for `value[index]`, wherever that stands.
    """

    __slots__ = ("calls",)

    def __init__(self, records: frozenset[type]) -> None:
        super().__init__(records)
        self.calls: dict[str, Any] = {
            ".in": self.contains, ".notin": lambda item, inside: not self.contains(item, inside), ".items": self,
            ".slice": slice, ".unary": self.unary,
        }  # fmt: skip
        for name in BINARY.values():
            self.calls[f".{name}"] = self._binary(name, getattr(operator, name), in_place=False)
            self.calls[f".i{name}"] = self._binary(name, getattr(operator, "i" + name.strip("_")), in_place=True)
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            self.calls[f".{name}"] = self._compare(getattr(operator, name))

    def _binary(self, name: str, function: Callable[[Any, Any], Any], *, in_place: bool) -> Callable[[Any, Any], Any]:
        """An operator: on numbers it is bounded, on everything else looked at and charged."""
        grows = _GROWTH.get(name)

        def apply(left: Any, right: Any) -> Any:
            if type(left) in NUMBERS and type(right) in NUMBERS:
                if grows is not None and type(left) is not float and type(right) is not float:
                    fit(grows(left, right), "bits")
                if type(left) is int and not -_SMALL < left < _SMALL:
                    self.tick(left.bit_length() >> 6)
                return self.bounded(function(left, right))
            if name == "mod" and type(left) is str:
                return self.percent(left, right)
            if in_place and (name, type(left)) in _TAKES_ALL:
                right = self.calls[_TAKES_ALL[name, type(left)]](right)
            self._charge(name, left, right)
            value = function(left, right)
            return value if value is left else self.made(value)

        return apply

    def _charge(self, name: str, left: Any, right: Any) -> None:
        """What an operator does with two values of which one is no number."""
        kinds, what = {type(left), type(right)}, "characters" if str in (type(left), type(right)) else "items"
        if name == "add" and kinds <= _SEQUENCES:
            fit(len(left) + len(right), what)
            self.tick(len(right) >> 2)
        elif name == "mul" and kinds & _SEQUENCES and kinds & NUMBERS:
            items, times = (left, right) if type(left) in _SEQUENCES else (right, left)
            fit(len(items) * int(times), what)
            self.tick(max(0, len(items) * int(times) >> 3))
        elif kinds <= SETS or kinds <= DICTS:
            self._merge(left, right)
            fit(len(left) + len(right), what)
        elif kinds & CONTAINERS:
            told = " and ".join(f"a {type(side).__name__}" for side in (left, right))
            raise TypeError(f"this operator takes two numbers, two sets or two dicts, not {told}")

    def _merge(self, *sides: Any) -> None:
        """Members of sets and dicts keep their hashes, but equal ones are compared in full."""
        for side in sides:
            self.tick(4 * len(side) + (self.weigh(side) if type(side) is Counter else 0))
            if not SCALARS.issuperset(map(type, side)):
                self.keys(side)

    def _compare(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def compare(left: Any, right: Any) -> Any:
            kind, other = type(left), type(right)
            if kind in _SIZED and other in _SIZED and not (kind is str and len(left) < 64):
                if kind in HASHED and other in HASHED:
                    self._merge(left, right)
                self.weigh(min(left, right, key=len))
            return function(left, right)

        return compare

    def contains(self, item: Any, inside: Any) -> Any:
        kind = type(inside)
        if kind in HASHED:
            self.key(item, len(inside))
            self.weigh(inside if kind is _VALUES else item)
        elif kind is str:
            self.tick(search_cost(inside, item))
        elif kind is range:
            return type(item) in NUMBERS and item == item // 1 and int(item) in inside
        elif kind is Lazy:
            return any(other is item or self.calls[".eq"](other, item) for other in inside)
        elif type(item) in SCALARS and kind in CONTAINERS:
            self.tick((len(inside) >> 2) + len(inside) * (len(item) >> 5 if type(item) is str else 0))
        else:
            self.weigh(inside)
        return item in inside

    def _reached(self, value: Any, index: Any) -> None:
        """Charge what finding an item's place takes."""
        if type(value) in DICTS:
            self.key(index, len(value))
        elif type(value) is deque:
            self.tick(len(value) >> 6)

    def __getitem__(self, place: tuple[Any, Any]) -> Any:
        value, index = place
        self._reached(value, index)
        if type(value) in self.records and type(index) is str and index in value.__dataclass_fields__:
            return getattr(value, index)
        return self.made(value[index]) if type(index) is slice else value[index]

    def __setitem__(self, place: tuple[Any, Any], new: Any) -> None:
        value, index = place
        self._reached(value, index)
        self.tick(6)
        if type(value) not in (*DICTS, list, deque):
            raise TypeError(f"the items of a {type(value).__name__} cannot be set: make a list or a dict of your own")
        if type(index) is slice:
            new = self.bulk(new)
            fit(len(value) + len(new), "items")
            self.tick(len(value) >> 3)
        value[index] = new

    def __delitem__(self, place: tuple[Any, Any]) -> None:
        value, index = place
        self._reached(value, index)
        self.tick(len(value) >> 4 if type(value) is list else 0)
        del value[index]
        self.thin(value)

    def unary(self, name: str, value: Any) -> Any:
        """`-value`, `+value` and `~value`: of a Counter they make a new one."""
        if type(value) is Counter:
            self.tick(8 * len(value))
        return self.bounded(-value if name == "USub" else +value if name == "UAdd" else ~value)

    def bounded(self, value: Any) -> Any:
        """A number that quadratic arithmetic may touch, charged for its digits."""
        if type(value) is int and not -_SMALL < value < _SMALL:
            fit(value.bit_length(), "bits")
            self.tick(value.bit_length() >> 6)
        if type(value) is complex:
            raise ValueError("a root of a negative number")
        return value


def search_cost(text: str, part: Any) -> int:
    """What looking for a text in another costs at worst: the product of their lengths."""
    if type(part) is tuple:  # texts to choose from; what else lies in it is refused, and not walked through
        return len(part) + sum(search_cost(text, each) for each in part if type(each) is str)
    length = len(part) if type(part) is str else 1
    return (len(text) >> 6) + (len(text) * length >> 9 if 1 < length <= len(text) else 0)
