"""Programs made from a grammar, small ones compared with CPython and large ones timed.

    python -m tests.adversarial.grammar --count 100000 [--seed N]

Nested and starred forms are composed at random. A small program must end behind the guard as it does in CPython: the
same text returned or the same kind of exception (the guard may also refuse it, or stop what grows). A large one has the
same forms over containers and texts of thousands of items and must end within a second of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sdg.experiments.bench.hostile import MEMORY_BYTES
from sdg.sandbox.guard import BudgetSpent, GeneratedError, Guard, Refused
from sdg.sandbox.process.confine import Limits
from sdg.sandbox.process.pool import LostJob, Patience, Pool

BATCH, BATCH_SECONDS = 500, 300.0
HASH_SEEDS = 8
SLOW_SECONDS = 1.0
LARGE_SHARE = 0.1
_REFUSED = ("turned into text", "a Counter's counts are numbers", "% is for numbers", "joins two dicts")
_NAMES = ("a", "b", "c", "d")
_HEADER = "import math, heapq, itertools\nfrom collections import Counter, defaultdict, deque\n"
_HELPERS = (
    "def pack(*xs, **kw):\n    return list(xs) + sorted(kw)\n",
    "def keep(x, into=[]):\n    into.append(x)\n    return into[-1:]\n",
    "def last(x, *, times=2):\n    try:\n        return [x] * times\n    finally:\n        times += 1\n",
)
_OPERATORS = ("+", "-", "*", "//", "%", "|", "&", "^", "/")
_FORMS: tuple[str, ...] = (
    "($e $o $e)", "($e $o $e)", "[$e, *$e]", "($e, *$e, $e)", "{$e: $e, **$e}", "{$e, $e}",
    "[x for x in $e if x]", "{x: y for x, y in $e}", "{x for x in $e}", "sum(x for x in $e)", "list($e)",
    "sorted($e)", "sorted($e, key=lambda x: -x)", "max($e, $e)", "min(($e), default=$e)", "len($e)",
    "list(zip($e, $e))", "list(map(lambda *x: x, $e, $e))", "dict(enumerate($e))", "list(zip(*$e))",
    "($e)[$e]", "($e)[$e:$e]", "($e)[::-1]", "($e < $e <= $e)", "($e == $e)", "($e in $e)", "(not $e)",
    "(-$e)", "($e if $e else $e)", "($e or $e)", "($e and $e)", "f'{a}-{b!r}'", "f'{c:>3}'", "f'{d}{a}'",
    "str($e)", "repr($e)", "int($e)", "float($e)",
    "abs($e)", "tuple($e)", "set($e)", "frozenset($e)", "dict($e)", "any(x == $e for x in $e)",
    "pack(*$e, $e, k=$e)", "keep($e)", "last($e, times=3)", "isinstance($e, (int, str))",
    "($e).count($e)", "($e).index($e)", "($e).get($e, $e)", "($e).split($e)", "($e).join($e)", "($e).copy()",
    "list(($e).items())", "($e).union($e)", "($e).pop()", "($e).upper()", "($e).replace($e, $e)",
    "($e).setdefault($e, $e)",
    "dict(Counter($e))", "Counter($e).most_common(2)", "list(deque($e, 3))", "heapq.nsmallest(2, $e)",
    "list(itertools.product($e, $e))", "list(itertools.accumulate($e))",
    "[(k, list(g)) for k, g in itertools.groupby($e)]",
    "math.floor($e)", "math.hypot($e, $e)", "list(itertools.chain($e, $e))", "next(iter($e), $e)", "round($e, 1)",
    "list(reversed($e))", "list(filter(None, $e))", "divmod($e, $e)", "(lambda x, y=$e: (x, y))($e)", "[*$e][-1]",
    "sum($e, [])", "list(range($e))", "($e).startswith($e)", "list(itertools.islice($e, 3))",
    "sorted($e, reverse=True)",
)  # fmt: skip
_STATEMENTS: tuple[str, ...] = (
    "$n = $e", "$n = $e", "$n, $n = $e, $e", "$n, *$n = $e", "($n, $n), $n = $e, $e", "$n = $n = $e",
    "$n $o= $e", "$n $o= $e", "$n[$e] = $e", "$n[$e] $o= $e", "$n[$e:$e] = $e", "del $n[$e]",
    "$n.append($e)", "$n.update($e)", "$n.extend($e)", "$n.sort(key=str)",
    "$n.setdefault($e, [])[:] = $e", "heapq.heappush($n, $e)", "$n.insert(0, $e)",
    "if $e:$b", "if $e:$b\nelse:$b", "for x in $e:$b", "for i, x in enumerate($e):$b", "for x, *y in $e:$b",
    "for $n, ($n, *$n), $n in zip($e, $e, $e):$b",
    "for $n in list($e)[:3]:$b", "try:$b\nexcept Exception as error:$b", "try:$b\nexcept Exception:$b",
    "try:$b\nfinally:$b", "try:$b\nexcept ValueError:\n    pass\nelse:$b", "while len($n) > 2:\n    $n = $n[1:]$b",
    "assert $e, $e",
    "raise ValueError($e)",
    "def f(x=$e):\n    return (x, $e)\n$n = f()", "for x in $e:\n    if x:\n        continue\n    break\nelse:$b",
)  # fmt: skip
_SMALL = ("0", "1", "2", "-1", "-2", "3.5", "''", "'ab'", "'b,a'", "None", "True", "[]", "[3, 1, 2]", "(1, 2)", "{}",
          "{'a': 1, 2: 'b'}", "{1, 2}", "[(1, 2), (3, 4)]", "'ba'", "range(4)", "[[1], [2]]", "'3'")  # fmt: skip
_LARGE = ("10 ** 4", "2 ** 4000", "'ab' * 4999", "[0] * 9999", "list(range(9999))", "{i: i for i in range(3000)}",
"'x' * 9999",
          "[[1] * 999] * 999", "[('y' * 999,) * 99] * 99", "set(range(5000))", "range(10 ** 9)", "1e308",
          "(1, 2) * 4999",
          "{(i, -1, -2, j): 'z' * 999 for i in range(40) for j in range(40)}",
          "[str(i) for i in range(2000)]")  # fmt: skip


def make_program(number: int, *, seed: int) -> tuple[str, bool]:
    """The `number`th program of a seed, always the same, and whether it is a large one."""
    rng = random.Random(seed * 1_000_003 + number)
    large = rng.random() < LARGE_SHARE
    literals = _LARGE if large else _SMALL
    atoms: Sequence[str] = (*_NAMES * (2 if large else 3), *literals)
    start = [f"{name} = {rng.choice(literals)}" for name in _NAMES]
    body = [_statement(rng, atoms, depth=3) for _ in range(rng.randint(1, 6))]
    lines = "\n".join([*start, *body, "return repr([a, b, c, d])"])
    helpers = [helper for helper in _HELPERS if f"{helper[4:8]}(" in lines]
    return _HEADER + "\n".join(helpers) + "\ndef program():\n" + _indented(lines), large


def _statement(rng: random.Random, atoms: Sequence[str], *, depth: int) -> str:
    def block() -> str:
        return "\n" + _indented("\n".join(_statement(rng, atoms, depth=depth - 1) for _ in range(rng.randint(1, 2))))

    form = rng.choice(_STATEMENTS if depth else _STATEMENTS[:19])
    return _filled(form, {
        "e": lambda: _expression(rng, atoms, depth=rng.randint(0, 3)), "n": lambda: rng.choice(_NAMES),
        "o": lambda: rng.choice(_OPERATORS), "b": block,
    })  # fmt: skip


def _expression(rng: random.Random, atoms: Sequence[str], *, depth: int) -> str:
    if depth == 0:
        return rng.choice(atoms)
    parts = {"e": lambda: _expression(rng, atoms, depth=depth - 1), "o": lambda: rng.choice(_OPERATORS)}
    return _filled(rng.choice(_FORMS), parts)


def _filled(form: str, parts: dict[str, Callable[[], str]]) -> str:
    """A form with its holes, `$e` and the like, filled from left to right."""
    first, *rest = form.split("$")
    return first + "".join(parts[piece[0]]() + piece[1:] for piece in rest)


def _indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.split("\n"))


def compare_program(source: str, *, large: bool) -> tuple[str, str]:
    """What came of a program (agree, unordered, differ, stopped, refused, timed) and what is wrong, "" for nothing."""
    try:
        guarded = Guard({}, source_bytes=64_000).load(source, entry="program")
    except Refused:
        return "refused", ""
    began = time.process_time()
    try:
        mine = str(guarded({}))
    except BudgetSpent:
        mine = "BudgetSpent"
    except GeneratedError as error:
        stopped = error.kind == "TooLarge" or any(words in str(error) for words in _REFUSED)
        mine = "TooLarge" if stopped else "error"  # of two faults in one line either may come first
    seconds = time.process_time() - began
    if seconds > SLOW_SECONDS:
        return "timed", f"took {seconds:.2f} s"
    if large:
        return "timed", ""
    if mine in ("BudgetSpent", "TooLarge"):
        return "stopped", ""
    try:
        plain = run_plainly(source)
    except AttributeError:  # behind the guard arguments come before the method: a handler may see their fault first
        plain = mine if "except ValueError" in source else "error"
    except Exception:
        plain = "error"
    if mine == plain or " at 0x" in plain:
        return "agree", ""
    if sorted(mine) == sorted(plain):  # behind the guard a set has an order of its own, whatever the hash seed
        return "unordered", ""
    return "differ", f"guard {mine[:200]} CPython {plain[:200]}"


def run_plainly(source: str) -> str:
    """What a program returns in CPython, as text."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "plain", "exec"), names)
    return str(names["program"]())


def is_unordered(source: str) -> bool:
    """Whether a program ends otherwise under another hash seed of CPython."""
    code = "import sys; from tests.adversarial.grammar import run_plainly; print(run_plainly(sys.stdin.read()))"
    ends = set()
    for seed in range(HASH_SEEDS):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-c", code], input=source, text=True, capture_output=True, env=environment
        )
        ends.add((done.returncode, done.stdout))
    return len(ends) > 1


def run_batch(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: programs first..first+count-1; outcomes counted, violations told."""
    outcomes: Counter[str] = Counter()
    violations = []
    for number in range(request["first"], request["first"] + request["count"]):
        source, large = make_program(number, seed=request["seed"])
        outcome, wrong = compare_program(source, large=large)
        outcomes[outcome] += 1
        if wrong:
            violations.append({"number": number, "outcome": outcome, "wrong": wrong, "code": source})
    return {"outcomes": outcomes, "violations": violations[:20]}


def fuzz_programs(*, count: int, seed: int) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Outcomes and violations of `count` programs; a batch that takes the worker with it is a violation, too."""
    outcomes: Counter[str] = Counter()
    violations: list[dict[str, Any]] = []
    requests = [{"seed": seed, "first": first, "count": min(BATCH, count - first)} for first in range(0, count, BATCH)]
    patience = Patience(silence=5.0, code=BATCH_SECONDS, job=BATCH_SECONDS)
    with Pool(1, limits=Limits(memory_bytes=2 * MEMORY_BYTES), patience=patience, tries=1) as pool:
        for number, batch in pool.run(run_batch, requests):
            if isinstance(batch, LostJob):
                outcomes["lost"] += 1
                violations.append(
                    {"number": requests[number]["first"], "wrong": f"the worker was lost: {batch.reason}"}
                )
            else:
                differ = [violation for violation in batch["violations"] if violation["outcome"] == "differ"]
                unordered = [violation for violation in differ if is_unordered(violation["code"])]
                outcomes.update(batch["outcomes"])
                outcomes.update(differ=-len(unordered), unordered=len(unordered))
                violations += [violation for violation in batch["violations"] if violation not in unordered]
    return outcomes, violations


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status is 1 when there was a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial.grammar")
    parser.add_argument("--count", type=int, default=100_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    outcomes, violations = fuzz_programs(count=options.count, seed=options.seed)
    for violation in violations:
        print(json.dumps(violation))
    print(json.dumps({"programs": outcomes.total(), "outcomes": dict(outcomes), "violations": len(violations)}))
    return min(len(violations), 1)


if __name__ == "__main__":
    sys.exit(main())
