"""What generated code can call: builtins, methods of plain values, and what stands for modules that models import.

Most are functions of C behind the rows of `table.py`; what has no row is a method here.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import chain, repeat
from operator import indexOf, itemgetter
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from sdg.sandbox.guard.errors import TooLarge
from sdg.sandbox.guard.meter import CONTAINERS, DICTS, MAX_KEY, NUMBERS, Defaults, Lazy, fit
from sdg.sandbox.guard.operators import Operators, search_cost
from sdg.sandbox.guard.table import FUNCTIONS, HEAP, METHOD_ROWS, PLAIN_TYPES

Method = Callable[..., Any]

_SIZED = CONTAINERS | {range}
_MISSING: Any = object()
_CALLABLE = (FunctionType, MethodType, BuiltinMethodType)


class Helpers(Operators):
    """The meter of one piece of generated code with all that the code can call: `calls` has it by the names that woven
    code uses."""

    def __init__(self, records: frozenset[type]) -> None:
        super().__init__(records)
        tick, bulk = self.tick, self.bulk
        self._looks: dict[str, Callable[[Any, Any], Any]] = {
            ".": lambda part, first: part,
            "h": lambda part, first: part,
            "s": lambda part, first: part if tick(_size(part)) else None,
            "w": lambda part, first: part if self.weigh(part) else None,
            "o": lambda part, first: part if tick(len(part) >> 6) else None,
            "b": lambda part, first: bulk(part),
            "m": lambda part, first: self.keys(bulk(part)),
            "k": lambda part, first: self.key(part, len(first)) if tick(6) else None,
            "n": lambda part, first: self.bounded(part) if tick(8) else None,
            "e": lambda part, first: _few(part) if tick(32) else None,
            "x": lambda part, first: part if tick(4 * len(part)) else None,
            "t": lambda part, first: self._sought(part, first),
            "l": lambda part, first: self._counted(part),
            "c": lambda part, first: part,
        }
        self.calls |= self._builtins() | self._modules()
        for where, rows in FUNCTIONS.items():
            prefix = "" if where is builtins else f".x_{where.__name__}."
            for letters, names in rows.items():
                self.calls |= {prefix + name: self._looked(getattr(where, name), letters) for name in names.split()}
        for name, function in self.calls.items():
            _named(function, name.rpartition(".")[2])
        self.calls |= {f".m_{name}": _dispatch(name, row) for name, row in self._methods().items()}

    def _looked(self, function: Method, letters: str) -> Method:
        """A function of C with its arguments looked at as its letters say."""
        rest = self._looks[letters[-1]]
        looks = [self._looks[letter] for letter in letters] + [rest] * 2
        is_lazy = letters[-1] in "lc" or function is repeat

        def call(*arguments: Any, **words: Any) -> Any:
            first = arguments[0] if arguments else None
            own = looks if len(arguments) <= len(looks) else chain(looks, repeat(rest))
            seen = [look(part, first) for part, look in zip(arguments, own, strict=False)]
            words = {word: rest(part, first) for word, part in words.items()} if words else words
            value = function(*seen, **words)
            if letters[0] == "h":
                self.thin(first)
            return self.lazy(value, width=len(arguments)) if is_lazy else self.bounded(self.made(value))

        return function if letters == "." and not isinstance(function, type) else call

    def lazy(self, items: Iterable[Any], *, width: int = 0) -> Lazy:
        return Lazy(items, self, width=width)

    def _builtins(self) -> dict[str, Method]:
        """Those that no row describes."""
        return {
            "callable": lambda value: isinstance(value, _CALLABLE),
            "dict": lambda *items, **named: self.built({}, *items, **named),
            "isinstance": self.isinstance,
            "iter": lambda items: items if type(items) is Lazy else self.lazy(items),
            "max": self._extreme(max),
            "min": self._extreme(min),
            "pow": self.pow,
            "print": lambda *values, sep=" ", end="", flush=False: None,
            "range": lambda *bounds: range(*map(_few, bounds, repeat(MAX_KEY))),
            "repr": lambda value: self.text(value, repr),
            "reversed": lambda items: self.lazy(reversed(items)),
            "sorted": self.sorted,
            "str": lambda value="": self.text(value),
            "sum": self.sum,
            ".type": self.type_of,
            ".getattr": self.field,
            ".hasattr": lambda value, name: self.field(value, name, _MISSING) is not _MISSING,
            ".merged": lambda items: self.calls[".or_"]({}, items),
            ".getter": lambda receiver: (
                self.tick(16) and (lambda wanted, default=None: self.calls[".m_get"](receiver, wanted, default))
            ),
        }

    def _modules(self) -> dict[str, Any]:
        sort = self.sorted
        return {f".x_math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")} | {
            ".x_math.prod": lambda items, *, start=1: reduce(self.calls[".mul"], self.bulk(items), start),
            ".x_collections.Counter": lambda *items, **named: self.built(Counter(), *items, **named),
            ".x_collections.defaultdict": lambda factory=None, /, *items, **named: self.built(
                Defaults(factory), *items, **named
            ),
            ".x_collections.deque": lambda items=(), maxlen=None: self.made(deque(self.bulk(items), maxlen)),
            ".x_heapq.nlargest": lambda n, items, key=None: sort(items, key=key, reverse=True)[: max(0, n)],
            ".x_heapq.nsmallest": lambda n, items, key=None: sort(items, key=key)[: max(0, n)],
            ".x_itertools.accumulate": self.accumulate,
            ".x_itertools.groupby": self.groupby,
            ".x_itertools.product": lambda *items, repeat=1: self.product(items, repeat),
            ".x_itertools.zip_longest": lambda *items, fillvalue=None: self.lazy(
                itertools.zip_longest(*map(self._counted, items), fillvalue=fillvalue), width=len(items)
            ),
            ".x_itertools.starmap": lambda function, rows: self.lazy(
                function(*self.bulk(row)) for row in self.lazy(rows)
            ),
        }

    def _methods(self) -> dict[str, dict[type, Method]]:
        """Method by name and type of the receiver."""
        table: dict[str, dict[type, Method]] = {
            "format": {str: self.format}, "join": {str: self.join}, "replace": {str: self.replace},
            "sort": {list: self.sort}, "update": {Counter: self.recount} | dict.fromkeys(
                (dict, Defaults), lambda items, more=(), /, **words: items.update(self.pairs(more), **words)
            ),
            "most_common": {
                Counter: lambda items, n=None: self.sorted(items.items(), key=itemgetter(1), reverse=True)[:n]
            },
            "is_integer": {int: lambda number: True},
            "get": dict.fromkeys(self.records, self.field),
        }  # fmt: skip
        for kind, rows in METHOD_ROWS.items():
            for letters, names in rows.items():
                for name in names.split():
                    table.setdefault(name, {})[kind] = self._looked(getattr(kind, name), letters)
        table["index"] |= dict.fromkeys((list, deque), self._looked(_index, "w"))
        table["remove"][deque] = self._looked(_remove, "w")
        return table

    # How arguments are looked at ------------------------------------------------------------------------------------

    def _sought(self, part: Any, text: str) -> Any:
        self.tick(search_cost(text, part))
        if type(part) is int:
            fit(part, "characters")
        return part

    def _counted(self, part: Any) -> Any:
        if type(part) is int:
            fit(abs(part), "items")
        return Lazy(part, self) if type(part) in (range, str, Lazy) or type(part) in CONTAINERS else part

    # Builtins -------------------------------------------------------------------------------------------------------

    def pairs(self, items: Any) -> Any:
        """What a dict may be made of or updated with."""
        if type(items) in DICTS:
            return self.keys(items)
        pairs = [self.bulk(pair) for pair in self.bulk(items)]
        self.keys([pair[0] for pair in pairs if pair])
        return pairs

    def built(self, made: Any, /, *items: Any, **named: Any) -> Any:
        """A new dict, Counter or defaultdict with what it is made of."""
        self.calls[".m_update"](made, *items, **named)
        return self.made(made)

    def type_of(self, value: Any) -> Any:
        """`type(value)` of a plain value: the name that generated code has for it."""
        if value is not None and type(value) not in PLAIN_TYPES.values():
            raise TypeError("type takes a plain value: ask isinstance(value, int) for a value's type")
        return None if value is None else self.calls[type(value).__name__]

    def isinstance(self, value: Any, kinds: Any) -> bool:
        wanted = kinds if type(kinds) is tuple else (kinds,)
        types = {self.calls[name]: kind for name, kind in PLAIN_TYPES.items()} | {None: type(None)}
        self.tick(8 + len(wanted))
        if any(type(kind) is tuple or kind not in types for kind in wanted):
            raise TypeError(
                "isinstance takes a value and plain types such as (int, str); for others read their attributes"
            )
        return isinstance(value, tuple(types[kind] for kind in wanted))

    def pow(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return self.calls[".pow"](base, exponent)
        if any(type(number) is not int or number.bit_length() > 64 for number in (base, exponent, modulus)):
            raise TooLarge("pow with a modulus takes whole numbers of at most 64 bits")
        self.tick(24)
        return pow(base, exponent, modulus)

    def ordering(self, items: list[Any], key: Any = None) -> list[Any]:
        """What items are compared by, charged as for sorting them."""
        keys = items if key is None else [key(item) for item in items]
        plain = NUMBERS.issuperset(map(type, keys))
        self.tick((len(keys) if plain else 2 * self.weigh(keys)) * len(keys).bit_length() >> 2)
        return keys

    def sorted(self, items: Iterable[Any], *, key: Any = None, reverse: Any = False) -> list[Any]:
        out = self.bulk(items)
        keys = self.ordering(out, key)
        return [out[place] for place in sorted(range(len(out)), key=keys.__getitem__, reverse=bool(reverse))]

    def sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        values = self.bulk(items)
        if type(start) is str:
            raise TypeError("sum takes no texts: write ''.join(texts)")
        if NUMBERS.issuperset(map(type, [start, *values])):
            return self.bounded(sum(values, start))
        return reduce(self.calls[".add"], values, start)

    def _extreme(self, function: Method) -> Method:
        def extreme(*items: Any, key: Any = None, default: Any = _MISSING) -> Any:
            values = self.bulk(items[0]) if len(items) == 1 else list(items)
            if not values and default is not _MISSING:
                return default
            keys = self.ordering(values, key)
            return function(keys) if key is None else values[function(range(len(values)), key=keys.__getitem__)]

        return extreme

    def field(self, value: Any, name: Any, default: Any = None) -> Any:
        """`getattr(value, "name", default)`, and `record.get("name")`: models take records for dicts."""
        is_field = type(value) in self.records and type(name) is str and name in type(value).__dataclass_fields__
        return getattr(value, name) if is_field else default

    def product(self, items: Any, times: Any) -> Any:
        if type(times) is int:
            fit(len(items) * times, "items")
        pools = self.calls[".mul"](tuple(tuple(self.bulk(pool)) for pool in items), times)
        return self.lazy(itertools.product(*pools, repeat=min(times, 1)), width=len(pools))

    # Methods --------------------------------------------------------------------------------------------------------

    def join(self, text: str, parts: Any) -> str:
        items = self.bulk(parts)
        if any(type(item) is not str for item in items):
            raise TypeError("join takes texts: write ', '.join(str(x) for x in items)")
        fit(sum(map(len, items)) + len(text) * len(items), "characters")
        return str(self.made(text.join(items)))

    def replace(self, text: str, old: str, new: str, count: int = -1) -> str:
        if type(old) is not str or type(new) is not str:
            raise TypeError("replace takes texts")
        self.tick((len(text) >> 2) + search_cost(text, old))
        fit(len(text) + text.count(old) * max(0, len(new) - len(old)), "characters")
        return str(self.made(text.replace(old, new, count)))

    def sort(self, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
        items[:] = self.sorted(items, key=key, reverse=reverse)

    # Modules --------------------------------------------------------------------------------------------------------

    def recount(self, count: Any, items: Any = (), /, **words: Any) -> None:
        """`count.update(items)`: pairs of a dict are added up, other items counted."""
        given = {**items, **words} if type(items) in DICTS else words
        for name, number in given.items():
            self[count, name] = self.calls[".add"](count[name], number) if name in count else number
        if type(items) not in DICTS and items is not None:
            count.update(self.keys(self.bulk(items)))

    def accumulate(self, items: Any, function: Any = None, *, initial: Any = None) -> Any:
        function = function or self.calls[".add"]
        return self.lazy(itertools.accumulate(self.lazy(items), function, initial=initial))

    def groupby(self, items: Any, key: Any = None) -> Any:
        """What distinguishes groups is weighed, since C code compares it."""
        values = self.bulk(items)
        marks = self.ordering(values, key)
        rows = itertools.groupby(range(len(values)), marks.__getitem__)
        return self.lazy(((mark, self.lazy(map(values.__getitem__, places))) for mark, places in rows), width=4)


def _size(part: Any) -> int:
    """What going over a value once costs, 0 for what counts itself."""
    if type(part) is range:
        fit(len(part), "items")
    return part.__sizeof__() >> 4 if type(part) is str else 2 * len(part) if type(part) in _SIZED else 0


def _index(items: Any, wanted: Any, start: Any = 0, stop: Any = None) -> int:
    """Where it is. The errors of list and deque would write out what was wanted, whatever it is."""
    begin, end, _ = slice(start, stop).indices(len(items))
    return begin + indexOf(itertools.islice(items, begin, end), wanted)


def _remove(items: Any, wanted: Any) -> None:
    del items[_index(items, wanted)]


def _few(number: Any, most: int = 1000) -> Any:
    if type(number) is int and not -most <= number <= most:
        raise TooLarge(f"a whole number from {-most} to {most} is wanted here")
    return number


def _dispatch(name: str, row: dict[type, Method]) -> Method:
    for method in row.values():
        _named(method, name)

    def call(receiver: Any, /, *arguments: Any, **words: Any) -> Any:
        method = row.get(type(receiver))
        if method is None:
            raise AttributeError(f"a value of type {type(receiver).__name__} has no method {name}()")
        return method(receiver, *arguments, **words)

    return call


def _named(function: Any, name: str) -> None:
    """Errors about a call's arguments tell the name that generated code knows."""
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        function.__qualname__ = name


_CALLS = [*Helpers(frozenset()).calls, *(f".x_heapq.{name}" for name in HEAP)]
BUILTINS = frozenset(name for name in _CALLS if not name.startswith("."))
METHODS = frozenset(name[3:] for name in _CALLS if name.startswith(".m_"))
"""Every method name that generated code may call."""
NAMES = {
    module: frozenset(name.rpartition(".")[2] for name in _CALLS if name.startswith(f".x_{module}."))
    for module in ("math", "collections", "heapq", "itertools")
}
"""What can be imported, by module."""
