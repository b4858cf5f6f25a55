"""The builtins that generated code may use: bounded, and without keywords or forms that nobody needs.

`map`, `filter`, `zip`, `enumerate` and `reversed` are generators here: a loop in C would run past the step counter.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import CONTAINERS, MAX_BITS, MAX_ITEMS, NUMBERS, SCALARS, Meter

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

RAW: dict[str, Callable[..., Any]] = {
    "any": any, "all": all, "len": len, "abs": abs, "bool": bool, "range": range, "isinstance": isinstance,
    "enumerate": enumerate, "zip": zip, "reversed": reversed, "float": float, "int": int,
    "sum": sum,
}  # fmt: skip
"""Builtins as they are, for places where the weaver proved that they are bounded."""

_MISSING: Any = object()


class Builtins:
    """The builtins of one piece of generated code; public names of `calls` are what it can spell."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.calls: dict[str, Callable[..., Any]] = {
            "abs": lambda number, /: abs(number),
            "all": lambda items: all(self._lazy(items)),
            "any": lambda items: any(self._lazy(items)),
            "bool": lambda value=False: bool(value),
            "chr": lambda code: chr(code),
            "dict": self.dict,
            "divmod": self.divmod,
            "enumerate": self.enumerate,
            "filter": self.filter,
            "float": lambda value=0.0: float(value),
            "frozenset": lambda items=(): frozenset(meter.members(items)),
            "int": self.int,
            "isinstance": self.isinstance,
            "iter": lambda items: iter(self._lazy(items)),
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
            "repr": self.repr,
            "reversed": self.reversed,
            "round": self.round,
            "set": lambda items=(): set(meter.members(items)),
            "sorted": self.sorted,
            "str": lambda value="": meter.text(value),
            "sum": self.sum,
            "tuple": lambda items=(): tuple(meter.bulk(items)),
            "zip": self.zip,
        }
        for name, function in self.calls.items():
            named(function, name)

    def _lazy(self, items: Iterable[Any]) -> Iterable[Any]:
        if type(items) in CONTAINERS or type(items) in (range, str):
            if type(items) is range and len(items) > MAX_ITEMS:
                raise TooLarge(f"{len(items)} items in one go; at most {MAX_ITEMS} are allowed")
            self._meter.charge(len(items))  # type: ignore[arg-type]
        return items

    def dict(self, items: Iterable[Any] = (), **named: Any) -> dict[Any, Any]:
        if type(items) is dict:
            self._meter.charge(4 * len(items))
            return {**items, **named}
        pairs = [self._meter.bulk(pair) for pair in self._meter.bulk(items)]
        for pair in pairs:
            if pair:
                self._meter.key(pair[0])
        return dict(pairs, **named)  # type: ignore[arg-type]

    def merged(self, items: Any) -> Any:
        """What `{**items}` may merge."""
        if type(items) is not dict:
            raise TypeError("** takes a dict")
        self._meter.charge(4 * len(items))
        if len(items) > MAX_ITEMS:
            raise TooLarge(f"a dict of {len(items)} items; at most {MAX_ITEMS} are allowed")
        return items

    def getter(self, items: Any) -> Any:
        """`items.get` as a function of its own: never the method itself."""
        if type(items) is not dict:
            raise AttributeError(f"a value of type {type(items).__name__} has no method get()")
        return lambda wanted, default=None: items.get(self._meter.key(wanted), default)

    def divmod(self, left: Any, right: Any) -> Any:
        if type(left) not in NUMBERS or type(right) not in NUMBERS:
            raise TypeError("divmod takes two numbers")
        return divmod(_small(left), _small(right))

    def enumerate(self, items: Iterable[Any], start: int = 0) -> Iterator[Any]:
        number = start
        for item in items:
            self._meter.tick(1)
            yield number, item
            number += 1

    def filter(self, function: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._meter.tick(1)
            if item if function is None else function(item):
                yield item

    def int(self, value: Any = 0, base: Any = _MISSING) -> int:
        if type(value) is str and len(value) > 1000:
            raise TooLarge(f"a number of {len(value)} digits")
        return int(value) if base is _MISSING else int(value, base)

    def isinstance(self, value: Any, kind: Any) -> bool:
        raise TypeError("isinstance must be called by its name, with plain types such as (int, str)")

    def map(self, function: Any, *items: Iterable[Any]) -> Iterator[Any]:
        """In C over one container, charged here and by functions that count; anything else is walked in Python."""
        if len(items) == 1 and type(items[0]) in CONTAINERS:
            count = len(items[0])  # type: ignore[arg-type]
            if count > 4:
                self._meter.charge(4 * count)
            return map(function, items[0])
        return self._map(function, items)

    def _map(self, function: Any, items: tuple[Iterable[Any], ...]) -> Iterator[Any]:
        for arguments in zip(*items, strict=False):
            self._meter.tick(1)
            yield function(*arguments)

    def zip(self, *items: Iterable[Any], strict: bool = False) -> Iterator[Any]:
        for row in zip(*items, strict=strict):
            self._meter.tick(1)
            yield row

    def reversed(self, items: Any) -> Iterator[Any]:
        for item in reversed(items):
            self._meter.tick(1)
            yield item

    def next(self, items: Iterator[Any], default: Any = _MISSING) -> Any:
        return next(items) if default is _MISSING else next(items, default)

    def pow(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is None:
            if (
                type(base) is int
                and type(exponent) is int
                and exponent > 0
                and (base.bit_length() - 1) * exponent > MAX_BITS
            ):
                raise TooLarge(f"the power would have more than {MAX_BITS} bits")
            base, exponent = _small(base), _small(exponent)
            value = base**exponent
            if type(value) is complex:
                raise ValueError("a root of a negative number")
            return value
        return pow(_small(base, bits=64), _small(exponent, bits=64), _small(modulus, bits=64))

    def repr(self, value: Any) -> str:
        return repr(value) if type(value) is str and len(value) < 1000 else self._meter.text(value)

    def round(self, number: Any, ndigits: Any = None) -> Any:
        if type(number) not in NUMBERS:
            raise TypeError("round takes a number")
        if ndigits is not None:
            _small(ndigits, bits=10)
        return round(_small(number), ndigits)

    def sorted(self, items: Iterable[Any], *, key: Any = None, reverse: Any = False) -> list[Any]:
        out = self._meter.bulk(items) if key is not None else self._meter.keys(items)
        self._meter.charge(4 * len(out))
        if key is None:
            return sorted(out, reverse=bool(reverse))
        self._meter.tick(len(out))
        keys = self._meter.keys([key(item) for item in out])
        return [out[place] for place in sorted(range(len(out)), key=keys.__getitem__, reverse=bool(reverse))]

    def sorted_flat(self, items: Iterable[Any], *, key: Any, reverse: Any = False) -> list[Any]:
        """sorted by a lambda that gives flat values and does not count its own steps."""
        out = self._meter.bulk(items)
        self._meter.tick(2 * len(out))
        return sorted(out, key=key, reverse=bool(reverse))

    def sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        numbers = self._meter.bulk(items)
        if not NUMBERS.issuperset(map(type, numbers)) or type(start) not in NUMBERS:
            raise TypeError("sum takes numbers: join lists with [x for row in rows for x in row]")
        if len(numbers) > 1:
            _small(max(numbers))
            _small(min(numbers))
        return sum(numbers, _small(start))

    def extreme_flat(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """min or max of one list by a lambda that gives flat values and does not count its own steps."""
        meter = self._meter

        def extreme(items: Iterable[Any], *, key: Any, default: Any = _MISSING) -> Any:
            values = meter.bulk(items)
            meter.tick(1 + len(values))
            return function(values, key=key) if default is _MISSING else function(values, key=key, default=default)

        return extreme

    def _extreme(self, function: Callable[..., Any]) -> Callable[..., Any]:
        meter, scalars = self._meter, SCALARS

        def extreme(*items: Any, key: Any = None, default: Any = _MISSING) -> Any:
            if len(items) > 1 and key is None and default is _MISSING and scalars.issuperset(map(type, items)):
                return function(items)
            if len(items) == 1:
                values = meter.bulk(items[0])
                if not values and default is not _MISSING:
                    return default
            else:
                values = list(items)
            if key is None:
                return function(meter.keys(values))
            meter.tick(len(values))
            keys = meter.keys([key(value) for value in values])
            return values[function(range(len(values)), key=keys.__getitem__)]

        return extreme


def named(function: Any, name: str) -> None:
    """Errors about a call's arguments tell the name that generated code knows."""
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        function.__qualname__ = name


def _small(number: Any, *, bits: int = MAX_BITS) -> Any:
    if type(number) is int and number.bit_length() > bits:
        raise TooLarge(f"a whole number of {number.bit_length()} bits; at most {bits} are allowed here")
    return number
