"""The budget of generated code, the walks that charge it before C code runs over a value, and texts made of values.

A budget is counted in units, 24 to a step. A unit is about a node of the syntax tree, half a microsecond of work or
twenty bytes. Every helper charges its work by the sizes of its arguments and of its result.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from sys import getsizeof
from types import GeneratorType
from typing import Any

from sdg.sandbox.guard.errors import BudgetStop, TooLarge

FILENAME = "<generated>"
"""File name of generated code in tracebacks."""
UNITS_PER_STEP = 24
MAX_ITEMS = 10_000
MAX_KEY = 1 << 60
"""Whole numbers beyond it can be chosen so that their hashes are equal."""
MAX_DEPTH = 100
MAX_CALL_DEPTH = 60

TooDeep: type[RecursionError] = type("RecursionError", (RecursionError,), {})
"""Generated code nested more calls than it may: unlike the interpreter's own limit, which depends on the caller's
depth, this one is the same in each run."""
SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None)})
NUMBERS: frozenset[type] = frozenset({int, float, bool})
Defaults: type[defaultdict[Any, Any]] = type("defaultdict", (defaultdict,), {"__slots__": ()})
Deque: type[deque[Any]] = type("deque", (deque,), {"__slots__": ()})
"""Chains of these two can be freed however long they are; chains of C's own classes run out of stack."""
DICTS: frozenset[type] = frozenset({dict, Defaults, Counter})
TABLES: frozenset[type] = frozenset({set, frozenset}) | DICTS
SETS: frozenset[type] = frozenset({set, frozenset})
HASHED: frozenset[type] = TABLES | {type({}.keys()), type({}.values()), type({}.items())}
CONTAINERS: frozenset[type] = HASHED | {list, tuple, Deque}
LIMITS: dict[type, tuple[int, str]] = dict.fromkeys(CONTAINERS, (MAX_ITEMS, "items")) | {
    str: (10_000, "characters"), int: (4_096, "bits")
}  # fmt: skip
"""How large one operation may make a value."""
_NEW: dict[type, int] = {str: 12, range: 4, type({}.items()): 12}
"""Cost, in half units, of making an item while walking over a value and of its place in a list; 1 for other types."""

_CONVERSIONS: dict[int, Callable[[Any], str]] = {-1: str, ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Meter:
    """Counts units down; one for each piece of generated code. `depth` counts calls inside one another."""

    def __init__(self, records: frozenset[type]) -> None:
        self.records = records
        self.flat = SCALARS | records
        self.left = self.depth = 0

    def tick(self, units: int) -> bool:
        """Charge `units`; always True, so that it can stand in a condition. Raises `BudgetStop`, and once it has, at
        each further call."""
        self.left -= units
        if self.left < 0:
            raise BudgetStop
        return True

    def call_nested(self, units: int, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
        """Call a function of the code: it costs `units` and counts as nested.

        It doesn't call `tick`, because every call of every function of the code passes here.
        """
        self.left -= units
        if self.left < 0:
            raise BudgetStop
        if (depth := self.depth) >= MAX_CALL_DEPTH:
            raise TooDeep(f"more than {MAX_CALL_DEPTH} calls inside one another")
        self.depth = depth + 1
        try:
            return function(*arguments, **named)
        finally:
            self.depth = depth

    def clean_caught(self, error: Exception) -> None:
        """Drop the history of an exception that generated code handles, because it could grow without end. Raises
        `BudgetStop` if the interpreter ran out of stack or memory, because that depends on the caller."""
        error.__context__ = None
        if error.__traceback__ is not None:
            error.__traceback__.tb_next = None  # frames of helpers would keep their arguments
        self.tick(sum(map(getsizeof, error.args)) >> 4)
        if isinstance(error, RecursionError | MemoryError) and type(error) is not TooDeep:
            self.left = -1
            raise BudgetStop from error

    def charge_made(self, value: Any) -> Any:
        """The value, charged for the memory that it takes. Raises `TooLarge`."""
        kind = type(value)
        self.tick(9 + (value.__sizeof__() >> 4))
        if kind in LIMITS:
            require_length(value.bit_length() if kind is int else len(value), kind)
        return value

    def weigh(self, *values: Any, shown: bool = False) -> int:
        """Charge every node of nested values, shared ones as often as C code visits them; returns their size in
        characters.

        Without it a chain of sixty pairs, each twice in the next, hangs ==, hash and repr, and a deep tuple ends the
        process. A value to be `shown` as text must be plain and short: functions and iterators would reveal addresses.
        Raises `TooLarge`, `BudgetStop` when the walk costs more than is left, TypeError for a value without text and
        for a Counter in a value to be compared: its == is Python code, and goes through the longer of two.
        """
        size = 0
        level = list(values)
        for depth in range(MAX_DEPTH + 1):
            if not level:
                return size
            for table in level if depth and not shown else ():
                if type(table) is Counter:
                    raise TypeError("Counters are compared one with one, not within other values")
                if type(table) in HASHED:
                    self.keys(table)
            characters = sum(map(_text_size, level))
            self.tick(10 + 3 * len(level) + (characters >> 2))
            size += characters
            if shown:
                require_length(size, str)
                self.tick(characters >> 1)
                for part in level:
                    if type(part) not in (self.flat | CONTAINERS) - {Defaults} and not isinstance(
                        part, range | Exception
                    ):
                        raise TypeError(f"a {type(part).__name__} cannot be turned into text")
            level = list(islice(chain.from_iterable(map(_parts, level)), self.left + 1))
        raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")

    def key(self, value: Any, among: int = 0) -> Any:
        """The value, charged for a look-up among `among` keys. Raises `TooLarge` for a number that is too long and
        for too many keys.

        Numbers up to 60 bits and texts have hashes of their own. Tuples and sets can be made with equal ones, if only
        because hash(-1) == hash(-2); a look-up may then compare every key of the dict.
        """
        require_length(among)
        if type(value) not in self.flat:
            self.tick(among * self.weigh(value) >> 8)
        if _has_nan(value):
            raise TypeError("nan is no key: it equals nothing, and is found by its address")
        return require_small(value, MAX_KEY)

    def keys(self, items: Any) -> Any:
        """The items, each charged as a key among the others, and 5 units each for its entry in a dict's table."""
        self.tick(5 * len(items))
        for item in items:
            self.key(item, len(items))
        return items

    def drop_free_slots(self, value: Any) -> None:
        """Free the slots of a set's or dict's removed members, because each walk over it would visit them all."""
        if type(value) in DICTS | {set} and value.__sizeof__() >> 9 > 8 + len(value):
            members = value.copy()
            value.clear()
            value.update(members)

    def in_order(self, items: Any) -> Any:
        """A set's items in an order that is the same in each process; anything else, and numbers, as they are.

        Without it the order differs from process to process, because the hashes of texts and of None do.
        """
        if type(items) not in SETS or len(items) < 2:
            return items
        self.tick((len(items) >> 4) + (items.__sizeof__() >> 12))
        if NUMBERS.issuperset(map(type, items)):
            return items
        self.tick(len(items) >> 1)
        if _is_stable(items):
            return items
        size = self.weigh(*items)
        self.tick(12 * len(items) + (size * len(items).bit_length() >> 2))
        return _check_unchanged(items, sorted(items, key=_text_of_nested))

    def to_list(self, items: Iterable[Any], *, in_order: bool = True) -> list[Any]:
        """A new list of the items, as many as one operation may have; four times that if each was counted before."""
        times = 4 if type(items) in (Lazy, GeneratorType) else 1
        out = list(islice(self.in_order(items) if in_order else items, times * (MAX_ITEMS + 1)))
        require_length(len(out) // times)
        self.tick(10 + (len(out) * _NEW.get(type(items), 1) >> 1))
        return out

    def text(self, value: Any, write: Callable[[Any], str] = str) -> str:
        """str(value) or another text of plain data, bounded."""
        if type(value) is not str or write is not str:
            self.weigh(value, shown=True)
        part = value
        if isinstance(value, Exception) and len(value.args) == 1 and write is str:  # its text is its argument's
            part, write = value.args[0], repr if isinstance(value, KeyError) else write
        return str(self.charge_made(write(part) if type(part) in self.flat else _text_of_nested(part, write)))

    def show(self, value: Any, conversion: int = -1, spec: str = "") -> str:
        """One value of an f-string; `conversion` is the character after `!`, -1 for none."""
        if spec and conversion == -1 and type(value) not in NUMBERS | {str}:
            raise TypeError(f"a {type(value).__name__} takes no width or format: write str(value) first")
        self.tick(96 if type(value) is float else 12 + (value.bit_length() ** 2 >> 14 if type(value) is int else 0))
        is_number = spec and conversion == -1 and type(value) in NUMBERS
        return format(value if is_number else self.text(value, _CONVERSIONS[conversion]), spec)


class Lazy(Iterator[Any]):
    """The only iterator that generated code can hold: it counts each item, and how deeply iterators are nested.

    Without it a chain of 50,000 generators ends the process, and any() over a long one costs nothing.
    """

    __slots__ = ("_items", "_meter", "_units")

    def __init__(self, items: Iterable[Any], meter: Meter, *, width: int = 0) -> None:
        """`width` is how many iterables C code takes an element from for each item."""
        self._items, self._meter = iter(meter.in_order(items)), meter
        self._units = 2 + width + (4 if type(items) is str else 0)
        meter.tick(14 + 6 * width + (self._items.__sizeof__() >> 4))

    def __next__(self) -> Any:
        item = self._meter.call_nested(self._units, next, self._items)
        if type(item) is tuple:  # as wide as C code was asked for
            self._meter.tick(len(item))
        return item


_FORMS: dict[type, str] = {
    list: "[{}]", tuple: "({})", dict: "{{{}}}", set: "{{{}}}", frozenset: "frozenset({{{}}})", Deque: "deque([{}])",
    Counter: "Counter({{{}}})",
    **{kind: f"{kind.__name__}([{{}}])" for kind in HASHED - TABLES},
}  # fmt: skip


def _text_of_nested(value: Any, write: Callable[[Any], str] = repr) -> str:
    """The text of nested values with sets in the order of their items' texts, because Python's differs by process."""
    kind, text_of = type(value), partial(_text_of_nested, write=ascii if write is ascii else repr)
    form = _FORMS.get(kind, f"{kind.__name__}({{}})" if isinstance(value, Exception) and write is not str else "")
    if not form or (kind in SETS | {Counter} and not value):
        return write(value)
    if kind is Deque and value.maxlen is not None:
        form = f"deque([{{}}], maxlen={value.maxlen})"
    pairs = value.most_common() if kind is Counter else value.items() if kind is dict else ()
    words = [f"{text_of(key)}: {text_of(item)}" for key, item in pairs] or [text_of(part) for part in _parts(value)]
    text = ", ".join(sorted(words) if kind in SETS and not _is_stable(value) else words)
    return form.format(f"{text}," if kind is tuple and len(words) == 1 else text)


def _is_stable(items: Any) -> bool:
    """Whether a set of numbers, or of tuples of them, whose order is the same in each process."""
    return NUMBERS.issuperset(
        map(type, chain.from_iterable(item if type(item) is tuple else (item,) for item in items))
    )


def _check_unchanged(items: Any, order: list[Any]) -> Iterator[Any]:
    """A set's items in this order. Raises RuntimeError where it changes meanwhile, as Python does."""
    for place in range(len(order) + 1):
        if len(items) != len(order):
            raise RuntimeError("Set changed size during iteration")
        yield from order[place : place + 1]


def _has_nan(value: Any) -> bool:
    """Whether a key is, or contains, a nan."""
    return value != value if type(value) is float else type(value) in (tuple, frozenset) and any(map(_has_nan, value))


_TEXT_SIZES: dict[type, int] = {float: 18, list: 2, tuple: 2}


def _text_size(part: Any) -> int:
    """About how many characters a node has as text, without its parts."""
    kind = type(part)
    if kind is int or kind is str:
        return 2 + (len(part) if kind is str else part.bit_length() >> 2)
    return _TEXT_SIZES.get(kind, 10)  # others need calls to get their parts


def _parts(value: Any) -> Iterable[Any]:
    """The values that C code visits in a container, an exception or a slice."""
    if type(value) in DICTS:
        return chain.from_iterable(value.items())
    if type(value) is slice:
        return (value.start, value.stop, value.step)
    if isinstance(value, Exception):
        return value.args
    return value if type(value) in CONTAINERS else ()


def require_length(size: int, kind: type = list) -> None:
    """Raises `TooLarge` for more characters, items or bits than one operation may make."""
    limit, unit = LIMITS[kind]
    if size > limit:
        raise TooLarge(
            f"the result would have {size if size < 10**9 else 'over 10**9'} {unit}; at most {limit} are allowed"
        )


def require_small(number: Any, most: int = 1000) -> Any:
    """A number for C code whose work grows with it. Raises `TooLarge` beyond `most`."""
    if type(number) is int and not -most <= number <= most:
        raise TooLarge(f"a whole number from {-most} to {most} is wanted here")
    return number


def size_of(part: Any) -> int:
    """Cost of one walk over a value; 0 where the walk counts itself."""
    if type(part) in CONTAINERS | {range}:
        require_length(len(part))
        return len(part)
    if type(part) is int:
        return part.bit_length() >> 4
    return len(part) >> 2 if type(part) is str else 0


def search_cost(text: Any, part: Any) -> int:
    """Worst-case cost of searching for a text in another: the product of their lengths; a width must fit."""
    if type(part) is tuple:  # alternative texts; anything else in it is refused later, so it isn't walked
        return len(part) + sum(search_cost(text, alternative) for alternative in part if type(alternative) is str)
    if type(part) is int:
        require_length(part, str)
    length = len(part) if type(part) is str else 1
    return (len(text) >> 6) + (len(text) * length >> 9 if 1 < length <= len(text) else 0)
