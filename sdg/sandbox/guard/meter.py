"""The budget of generated code, the walks that charge it before C code runs over a value, and texts made of values.

A budget is counted in units of which a step has 24: about a node of the syntax tree, half a microsecond of work or
twenty bytes. What every helper does is charged by the sizes of what it is given and of what it makes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import chain, count, islice
from string import Formatter
from sys import getsizeof
from types import GeneratorType
from typing import Any

from sdg.sandbox.guard.errors import BudgetStop, TooLarge

FILENAME = "<generated>"
"""File name of generated code in tracebacks."""

SOURCE = ".source"
"""Where generated code's own text is among its names, for code that must know which code is running."""

UNITS_PER_STEP = 24
MOST = {"characters": 10_000, "items": 10_000, "bits": 4_096}
"""How large one operation may make a value."""
MAX_KEY = 1 << 60
"""Whole numbers beyond it can be chosen so that their hashes are equal."""
MAX_KEY_PART = 1 << 20
"""Tuples of whole numbers beyond it can."""
MAX_DEPTH = 100
MAX_CALL_DEPTH = 60


Defaults: type[defaultdict[Any, Any]] = type("defaultdict", (defaultdict,), {"__slots__": ()})
"""Chains of these can be freed, however long: those of the class of C run out of stack."""
SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None)})
NUMBERS: frozenset[type] = frozenset({int, float, bool})
VIEWS: frozenset[type] = frozenset({type({}.keys()), type({}.values()), type({}.items())})
DICTS: frozenset[type] = frozenset({dict, Defaults, Counter})
SETS: frozenset[type] = frozenset({set, frozenset, *VIEWS})
HASHED: frozenset[type] = SETS | DICTS
TABLES: frozenset[type] = frozenset({set}) | DICTS
CONTAINERS: frozenset[type] = frozenset({list, tuple, deque}) | HASHED

_NEW: dict[type, int] = {str: 12, range: 4, type({}.items()): 12}
"""What an item costs that is made while one walks over a value, and its place in a list: half units."""

LONG_FORMAT = "only short number formats such as {x:.2f} are allowed in f-strings"
_SPEC_CHARACTERS = frozenset("<>^=+- #,_.0123456789bdeEfFgGosxX%")
_CONVERSIONS: dict[int, Callable[[Any], str]] = {-1: str, ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Meter:
    """Counts units down; one for each piece of generated code. `depth` counts calls inside one another."""

    __slots__ = ("depth", "flat", "left", "plain", "records", "too_deep")

    def __init__(self, records: frozenset[type]) -> None:
        self.records = records
        self.flat = SCALARS | records
        self.plain = self.flat | CONTAINERS | {range}
        self.left = self.depth = 0
        self.too_deep: RecursionError | None = None

    def begin(self, steps: int) -> None:
        """Forget the last run."""
        self.left, self.depth, self.too_deep = steps * UNITS_PER_STEP, 0, None

    def tick(self, units: int) -> bool:
        """Charge `units`; always True, so that it can stand in a condition. Raises `BudgetStop`, and once it has, at
        each further call."""
        self.left -= units
        if self.left < 0:
            raise BudgetStop
        return True

    def enter(self, units: int) -> None:
        """One more call inside the others."""
        self.tick(units)
        if self.depth >= MAX_CALL_DEPTH:
            self.too_deep = RecursionError(f"more than {MAX_CALL_DEPTH} calls inside one another")
            raise self.too_deep
        self.depth += 1

    def leave(self) -> None:
        """A call has ended."""
        self.depth -= 1

    def counted(self, units: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator of a function of generated code: each call costs `units`, and is one inside the others."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                self.enter(units)
                try:
                    value = function(*arguments, **named)
                    return Lazy(value, self) if type(value) is GeneratorType else value
                finally:
                    self.leave()

            return call

        return decorate

    def caught(self, error: Exception) -> None:
        """What generated code handles loses its history, which could grow without end. Where the interpreter itself
        has no stack or memory left, that depends on who called: nothing that the code may handle."""
        error.__context__ = None
        if error.__traceback__ is not None:
            error.__traceback__.tb_next = None  # frames of helpers would keep what these were given
        self.tick(sum(map(getsizeof, error.args)) >> 4)
        if isinstance(error, RecursionError | MemoryError) and error is not self.too_deep:
            self.left = -1
            raise Exhausted from error

    def made(self, value: Any) -> Any:
        """The value, charged for the memory that it takes."""
        self.tick(4 + (value.__sizeof__() >> 4))
        return value

    def thin(self, value: Any) -> None:
        """Give back the places of a set's or dict's members that are gone: each walk over it would go by them."""
        if type(value) in TABLES and value.__sizeof__() >> 9 > 8 + len(value):
            self.tick(value.__sizeof__() >> 4)
            kept, kind = value.copy(), dict if type(value) in DICTS else set
            value.clear()
            kind.update(value, kept)

    def weigh(self, value: Any, *, shown: bool = False) -> int:
        """Charge every node of a nested value, shared ones as often as C code would meet them; how many there are.

        Without it a chain of sixty pairs of itself hangs ==, hash and repr, and a deep tuple ends the process. Where
        the value is to be `shown` as text its characters count, too, and it must be plain: functions and iterators
        would tell addresses. Raises `TooLarge` beyond MAX_DEPTH levels, `BudgetStop` when the walk costs more than is
        left, TypeError for what has no text.
        """
        if not shown and type(value) in (list, tuple) and NUMBERS.issuperset(map(type, value)):
            self.tick(1 + len(value))
            return 1 + len(value)
        size, level = 0, [value]
        for _ in range(MAX_DEPTH + 1):
            weight = sum(map(self._written if shown else self._touched, level))
            self.tick(3 + (weight if shown else 2 * weight))
            size += weight
            if shown:
                fit(size, "characters")
            level = list(islice(chain.from_iterable(map(_parts, level)), self.left + 1))
            if not level:
                return size
        raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")

    def _touched(self, part: Any) -> int:
        """What C code has to do with one node."""
        return 1 + (len(part) >> 4 if type(part) is str else type(part) in self.records)

    def _written(self, part: Any) -> int:
        """About how many characters a node has as text, those of its parts aside."""
        kind = type(part)
        if kind is Defaults or not (kind in self.plain or isinstance(part, Exception)):
            raise TypeError(f"a {kind.__name__} cannot be turned into text")
        if kind is Counter:  # in the order of its counts
            self.tick(24 * len(part))
        return 2 + (len(part) if kind is str else part.bit_length() >> 2 if kind is int else 0)

    def key(self, value: Any, among: int = 0) -> Any:
        """The value, charged for being looked up `among` so many keys. Raises `TooLarge` for a number that is too long.

        Numbers up to 60 bits, texts and short tuples of them have hashes of their own. Other tuples and sets can be
        given equal ones, be it only because hash(-1) == hash(-2): then every key of the dict may be compared.
        """
        kind = type(value)
        if kind is str:
            self.tick(len(value) >> 4)
        elif kind is int:
            if not -MAX_KEY < value < MAX_KEY:
                raise TooLarge(f"a whole number of {value.bit_length()} bits as a key; at most 60 are allowed")
        elif kind is slice:  # from Python 3.12 on it has a hash, of whatever it holds
            raise TypeError("a slice cannot be a key")
        elif kind in CONTAINERS and not (kind is tuple and len(value) < 6 and all(map(self._is_own_key, value))):
            self.tick(among * self.weigh(value) >> 6)
        return value

    def _is_own_key(self, part: Any) -> bool:
        small = -MAX_KEY_PART < part < MAX_KEY_PART if type(part) is int else type(part) is str and len(part) < 100
        return small or part is None or type(part) in self.records

    def keys(self, items: Any) -> Any:
        """The items, each charged for being a key among the others. Members of a dict's table take memory."""
        self.tick(5 * len(items))
        for item in items:
            self.key(item, len(items))
        return items

    def bulk(self, items: Iterable[Any]) -> list[Any]:
        """A new list of the items, as many as one operation may have, four times that where each was counted."""
        times = 4 if type(items) in (Lazy, GeneratorType) else 1
        out = list(islice(items, times * (MOST["items"] + 1)))
        fit(len(out) // times, "items")
        self.tick(1 + (len(out) * _NEW.get(type(items), 1) >> 1))
        return out

    def text(self, value: Any, write: Callable[[Any], str] = str) -> str:
        """str(value) or another text of plain data, bounded."""
        if type(value) is not str:
            self.weigh(value, shown=True)
        out = self.made(write(value))
        fit(len(out), "characters")
        return out

    def joined(self, *parts: str) -> str:
        """The pieces of an f-string as one text."""
        fit(sum(map(len, parts)), "characters")
        return str(self.made("".join(parts)))

    def shown(self, value: Any, conversion: int = -1, spec: str = "") -> str:
        """One value of an f-string; `conversion` is the character after `!`, -1 for none."""
        if not spec or conversion != -1 or type(value) not in NUMBERS:
            if spec and conversion == -1 and type(value) is not str:
                raise TypeError(f"a {type(value).__name__} takes no width or format: write str(value) first")
            value = self.text(value, _CONVERSIONS[conversion])
        if not is_short_format(spec):
            raise ValueError(LONG_FORMAT)
        self.tick(96 if type(value) is float else 12 + (self.weigh(value, shown=True) if spec else 0))
        return format(value, spec)

    def format(self, template: str, *values: Any, **named: Any) -> str:
        """`template.format(...)` with `{}`, `{0}`, `{name}`, a conversion and a short format."""
        self.tick(len(template) >> 2)
        pieces, given, numbers = list[str](), dict(enumerate(values)) | named, count()
        for before, name, spec, conversion in Formatter().parse(template):
            pieces.append(before)
            if name is None:
                continue
            wanted = int(name) if name.isdecimal() else name or next(numbers)
            if wanted not in given:
                raise ValueError("format takes {}, {0} or {name} only: use an f-string, such as f'{name} {number}'")
            pieces.append(self.shown(given[wanted], ord(conversion) if conversion else -1, spec or ""))
        return self.joined(*pieces)

    def percent(self, template: str, values: Any) -> str:
        """`template % values` with short formats, each for one value."""
        self.tick((len(template) >> 2) + 8 * template.count("%"))
        places = template.replace("%%", "").split("%")[1:]
        for place in places:
            spec = place[: next((end for end, sign in enumerate(place[:8]) if sign.isalpha()), 8)]
            if not is_short_format(spec):
                raise ValueError(LONG_FORMAT)
        is_unused = not places and type(values) in (*DICTS, list, range)  # what has items may be left over
        given = values if type(values) is tuple else () if is_unused else (values,)
        self.tick(96 * len(given))
        parts = tuple(
            each if type(each) in SCALARS else _Shown((self.text(each), self.text(each, repr))) for each in given
        )
        return self.text(given, lambda _: template % parts)


class Exhausted(BaseException):
    """The interpreter ran out of stack or memory under generated code, which must not go on with it."""


class Lazy:
    """The only iterator that generated code can hold: each item is counted, and how deep they lie in one another.

    Without it a chain of 50,000 generators ends the process, and any() over one that is long by now costs nothing.
    """

    __slots__ = ("_items", "_meter", "_units")

    def __init__(self, items: Iterable[Any], meter: Meter, *, width: int = 0) -> None:
        """`width` is how many iterables C code takes something of for each item."""
        self._items, self._meter, self._units = iter(items), meter, 2 + width + (4 if type(items) is str else 0)
        meter.tick(12 + 6 * width + (self._items.__sizeof__() >> 4))

    def __iter__(self) -> Lazy:
        return self

    def __next__(self) -> Any:
        meter = self._meter
        meter.enter(self._units)
        try:
            item = next(self._items)
            if type(item) is tuple:  # as wide as C code was asked for
                meter.tick(len(item))
            return item
        finally:
            meter.depth -= 1


def _parts(value: Any) -> Iterable[Any]:
    """What C code visits in a container or an exception."""
    if type(value) in DICTS:
        return chain.from_iterable(value.items())
    return value.args if isinstance(value, Exception) else value if type(value) in CONTAINERS else ()


def fit(size: int, what: str) -> None:
    """Raises `TooLarge` for more characters, items or bits than one operation may make."""
    if size > MOST[what]:
        told = size if size < 10**9 else "over 10**9"
        raise TooLarge(f"the result would have {told} {what}; at most {MOST[what]} are allowed")


class _Shown(tuple[str, str]):
    """What `%s` and `%r` write of a value."""

    __slots__ = ()

    def __str__(self) -> str:
        return self[0]

    def __repr__(self) -> str:
        return self[1]


def is_short_format(spec: str) -> bool:
    """A width and a precision of two digits at most; a character to fill with may stand first."""
    body = spec[1:] if spec[1:2] in tuple("<>^=") else spec
    digits = "".join(sign if sign.isdecimal() else " " for sign in body).split()
    return _SPEC_CHARACTERS.issuperset(body) and all(len(run) <= 2 for run in digits)
