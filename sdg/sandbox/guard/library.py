"""The functions that generated code can call: operators, builtins, methods of plain values, and imported ones."""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, repeat
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from sdg.sandbox.guard.meter import (
    CONTAINERS,
    DICTS,
    HASHED,
    MAX_KEY,
    NUMBERS,
    TABLES,
    Defaults,
    Deque,
    Lazy,
    Meter,
    require_length,
    require_small,
    search_cost,
    size_of,
)
from sdg.sandbox.guard.table import (
    BINARY,
    FUNCTIONS,
    GROWTH,
    METHOD_ROWS,
    PLAIN_TYPES,
    SMALL,
    dispatch,
    index_of,
    is_short,
    join,
    replace,
)

Method = Callable[..., Any]


class Library(Meter):
    """The meter of one piece of generated code, and in `calls` everything that the code can call, by the names that
    woven code uses. `library[value, index]` replaces every `value[index]`.
    """

    def __init__(self, records: frozenset[type]) -> None:
        super().__init__(records)
        tick, to_list = self.tick, self.to_list
        self._looks: dict[str, Callable[[Any, Any], Any]] = {
            ".": lambda part, first: part,
            "s": lambda part, first: part if tick(size_of(part)) else None,
            "w": lambda part, first: part if self.weigh(part) else None,
            "o": lambda part, first: part if tick(len(part) >> 6) else None,
            "b": lambda part, first: to_list(part),
            "m": lambda part, first: self.keys(to_list(part, in_order=False)),
            "i": lambda part, first: part if type(part) is Lazy else to_list(part),
            "n": lambda part, first: (
                map(self._looks["k"], part, repeat(first)) if type(part) is Lazy else self._looks["m"](part, first)
            ),
            "k": lambda part, first: self.key(part, len(first)) if tick(6) else None,
            "e": lambda part, first: require_small(part) if tick(128) else None,
            "f": lambda part, first: part if tick(24) else None,
            "x": lambda part, first: part if tick(4 * len(part)) else None,
            "t": lambda part, first: part if tick(search_cost(first, part)) else None,
            "l": lambda part, first: self._lazy_part(part),
            "c": lambda part, first: self.in_order(part),
        }
        self.calls: dict[str, Any] = (
            self._operators()
            | self._own_functions()
            | {
                prefix + name: function
                for (prefix, module), rows in FUNCTIONS.items()
                for name, function in self._row(module, rows)
            }
        )
        self.calls |= {".set": self.calls["set"], ".dict": self.calls["dict"]}
        self._types = {self.calls[name]: kind for name, kind in PLAIN_TYPES.items()}
        self._types |= {self.calls[f".x_collections.{kind.__name__}"]: kind for kind in (Counter, Defaults, Deque)}
        methods = self._methods()
        for kind, rows in METHOD_ROWS.items():
            for name, function in self._row(kind, rows):
                methods.setdefault(name, {})[kind] = function
        own_methods = ((name, method) for name, row in methods.items() for method in row.values())
        for name, function in chain(self.calls.items(), own_methods):  # errors about a call's arguments show this name
            if isinstance(function := getattr(function, "__func__", function), FunctionType):
                function.__qualname__ = name.rpartition(".")[2]
        self.calls |= {f".m_{name}": dispatch(name, row) for name, row in methods.items()}

    def _row(self, owner: Any, rows: dict[str, str]) -> Iterator[tuple[str, Method]]:
        """A module's functions or a type's methods by name, each made safe by its letters."""
        return ((name, self._look(getattr(owner, name), letters)) for letters, names in rows.items()
                for name in names.split())  # fmt: skip

    def _look(self, function: Method, letters: str) -> Method:
        """A C function that checks its arguments as its letters say."""
        rest, looks = self._looks[letters[-1]], [self._looks[letter] for letter in letters]
        is_lazy = letters[-1] in "lc" or function is repeat

        def call(*arguments: Any, **words: Any) -> Any:
            first = arguments[0] if arguments else ()
            own = looks if len(arguments) <= len(looks) else chain(looks, repeat(rest))
            values = [look(part, first) for part, look in zip(arguments, own, strict=False)]
            value = function(*values, **(words and {word: rest(part, first) for word, part in words.items()}))
            self.drop_free_slots(first)
            if type(value) is bool:
                return value
            return self.lazy(value, len(arguments)) if is_lazy else self.charge_made(value)

        return function if letters == "." and not isinstance(function, type) else call

    def lazy(self, items: Iterable[Any], width: int = 0) -> Lazy:
        return Lazy(items, self, width=width)

    def _lazy_part(self, part: Any) -> Any:
        if type(part) is int:
            require_length(abs(part))
        return self.lazy(part) if type(part) in CONTAINERS | {range, str, Lazy} else part

    # Operators ------------------------------------------------------------------------------------------------------

    def _operators(self) -> dict[str, Any]:
        in_place = {name: getattr(operator, f"i{name.strip('_')}") for name in BINARY.values()}
        return {
            ".in": self.contains, ".notin": lambda item, inside: not self.contains(item, inside), ".items": self,
            ".slice": lambda *bounds: slice(*map(require_small, bounds, repeat(MAX_KEY))), ".lazy": self.lazy,
            ".tick": self.tick, ".caught": self.clean_caught, ".key": self.key,
            ".text": lambda part: part if type(part) in self.flat else self.text(part), ".star": self.to_list,
            ".shown": self.show, ".ordered": self.in_order, ".chain": self.chain,
            ".is_": operator.is_, ".is_not": operator.is_not,
            ".joined": lambda *parts: self.charge_made("".join(parts)),
            ".error": lambda kind, *texts: kind(*map(self.calls[".text"], texts)),
            ".merged": lambda items: self.calls[".or_"]({}, items),
            ".counted": lambda units: lambda function: (
                lambda *arguments, **named: self.call_nested(units, function, *arguments, **named)
            ),
            **{f".{name}": self._binary(name, getattr(operator, name), in_place=False) for name in BINARY.values()},
            **{f".i{name}": self._binary(name, function, in_place=True) for name, function in in_place.items()},
            **{f".{name}": self._comparison(getattr(operator, name)) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
        }  # fmt: skip

    def _binary(self, name: str, function: Method, *, in_place: bool) -> Method:
        """An operator: bounded on numbers, checked and charged on everything else."""
        grows = GROWTH.get(name)
        divides = name in ("mod", "floordiv")

        def apply(left: Any, right: Any) -> Any:
            if type(left) in NUMBERS and type(right) in NUMBERS:
                if grows is not None and type(left) is not float and type(right) is not float:
                    require_length(grows(left, right), int)
                if divides and type(left) is type(right) is int and not is_short(left):
                    self.tick(left.bit_length() * right.bit_length() >> 17)
                value = function(left, right)
                return value if type(value) is float or -SMALL < value < SMALL else self.charge_made(value)
            if name == "mod" and type(left) is str:
                raise TypeError("% is for numbers: write an f-string, such as f'{name} {number}'")
            if in_place and name == "add" and type(left) in (list, Deque):
                right = self._looks["i"](right, left)
            self._charge(name, left, right)
            value = function(left, right)
            return value if value is left else self.charge_made(value)

        return apply

    def _charge(self, name: str, left: Any, right: Any) -> None:
        """Charge an operator on two values that aren't both numbers."""
        kinds = {type(left), type(right)}
        limit_kind = str if str in kinds else list
        size = sum(len(side) for side in (left, right) if type(side) in CONTAINERS | {str})
        if name == "or_" and type(left) in DICTS and type(right) not in DICTS:
            raise TypeError("| joins two dicts: use update for pairs")
        if kinds <= HASHED:
            self.weigh(self.keys(left), self.keys(right))
        elif kinds & HASHED:
            raise TypeError(
                "this operator takes two numbers, two sets or two dicts, "
                f"not a {type(left).__name__} and a {type(right).__name__}"
            )
        elif name == "mul" and kinds & {int, bool}:
            size *= max(0, left if type(left) in NUMBERS else right)
        # Checked before the value is made: a text of two letters times a billion would fill the memory.
        require_length(size, limit_kind)
        self.tick(size >> (4 if limit_kind is str else 2))

    def _comparison(self, function: Method) -> Method:
        def compare(left: Any, right: Any) -> Any:
            if type(left) in CONTAINERS and type(right) in CONTAINERS:
                if type(left) in HASHED and type(right) in HASHED:
                    self.keys(left)
                    self.keys(right)
                self.weigh(*(left, right) if Counter in (type(left), type(right)) else [min(left, right, key=len)])
            return function(left, right)

        return compare

    def chain(self, left: Any, *rest: Any) -> bool:
        """left < b < c, where `rest` is a comparison and a function without arguments for each further part."""
        for compare, part in zip(rest[::2], rest[1::2], strict=True):
            self.tick(2)
            if not compare(left, right := part()):
                return False
            left = right
        return True

    def contains(self, item: Any, inside: Any) -> Any:
        kind = type(inside)
        if kind is range:
            return type(item) in NUMBERS and item == item // 1 and int(item) in inside
        if kind is Lazy:
            return any(member is item or self.calls[".eq"](member, item) for member in inside)
        if kind in TABLES:
            self.key(item, len(inside))
        elif kind is str:
            self.tick(search_cost(inside, item))
        elif type(item) in NUMBERS and is_short(item) and kind in CONTAINERS:
            self.tick(len(inside) >> 2)
        else:
            self.weigh(inside)
        return item in inside

    def __getitem__(self, place: tuple[Any, Any]) -> Any:
        value, index = place
        if type(value) in DICTS:
            self.key(index, len(value))
        elif type(value) is Deque:  # whose items are reached from its nearer end, block by block
            self.tick(len(value) >> 10)
        return self.charge_made(value[index]) if type(index) is slice else value[index]

    def __setitem__(self, place: tuple[Any, Any], new: Any) -> None:
        value, index = place
        self.tick(6 + (len(value) >> 10 if type(value) is Deque else 0))
        if type(value) not in DICTS | {list, Deque} or (type(value) is Counter and type(new) not in NUMBERS):
            raise TypeError(f"the items of a {type(value).__name__} cannot be set so: make a list or dict of your own")
        if type(value) in DICTS:
            self.key(index, len(value))
        elif type(index) is slice:
            new = self.to_list(new)
            require_length(len(value) + len(new))
            self.tick(len(value) >> 3)
        value[index] = new

    def __delitem__(self, place: tuple[Any, Any]) -> None:
        value, index = place
        if type(value) in DICTS:
            self.key(index, len(value))
        else:
            self.tick(len(value) >> 4)
        del value[index]
        self.drop_free_slots(value)

    # Functions ------------------------------------------------------------------------------------------------------

    def _own_functions(self) -> dict[str, Any]:
        """Builtins and members of modules without a row."""
        return {
            "callable": lambda value: isinstance(value, FunctionType | MethodType | BuiltinMethodType),
            "chr": lambda code: self.charge_made(chr(code).encode().decode()),  # ValueError for half a character
            "dict": lambda *items, **named: self.fill_new({}, *items, **named),
            "isinstance": self.isinstance,
            "iter": lambda items: items if type(items) is Lazy else self.lazy(items),
            "max": lambda *items, key=None, **default: max(*self._as_values(items), key=self.marker(key), **default),
            "min": lambda *items, key=None, **default: min(*self._as_values(items), key=self.marker(key), **default),
            "pow": lambda base, exponent, modulus=None: (
                self.calls[".pow"](base, exponent)
                if modulus is None
                else self.tick(64) and pow(*map(require_small, (base, exponent, modulus), repeat(SMALL)))
            ),
            "print": lambda *values, sep=" ", end="", flush=False: None,
            "range": lambda *bounds: range(*map(require_small, bounds, repeat(MAX_KEY))),
            "repr": lambda value: self.text(value, repr),
            "reversed": lambda items: self.lazy(reversed(items)),
            "sorted": self.sorted,
            "str": lambda value="": self.text(value),
            "sum": self.sum,
            ".getter": lambda receiver: (
                self.tick(16) and (lambda wanted, default=None: self.calls[".m_get"](receiver, wanted, default))
            ),
            **{f".x_math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")},
            ".x_math.prod": lambda items, *, start=1: reduce(self.calls[".mul"], self.to_list(items), start),
            ".x_collections.Counter": lambda *items, **named: self.fill_new(Counter(), *items, **named),
            ".x_collections.defaultdict": lambda factory=None, /, *items, **named: self.fill_new(
                Defaults(factory), *items, **named
            ),
            ".x_collections.deque": lambda items=(), maxlen=None: self.charge_made(Deque(self.to_list(items), maxlen)),
            ".x_heapq.nlargest": lambda n, items, key=None: self.sorted(items, key=key, reverse=True)[: max(0, n)],
            ".x_heapq.nsmallest": lambda n, items, key=None: self.sorted(items, key=key)[: max(0, n)],
            ".x_itertools.accumulate": lambda items, function=None, *, initial=None: self.lazy(
                itertools.accumulate(self.lazy(items), function or self.calls[".add"], initial=initial)
            ),
            ".x_itertools.groupby": lambda items, key=None: self.lazy(
                (mark, self.lazy(rows)) for mark, rows in itertools.groupby(self.lazy(items), self.marker(key))
            ),
            ".x_itertools.product": lambda *items, repeat=1: self.lazy(
                itertools.product(
                    *self.calls[".mul"]([self.to_list(pool) for pool in items], repeat), repeat=min(repeat, 0) or 1
                ),
                len(items),
            ),
            ".x_itertools.zip_longest": lambda *items, fillvalue=None: self.lazy(
                itertools.zip_longest(*map(self._lazy_part, items), fillvalue=fillvalue), len(items)
            ),
            ".x_itertools.starmap": lambda function, rows: self.lazy(
                itertools.starmap(function, map(self.to_list, self.lazy(rows))), 1
            ),
        }

    def isinstance(self, value: Any, kinds: Any) -> bool:
        kind_tuple = kinds if type(kinds) is tuple else (kinds,)
        self.tick(8 + len(kind_tuple))
        if any(type(kind) is tuple or kind not in self._types for kind in kind_tuple):
            raise TypeError("isinstance takes a value and plain types such as (int, str); for others read attributes")
        return isinstance(value, tuple(self._types[kind] for kind in kind_tuple))

    def marker(self, key: Any, count: int = 1) -> Callable[[Any], Any]:
        """A key for C code that compares `count` items: it charges for comparing the values that `key` gives."""

        def mark(item: Any) -> Any:
            value = item if key is None else key(item)
            is_short_number = type(value) in NUMBERS and is_short(value)
            self.tick(1 + ((1 if is_short_number else self.weigh(value)) * count.bit_length() >> 2))
            return value

        return mark

    def sorted(self, items: Iterable[Any], *, key: Any = None, reverse: Any = False) -> list[Any]:
        out = self.to_list(items)
        out.sort(key=self.marker(key, len(out)), reverse=reverse)
        return out

    def sum(self, items: Iterable[Any], start: Any = 0) -> Any:
        values = self.to_list(items)
        if type(start) is str:
            raise TypeError("sum takes no texts: write ''.join(texts)")
        return reduce(self.calls[".add"], values, start)

    def _as_values(self, items: tuple[Any, ...]) -> Sequence[Any]:
        """The values that max or min compares, given one by one or in one container."""
        return [self._looks["i"](items[0], ())] if len(items) == 1 else items

    # Methods --------------------------------------------------------------------------------------------------------

    def _methods(self) -> dict[str, dict[type, Method]]:
        """Method by name and type of the receiver, where no row describes it."""
        remove = self._look(lambda items, wanted: operator.delitem(items, index_of(items, wanted)), "w")
        return {
            "join": {str: self._look(join, "sb")}, "replace": {str: self._look(replace, "sts")},
            "sort": {list: lambda items, *, key=None, **by: items.sort(key=self.marker(key, len(items)), **by)},
            "update": dict.fromkeys(DICTS, self.update),
            "most_common": {Counter: lambda items, n=None: self.sorted(
                items.items(), key=operator.itemgetter(1), reverse=True)[: None if n is None else max(0, n)]},
            "index": dict.fromkeys((list, Deque), self._look(index_of, "w")),
            "remove": dict.fromkeys((list, Deque), remove),
            "pop": {set: self._look(self.pop, "o")},
        }  # fmt: skip

    def update(self, items: Any, more: Any = (), /, **words: Any) -> None:
        """`items.update(more)` of a dict, or of a Counter, whose counts are numbers."""
        more = () if more is None and type(items) is Counter else more
        key = self._looks["k"]
        named = more if type(more) in DICTS else {}
        for part in () if named is more else self._looks["i"](more, items):  # which may see what is there already
            if type(items) is Counter:
                items[key(part, items)] += 1
            else:
                entry = self.to_list(part)
                items.update([[key(entry_key, items) for entry_key in entry[:1]] + entry[1:]])
        if type(items) is Counter and not NUMBERS.issuperset(map(type, [*named.values(), *words.values()])):
            raise TypeError("a Counter's counts are numbers")
        items.update(self.keys(named), **words)

    def fill_new(self, table: Any, /, *items: Any, **named: Any) -> Any:
        """A new dict, Counter or defaultdict with its first items."""
        self.update(table, *items, **named)
        return self.charge_made(table)

    def pop(self, items: set[Any]) -> Any:
        """`items.pop()` of a set: the first item in order."""
        order = self.in_order(items)
        item = items.pop() if order is items else next(order)
        items.discard(item)
        return item


_CALLS = Library(frozenset()).calls
BUILTINS = frozenset(name for name in _CALLS if not name.startswith("."))
METHODS = frozenset(name[3:] for name in _CALLS if name.startswith(".m_"))
"""Every method name that generated code may call."""
MODULES = {
    module: frozenset(name.rpartition(".")[2] for name in _CALLS if name.startswith(f".x_{module}."))
    for module in ("math", "collections", "heapq", "itertools")
}
"""The members that can be imported, by module."""
