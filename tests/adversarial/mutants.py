"""Mutates snippets and runs them through the guard: nothing may get past it.

    python -m tests.adversarial.mutants [CORPUS.json ...] [--count 100000] [--seed 0]

Every mutant must be refused, or run to an answer or to an error of its own. A violation is anything else: another
exception out of the guard, something asked of the interpreter (a file, an import, a process), a changed interpreter,
more than a second of work, a crash or a hang of the worker. Violations are printed as JSON with their source (and the
exit status is 1).
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.experiments.bench.hostile import MEMORY_BYTES, read_json
from sdg.experiments.bench.hostile_world import run_snippet
from sdg.sandbox.guard.guard import BUDGET_STEPS
from sdg.sandbox.process.confine import Limits
from sdg.sandbox.process.pool import LostJob, Patience, Pool

DATA = Path(__file__).parents[1] / "data"
BATCH = 250
SLOW_SECONDS = 1.0
BATCH_SECONDS = 60.0
ALONE_SECONDS = 30.0
"""Longest wait for one mutant: far more than a second of work, because a busy machine is no fault of the guard."""
_TOKEN = re.compile(r"\w+|[^\w\s]+|\s+")
_SPICE = (
    "__class__", "__import__", "__builtins__", "gi_frame", "f_globals", "format", "mro", "eval", "open", "lambda",
    "yield", "await", "async", "*", "**", "@", ":=", "finally:", "except:", "while True:", "10 ** 9", "range(10 ** 9)",
    "[x] * 9999", ".append", "(x for x in x)", "global", "nonlocal", "del", "import os", "class A:", "f'{x}'", "{}",
    "()", "[]", "not", "is", "in", "sorted", "map", "zip", "str", "try:", "return", "\\n", "\\", "#", "0", "-1", "None",
    "True", "'a'", "o.name", "get_observed_objects()", "goto", "if", "else", "and", "or", "==", "<", "+", "-", "<<",
    "%", "'%9d' %",
)  # fmt: skip
Mutation = Callable[[list[str], list[str], random.Random], list[str]]


def mutate(source: str, other: str, rng: random.Random) -> str:
    """A source with one to six changes to its syntax tree, its tokens or its lines; `other` lends pieces."""
    if rng.random() < 0.6:
        spliced = splice(source, other, rng)
        if rng.random() < 0.9:
            return spliced
        source = spliced
    tokens, spare = _TOKEN.findall(source), _TOKEN.findall(other)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4, 6))):
        if tokens:
            tokens = rng.choice(_MUTATIONS)(tokens, spare, rng)
    return "".join(tokens)


def splice(source: str, other: str, rng: random.Random) -> str:
    """A source with one to three of its expressions or statements replaced by some of the other's, if both parse."""
    try:
        tree, spare = ast.parse(source), ast.parse(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lent: dict[type, list[Any]] = {
        kind: [node for node in ast.walk(spare) if isinstance(node, kind)] for kind in (ast.expr, ast.stmt)
    }
    for _ in range(rng.randint(1, 3)):
        places = [(node, name) for node in ast.walk(tree) for name, _ in ast.iter_fields(node)]
        node, name = rng.choice(places)
        old = getattr(node, name)
        kind = ast.stmt if name in ("body", "orelse", "finalbody") and isinstance(old, list) else ast.expr
        if isinstance(old, list) and old and lent[kind]:
            old[rng.randrange(len(old))] = copy.deepcopy(rng.choice(lent[kind]))
        elif isinstance(old, ast.expr) and lent[ast.expr]:
            setattr(node, name, copy.deepcopy(rng.choice(lent[ast.expr])))
    try:
        return ast.unparse(tree)[:9000]
    except Exception:  # a tree that is no program fails in unparse in any way
        return source


def _drop(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(tokens))
    return tokens[:at] + tokens[at + rng.randint(1, 3) :]


def _repeat(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(tokens))
    return tokens[:at] + tokens[at : at + rng.randint(1, 12)] * rng.randint(2, 4) + tokens[at:]


def _swap(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    first, second = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens = list(tokens)
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return tokens


def _season(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(tokens))
    return [*tokens[:at], rng.choice(_SPICE), *tokens[at + rng.randint(0, 1) :]]


def _borrow(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    if not spare:
        return tokens
    at, start = rng.randrange(len(tokens)), rng.randrange(len(spare))
    return tokens[:at] + spare[start : start + rng.randint(1, 20)] + tokens[at + rng.randint(0, 5) :]


def _graft_line(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    """Put a line of the other source behind a line of this one, indented alike: this parses far more often."""
    lines, others = "".join(tokens).split("\n"), [line for line in "".join(spare).split("\n") if line.strip()]
    if len(lines) < 2 or not others:
        return tokens
    at = rng.randrange(1, len(lines))
    indent = re.match(r"\s*", lines[at] or lines[at - 1])
    lines.insert(at, (indent.group(0) if indent else "") + rng.choice(others).strip())
    return _TOKEN.findall("\n".join(lines))


def _rename(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    """Replace one word everywhere by another of the two sources."""
    words = [token for token in tokens if token.isidentifier()]
    others = [token for token in spare if token.isidentifier()]
    if not words or not others:
        return tokens
    old, new = rng.choice(words), rng.choice(others)
    return [new if token == old else token for token in tokens]


def _garble(tokens: list[str], spare: list[str], rng: random.Random) -> list[str]:
    at = rng.randrange(len(tokens))
    return [
        *tokens[:at],
        chr(rng.choice((0, 9, 10, 12, 13, 32, 34, 39, 92, 123, 0x1D428, 0xFF3F, 0x2028))),
        *tokens[at:],
    ]


_MUTATIONS: tuple[Mutation, ...] = (
    _drop,
    _repeat,
    _swap,
    _season,
    _season,
    _borrow,
    _graft_line,
    _graft_line,
    _rename,
    _garble,
)


def mutant(snippets: Sequence[Mapping[str, Any]], number: int, *, seed: int) -> dict[str, str]:
    """The `number`th mutant of a seed: always the same."""
    rng = random.Random(seed * 1_000_003 + number)
    first, second = rng.choice(snippets), rng.choice(snippets)
    return {"code": mutate(first["code"], second["code"], rng), "api": first.get("api", "check")}


def run_batch(request: dict[str, Any]) -> dict[str, Any]:
    """Inside the worker: run mutants first..first+count-1; outcomes counted, violations told."""
    outcomes: Counter[str] = Counter()
    violations = []
    for number in range(request["first"], request["first"] + request["count"]):
        program = mutant(request["snippets"], number, seed=request["seed"])
        began = time.process_time()  # not the clock: a busy machine is no fault of the guard
        try:
            result = run_snippet({**program, "world": request["world"], "budget": BUDGET_STEPS})
            outcome, effects = result["outcome"], list(result["effects"])
        except Exception as error:
            outcome, effects = "violation", [f"{type(error).__name__}: {error}"[:300]]
        seconds = time.process_time() - began
        if seconds > SLOW_SECONDS:
            effects.append(f"took {seconds:.2f} s")
        outcomes[outcome] += 1
        if effects:
            violations.append({"number": number, "effects": effects, **program})
    return {"outcomes": outcomes, "violations": violations[:20]}


def fuzz_mutants(
    snippets: Sequence[Mapping[str, Any]], world: Mapping[str, Any], *, count: int, seed: int
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Outcomes and violations of `count` mutants. A batch that loses the worker is run again one by one."""
    outcomes: Counter[str] = Counter()
    violations: list[dict[str, Any]] = []
    short = [snippet for snippet in snippets if len(snippet["code"]) < 3000]
    short = [{"code": snippet["code"], "api": snippet.get("api", "check")} for snippet in short]
    requests: list[dict[str, Any]] = [
        {"snippets": short, "world": world, "seed": seed, "first": first, "count": min(BATCH, count - first)}
        for first in range(0, count, BATCH)
    ]
    for number, batch in _in_worker(requests, seconds=BATCH_SECONDS):
        batch = _one_by_one(requests[number]) if isinstance(batch, LostJob) else batch
        outcomes.update(batch["outcomes"])
        violations += batch["violations"]
    return outcomes, violations


def _in_worker(requests: list[dict[str, Any]], *, seconds: float) -> Iterator[tuple[int, Any]]:
    patience = Patience(silence=5.0, code=seconds, job=seconds)
    with Pool(1, limits=Limits(memory_bytes=2 * MEMORY_BYTES), patience=patience, tries=1) as pool:
        yield from pool.run(run_batch, requests)


def _one_by_one(request: dict[str, Any]) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    violations: list[dict[str, Any]] = []
    numbers = range(request["first"], request["first"] + request["count"])
    alone = [{**request, "first": number, "count": 1} for number in numbers]
    for at, result in _in_worker(alone, seconds=ALONE_SECONDS):
        if isinstance(result, LostJob):
            program = mutant(request["snippets"], numbers[at], seed=request["seed"])
            outcomes["lost"] += 1
            violations.append({"number": numbers[at], "effects": [result.reason[:300]], **program})
        else:
            outcomes.update(result["outcomes"])
            violations += result["violations"]
    return {"outcomes": outcomes, "violations": violations}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit status is 1 when there was a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial.mutants")
    parser.add_argument("corpora", nargs="*", type=Path, default=[DATA / "hostile-own.json"])
    parser.add_argument("--count", type=int, default=100_000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    snippets = [snippet for corpus in options.corpora for snippet in read_json(corpus)]
    outcomes, violations = fuzz_mutants(
        snippets, read_json(DATA / "hostile-world.json"), count=options.count, seed=options.seed
    )
    for violation in violations:
        print(json.dumps(violation))
    print(json.dumps({"mutants": outcomes.total(), "outcomes": dict(outcomes), "violations": len(violations)}))
    return min(len(violations), 1)


if __name__ == "__main__":
    sys.exit(main())
