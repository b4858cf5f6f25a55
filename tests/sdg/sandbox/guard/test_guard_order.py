"""Sets have one order in every process, and patterns unpack as in Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from sdg.sandbox.guard import BudgetSpent, GeneratedError
from tests.sdg.sandbox.guard.test_guard_attacks import program, run_guarded


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("(a, b), c = (1, 2), 3\nreturn [a, b, c]", None),
        ("[a, (b, [c, d])] = 1, (2, 'xy')\nreturn [a, b, c, d]", None),
        ("(a, b), c = iter([iter([1, 2]), 3])\nreturn [a, b, c]", None),
        ("return [a + b + i for i, (a, b) in enumerate([(1, 2), [3, 4]])]", None),
        ("(a, b) = c = {1, 2}\nreturn [a, b, c, len(c | {3})]", None),
        ("a, b = c, *d = e = iter([1, 2])\nreturn [a, b]", "not enough values to unpack"),
        ("a, (b, *c), *d = 1, 'xyz', 3, 4\nreturn [a, b, c, d]", None),
        ("(a, b), a = (1, 2), 3\nreturn [a, b]", None),
        ("xs, i = [0, 0], 0\n(xs[i], j), i = (5, 6), 1\nreturn [xs, i, j]", None),
        ("return [b for (b, _), b in [(('near', 1), 'far')]]", None),
        ("for (a, b), *a in [((1, 2), 3, 4)]:\n    pass\nreturn [a, b]", None),
        ("c = 0\ntry:\n    (a, b), c = (1,), 2\nexcept ValueError:\n    return c", None),
        ("return [[a, b, c] for (a, b), *c in [[(1, 2)], [(3, 4), 5, 6]]]", None),
        ("(a, b), *c = []", "not enough values to unpack"),
        ("a, (b, *c), d = 1, [], 2", "not enough values to unpack"),
        ("(a, b), c = (1, 2), 3, 4", "too many values to unpack (expected 2)"),
        ("(a, b), c = (1, 2, 3), 4", "too many values to unpack (expected 2)"),
        ("(a, b), c = 5, 3", "cannot unpack non-iterable int object"),
        ("for a, b in [(1, 2), (3,)]:\n    pass", "not enough values to unpack (expected 2, got 1)"),
    ],
)
def test_patterns_in_patterns_are_as_in_python(body: str, error: str | None) -> None:
    if error is None:
        names: dict[str, Any] = {}
        exec(program(body), names)
        expected = names["program"]()
        again = program(body).replace("program", "again")
        assert run_guarded(again + program(f"return again() == {expected!r}")) is True
    else:
        with pytest.raises(GeneratedError, match=re.escape(error)):
            run_guarded(program(f"{body}\nreturn True"))


UNORDERED = [
    "next(iter({x}))", "list({x})", "tuple({x})", "[o for o in {x}]", "[o for o in frozenset({x})]", "({x}).pop()",
    "str({x})", 'f"{({x})}"', "str(frozenset({x}))", "max({x}, key=lambda o: 1)", "sorted({x}, key=lambda o: 1)",
    "list(zip({x}, range(9)))", "list(map(str, {x}))", "list(enumerate({x}))", "[*{x}]", "'+'.join(map(str, {x}))",
    "list({o: 1 for o in {x}})", "list(filter(None, {x} | {'z'}))", "first({x})", "unpacked({x})", "removed({x})",
    "within({x})",
]  # fmt: skip
SETS = ["set('abcdefgh')", "{None, 'a', 'b', 1}", "{('a', 1), ('b', 2), ('c', 3)}", "{'a', 'b'} | {'c', 'd'}"]


def test_the_order_of_a_set_is_the_same_in_each_process() -> None:
    """Hashes of texts differ by process, and so did answers that followed the order of a set."""
    lines = [line.replace("{x}", unordered) for line in UNORDERED for unordered in SETS]
    source = (
        "def first(x):\n    for o in x:\n        return o\n\n"
        "def unpacked(x):\n    x = set(list(x)[:2])\n    a, b = x\n    return a, b\n\n"
        "def removed(x):\n    x = set(x)\n    return [x.pop() for i in range(3)], len(x)\n\n"
        "def within(x):\n    x = set(list(x)[:2])\n    (a, b), c = x, 1\n    pairs = [d for d, e in [x]]\n"
        "    for d, e in (s for s in [x]):\n        pairs += [d, *(f for i, (f, g) in enumerate([x]))]\n"
        "    (h, k), *m = [x]\n    n, p = q = x\n    return a, pairs, h, n, len(q | {1})\n\n"
        f"def program():\n    return str([{', '.join(lines)}])\n"
    )
    code = f"from sdg.sandbox.guard import Guard\nprint(Guard({{}}).load({source!r})({{}}))"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "123"
    }  # fmt: skip
    assert len(answers) == 1
    assert len(answers.pop()) > 1000


@pytest.mark.parametrize(
    "line",
    [
        "sorted({o for o in 'hello'})", "len({'a', 'b'} & {'b'})", "list({3, 1, 2})", "[p for p in {(1, 2), (0, 1)}]",
        "str({3, 1})", "{1, 2}.pop()", "str(set())", "frozenset('a')", "any(o == 'a' for o in {'a', 'b'})",
    ],
)  # fmt: skip
def test_what_does_not_depend_on_the_order_of_texts_is_as_in_python(line: str) -> None:
    expected = eval(line)
    assert run_guarded(program(f"return {line} == {expected!r}")) is True


def test_ordering_a_set_is_charged() -> None:
    with pytest.raises(BudgetSpent):
        run_guarded(program("t = ('a',)\nfor i in range(40):\n    t = (t, t)\nreturn list({t, 'a'})"))
    with pytest.raises(BudgetSpent):
        run_guarded(program("s = {'a' * 999 + str(i) for i in range(300)}\nwhile True:\n    next(iter(s))"))


ONE_BY_ONE = [
    "seen = []\nseen.extend(x for x in [1, 1, 2] if x not in seen)\nreturn seen",
    "seen = []\nseen += filter(lambda x: x not in seen, [1, 1, 2])\nreturn seen",
    "d = {}\nd.update((k, len(d)) for k in 'abc')\nreturn d",
    "s = set()\ns.update(len(s) for _ in range(3))\nreturn list(s)",
    "s = {1, 2, 3}\ns.difference_update(x for x in (1, 2, 3) if len(s) > 1)\nreturn list(s)",
    "d = {}\ntry:\n    d.update([(1, 2), 5])\nexcept TypeError:\n    return d",
    "xs = [3, 1, 3, 2]\nxs.sort(key=lambda x: xs.count(x))\nreturn xs",
    "xs = [2, 1]\ntry:\n    xs.sort(key=lambda x: xs.append(x) or x)\nexcept ValueError:\n    return xs",
    "log = []\nmax((log.append(x) or x for x in [1, 2]), key=lambda x: log.append(-x) or x)\nreturn log",
    "from itertools import groupby\nlog = []\nnext(groupby([1, 2], key=lambda x: log.append(x)))\nreturn log",
    "todo = {'a', 'b'}\ntry:\n    for x in todo:\n        todo.remove(x)\nexcept RuntimeError:\n    return 1",
    "from collections import Counter\nc = Counter(None)\nc.update(None)\nreturn len(c)",
    "try:\n    max(1, 2, default=0)\nexcept TypeError:\n    return 1",
    "try:\n    isinstance(None, None)\nexcept TypeError:\n    return 1",
    "N = int | float\nreturn [[isinstance(x, t) for t in (N, int | str | list)] for x in (1, 1.5, 'a', [])]",
    "return [isinstance(x, list | (bool | str) | int) for x in (1, 1.5, 'a', [], {})] + [1 | 2]",
    "from collections import Counter, defaultdict, deque\nkinds = Counter, defaultdict, deque, dict, list\n"
    "return [[isinstance(k(), t) for k in kinds] for t in kinds] + [isinstance(deque(), list | deque)]",
    "try:\n    isinstance(1, int | 5)\nexcept TypeError:\n    return 1",
    "try:\n    'a' * float('inf')\nexcept TypeError:\n    return 1",
    "try:\n    [1, 2].index(2, 0, None)\nexcept TypeError:\n    return 1",
    "try:\n    raise KeyError(5)\nexcept KeyError as e:\n    return [str(e), repr(e)]",
    "x = True\nreturn [x is 1, str({9, 10})]",
    "X = 5\ndef inner():\n    X: int\n    return X\ntry:\n    inner()\nexcept NameError:\n    return 1",
    "def a():\n    from math import floor as r\n    return r(1.5)\n"
    "def b():\n    from math import ceil as r\n    return r(1.5)\nreturn [a(), b()]",
    "def a():\n    from math import pow\n    return pow(3, 2)\nreturn [a(), repr(pow(3, 2))]",
]


@pytest.mark.parametrize("body", ONE_BY_ONE)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_reads_a_value_while_it_is_made_sees_what_python_shows(body: str) -> None:
    names: dict[str, Any] = {}
    exec(program(body), names)
    assert repr(run_guarded(program(body))) == repr(names["program"]())
