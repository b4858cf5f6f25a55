"""What generated code can call: builtins, methods of plain values, and what stands for modules that models import.

Most are functions of C behind the rows of `table.py`; what has no row is a method here.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.formats import Formats
from sdg.skills.sandbox.guard.meter import CONTAINERS, DICTS, NUMBERS, Lazy, Meter, fit
from sdg.skills.sandbox.guard.operators import Heaps, Operators, bounded, search_cost
from sdg.skills.sandbox.guard.table import FUNCTIONS, METHOD_ROWS, PLAIN_TYPES

Method = Callable[..., Any]

_MISSING: Any = object()
_CALLABLE = (FunctionType, MethodType, BuiltinMethodType)


class Helpers:
    """The helpers of one piece of generated code; `calls` has them by the names that woven code uses."""

    def __init__(self, meter: Meter, operators: Operators) -> None:
        self._meter, self._operators = meter, operators.calls
        tick, bulk = meter.tick, meter.bulk
        self._looks: dict[str, Callable[[Any, Any], Any]] = {
            ".": lambda part, first: part,
            "s": lambda part, first: part if tick(len(part) >> 3 if type(part) is str else 2 * len(part)) else None,
            "w": lambda part, first: part if meter.weigh(part) else None,
            "o": lambda part, first: part if tick(len(part) >> 6) else None,
            "i": lambda part, first: self.walked(part),
            "b": lambda part, first: bulk(part),
            "m": lambda part, first: meter.keys(bulk(part)),
            "k": lambda part, first: meter.key(part, len(first)) if tick(6) else None,
            "n": lambda part, first: bounded(part) if tick(8) else None,
            "e": lambda part, first: _few(part),
            "d": lambda part, first: self._digits(part),
            "x": lambda part, first: part if tick(4 * len(part)) else None,
            "t": lambda part, first: self._sought(part, first),
            "l": lambda part, first: self._counted(part),
            "c": lambda part, first: part if type(part) is list else self._counted(part),
        }
        self.calls: dict[str, Any] = self._builtins() | self._modules()
        for where, rows in FUNCTIONS.items():
            prefix = "" if where is builtins else f".x_{where.__name__}."
            for letters, names in rows.items():
                self.calls |= {prefix + name: self._looked(getattr(where, name), letters) for name in names.split()}
        for name, row in self._methods().items():
            self.calls[f".m_{name}"] = _dispatch(name, row)
        for name, function in self.calls.items():
            _named(function, name.rpartition(".")[2].removeprefix("m_"))

    def _looked(self, function: Method, letters: str) -> Method:
        """A function of C with its arguments looked at as its letters say."""
        looks, rest, meter = [self._looks[letter] for letter in letters], self._looks[letters[-1]], self._meter

        def call(*arguments: Any, **words: Any) -> Any:
            seen = [look(part, arguments[0]) for look, part in zip(looks, arguments)]  # noqa: B905
            seen += [rest(part, arguments[0]) for part in arguments[len(looks) :]]
            for word, part in words.items():
                words[word] = rest(part, arguments[0] if arguments else None)
            return bounded(meter.made(function(*seen, **words)))

        def lazy(*arguments: Any, **words: Any) -> Lazy:
            meter.tick(4)
            return Lazy(call(*arguments, **words), meter)

        is_plain = letters == "." and not isinstance(function, type)
        return function if is_plain else lazy if letters[-1] in "lc" or function is itertools.repeat else call

    def _builtins(self) -> dict[str, Method]:
        """Those that no row describes."""
        meter = self._meter
        return {
            "callable": lambda value: isinstance(value, _CALLABLE),
            "dict": self.make_dict,
            "isinstance": self.isinstance,
            "iter": lambda items: items if type(items) is Lazy else Lazy(items, meter),
            "max": self._extreme(max),
            "min": self._extreme(min),
            "pow": self.pow,
            "print": lambda *values, sep=" ", end="", flush=False: None,
            "repr": lambda value: meter.text(value, repr),
            "reversed": lambda items: Lazy(reversed(items), meter),
            "sorted": self.sorted,
            "str": lambda value="": meter.text(value),
            "sum": self.sum,
            ".type": self.type_of,
            ".merged": self.merged,
            ".getter": self.getter,
        }

    def _modules(self) -> dict[str, Any]:
        meter, sort, heaps = self._meter, self.sorted, Heaps(self._meter, self._operators["lt"])
        return {f".x_math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")} | {
            ".x_math.prod": self.prod,
            ".x_collections.Counter": self.counter,
            ".x_collections.defaultdict": self.make_defaultdict,
            ".x_collections.deque": lambda items=(), maxlen=None: meter.tick(48) and deque(meter.bulk(items), maxlen),
            ".x_heapq.heapify": heaps.heapify,
            ".x_heapq.heappop": heaps.heappop,
            ".x_heapq.heappush": heaps.heappush,
            ".x_heapq.heappushpop": lambda heap, item: heaps.heappop(heaps.heappush(heap, item) or heap),
            ".x_heapq.heapreplace": heaps.heapreplace,
            ".x_heapq.nlargest": lambda n, items, key=None: sort(items, key=key, reverse=True)[: max(0, n)],
            ".x_heapq.nsmallest": lambda n, items, key=None: sort(items, key=key)[: max(0, n)],
            ".x_itertools.accumulate": self.accumulate,
            ".x_itertools.groupby": self.groupby,
            ".x_itertools.starmap": lambda function, rows: Lazy(
                (function(*meter.bulk(row)) for row in Lazy(rows, meter)), meter
            ),
        }

    def _methods(self) -> dict[str, dict[type, Method]]:
        """Method by name and type of the receiver."""
        table: dict[str, dict[type, Method]] = {
            "format": {str: Formats(self._meter).format}, "join": {str: self.join}, "replace": {str: self.replace},
            "sort": {list: self.sort}, "update": {dict: self.update, defaultdict: self.update, Counter: self.recount},
            "most_common": {Counter: self.most_common}, "is_integer": {int: lambda number: True},
            "get": dict.fromkeys(self._meter.records, _field),
        }  # fmt: skip
        for kind, rows in METHOD_ROWS.items():
            for letters, names in rows.items():
                for name in names.split():
                    table.setdefault(name, {})[kind] = self._looked(getattr(kind, name), letters)
        table["index"] |= dict.fromkeys((list, deque), self._looked(_index, "w"))
        return table

    # How arguments are looked at ------------------------------------------------------------------------------------

    def walked(self, items: Any) -> Any:
        """What C code may run over once."""
        if type(items) in CONTAINERS or type(items) in (range, str):
            fit(len(items) if type(items) is range else 0, "items")
            self._meter.tick(len(items) >> 3)
        return items

    def _digits(self, value: Any) -> Any:
        if type(value) is str:
            self._meter.tick(len(value) >> 2)
            if len(value) > 1000:
                raise TooLarge(f"a number of {len(value)} digits")
        return value

    def _sought(self, part: Any, text: str) -> Any:
        self._meter.tick(search_cost(text, part))
        if type(part) is int:
            fit(part, "characters")
        return part

    def _counted(self, part: Any) -> Any:
        if type(part) is int:
            fit(abs(part), "items")
        return Lazy(part, self._meter) if type(part) in (range, str, Lazy) or type(part) in CONTAINERS else part

    # Builtins -------------------------------------------------------------------------------------------------------

    def pairs(self, items: Any) -> Any:
        """What a dict may be made of or updated with."""
        if type(items) in DICTS:
            self._meter.keys(items)
            return items
        pairs = [self._meter.bulk(pair) for pair in self._meter.bulk(items)]
        self._meter.keys([pair[0] for pair in pairs if pair])
        return pairs

    def make_dict(self, items: Iterable[Any] = (), /, **named: Any) -> dict[Any, Any]:
        return dict(self.pairs(items), **named)

    def merged(self, items: Any) -> Any:
        """What `{**items}` and `f(**items)` may merge."""
        if type(items) not in DICTS:
            raise TypeError("** takes a dict")
        return self.pairs(items)

    def type_of(self, value: Any) -> Any:
        """`type(value)` of a plain value: the name that generated code has for it."""
        if value is None:
            return None
        if type(value) not in PLAIN_TYPES.values():
            raise TypeError("type takes a plain value: ask isinstance(value, int) for a value's type")
        return self.calls[type(value).__name__]

    def isinstance(self, value: Any, kinds: Any) -> bool:
        wanted = kinds if type(kinds) is tuple else (kinds,)
        types = {self.calls[name]: kind for name, kind in PLAIN_TYPES.items()} | {None: type(None)}
        self._meter.tick(8 + len(wanted))
        if any(type(kind) is tuple or kind not in types for kind in wanted):
            raise TypeError(
                "isinstance takes a value and plain types such as (int, str); for others read their attributes"
            )
        return isinstance(value, tuple(types[kind] for kind in wanted))

    def pow(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return self._operators["pow"](base, exponent)
        for number in (base, exponent, modulus):
            if type(number) not in NUMBERS or (type(number) is int and number.bit_length() > 64):
                raise TooLarge("pow with a modulus takes numbers of at most 64 bits")
        return pow(base, exponent, modulus)

    def ordering(self, items: list[Any], key: Any = None) -> list[Any]:
        """What items are compared by, charged as for sorting them."""
        keys = items if key is None else [key(item) for item in items]
        plain = NUMBERS.issuperset(map(type, keys))
        self._meter.tick((len(keys) if plain else 2 * self._meter.weigh(keys)) * len(keys).bit_length() >> 2)
        return keys

    def sorted(self, items: Iterable[Any], *, key: Any = None, reverse: Any = False) -> list[Any]:
        out = self._meter.bulk(items)
        keys = self.ordering(out, key)
        return [out[place] for place in sorted(range(len(out)), key=keys.__getitem__, reverse=bool(reverse))]

    def sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        values = self._meter.bulk(items)
        if NUMBERS.issuperset(map(type, values)) and type(start) in NUMBERS:
            bounded(max(values, default=0))
            bounded(min(values, default=0))
            return sum(values, bounded(start))
        if type(start) is str:
            raise TypeError("sum takes no texts: write ''.join(texts)")
        for value in values:
            start = self._operators["add"](start, value)
        return start

    def _extreme(self, function: Method) -> Method:
        def extreme(*items: Any, key: Any = None, default: Any = _MISSING) -> Any:
            values = self._meter.bulk(items[0]) if len(items) == 1 else list(items)
            if not values and default is not _MISSING:
                return default
            keys = self.ordering(values, key)
            return function(keys) if key is None else values[function(range(len(values)), key=keys.__getitem__)]

        return extreme

    # Methods --------------------------------------------------------------------------------------------------------

    def getter(self, receiver: Any) -> Method:
        """`receiver.get` as a function of its own: never the method itself."""
        if type(receiver) not in DICTS:
            raise AttributeError(f"a value of type {type(receiver).__name__} has no method get()")
        return lambda wanted, default=None: self.calls[".m_get"](receiver, wanted, default)

    def join(self, text: str, parts: Any) -> str:
        items = self._meter.bulk(parts)
        if any(type(item) is not str for item in items):
            raise TypeError("join takes texts: write ', '.join(str(x) for x in items)")
        fit(sum(map(len, items)) + len(text) * len(items), "characters")
        return str(self._meter.made(text.join(items)))

    def replace(self, text: str, old: str, new: str, count: int = -1) -> str:
        if type(old) is not str or type(new) is not str:
            raise TypeError("replace takes texts")
        self._meter.tick((len(text) >> 2) + search_cost(text, old))
        fit(len(text) + text.count(old) * max(0, len(new) - len(old)), "characters")
        return str(self._meter.made(text.replace(old, new, count)))

    def sort(self, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
        """As in CPython the list is empty while its keys are asked for."""
        out = items.copy()
        items.clear()
        try:
            out = self.sorted(out, key=key, reverse=reverse)
            if items:
                raise ValueError("list modified during sort")
        finally:
            items[:] = out

    def update(self, items: dict[Any, Any], more: Any = (), /, **words: Any) -> None:
        items.update(self.pairs(more), **words)

    # Modules --------------------------------------------------------------------------------------------------------

    def prod(self, items: Iterable[Any], *, start: Any = 1) -> Any:
        for item in self._meter.bulk(items):
            start = self._operators["mul"](start, item)
        return start

    def counter(self, items: Any = (), /, **words: Any) -> Any:
        count: Any = Counter()
        self.recount(count, items, **words)
        return count

    def make_defaultdict(self, factory: Any = None, items: Any = (), /, **words: Any) -> Any:
        return defaultdict(factory, self.make_dict(items, **words))  # type: ignore[call-overload]

    def recount(self, count: Any, items: Any = (), /, **words: Any) -> None:
        """`count.update(items)`: pairs of a dict are added up, other items counted."""
        given = {**items, **words} if type(items) in DICTS and self.pairs(items) is items else words
        for name, number in given.items():
            self._meter.key(name, len(count))
            count[name] = self._operators["add"](count[name], number) if name in count else number
        if type(items) not in DICTS:
            count.update(self._meter.keys(self._meter.bulk(items)))

    def most_common(self, items: Any, n: Any = None) -> list[Any]:
        return self.sorted(items.items(), key=lambda pair: pair[1], reverse=True)[:n]

    def accumulate(self, items: Any, function: Any = None, *, initial: Any = None) -> Any:
        function = function or self._operators["add"]
        return Lazy(itertools.accumulate(Lazy(items, self._meter), function, initial=initial), self._meter)

    def groupby(self, items: Any, key: Any = None) -> Any:
        """All groups at once; what they are told apart by is weighed, since C code compares it."""
        values = self._meter.bulk(items)
        marks = self.ordering(values, key)
        rows = itertools.groupby(range(len(values)), marks.__getitem__)
        groups = [(mark, [values[place] for place in places]) for mark, places in rows]
        return Lazy(((mark, Lazy(group, self._meter)) for mark, group in groups), self._meter)


def _field(record: Any, name: Any, default: Any = None) -> Any:
    """`record.get("name")`: models take records for dicts."""
    is_field = type(name) is str and name in type(record).__dataclass_fields__
    return getattr(record, name, default) if is_field else default


def _index(items: Any, *wanted: Any) -> int:
    """Without the error's text, which would show what was wanted whatever it is."""
    try:
        return int(type(items).index(items, *wanted))
    except ValueError:
        raise ValueError("what index() looks for is not there") from None


def _few(number: Any) -> Any:
    if type(number) is int and not -1000 <= number <= 1000:
        raise TooLarge("a whole number from -1000 to 1000 is wanted here")
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


_PROTOTYPE = Meter(frozenset())
_CALLS = frozenset(Helpers(_PROTOTYPE, Operators(_PROTOTYPE)).calls)
BUILTINS = frozenset(name for name in _CALLS if not name.startswith("."))
METHODS = frozenset(name[3:] for name in _CALLS if name.startswith(".m_"))
"""Every method name that generated code may call."""
NAMES = {
    module: frozenset(name.rpartition(".")[2] for name in _CALLS if name.startswith(f".x_{module}."))
    for module in ("math", "collections", "heapq", "itertools")
}
"""What can be imported, by module."""
