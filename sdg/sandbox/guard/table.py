"""The C functions that generated code can call, as rows; letters say how each is made safe.

One letter for each argument says how it is checked and charged before the function runs (the last letter holds for all
further arguments); results are charged by their size.

    .  as it is: no more than a pointer is touched        s  by its size
    w  weighed: every node of it may be visited           o  by a part of its length: items are moved
    b  copied into a list of bounded length               m  as b, and each item is a key
    k  a key, looked up in the first argument             e  a number of at most three digits
    f  a number that is divided bit by bit
    x  a text that is taken to pieces                     t  looked for in the first argument, or a width
    l  iterated over, each item counted                   c  as l, where one item is taken for each one given
    i  as b, or an iterator that may see the receiver     n  as i, and each item is a key
"""

import builtins
import heapq
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from sdg.sandbox.guard.meter import DICTS, MAX_KEY, Deque, require_length

EXCEPTIONS: dict[str, type[Exception]] = {
    name: getattr(builtins, name)
    for name in str.split(
        "Exception ArithmeticError AssertionError AttributeError IndexError KeyError LookupError NameError "
        "NotImplementedError OverflowError RecursionError RuntimeError StopIteration TypeError ValueError "
        "ZeroDivisionError"
    )
}
"""Exceptions that generated code may name. None of them is above `Exception`."""
PLAIN_TYPES: dict[str, type] = {
    kind.__name__: kind for kind in (int, float, bool, str, list, tuple, set, frozenset, dict)
}
"""Types that `isinstance` may ask for."""
BINARY = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "LShift": "lshift", "RShift": "rshift", "BitOr": "or_", "BitAnd": "and_", "BitXor": "xor",
}  # fmt: skip
COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "In": "in", "NotIn": "notin",
           "Is": "is_", "IsNot": "is_not"}  # fmt: skip
UNARY = {"USub": "neg", "UAdd": "pos", "Invert": "invert"}

FUNCTIONS: dict[tuple[str, Any], dict[str, str]] = {
    ("", builtins): {
        "s": "abs divmod", ".": "bool len next ord", "s.": "all any float int", "m": "frozenset set",
        "b": "list tuple", "se": "round", "c": "zip", "cl": "enumerate", ".c": "map", ".l": "filter",
    },
    (".", operator): {"w": "neg pos invert"},
    (".x_math.", math): {
        "s": "acos asin atan atan2 ceil copysign cos degrees exp fabs floor gcd hypot isclose isfinite isinf "
             "isnan isqrt log log10 log2 modf pow radians sin sqrt tan tanh trunc",
        "e": "comb factorial perm", "b": "dist fsum", "f": "fmod remainder",
    },
    (".x_itertools.", itertools): {
        "l": "chain combinations combinations_with_replacement compress count cycle islice permutations",
        ".l": "dropwhile filterfalse takewhile", "c": "pairwise", ".e": "repeat",
    },
    (".x_heapq.", heapq): {"w": "heapify heappop", "ww": "heappush heappushpop heapreplace"},
}  # fmt: skip
"""Functions by the prefix of their names and their module, then by letters."""

_SET = {"s": "copy", "sm": "difference intersection isdisjoint issubset issuperset symmetric_difference union"}
METHOD_ROWS: dict[type, dict[str, str]] = {
    str: {
        "xt": "rsplit split splitlines",
        "st": "capitalize casefold center count endswith find index isalnum isalpha isdecimal isdigit islower "
              "isnumeric isspace istitle isupper ljust lower lstrip partition removeprefix removesuffix rfind rindex "
              "rjust rpartition rstrip startswith strip swapcase title upper zfill",
    },
    list: {".": "append clear", "o.": "insert pop", "s": "copy reverse", "w": "count", ".i": "extend"},
    tuple: {"w": "count index"}, range: {"sw": "count index"},
    **{kind: {".": "clear items keys popitem values", "s": "copy", ".k.": "get pop setdefault"} for kind in DICTS},
    set: _SET | {
        ".": "clear", ".k": "add discard remove",
        "sm": _SET["sm"] + " intersection_update symmetric_difference_update", ".n": "difference_update update",
    },
    frozenset: _SET,
    Deque: {
        ".": "append appendleft clear pop popleft", "s.": "copy insert reverse rotate", "w": "count",
        ".i": "extend extendleft",
    },
    float: {".": "is_integer"},
}  # fmt: skip
"""Methods by type, then by letters."""

GROWTH: dict[str, Callable[[int, int], int]] = {
    "mul": lambda left, right: left.bit_length() + right.bit_length() - 1,
    "lshift": lambda left, right: left.bit_length() + right,
    "pow": lambda left, right: max(left.bit_length() - 1, right.bit_length() >> 6) * right,
}
"""Bits of the whole number that an operator makes from two."""
SMALL = 1 << 64


def is_short(number: Any) -> bool:
    """Whether C code handles a number in a moment."""
    return bool(-SMALL < number < SMALL)


def join(text: str, items: list[Any]) -> str:
    require_length(sum(len(item) for item in items if type(item) is str) + len(text) * len(items), str)
    return text.join(items)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    require_length(len(text) + text.count(old) * max(0, len(new) - len(old)), str)
    return text.replace(old, new, count)


def index_of(items: Any, wanted: Any, start: Any = 0, stop: Any = MAX_KEY) -> int:
    """The index of `wanted`. list's and deque's own errors would print the wanted value, whatever it is."""
    begin, end, _ = slice(operator.index(start), operator.index(stop)).indices(len(items))
    return begin + operator.indexOf(itertools.islice(items, begin, end), wanted)


def dispatch(name: str, row: dict[type, Callable[..., Any]]) -> Callable[..., Any]:
    def call(receiver: Any, /, *arguments: Any, **words: Any) -> Any:
        method = row.get(type(receiver))
        if method is None:
            raise AttributeError(f"{type(receiver).__name__!r} object has no method {name}()")
        return method(receiver, *arguments, **words)

    return call
