"""The methods of plain values that generated code may call, by name and exact type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.guard.builtins import Builtins, named
from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import CONTAINERS, MAX_CHARACTERS, MAX_ITEMS, SCALARS, Meter

Method = Callable[..., Any]

_TEXT: list[str] = str.split(
    "capitalize casefold count endswith find index isalnum isalpha isdecimal isdigit "
    "islower isnumeric isspace istitle isupper "
    "lower lstrip partition removeprefix removesuffix rfind rindex rpartition rsplit rstrip split splitlines "
    "startswith strip swapcase title upper"
)
_PADDED: list[str] = str.split("center ljust rjust zfill")
_LISTS: list[str] = str.split("append clear copy count extend index insert pop remove reverse sort")
_DICTS: list[str] = str.split("clear copy get items keys pop popitem setdefault update values")
_SETS: list[str] = str.split(
    "add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset "
    "issuperset pop remove symmetric_difference symmetric_difference_update union update"
)
_FROZEN: list[str] = str.split("copy difference intersection isdisjoint issubset issuperset symmetric_difference union")

METHODS: frozenset[str] = frozenset([*_TEXT, *_PADDED, "join", "replace", *_LISTS, *_DICTS, *_SETS, "is_integer"])
"""Every method name that generated code may call."""

_SHORT_TEXT = 128
"""Texts below this cost no more than the call that looks at them."""
_ONLY_TEXT: frozenset[type] = frozenset({str})
TEXT_TO_TEXT: frozenset[str] = frozenset(
    str.split("lower upper strip lstrip rstrip title capitalize casefold swapcase")
)
TEXT_TESTS: frozenset[str] = frozenset(str.split("startswith endswith isdigit isalpha isalnum islower isupper isspace"))


class Methods:
    """The methods of one piece of generated code."""

    def __init__(self, meter: Meter, builtins: Builtins) -> None:
        self._meter = meter
        self._sorted = builtins.sorted
        table: dict[str, dict[type, Method]] = {name: {} for name in METHODS}
        for name in _TEXT:
            table[name][str] = self._on_text(getattr(str, name))
        for name in _PADDED:
            table[name][str] = self._padding(getattr(str, name))
        for name in ("split", "rsplit"):
            table[name][str] = _splitting(table[name][str])
        table["splitlines"][str] = _splitting_lines(table["splitlines"][str])
        for name in ("strip", "lstrip", "rstrip", "rfind", "rindex", "rsplit", "rpartition"):
            table[name][str] = self._quadratic(table[name][str])
        table["join"][str], table["replace"][str] = self.join, self.replace
        for kind, names in ((list, _LISTS), (dict, _DICTS), (set, _SETS), (frozenset, _FROZEN)):
            for name in names:
                table[name][kind] = self._on_items(getattr(kind, name))
        table["count"][tuple], table["index"][tuple] = self._searching(tuple.count), self._searching(tuple.index)
        for name in ("count", "index", "remove"):
            table[name][list] = self._searching(getattr(list, name))
        table["append"][list] = list.append
        table["extend"][list], table["sort"][list], table["update"][dict] = self.extend, self.sort, self.update
        for name in ("add", "discard", "remove"):
            table[name][set] = self._keyed(getattr(set, name))
        for name in ("get", "pop", "setdefault"):
            table[name][dict] = self._keyed(getattr(dict, name))
        table["is_integer"] = {float: float.is_integer, int: lambda number: True}
        self.calls: dict[str, Method] = {name: _dispatch(name, row) for name, row in table.items()}
        self.calls["join"] = self.join
        self.texts: dict[str, Method] = {name: _of_text(getattr(str, name), table[name][str]) for name in TEXT_TO_TEXT}

    def _on_text(self, function: Method) -> Method:
        charge = self._meter.charge

        def method(text: str, *arguments: Any) -> Any:
            charge(len(text) // 4)
            for argument in arguments:
                if type(argument) is tuple or type(argument) is str:
                    charge(len(argument))
            if len(text) > MAX_CHARACTERS:
                raise TooLarge(f"a text of {len(text)} characters; at most {MAX_CHARACTERS} are allowed")
            return function(text, *arguments)

        return method

    def _quadratic(self, method: Method) -> Method:
        """A method that may look at each character of its argument for each one of its text."""
        charge = self._meter.charge

        def charged(text: str, *arguments: Any, **named: Any) -> Any:
            for argument in (*arguments, *named.values()):
                if type(argument) is str and len(argument) > 1:
                    charge(len(text) * len(argument) // 256)
            return method(text, *arguments, **named)

        return charged

    def _padding(self, function: Method) -> Method:
        def method(text: str, width: int, *fill: str) -> str:
            if width > MAX_CHARACTERS:
                raise TooLarge(f"a text of {width} characters; at most {MAX_CHARACTERS} are allowed")
            self._meter.charge(max(width, len(text)) // 8)
            padded: str = function(text, width, *fill)
            return padded

        return method

    def join(self, text: str, parts: Any) -> str:
        if type(text) is not str:
            raise AttributeError(f"a value of type {type(text).__name__} has no method join()")
        items = self._meter.bulk(parts)
        if not _ONLY_TEXT.issuperset(map(type, items)):
            raise TypeError("join takes texts: write ', '.join(str(x) for x in items)")
        size = sum(map(len, items)) + len(text) * max(0, len(items) - 1)
        if size > MAX_CHARACTERS:
            raise TooLarge(f"the result would have {size} characters; at most {MAX_CHARACTERS} are allowed")
        self._meter.charge(size // 8)
        return text.join(items)

    def replace(self, text: str, old: str, new: str, *count: int) -> str:
        if type(old) is not str or type(new) is not str:
            raise TypeError("replace takes texts")
        self._meter.charge(len(text) // 4)
        size = len(text) + text.count(old) * max(0, len(new) - len(old))
        if size > MAX_CHARACTERS:
            raise TooLarge(f"the result could have {size} characters; at most {MAX_CHARACTERS} are allowed")
        return text.replace(old, new, *count)

    def _on_items(self, function: Method) -> Method:
        """Methods of containers: linear in the receiver and in arguments that are walked or hashed."""
        meter = self._meter

        def method(items: Any, *arguments: Any) -> Any:
            if type(items) is list or type(items) is dict:
                meter.charge(4 * len(items))
            else:
                meter.charge_hashes(len(items))
            if arguments and type(items) in (set, frozenset):
                arguments = tuple(meter.members(argument) for argument in arguments)
            value = function(items, *arguments)
            if len(items) > 2 * MAX_ITEMS:
                raise TooLarge(f"more than {2 * MAX_ITEMS} items")
            return value

        return method

    def _searching(self, function: Method) -> Method:
        meter = self._meter

        def method(items: Any, wanted: Any, *bounds: int) -> Any:
            meter.charge(len(items))
            if type(wanted) not in SCALARS:
                meter.weigh(wanted)  # also where nothing is like it: the error's text shows it
                for item in items:
                    if type(item) in CONTAINERS:
                        meter.weigh(wanted)
            if type(wanted) in SCALARS or function not in (list.index, tuple.index):
                return function(items, wanted, *bounds)
            try:
                return function(items, wanted, *bounds)
            except ValueError:  # its text would tell where a function lies in memory
                raise ValueError("what index() looks for is not there") from None

        return method

    def _keyed(self, function: Method) -> Method:
        key = self._meter.key

        def method(items: Any, wanted: Any, *default: Any) -> Any:
            return function(items, key(wanted), *default)

        return method

    def extend(self, items: list[Any], more: Any) -> None:
        bulk = self._meter.bulk(more)
        if len(items) + len(bulk) > MAX_ITEMS:
            raise TooLarge(f"the list would have {len(items) + len(bulk)} items; at most {MAX_ITEMS} are allowed")
        items.extend(bulk)

    def sort(self, items: list[Any], *, key: Any = None, reverse: Any = False) -> None:
        items[:] = self._sorted(items, key=key, reverse=reverse)

    def update(self, items: dict[Any, Any], more: Any = (), **named: Any) -> None:
        pairs = more if type(more) is dict else [self._meter.bulk(pair) for pair in self._meter.bulk(more)]
        self._meter.charge(4 * len(pairs))
        for pair in () if type(more) is dict else pairs:
            self._meter.key(pair[0] if pair else None)
        items.update(dict(pairs), **named)


def _splitting(method: Method) -> Method:
    return lambda text, sep=None, maxsplit=-1: method(text, sep, maxsplit)


def _splitting_lines(method: Method) -> Method:
    return lambda text, keepends=False: method(text, keepends)


def _of_text(function: Method, charged: Method) -> Method:
    """A method of str as a function of its own: `key=str.lower`."""

    def method(text: Any, characters: Any = None) -> Any:
        if characters is None and len(text) < _SHORT_TEXT:
            return function(text)
        if type(text) is not str:
            raise TypeError(f"{function.__name__} takes a text, not a {type(text).__name__}")
        return charged(text) if characters is None else charged(text, characters)

    return method


def _dispatch(name: str, row: dict[type, Method]) -> Method:
    for method in row.values():
        named(method, name)

    def call(receiver: Any, *arguments: Any, **named: Any) -> Any:
        method = row.get(type(receiver))
        if method is None:
            raise AttributeError(f"a value of type {type(receiver).__name__} has no method {name}()")
        return method(receiver, *arguments, **named)

    return call
