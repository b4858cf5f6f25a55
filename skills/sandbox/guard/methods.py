"""The methods of plain values that generated code may call, by name and exact type."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.builtins import Builtins, named
from sdg.skills.sandbox.guard.formats import Formats
from sdg.skills.sandbox.guard.meter import DICTS, MAX_CHARACTERS, MAX_ITEMS, Meter, fit
from sdg.skills.sandbox.guard.operators import Operators, search_cost

Method = Callable[..., Any]

_TEXT = str.split(
    "capitalize casefold center count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isspace "
    "istitle isupper ljust lower lstrip partition removeprefix removesuffix rfind rindex rjust rpartition rsplit "
    "rstrip split splitlines startswith strip swapcase title upper zfill"
)
_SET = str.split("copy difference intersection isdisjoint issubset issuperset symmetric_difference union")
_OF: dict[type, list[str]] = {
    list: str.split("append clear copy insert pop reverse"),
    dict: str.split("clear copy get items keys pop popitem setdefault values"),
    set: [*_SET, *str.split("add clear difference_update discard intersection_update pop remove "
                            "symmetric_difference_update update")],
    frozenset: _SET,
    deque: str.split("append appendleft clear copy insert pop popleft reverse rotate"),
    Counter: str.split("total"),
}  # fmt: skip
_CONSTANT = frozenset(str.split("append appendleft get items keys pop popitem popleft setdefault values add discard"))
_KEYED = frozenset(str.split("add discard get pop remove setdefault"))
_MORE = str.split(
    "count elements extend extendleft format index is_integer join most_common remove replace sort subtract update"
)
METHODS: frozenset[str] = frozenset([*_TEXT, *_MORE, *(name for names in _OF.values() for name in names)])
"""Every method name that generated code may call."""


class Methods:
    """The methods of one piece of generated code."""

    def __init__(self, meter: Meter, operators: Operators, builtins: Builtins) -> None:
        self._meter, self._operators, self._builtins = meter, operators, builtins
        table: dict[str, dict[type, Method]] = {name: {} for name in METHODS}
        for name in _TEXT:
            table[name][str] = self._on_text(getattr(str, name))
        table["join"][str], table["replace"][str] = self.join, self.replace
        table["format"][str] = Formats(meter).format
        for kind, names in (*_OF.items(), (Counter, _OF[dict]), (defaultdict, _OF[dict])):
            for name in names:
                table[name][kind] = self._on_items(getattr(kind, name), kind)
        for kind in (list, tuple, deque, range):
            table["count"][kind], table["index"][kind] = self.count, self.index
        table["remove"] |= {list: self.remove, deque: self.remove}
        table["extend"] |= {list: self.extend, deque: self.extend}
        table["extendleft"][deque] = lambda items, more: items.extendleft(self._meter.bulk(more))
        table["sort"][list], table["append"][list] = self.sort, list.append
        table["update"] |= {dict: self.update, defaultdict: self.update, Counter: self._counting(Counter.update)}
        table["subtract"][Counter] = self._counting(Counter.subtract)
        table["most_common"][Counter] = self.most_common
        table["elements"][Counter] = lambda items: builtins.lazy(items.elements())
        table["is_integer"] = {float: float.is_integer, int: lambda number: True}
        table["get"] |= dict.fromkeys(meter.records, self._field)
        self.calls: dict[str, Method] = {name: _dispatch(name, row) for name, row in table.items()}

    def getter(self, receiver: Any) -> Method:
        """`receiver.get` as a function of its own: never the method itself."""
        if type(receiver) not in DICTS:
            raise AttributeError(f"a value of type {type(receiver).__name__} has no method get()")
        return lambda wanted, default=None: receiver.get(self._meter.key(wanted, len(receiver)), default)

    def _field(self, record: Any, name: Any, default: Any = None) -> Any:
        """`record.get("name")`: models take records for dicts."""
        return getattr(record, name, default) if name in type(record).__dataclass_fields__ else default

    def _on_text(self, function: Method) -> Method:
        meter = self._meter

        def method(text: str, *arguments: Any, **words: Any) -> Any:
            size = len(text)
            if size > 32 or arguments or words:
                meter.tick(
                    (size >> 3)
                    + sum(
                        search_cost(text, part) for part in (*arguments, *words.values()) if type(part) in (str, tuple)
                    )
                )
                for part in arguments:
                    if type(part) is int and function.__name__ in ("center", "ljust", "rjust", "zfill"):
                        fit(part, "characters")
            if size > MAX_CHARACTERS:
                fit(size, "characters")
            value = function(text, *arguments, **words)
            if type(value) is list or type(value) is tuple:
                meter.tick(4 * len(value))
            return meter.made(value)

        return method

    def join(self, text: str, parts: Any) -> str:
        items = self._meter.bulk(parts)
        if any(type(item) is not str for item in items):
            raise TypeError("join takes texts: write ', '.join(str(x) for x in items)")
        fit(sum(map(len, items)) + len(text) * max(0, len(items) - 1), "characters")
        return str(self._meter.made(text.join(items)))

    def replace(self, text: str, old: str, new: str, count: int = -1) -> str:
        if type(old) is not str or type(new) is not str:
            raise TypeError("replace takes texts")
        self._meter.tick((len(text) >> 2) + search_cost(text, old))
        fit(len(text) + text.count(old) * max(0, len(new) - len(old)), "characters")
        return str(self._meter.made(text.replace(old, new, count)))

    def _on_items(self, function: Method, kind: type) -> Method:
        """Methods of containers: charged by the receiver where they run over it, and by arguments that are hashed."""
        meter, name, of_set = self._meter, function.__name__, kind in (set, frozenset)
        keyed, constant = name in _KEYED and (kind in DICTS or of_set), name in _CONSTANT
        makes, keys = name in ("copy", "union", "difference", "symmetric_difference", "intersection"), meter.key

        def method(items: Any, *arguments: Any) -> Any:
            if keyed and arguments:
                keys(arguments[0], len(items))
                meter.tick(6)
            elif of_set and arguments:
                arguments = tuple(self._builtins.members(argument) for argument in arguments)
            if not constant:
                meter.tick(2 * len(items))
            elif arguments and kind is list:
                meter.tick(len(items) >> 6)
            value = function(items, *arguments)
            if len(items) > 2 * MAX_ITEMS:
                fit(len(items), "items")
            return meter.made(value) if makes else value

        return method

    def count(self, items: Any, wanted: Any) -> int:
        equal, tick = self._operators.equal, self._meter.tick
        return sum(tick(2) and equal(item, wanted) for item in items)

    def index(self, items: Any, wanted: Any, start: int = 0, stop: int = MAX_ITEMS * 100) -> int:
        for place in range(*slice(start, stop).indices(len(items))):
            self._meter.tick(2)
            if self._operators.equal(items[place], wanted):
                return place
        raise ValueError("what index() looks for is not there")

    def remove(self, items: Any, wanted: Any) -> None:
        del items[self.index(items, wanted)]

    def extend(self, items: Any, more: Any) -> None:
        bulk = self._meter.bulk(more)
        fit(len(items) + len(bulk), "items")
        items.extend(bulk)

    def sort(self, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
        """As in CPython the list is empty while its keys are asked for."""
        out = items.copy()
        items.clear()
        try:
            out = self._builtins.sorted(out, key=key, reverse=reverse)
            if items:
                raise ValueError("list modified during sort")
        finally:
            items[:] = out

    def update(self, items: dict[Any, Any], more: Any = (), **words: Any) -> None:
        items.update(self._builtins.pairs(more), **words)

    def _counting(self, function: Method) -> Method:
        def method(items: Any, more: Any = (), **words: Any) -> None:
            if words:
                method(items, words)
            if type(more) in DICTS:
                numbers = [items[key] for key in items] + [more[key] for key in self._builtins.pairs(more)]
                if any(type(number) not in (int, float, bool) for number in numbers):
                    raise TypeError("a Counter counts with numbers")
                self._meter.tick(4 * len(numbers))
                function(items, more)
            else:
                function(items, self._builtins.members(more))

        return method

    def most_common(self, items: Any, n: Any = None) -> list[Any]:
        return self._builtins.sorted(items.items(), key=lambda pair: pair[1], reverse=True)[:n]


def _dispatch(name: str, row: dict[type, Method]) -> Method:
    for method in row.values():
        named(method, name)

    def call(receiver: Any, *arguments: Any, **words: Any) -> Any:
        method = row.get(type(receiver))
        if method is None:
            raise AttributeError(f"a value of type {type(receiver).__name__} has no method {name}()")
        return method(receiver, *arguments, **words)

    return call
