"""The budget of generated code, and the walks that charge it before C code runs over a value.

A budget is counted in units of which a step has 24: about a node of the syntax tree, half a microsecond of work or
twenty bytes. What every helper does is charged by the sizes of what it is given and of what it makes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from types import GeneratorType
from typing import Any

from sdg.skills.sandbox.guard.errors import BudgetStop, TooLarge

FILENAME = "<generated>"
"""File name of generated code in tracebacks."""

SOURCE = ".source"
"""Where generated code's own text is among its names, for whoever must tell which code is running."""

UNITS_PER_STEP = 24
MAX_ITEMS = 10_000
MAX_CHARACTERS = 10_000
MAX_BITS = 4_096
MAX_KEY = 1 << 60
"""Whole numbers beyond it can be chosen so that their hashes are equal."""
MAX_DEPTH = 100
MAX_CALL_DEPTH = 60

SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None)})
NUMBERS: frozenset[type] = frozenset({int, float, bool})
VIEWS: frozenset[type] = frozenset({type({}.keys()), type({}.values()), type({}.items())})
DICTS: frozenset[type] = frozenset({dict, defaultdict, Counter})
CONTAINERS: frozenset[type] = frozenset({list, tuple, set, frozenset, deque}) | DICTS | VIEWS
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"), dict: ("{", "}"),
    deque: ("deque([", "])"), Counter: ("Counter({", "})"), defaultdict: ("defaultdict({", "})"),
}  # fmt: skip
_BRACKETS |= {view: (f"{view.__name__}([", "])") for view in VIEWS}


class Meter:
    """Counts units down; one for each piece of generated code. `depth` counts calls inside one another."""

    __slots__ = ("depth", "left", "records", "too_deep")

    def __init__(self, records: frozenset[type]) -> None:
        self.records = records
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

    def weigh(self, value: object) -> int:
        """Charge every node of a nested value, shared ones as often as C code would meet them; how many there are.

        Without it a chain of sixty pairs of itself hangs ==, hash and repr, and a deep tuple ends the process.
        Raises `TooLarge` beyond MAX_DEPTH levels, `BudgetStop` when the walk costs more than is left.
        """
        if type(value) not in CONTAINERS:
            size = 1 + (len(value) >> 4) if type(value) is str else 1
            self.tick(size)
            return size
        trail, size, told = [_parts(value)], 1, 0
        while trail:
            for part in trail[-1]:
                size += 1 + (len(part) >> 4) if type(part) is str else 2 if type(part) in self.records else 1
                if size - told > 256:
                    self.tick(size - told)
                    told = size
                if type(part) in CONTAINERS:
                    if len(trail) >= MAX_DEPTH:
                        raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")
                    trail.append(_parts(part))
                    break
            else:
                trail.pop()
        self.tick(size - told)
        return size

    def key(self, value: Any, among: int = 0) -> Any:
        """The value, charged for being looked up `among` so many keys. Raises `TooLarge` for a number that is too long.

        Numbers and texts have hashes of their own up to 60 bits. Tuples and sets can be given equal ones, be it only
        because hash(-1) == hash(-2): then every key of the dict may be compared.
        """
        kind = type(value)
        if kind is int:
            if not -MAX_KEY < value < MAX_KEY:
                raise TooLarge(f"a whole number of {value.bit_length()} bits as a key; at most 60 are allowed")
        elif kind is str:
            self.tick(len(value) >> 4)
        elif kind is tuple or kind is frozenset or kind is set:
            own = kind is tuple and len(value) < 8
            for part in value:
                if type(part) is int and -MAX_KEY < part < MAX_KEY and part != -1 and part != -2:
                    continue
                own = own and (type(part) is str or part is None or type(part) in self.records)
                if type(part) in CONTAINERS:
                    break
                self.key(part)
            if not own:
                self._nested_key(value)
                self.tick(among >> 4)
        return value

    def _nested_key(self, value: Any) -> None:
        self.weigh(value)
        stack = [value]
        while stack:
            for part in stack.pop():
                if type(part) in CONTAINERS:
                    stack.append(_parts(part))
                elif type(part) is int:
                    self.key(part)

    def keys(self, items: list[Any]) -> list[Any]:
        """The items, each charged for being a key among the others. Members of a dict's table take memory."""
        self.tick(4 * len(items))
        for item in items:
            self.key(item, len(items))
        return items

    def bulk(self, items: Iterable[Any]) -> list[Any]:
        """A new list of the items: at most MAX_ITEMS of them, and four times that where each was counted already."""
        kind = type(items)
        if kind in CONTAINERS or kind is range or kind is str:
            if len(items) > MAX_ITEMS:  # type: ignore[arg-type]
                raise TooLarge(f"{len(items)} items in one go; at most {MAX_ITEMS} are allowed")  # type: ignore[arg-type]
            out = list(items)
            self.tick(len(out) << 1 if kind is str or kind is range else 1 + (len(out) >> 1))
            return out
        most = 4 * MAX_ITEMS if kind is GeneratorType or kind is Lazy else MAX_ITEMS
        out = list(islice(items, most + 1))
        if len(out) > most:
            raise TooLarge(f"more than {most} items in one go")
        self.tick(1 + (len(out) >> 1))
        return out

    def star(self, items: Any) -> Any:
        """What `*items` unpacks."""
        return self.bulk(items)

    def rows(self, items: Iterable[Any]) -> Iterator[Any]:
        """Each item as a bounded list, for patterns with a star."""
        for item in items:
            yield self.bulk(item)

    def text(self, value: Any) -> str:
        """str(value) of plain data, bounded. Functions and iterators have none: they would tell addresses."""
        out = value if type(value) is str else self.repr(value)
        if len(out) > MAX_CHARACTERS:
            raise TooLarge(f"a text of {len(out)} characters; at most {MAX_CHARACTERS} are allowed")
        self.tick(len(out) >> 4)
        return out

    def repr(self, value: Any) -> str:
        """repr(value), and str() of an exception; it stops where the text grows too long."""
        out: list[str] = []
        self._write(value, out, left=[MAX_CHARACTERS], depth=0)
        text = "".join(out)
        self.tick(len(text) >> 4)
        return text

    def _write(self, value: Any, out: list[str], *, left: list[int], depth: int) -> None:
        kind = type(value)
        self.tick(2)
        if depth > MAX_DEPTH:
            raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")
        if kind in CONTAINERS:
            self._write_items(value, out, left=left, depth=depth)
            return
        if isinstance(value, Exception):
            self._write_error(value, out, left=left, depth=depth)
            return
        if kind is int:
            if value.bit_length() > MAX_BITS:
                raise ValueError("the number is too large to be written")
            self.tick(value.bit_length() >> 3)
        elif kind not in SCALARS and kind not in self.records and kind is not range:
            raise TypeError(f"a {kind.__name__} cannot be turned into text")
        text = repr(value)
        left[0] -= len(text)
        if left[0] < 0:
            raise TooLarge(f"a text of more than {MAX_CHARACTERS} characters")
        out.append(text)

    def _write_items(self, value: Any, out: list[str], *, left: list[int], depth: int) -> None:
        kind = type(value)
        begin, end = _BRACKETS[kind]
        if not value and kind in (set, frozenset, Counter):
            begin, end = f"{kind.__name__}(", ")"
        out.append(begin)
        pairs = kind in DICTS
        items = value.most_common() if kind is Counter and self.tick(8 * self.weigh(value)) else value
        for place, part in enumerate(items.items() if kind is dict or kind is defaultdict else items):
            left[0] -= 2
            if place:
                out.append(", ")
            self._write(part[0] if pairs else part, out, left=left, depth=depth + 1)
            if pairs:
                out.append(": ")
                self._write(part[1], out, left=left, depth=depth + 1)
        out.append(",)" if kind is tuple and len(value) == 1 else end)

    def _write_error(self, error: Exception, out: list[str], *, left: list[int], depth: int) -> None:
        """An exception's own text, which is never asked of it: it may hold values of any size."""
        parts = error.args[1:2] if isinstance(error, OSError | OverflowError) and len(error.args) > 1 else error.args
        if type(error).__module__ != "builtins":
            parts = (str(error)[:MAX_CHARACTERS],)
        for part in parts[:1]:
            if type(part) is str and not isinstance(error, KeyError):
                left[0] -= len(part)
                out.append(part)
            else:
                self._write(part, out, left=left, depth=depth + 1)


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
            return next(self._items)
        finally:
            meter.depth -= 1


def _parts(value: Any) -> Any:
    """Iterator over what C code visits in a container."""
    return (part for pair in value.items() for part in pair) if type(value) in DICTS else iter(value)


def fit(size: int, what: str) -> None:
    most = {"characters": MAX_CHARACTERS, "items": MAX_ITEMS, "bits": MAX_BITS}[what]
    if size > most:
        raise TooLarge(
            f"the result would have {size if size < 10**9 else 'over 10**9'} {what}; at most {most} are allowed"
        )
