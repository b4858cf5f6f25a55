"""What stands for the modules that models import: bounded values of math, collections, heapq and itertools."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sdg.skills.sandbox.guard.builtins import Builtins, named
from sdg.skills.sandbox.guard.meter import Meter
from sdg.skills.sandbox.guard.operators import Operators, bounded

_MATH = str.split(
    "acos asin atan atan2 ceil copysign cos degrees e exp fabs floor fmod hypot inf isclose isfinite isinf isnan log "
    "log10 log2 modf nan pi pow radians remainder sin sqrt tan tau tanh trunc isqrt gcd"
)
_ITERTOOLS = str.split(
    "chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse islice pairwise "
    "permutations product takewhile zip_longest"
)
NAMES: dict[str, frozenset[str]] = {
    "math": frozenset([*_MATH, "comb", "dist", "factorial", "fsum", "perm", "prod"]),
    "collections": frozenset({"Counter", "defaultdict", "deque"}),
    "heapq": frozenset({"heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"}),
    "itertools": frozenset([*_ITERTOOLS, "accumulate", "groupby", "repeat", "starmap"]),
}
"""What can be imported, by module."""
_MISSING: Any = object()


class Modules:
    """The modules of one piece of generated code; `calls` are their members by "module.name"."""

    def __init__(self, meter: Meter, operators: Operators, builtins: Builtins) -> None:
        self._meter, self._builtins, self._operators = meter, builtins, operators
        self.calls: dict[str, Any] = {f"math.{name}": self._math(name) for name in _MATH}
        self.calls |= {f"itertools.{name}": self._lazy(getattr(itertools, name)) for name in _ITERTOOLS}
        bulk = meter.bulk
        self.calls |= {
            "math.comb": lambda n, k: bounded(math.comb(_few(n), k)),
            "math.perm": lambda n, k=None: bounded(math.perm(_few(n), k)),
            "math.factorial": lambda n: bounded(math.factorial(_few(n))),
            "math.dist": lambda p, q: math.dist(bulk(p), bulk(q)),
            "math.fsum": lambda items: math.fsum(bulk(items)),
            "math.prod": self.prod,
            "collections.Counter": self.counter,
            "collections.defaultdict": self.defaultdict,
            "collections.deque": self.deque,
            "heapq.heapify": self.heapify,
            "heapq.heappop": self.heappop,
            "heapq.heappush": self.heappush,
            "heapq.heappushpop": lambda heap, item: self.heappop(self.heappush(heap, item) or heap),
            "heapq.heapreplace": self.heapreplace,
            "heapq.nlargest": lambda n, items, key=None: builtins.sorted(items, key=key, reverse=True)[: max(0, n)],
            "heapq.nsmallest": lambda n, items, key=None: builtins.sorted(items, key=key)[: max(0, n)],
            "itertools.accumulate": self.accumulate,
            "itertools.repeat": lambda item, *times: builtins.lazy(itertools.repeat(item, *times)),
            "itertools.starmap": lambda function, rows: builtins.lazy(function(*bulk(r)) for r in builtins.lazy(rows)),
            "itertools.groupby": lambda items, key=None: builtins.lazy(self._groups(items, key)),
        }
        for name, function in self.calls.items():
            named(function, name.partition(".")[2])

    def _math(self, name: str) -> Any:
        function = getattr(math, name)
        if not callable(function):
            return function

        def call(*numbers: Any, **words: Any) -> Any:
            self._meter.tick(sum(8 + (n.bit_length() >> 4 if type(n) is int else 0) for n in numbers))
            return bounded(function(*map(bounded, numbers), **words))

        return call

    def prod(self, items: Iterable[Any], *, start: Any = 1) -> Any:
        for item in self._meter.bulk(items):
            start = self._operators.calls["mul"](start, item)
        return start

    def _lazy(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An iterator of itertools: what it takes in and what it gives out is counted, rows by their width."""

        def call(*arguments: Any, **words: Any) -> Any:
            counted = [self._counted(part) for part in arguments]
            if "repeat" in words and not -1 < words["repeat"] < 100:
                raise ValueError("product repeats at most 100 times")
            return self._builtins.lazy(self._rows(function(*counted, **words)))

        return call

    def _counted(self, part: Any) -> Any:
        if not hasattr(part, "__iter__") or type(part) in self._meter.records:
            return part
        return part if type(part) is str and len(part) < 100 else self._builtins.lazy(part)

    def _rows(self, items: Iterator[Any]) -> Iterator[Any]:
        for row in items:
            self._meter.tick(4 + (len(row) if type(row) is tuple else 0))
            yield row

    def counter(self, items: Any = (), **words: Any) -> Any:
        count: Any = Counter()
        if type(items) is dict or type(items) is Counter:
            count.update(self._builtins.pairs(items))
        else:
            count.update(self._builtins.members(items))
        for name, number in words.items():
            count[name] = self._operators.calls["add"](count[name], number)
        return count

    def defaultdict(self, factory: Any = None, items: Any = (), **words: Any) -> Any:
        return defaultdict(factory, self._builtins.pairs(items), **words)

    def deque(self, items: Any = (), maxlen: Any = None) -> Any:
        self._meter.tick(48)
        return deque(self._meter.bulk(items), maxlen)

    def heappush(self, heap: list[Any], item: Any) -> Any:
        heap.append(item)
        self._rise(heap, 0, len(heap) - 1)

    def heappop(self, heap: list[Any]) -> Any:
        last = heap.pop()
        if not heap:
            return last
        top, heap[0] = heap[0], last
        self._sink(heap, 0)
        return top

    def heapreplace(self, heap: list[Any], item: Any) -> Any:
        top, heap[0] = heap[0], item
        self._sink(heap, 0)
        return top

    def _rise(self, heap: list[Any], top: int, place: int) -> None:
        while place > top and self._operators.calls["lt"](heap[place], heap[parent := (place - 1) >> 1]):
            self._meter.tick(4)
            heap[place], heap[parent] = heap[parent], heap[place]
            place = parent

    def _sink(self, heap: list[Any], top: int) -> None:
        """Down to a leaf along the smaller children, and up again: the order that CPython leaves."""
        place = top
        while (child := 2 * place + 1) < len(heap):
            self._meter.tick(6)
            if child + 1 < len(heap) and not self._operators.calls["lt"](heap[child], heap[child + 1]):
                child += 1
            heap[place], heap[child] = heap[child], heap[place]
            place = child
        self._rise(heap, top, place)

    def heapify(self, heap: list[Any]) -> None:
        for place in reversed(range(len(heap) // 2)):
            self._sink(heap, place)

    def accumulate(self, items: Any, function: Any = None, *, initial: Any = None) -> Any:
        function = function or self._operators.calls["add"]
        return self._builtins.lazy(itertools.accumulate(self._builtins.lazy(items), function, initial=initial))

    def _groups(self, items: Any, key: Any) -> Iterator[Any]:
        group: list[Any] = []
        last: Any = _MISSING
        for item in items:
            self._meter.tick(6)
            mark = item if key is None else key(item)
            if last is not _MISSING and not self._operators.equal(mark, last):
                yield last, self._builtins.lazy(group)
                group = []
            last = mark
            group.append(item)
        if last is not _MISSING:
            yield last, self._builtins.lazy(group)


def _few(number: Any) -> int:
    if type(number) is not int or not 0 <= number <= 400:
        raise ValueError("a whole number from 0 to 400 is wanted here")
    return number
