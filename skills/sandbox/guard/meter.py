"""The budget of generated code, and the walks that charge it before C code runs over a value.

A budget is counted in units of which a step has 24: about a node of the syntax tree, half a microsecond of work or
twenty bytes. What every helper does is charged by the sizes of what it is given and of what it makes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import GeneratorType
from typing import Any

from sdg.skills.sandbox.guard.errors import BudgetStop, TooLarge

FILENAME = "<generated>"
"""File name of generated code in tracebacks."""

SOURCE = ".source"
"""Where generated code's own text is among its names, for whoever must tell which code is running."""

UNITS_PER_STEP = 24
MOST = {"characters": 10_000, "items": 10_000, "bits": 4_096}
"""How large one operation may make a value."""
MAX_KEY = 1 << 60
"""Whole numbers beyond it can be chosen so that their hashes are equal."""
MAX_KEY_PART = 1 << 20
"""Tuples of whole numbers beyond it can."""
MAX_DEPTH = 100
MAX_CALL_DEPTH = 60

SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None)})
NUMBERS: frozenset[type] = frozenset({int, float, bool})
VIEWS: frozenset[type] = frozenset({type({}.keys()), type({}.values()), type({}.items())})
DICTS: frozenset[type] = frozenset({dict, defaultdict, Counter})
SETS: frozenset[type] = frozenset({set, frozenset, *VIEWS})
CONTAINERS: frozenset[type] = frozenset({list, tuple, deque}) | SETS | DICTS


class Meter:
    """Counts units down; one for each piece of generated code. `depth` counts calls inside one another."""

    __slots__ = ("depth", "left", "plain", "records", "too_deep")

    def __init__(self, records: frozenset[type]) -> None:
        self.records = records
        self.plain = SCALARS | CONTAINERS | records | {range}
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
        self.depth -= 1

    def caught(self, error: Exception) -> None:
        """What generated code handles loses its history, which could grow without end. Where the interpreter itself
        has no stack or memory left, that depends on who called: nothing that the code may handle."""
        error.__context__ = None
        if isinstance(error, RecursionError | MemoryError) and error is not self.too_deep:
            self.left = -1
            raise Exhausted from error

    def made(self, value: Any) -> Any:
        """The value, charged for the memory that it takes."""
        if type(value) in CONTAINERS or type(value) is str:
            self.tick(value.__sizeof__() >> 4)
        return value

    def weigh(self, value: object, *, shown: bool = False) -> int:
        """Charge every node of a nested value, shared ones as often as C code would meet them; how many there are.

        Without it a chain of sixty pairs of itself hangs ==, hash and repr, and a deep tuple ends the process. Where
        the value is to be `shown` as text its characters count, too, and it must be plain: functions and iterators
        would tell addresses. Raises `TooLarge` beyond MAX_DEPTH levels, `BudgetStop` when the walk costs more than is
        left, TypeError for what has no text.
        """
        trail: list[Any] = [iter((value,))]
        size = told = 0
        while trail:
            for part in trail[-1]:
                kind = type(part)
                size += 1 + (self._shown(part) if shown else len(part) >> 4 if kind is str else kind in self.records)
                if size - told > 256:
                    self.tick(size - told)
                    told = size
                    if shown:
                        fit(size, "characters")
                if kind in CONTAINERS or (shown and isinstance(part, Exception)):
                    if len(trail) > MAX_DEPTH:
                        raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")
                    trail.append(_parts(part))
                    break
            else:
                trail.pop()
        self.tick(size - told)
        return size

    def _shown(self, part: Any) -> int:
        """About how many characters a part has as text, those of its own parts aside."""
        kind = type(part)
        if kind is str:
            return len(part)
        if kind is int:
            if part.bit_length() > MOST["bits"]:
                raise ValueError("the number is too large to be written")
            return part.bit_length() >> 2
        if kind is Counter:  # in the order of its counts
            self.tick(24 * len(part))
        if kind is defaultdict or not (kind in self.plain or isinstance(part, Exception)):
            raise TypeError(f"a {kind.__name__} cannot be turned into text")
        return 2

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
            size = self.weigh(value)
            self.tick(among * size >> 6)
        return value

    def _is_own_key(self, part: Any) -> bool:
        small = -MAX_KEY_PART < part < MAX_KEY_PART if type(part) is int else type(part) is str and len(part) < 100
        return small or part is None or type(part) in self.records

    def keys(self, items: Any) -> Any:
        """The items, each charged for being a key among the others. Members of a dict's table take memory."""
        self.tick(4 * len(items))
        for item in items:
            self.key(item, len(items))
        return items

    def bulk(self, items: Iterable[Any]) -> list[Any]:
        """A new list of the items, as many as one operation may have, four times that where each was counted."""
        if type(items) in CONTAINERS or type(items) in (range, str):
            fit(len(items), "items")  # type: ignore[arg-type]
        counted = 4 if type(items) in (Lazy, GeneratorType) else 1
        out = list(islice(items, counted * MOST["items"] + 1))
        fit(len(out) // counted, "items")
        self.tick(1 + (len(out) << 1 if type(items) in (range, str) else len(out) >> 1))
        return out

    def rows(self, items: Iterable[Any]) -> Iterator[Any]:
        """Each item as a bounded list, for patterns with a star."""
        return map(self.bulk, items)

    def text(self, value: Any, write: Callable[[Any], str] = str) -> str:
        """str(value) or another text of plain data, bounded."""
        if type(value) is not str:
            self.weigh(value.args if isinstance(value, Exception) else value, shown=True)
        out = write(value)
        fit(len(out), "characters")
        self.tick(len(out) >> 4)
        return out


class Exhausted(BaseException):
    """The interpreter ran out of stack or memory under generated code, which must not go on with it."""


class Lazy:
    """The only iterator that generated code can hold: each item is counted, and how deep they lie in one another.

    Without it a chain of 50,000 generators ends the process, and any() over one that is long by now costs nothing.
    """

    __slots__ = ("_items", "_meter")

    def __init__(self, items: Iterable[Any], meter: Meter) -> None:
        self._items, self._meter = iter(items), meter

    def __iter__(self) -> Lazy:
        return self

    def __next__(self) -> Any:
        meter = self._meter
        meter.enter(2)
        try:
            item = next(self._items)
            if type(item) is tuple:  # made by C code as wide as there were stars
                meter.tick(len(item))
            return item
        finally:
            meter.depth -= 1


def _parts(value: Any) -> Any:
    """Iterator over what C code visits in a container or an exception."""
    if type(value) in DICTS:
        return (part for pair in value.items() for part in pair)
    return iter(value.args if isinstance(value, Exception) else value)


def fit(size: int, what: str) -> None:
    """Raises `TooLarge` for more characters, items or bits than one operation may make."""
    if size > MOST[what]:
        told = size if size < 10**9 else "over 10**9"
        raise TooLarge(f"the result would have {told} {what}; at most {MOST[what]} are allowed")
