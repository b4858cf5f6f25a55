"""Operators that can explode, as functions that look at the sizes first.

Only what the weaver could not prove harmless comes here: `a.x - b.x` stays an operator, `s * n` does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import (
    CONTAINERS,
    MAX_BITS,
    MAX_CHARACTERS,
    MAX_ITEMS,
    NUMBERS,
    SCALARS,
    VIEWS,
    Meter,
)

_SHORT = 32
"""Sizes below which an operation costs no more than its node does anyway."""
_SETS: frozenset[type] = frozenset({set, frozenset, *VIEWS})


class Operators:
    """The operators of one piece of generated code; the method names are those of the weaver's tables."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.calls: dict[str, Callable[..., Any]] = {
            "add": self.add, "mult": self.mult, "pow": self.pow, "lshift": self.lshift, "mod": self.mod,
            "floordiv": self.floordiv, "iadd": self.iadd, "slice": self.slice, "in": self.contains,
            "notin": lambda item, inside: not self.contains(item, inside),
        }  # fmt: skip
        for name in ("sub", "bitor", "bitand", "bitxor"):
            function = getattr(operator, {"bitor": "or_", "bitand": "and_", "bitxor": "xor"}.get(name, name))
            self.calls[name] = self._sets(function)
            self.calls["i" + name] = self._sets(getattr(operator, "i" + function.__name__.rstrip("_")))
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            self.calls[name] = self._compare(getattr(operator, name))
        self.calls |= {"i" + name: self.calls[name] for name in ("mult", "pow", "lshift", "mod", "floordiv")}

    def add(self, left: Any, right: Any) -> Any:
        kind = type(left)
        if kind is str and type(right) is str and len(left) < _SHORT and len(right) < _SHORT:
            return left + right
        if kind in NUMBERS and type(right) in NUMBERS:
            return _bounded(left + right)
        if kind is str and type(right) is str:
            _fit(len(left) + len(right), most=MAX_CHARACTERS)
            self._meter.charge(len(left) // 8)
        elif (kind is list or kind is tuple) and type(right) is kind:
            _fit(len(left) + len(right), most=MAX_ITEMS)
            self._meter.charge(len(left) + len(right))
        return left + right

    def iadd(self, left: Any, right: Any) -> Any:
        if type(left) is str and type(right) is str and len(left) < _SHORT and len(right) < _SHORT:
            return left + right
        if type(left) is not list:
            return self.add(left, right)
        items = self._meter.bulk(right)
        _fit(len(left) + len(items), most=MAX_ITEMS)
        left += items
        return left

    def mult(self, left: Any, right: Any) -> Any:
        if type(left) in NUMBERS and type(right) in NUMBERS:
            if type(left) is not float and type(right) is not float:
                _fit(left.bit_length() + right.bit_length(), most=MAX_BITS)
            return left * right
        if type(left) in NUMBERS:
            left, right = right, left
        if type(right) in (int, bool):
            if type(left) is str:
                _fit(len(left) * right, most=MAX_CHARACTERS)
                self._meter.charge(len(left) * right // 8)
            elif type(left) in (list, tuple):
                _fit(len(left) * right, most=MAX_ITEMS)
                self._meter.charge(len(left) * right)
        return left * right

    def pow(self, base: Any, exponent: Any) -> Any:
        if type(base) not in NUMBERS or type(exponent) not in NUMBERS:
            raise TypeError("** takes two numbers")
        if type(base) is not float and type(exponent) is not float and exponent > 0:
            _fit((base.bit_length() - 1) * exponent, most=MAX_BITS)
        value = base**exponent
        if type(value) is complex:
            raise ValueError("a root of a negative number")
        return _bounded(value)

    def lshift(self, value: Any, by: Any) -> Any:
        if type(value) in (int, bool) and type(by) in (int, bool):
            _fit(value.bit_length() + by, most=MAX_BITS)
        return value << by

    def mod(self, left: Any, right: Any) -> Any:
        if type(left) not in NUMBERS:
            raise TypeError("% takes two numbers; write texts with f-strings")
        return _bounded(left) % _bounded(right)

    def floordiv(self, left: Any, right: Any) -> Any:
        return _bounded(left) // _bounded(right)

    def slice(self, value: Any, start: Any, stop: Any, step: Any = None) -> Any:
        part = value[start:stop:step]
        if type(part) in (list, tuple):
            self._meter.charge(len(part))
        elif type(part) is str:
            self._meter.charge(len(part) // 8)
        return part

    def contains(self, item: Any, inside: Any) -> bool:
        kind = type(inside)
        if kind is range:
            return _in_range(item, inside)
        if kind is dict or kind is set or kind is frozenset or kind in VIEWS:
            self._meter.key(item)
        if kind is list or kind is tuple or kind in VIEWS:
            if len(inside) >= _SHORT:
                self._meter.charge(len(inside))
            if type(item) in CONTAINERS:
                self._weigh_against(item, inside)
        elif kind is str:
            self._meter.charge(len(inside) // 8)
        if kind is not str and kind not in CONTAINERS:
            return self._is_among(item, inside)
        return item in inside

    def _is_among(self, item: Any, inside: Any) -> bool:
        """`in` over an iterator: in C it would compare without looking at sizes."""
        equal = self.calls["eq"]
        for other in iter(inside):
            self._meter.tick(1)
            if other is item or equal(other, item):
                return True
        return False

    def _weigh_against(self, item: Any, inside: Any) -> None:
        """An item that is a container itself may be compared in full with every element."""
        for other in inside:
            if type(other) in CONTAINERS:
                self._meter.weigh(item)

    def _sets(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """An operator of numbers, sets and dicts. On numbers it is linear; the others are charged by what they hold."""
        few, scalars = self._few, SCALARS

        def apply(left: Any, right: Any) -> Any:
            kind, other = type(left), type(right)
            if kind is other is set and len(left) < _SHORT and len(right) < _SHORT:
                # Members have their hashes kept, and one plain side is enough for every comparison to be short.
                if scalars.issuperset(map(type, right)) or scalars.issuperset(map(type, left)):
                    return function(left, right)
            elif kind in NUMBERS and other in NUMBERS:
                return _bounded(function(left, right))
            if (kind not in _SETS or other not in _SETS) and not (kind is other is dict):
                raise TypeError("this operator takes two numbers, two sets or two dicts")
            if not (few(left) and few(right)):
                self._charge_members(left)
                self._charge_members(right)
            return function(left, right)

        return apply

    def _few(self, items: Any) -> bool:
        return len(items) < _SHORT and SCALARS.issuperset(map(type, items)) and type(items) not in VIEWS

    def _charge_members(self, items: Any) -> None:
        """Equal hashes, which can be had on purpose, make members be compared with one another."""
        self._meter.charge_hashes(len(items))
        if not SCALARS.issuperset(map(type, items)):
            self._meter.weigh(set(items) if type(items) is dict else items)

    def _compare(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        weigh, scalars = self._meter.weigh, SCALARS

        def compare(left: Any, right: Any) -> Any:
            if type(left) in scalars or type(right) in scalars:
                return function(left, right)
            weigh(left)
            weigh(right)
            return function(left, right)

        return compare


def _fit(size: int, *, most: int) -> None:
    if size > most:
        what = {MAX_CHARACTERS: "characters or items", MAX_BITS: "bits"}[most]
        raise TooLarge(
            f"the result would have {size if size < 10**9 else 'over 10**9'} {what}; at most {most} are allowed"
        )


def _bounded(value: Any) -> Any:
    """A number that quadratic arithmetic may touch."""
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise TooLarge(f"a whole number of {value.bit_length()} bits; at most {MAX_BITS} are allowed")
    return value


def _in_range(item: Any, inside: range) -> bool:
    """`item in range` without the search that C code makes for anything but whole numbers."""
    if type(item) is float and item.is_integer():
        item = int(item)
    return type(item) in (int, bool) and item in inside
