"""The budget of generated code and the walks that charge it before C code runs over a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from types import GeneratorType
from typing import Any

from sdg.skills.sandbox.guard.errors import BudgetStop, TooLarge

COUNTER = ".n"
"""Name of the step counter in the namespace of generated code. No source can spell it."""

FILENAME = "<generated>"
"""File name of generated code in tracebacks."""

SOURCE = ".source"
"""Where generated code's own text is among its names, for whoever must tell which code is running."""

MAX_ITEMS = 10_000
MAX_CHARACTERS = 10_000
MAX_BITS = 4_096
MAX_KEY_BITS = 60
MAX_DEPTH = 100
MAX_CALL_DEPTH = 60
ITEMS_PER_STEP = 32
CHARACTERS_PER_STEP = 256

SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None)})
NUMBERS: frozenset[type] = frozenset({int, float, bool})
VIEWS: frozenset[type] = frozenset({type({}.keys()), type({}.values()), type({}.items())})
CONTAINERS: frozenset[type] = frozenset({list, tuple, set, frozenset, dict}) | VIEWS


class Meter:
    """Counts steps down in a namespace; one for each piece of generated code."""

    __slots__ = ("depth", "names", "records")

    def __init__(self, names: dict[str, Any], *, records: frozenset[type]) -> None:
        self.names = names
        self.records = records
        self.depth = 0

    def tick(self, steps: int) -> bool:
        """Charge `steps`; always True, so that it can stand in a condition. Raises `BudgetStop`."""
        left = self.names[COUNTER] - steps
        self.names[COUNTER] = left
        if left < 0:
            raise BudgetStop
        return True

    def spent(self) -> bool:
        """What inlined counters call when nothing is left."""
        raise BudgetStop

    def enter(self) -> None:
        """One more call of a function that may call itself."""
        if self.depth >= MAX_CALL_DEPTH:
            raise RecursionError(f"more than {MAX_CALL_DEPTH} calls inside one another")
        self.depth += 1

    def leave(self) -> None:
        self.depth -= 1

    def charge(self, items: int) -> None:
        """Charge C code that runs over so many items; a few are free."""
        if items >= ITEMS_PER_STEP:
            self.tick(items // ITEMS_PER_STEP)

    def charge_hashes(self, items: int) -> None:
        """Charge for hashing or sorting so many items: as if all hashes were equal, which numbers can be made to be."""
        if items >= ITEMS_PER_STEP:
            self.tick(items // 8 + items * items // 4096)

    def weigh(self, value: object) -> None:
        """Charge every node of a nested value, shared ones as often as C code would meet them.

        Without it a chain of sixty pairs of itself hangs ==, hash and repr, and a deep tuple ends the process.
        Raises `TooLarge` beyond MAX_DEPTH levels, `BudgetStop` when the walk costs more than is left.
        """
        kind = type(value)
        if kind in CONTAINERS:
            parts: Any = value.values() if kind is dict else value  # type: ignore[attr-defined]
            few = len(parts) < ITEMS_PER_STEP and SCALARS.issuperset(map(type, parts))
            if not few or (kind is dict and not SCALARS.issuperset(map(type, value))):  # type: ignore[call-overload]
                self._weigh(value)
        elif type(value) is str:
            self.charge(len(value) // 8)

    def _weigh(self, value: Any) -> None:
        trail = [_parts(value)]
        nodes = 0
        while trail:
            for part in trail[-1]:
                nodes += 1
                if nodes == 256:
                    self.tick(16)
                    nodes = 0
                if type(part) in CONTAINERS:
                    if len(trail) >= MAX_DEPTH:
                        raise TooLarge(f"a value is nested more than {MAX_DEPTH} levels deep")
                    trail.append(_parts(part))
                    break
            else:
                trail.pop()
        self.charge(nodes)

    def key(self, value: Any) -> Any:
        """The value, weighed when hashing it would walk it.

        Numbers whose hashes are equal can be had on purpose, but only beyond 60 bits: such keys would make a dict of
        them quadratic. Raises `TooLarge` for one.
        """
        kind = type(value)
        if kind is int:
            _short(value)
        elif kind is tuple or kind is frozenset or kind is set:
            self._weigh(value)
            stack = [value]
            while stack:
                for part in stack.pop():
                    if type(part) is int:
                        _short(part)
                    elif type(part) in CONTAINERS:
                        stack.append(_parts(part))
        return value

    def bulk(self, items: Iterable[Any]) -> list[Any]:
        """A new list of the items: at most MAX_ITEMS of them."""
        kind = type(items)
        if kind is list and len(items) < ITEMS_PER_STEP:  # type: ignore[arg-type]
            return items.copy()  # type: ignore[no-any-return, attr-defined]
        if kind in CONTAINERS or kind is range or kind is str:
            count = len(items)  # type: ignore[arg-type]
            if count > MAX_ITEMS:
                raise TooLarge(f"{count} items in one go; at most {MAX_ITEMS} are allowed")
            out = list(items)
        else:
            # What generated code yields counts its own steps: it ends by its budget, as the same loop would.
            own = kind is GeneratorType and items.__name__ == "<genexpr>"  # type: ignore[attr-defined]
            most = 4 * MAX_ITEMS if own else MAX_ITEMS
            out = list(islice(items, most + 1))
            if len(out) > most:
                raise TooLarge(f"more than {most} items in one go")
        if len(out) >= ITEMS_PER_STEP:
            self.tick(len(out) // ITEMS_PER_STEP)
        return out

    def rows(self, items: Iterable[Any]) -> Iterator[Any]:
        """Each item as a bounded list, for patterns with a star."""
        for item in items:
            self.tick(1)
            yield self.bulk(item)

    def members(self, items: Iterable[Any]) -> list[Any]:
        """A bounded list whose items may be members of a set: `keys` whose numbers have hashes of their own."""
        out = self.keys(items)
        for item in out:
            kind = type(item)
            if kind is int:
                _short(item)
            elif kind is tuple or kind is frozenset:
                self.key(item)
        return out

    def keys(self, items: Iterable[Any]) -> list[Any]:
        """A bounded list whose items may be hashed or compared."""
        out = self.bulk(items)
        if len(out) >= ITEMS_PER_STEP:
            self.charge_hashes(len(out))
        if not SCALARS.issuperset(map(type, out)):
            for item in out:
                self.weigh(item)
        return out

    def text(self, value: Any) -> str:
        """str(value) of plain data, bounded. Functions and iterators have none: they would tell addresses."""
        kind = type(value)
        if kind is str:
            if len(value) > MAX_CHARACTERS:
                raise TooLarge(f"a text of {len(value)} characters; at most {MAX_CHARACTERS} are allowed")
            out: str = value
        elif kind in SCALARS or kind in self.records:
            out = str(value)
        elif kind in CONTAINERS or kind is range or isinstance(value, Exception):
            out = self._nested_text(value)
        else:
            raise TypeError(f"a {kind.__name__} cannot be turned into text")
        if len(out) >= CHARACTERS_PER_STEP:
            self.tick(len(out) // CHARACTERS_PER_STEP)
        return out

    def _nested_text(self, value: Any) -> str:
        if isinstance(value, Exception) and type(value).__module__ != "builtins":
            return str(value)[:MAX_CHARACTERS]
        parts = value.args if isinstance(value, Exception) else value
        self.weigh(parts)
        self._only_plain(parts)
        out = str(value)
        if len(out) > MAX_CHARACTERS:
            raise TooLarge(f"a text of {len(out)} characters; at most {MAX_CHARACTERS} are allowed")
        return out

    def _only_plain(self, value: Any) -> None:
        """Every leaf can be written without telling an address, and the whole is not absurdly long."""
        stack, length = [value], 0
        while stack:
            item = stack.pop()
            if type(item) in CONTAINERS:
                stack.extend(_parts(item))
            elif type(item) is str:
                length += len(item)
                if length > MAX_CHARACTERS:
                    raise TooLarge(f"a text of more than {MAX_CHARACTERS} characters")
            elif type(item) not in SCALARS and type(item) not in self.records and type(item) is not range:
                raise TypeError(f"a {type(item).__name__} cannot be turned into text")


def _short(number: int) -> None:
    if number.bit_length() > MAX_KEY_BITS:
        raise TooLarge(f"a whole number of {number.bit_length()} bits as a key; at most {MAX_KEY_BITS} are allowed")


def _parts(value: Any) -> Any:
    """Iterator over what C code visits in a container."""
    if type(value) is dict:
        return (part for pair in value.items() for part in pair)
    return iter(value)
