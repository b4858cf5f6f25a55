"""Every operator of generated code as a function that looks at sizes first."""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.formats import Formats
from sdg.skills.sandbox.guard.meter import (
    CONTAINERS,
    DICTS,
    MAX_BITS,
    NUMBERS,
    SCALARS,
    VIEWS,
    Meter,
    fit,
)

BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "LShift": "lshift", "RShift": "rshift", "BitOr": "or_", "BitAnd": "and_", "BitXor": "xor",
}  # fmt: skip
COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "In": "in", "NotIn": "notin"}
_SMALL = 1 << 64
_SETS: frozenset[type] = frozenset({set, frozenset, *VIEWS})
_SEQUENCES: frozenset[type] = frozenset({list, tuple, str})


class Operators:
    """The operators of one piece of generated code, by the names of the weaver's tables."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.calls: dict[str, Callable[..., Any]] = {
            "in": self.contains, "notin": lambda item, inside: not self.contains(item, inside), "item": self.item,
            "put": self.put, "delete": self.delete, "slice": slice, "unary": self.unary,
        }  # fmt: skip
        for name in BINARY.values():
            self.calls[name] = self._binary(name, getattr(operator, name))
            self.calls["i" + name] = self._binary("i" + name, getattr(operator, "i" + name.strip("_")))
        self.calls["mod"] = self.calls["imod"] = self._modulo(self.calls["mod"])
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            self.calls[name] = self._compare(getattr(operator, name))

    def _binary(self, name: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """An operator, in place or not: on numbers it is bounded, on everything else looked at and charged."""
        plain = name.removeprefix("i")
        prepare: Callable[[Any, Any], Any] = getattr(self, f"_{name}", getattr(self, f"_{plain}", self._merge))
        grows, made = plain in ("mul", "pow", "lshift"), self._meter.made
        quadratic, tick = plain in ("mul", "pow", "floordiv", "mod"), self._meter.tick

        def apply(left: Any, right: Any) -> Any:
            if type(left) in NUMBERS and type(right) in NUMBERS:
                if grows:
                    _bound_growth(plain, left, right)
                if quadratic and type(left) is int and not -_SMALL < left < _SMALL:
                    tick(left.bit_length() >> 6)
                value = function(left, right)
                if type(value) is float or (type(value) is int and -_SMALL < value < _SMALL):
                    return value
                return bounded(value)
            right = prepare(left, right)
            value = function(left, right)
            return value if value is left else made(value)

        return apply

    def _add(self, left: Any, right: Any) -> Any:
        if (type(left) in _SEQUENCES and type(right) in _SEQUENCES) or type(left) is type(right) is deque:
            fit(len(left) + len(right), "characters" if type(left) is str else "items")
            self._meter.tick(len(right) >> 2)
        return self._merge(left, right) if type(left) is Counter else right

    def _iadd(self, left: Any, right: Any) -> Any:
        """On the right of a list may be any iterable."""
        if type(left) is not list and type(left) is not deque:
            return self._add(left, right)
        right = self._meter.bulk(right)
        fit(len(left) + len(right), "items")
        return right

    def _mul(self, left: Any, right: Any) -> Any:
        items, times = (left, right) if type(right) in NUMBERS else (right, left)
        if type(items) is deque:
            raise TypeError("* takes no deque")
        if type(items) in _SEQUENCES and type(times) in (int, bool):
            fit(len(items) * times, "characters" if type(items) is str else "items")
            self._meter.tick(max(0, len(items) * times >> 3))
        return right

    def _ior(self, left: Any, right: Any) -> Any:
        """A dict takes pairs, too."""
        if type(left) is dict and type(right) not in DICTS:
            right = [self._meter.bulk(pair) for pair in self._meter.bulk(right)]
            self._meter.keys([pair[0] for pair in right if pair])
            return right
        return self._merge(left, right)

    def _modulo(self, modulo: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        percent = Formats(self._meter).percent
        return lambda left, right: percent(left, right) if type(left) is str else modulo(left, right)

    def _merge(self, left: Any, right: Any) -> Any:
        """Operators of sets and dicts: their members' hashes are kept, but equal ones are compared in full."""
        if (type(left) in _SETS and type(right) in _SETS) or (type(left) in DICTS and type(right) in DICTS):
            self._meter.tick(4 * (len(left) + len(right)))
            if not (SCALARS.issuperset(map(type, left)) or SCALARS.issuperset(map(type, right))):
                self._meter.keys(list(left))
                self._meter.keys(list(right))
            fit(len(left) + len(right), "items")
        elif CONTAINERS.intersection((type(left), type(right))):
            kinds = f"a {type(left).__name__} and a {type(right).__name__}"
            raise TypeError(f"this operator takes two numbers, two sets or two dicts, not {kinds}")
        return right

    def _compare(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        meter = self._meter

        def compare(left: Any, right: Any) -> Any:
            kind, other = type(left), type(right)
            if kind is str and other is str:
                if len(left) > 64:
                    meter.tick(min(len(left), len(right)) >> 5)
            elif kind in CONTAINERS and other in CONTAINERS:
                if kind is not other or kind not in (list, tuple):
                    self._merge_weight(left, right)
                meter.weigh(left if len(left) < len(right) else right)
            return function(left, right)

        return compare

    def _merge_weight(self, left: Any, right: Any) -> None:
        for side in (left, right):
            self._meter.tick(2 * len(side))
            if type(side) in _SETS and not SCALARS.issuperset(map(type, side)):
                self._meter.keys(list(side))

    def equal(self, left: Any, right: Any) -> bool:
        """left is right or left == right, as containers compare their items."""
        return left is right or bool(self.calls["eq"](left, right))

    def contains(self, item: Any, inside: Any) -> bool:
        kind, meter = type(inside), self._meter
        if kind in DICTS or kind is set or kind is frozenset:
            meter.key(item, len(inside))
        elif kind is str:
            meter.tick(search_cost(inside, item))
        elif kind is range:
            return type(item) in NUMBERS and item == item // 1 and int(item) in inside
        elif kind in (list, tuple, deque) and type(item) in SCALARS:
            size = len(item) >> 5 if type(item) is str else 0
            meter.tick((len(inside) >> 2) + len(inside) * size)
        elif kind in VIEWS and kind is not type({}.values()):
            meter.key(item, len(inside))
            meter.weigh(item)
        elif kind not in SCALARS and kind not in meter.records:
            for other in inside:
                meter.tick(2)
                if self.equal(other, item):
                    return True
            return False
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
        elif type(index) is slice:
            new = self._meter.bulk(new)
            fit(len(value) + len(new), "items")
            self._meter.tick(len(value) >> 3)
        elif type(value) is not list and type(value) is not deque:
            raise TypeError(f"the items of a {type(value).__name__} cannot be set: make a list or a dict of your own")
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


def search_cost(text: str, part: Any) -> int:
    """What looking for a text in another costs at worst: the product of their lengths."""
    if type(part) is tuple:
        return sum(1 + search_cost(text, each) for each in part)
    length = len(part) if type(part) is str else 1
    return (len(text) >> 6) + (len(text) * length >> 9 if 1 < length <= len(text) else 0)


def bounded(value: Any) -> Any:
    """A number that quadratic arithmetic may touch."""
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise TooLarge(f"a whole number of {value.bit_length()} bits; at most {MAX_BITS} are allowed")
    if type(value) is complex:
        raise ValueError("a root of a negative number")
    return value


def _bound_growth(name: str, left: Any, right: Any) -> None:
    if type(left) is float or type(right) is float:
        return
    if name == "mul":
        fit(left.bit_length() + right.bit_length() - 1, "bits")
    elif name == "lshift":
        fit(left.bit_length() + right, "bits")
    elif right > 0:
        fit((left.bit_length() - 1) * right, "bits")
