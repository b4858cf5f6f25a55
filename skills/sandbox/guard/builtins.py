"""The builtins that generated code may use: bounded, and charged by what they look at.

Everything lazy is a `Lazy` over a generator: a loop in C would run past the counter.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import CONTAINERS, DICTS, MAX_ITEMS, NUMBERS, Lazy, Meter
from sdg.skills.sandbox.guard.operators import Operators, bounded

EXCEPTIONS: dict[str, type[Exception]] = {
    name: getattr(builtins, name)
    for name in (
        "Exception", "ArithmeticError", "AssertionError", "AttributeError", "IndexError", "KeyError", "LookupError",
        "NameError", "NotImplementedError", "OverflowError", "RecursionError", "RuntimeError", "StopIteration",
        "TypeError", "ValueError", "ZeroDivisionError",
    )
}  # fmt: skip
"""Exceptions that generated code may name. None of them is above `Exception`."""

PLAIN_TYPES: dict[str, type] = {
    "int": int, "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple, "set": set,
    "frozenset": frozenset, "dict": dict,
}  # fmt: skip
"""Types that `isinstance` may ask for."""

_MISSING: Any = object()
_CALLABLE = (FunctionType, MethodType, BuiltinMethodType)


class Builtins:
    """The builtins of one piece of generated code; public names of `calls` are what it can spell."""

    def __init__(self, meter: Meter, operators: Operators) -> None:
        self._meter, self._operators = meter, operators
        self.calls: dict[str, Callable[..., Any]] = {
            "abs": lambda number, /: abs(number),
            "all": lambda items: all(self.walked(items)),
            "any": lambda items: any(self.walked(items)),
            "bool": lambda value=False: bool(value),
            "callable": lambda value: isinstance(value, _CALLABLE),
            "chr": lambda code: chr(code),
            "dict": self.dict,
            "divmod": self.divmod,
            "enumerate": lambda items, start=0: self.lazy(self._numbered(items, start)),
            "filter": lambda function, items: self.lazy(self._filtered(function, items)),
            "float": self.float,
            "frozenset": lambda items=(): frozenset(self.members(items)),
            "int": self.int,
            "isinstance": self.isinstance,
            "iter": lambda items: items if type(items) is Lazy else self.lazy(items),
            "len": lambda items: len(items),
            "list": lambda items=(): meter.bulk(items),
            "map": self.map,
            "max": self._extreme(max),
            "min": self._extreme(min),
            "next": self.next,
            "ord": lambda character: ord(character),
            "pow": self.pow,
            "print": lambda *values, sep=" ", end="", flush=False: None,
            "range": lambda *bounds: range(*bounds),
            "repr": lambda value: meter.repr(value),
            "reversed": lambda items: self.lazy(reversed(items)),
            "round": self.round,
            "set": lambda items=(): set(self.members(items)),
            "sorted": self.sorted,
            "str": lambda value="": meter.text(value),
            "sum": self.sum,
            "tuple": lambda items=(): tuple(meter.bulk(items)),
            "zip": self.zip,
        }
        for name, function in self.calls.items():
            named(function, name)
        self._types = {self.calls[name]: kind for name, kind in PLAIN_TYPES.items()}

    def lazy(self, items: Iterable[Any]) -> Lazy:
        """An iterator that generated code may hold."""
        return Lazy(items, self._meter)

    def walked(self, items: Iterable[Any]) -> Iterable[Any]:
        """What C code may run over once."""
        if type(items) in CONTAINERS or type(items) in (range, str):
            if type(items) is range and len(items) > MAX_ITEMS:
                raise TooLarge(f"{len(items)} items in one go; at most {MAX_ITEMS} are allowed")
            self._meter.tick(len(items) >> 3)  # type: ignore[arg-type]
        return items

    def members(self, items: Iterable[Any]) -> list[Any]:
        """What a set may be made of."""
        return self._meter.keys(self._meter.bulk(items))

    def pairs(self, items: Any) -> Any:
        """What a dict may be made of or updated with."""
        if type(items) in DICTS:
            self._meter.keys(list(items))
            return items
        pairs = [self._meter.bulk(pair) for pair in self._meter.bulk(items)]
        self._meter.keys([pair[0] for pair in pairs if pair])
        return pairs

    def dict(self, items: Iterable[Any] = (), **named: Any) -> dict[Any, Any]:
        return dict(self.pairs(items), **named)

    def merged(self, items: Any) -> Any:
        """What `{**items}` and `f(**items)` may merge."""
        if type(items) not in DICTS:
            raise TypeError("** takes a dict")
        return self.pairs(items)

    def type(self, value: Any) -> Any:
        """`type(value)` of a plain value: the name that generated code has for it."""
        for name, kind in self._types.items():
            if type(value) is kind:
                return name
        if value is None:
            return None
        raise TypeError("type takes a plain value: ask isinstance(value, int) for a value's type")

    def isinstance(self, value: Any, kinds: Any) -> bool:
        wanted = []
        self._meter.tick(len(kinds) if type(kinds) is tuple else 0)
        for kind in kinds if type(kinds) is tuple else (kinds,):
            if kind is not None and kind not in self._types:
                raise TypeError("isinstance takes a value and plain types such as (int, str); for others read their"
                                " attributes")  # fmt: skip
            wanted.append(type(None) if kind is None else self._types[kind])
        return isinstance(value, tuple(wanted))

    def divmod(self, left: Any, right: Any) -> Any:
        if type(left) not in NUMBERS or type(right) not in NUMBERS:
            raise TypeError("divmod takes two numbers")
        return divmod(left, right)

    def _numbered(self, items: Iterable[Any], number: int) -> Iterator[Any]:
        for item in items:
            yield number, item
            number += 1

    def _filtered(self, function: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._meter.tick(4)
            if item if function is None else function(item):
                yield item

    def float(self, value: Any = 0.0) -> float:
        if type(value) is str:
            if len(value) > 1000:
                raise TooLarge(f"a number of {len(value)} digits")
            self._meter.tick(len(value) >> 2)
        return float(value)

    def int(self, value: Any = 0, base: Any = _MISSING) -> int:
        if type(value) is str:
            if len(value) > 1000:
                raise TooLarge(f"a number of {len(value)} digits")
            self._meter.tick(len(value) >> 3)
        return int(value) if base is _MISSING else int(value, base)

    def map(self, function: Any, first: Iterable[Any], *others: Iterable[Any]) -> Lazy:
        if not others:
            return self.lazy(self._mapped(function, first))
        return self.lazy(function(*row) for row in self._rows((first, *others), strict=False))

    def _mapped(self, function: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._meter.tick(4)
            yield function(item)

    def zip(self, *items: Iterable[Any], strict: bool = False) -> Lazy:
        return self.lazy(self._rows(items, strict=strict))

    def _rows(self, items: tuple[Iterable[Any], ...], *, strict: bool) -> Iterator[tuple[Any, ...]]:
        for row in zip(*items, strict=strict):
            self._meter.tick(4 + len(items))
            yield row

    def next(self, items: Iterator[Any], default: Any = _MISSING) -> Any:
        return next(items) if default is _MISSING else next(items, default)

    def pow(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return self._operators.calls["pow"](base, exponent)
        for number in (base, exponent, modulus):
            if type(number) not in NUMBERS or (type(number) is int and number.bit_length() > 64):
                raise TooLarge("pow with a modulus takes numbers of at most 64 bits")
        return pow(base, exponent, modulus)

    def round(self, number: Any, ndigits: Any = None) -> Any:
        if type(number) not in NUMBERS:
            raise TypeError("round takes a number")
        if type(ndigits) is int and not -1000 < ndigits < 1000:
            raise TooLarge("round takes at most 1000 digits")
        return round(number, ndigits)

    def ordering(self, items: list[Any], key: Any = None) -> list[Any]:
        """What items are compared by, charged as for sorting them."""
        keys = items if key is None else [key(item) for item in items]
        rounds = len(keys).bit_length()
        self._meter.tick(len(keys) * rounds >> 2)
        for each in keys:
            if type(each) not in NUMBERS:
                self._meter.tick(self._meter.weigh(each) * rounds >> 1)
        return keys

    def sorted(self, items: Iterable[Any], *, key: Any = None, reverse: Any = False) -> list[Any]:
        out = self._meter.bulk(items)
        keys = self.ordering(out, key)
        if key is None:
            return sorted(out, reverse=bool(reverse))
        return [out[place] for place in sorted(range(len(out)), key=keys.__getitem__, reverse=bool(reverse))]

    def sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        values = self._meter.bulk(items)
        if NUMBERS.issuperset(map(type, values)) and type(start) in NUMBERS:
            bounded(max(values, default=0))
            bounded(min(values, default=0))
            return sum(values, bounded(start))
        if type(start) is str:
            raise TypeError("sum takes no texts: write ''.join(texts)")
        add = self._operators.calls["add"]
        for value in values:
            self._meter.tick(1)
            start = add(start, value)
        return start

    def _extreme(self, function: Callable[..., Any]) -> Callable[..., Any]:
        meter, ordering = self._meter, self.ordering

        def extreme(*items: Any, key: Any = None, default: Any = _MISSING) -> Any:
            if len(items) > 1 and key is None and default is _MISSING and NUMBERS.issuperset(map(type, items)):
                return function(items)
            values = meter.bulk(items[0]) if len(items) == 1 else list(items)
            if not values and default is not _MISSING:
                return default
            keys = ordering(values, key)
            return function(keys) if key is None else values[function(range(len(values)), key=keys.__getitem__)]

        return extreme


def named(function: Any, name: str) -> None:
    """Errors about a call's arguments tell the name that generated code knows."""
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        function.__qualname__ = name
