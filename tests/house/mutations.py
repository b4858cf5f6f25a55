"""Mutations of the code under test that its tests catch.

    COVERAGE_FILE=/tmp/contexts python -m pytest -m "not slow" -n 2 --cov --cov-context=test --cov-report=
    python -m tests.house.mutations /tmp/contexts [--count 50] [--seed 0]

Under test is every line in a function that a test's own process runs, as the coverage file tells. A line is drawn, one
thing on it is changed in a copy of the tree, and the tests that run the line are run until one fails or they hang. Each
mutation is a line of JSON; the exit status is 1 where fewer than nine of ten are caught.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[2]
TESTS = 120
"""Most tests that are run for a mutation, drawn from those that run its line."""
SECONDS, HUNG = 600, 124
"""How long they may take, and the status of those that take longer."""
OPERATORS = {
    "Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">", "Eq": "!=", "NotEq": "==", "In": "not in", "NotIn": "in",
    "Is": "is not", "IsNot": "is", "And": "or", "Or": "and", "Add": "-", "Sub": "+", "Mult": "//", "Div": "*",
    "FloorDiv": "*",
}  # fmt: skip


def changes(node: ast.AST, source: str) -> Iterator[tuple[ast.AST, str]]:
    """The mutations of a node: another operator, number or truth, a condition turned round, no value, no statement.

    Each is a part of the source with what is written in its place.
    """

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new = OPERATORS[type(node.ops[0]).__name__]
        yield node, f"(({text(node.left)}) {new} ({text(node.comparators[0])}))"
    elif isinstance(node, ast.BoolOp):
        new = OPERATORS[type(node.op).__name__]
        yield node, "(" + f" {new} ".join(f"({text(value)})" for value in node.values) + ")"
    elif isinstance(node, ast.BinOp) and type(node.op).__name__ in OPERATORS:
        yield node, f"(({text(node.left)}) {OPERATORS[type(node.op).__name__]} ({text(node.right)}))"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"bool({text(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield node, repr(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield node.test, f"(not ({text(node.test)}))"
    elif isinstance(node, ast.Return) and node.value is not None and text(node.value) != "None":
        yield node.value, "None"
    elif isinstance(node, (ast.AugAssign, ast.Raise, ast.Delete)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield node, "pass"


def mutate_source(source: str, part: Any, text: str) -> str:
    """The source with a part of it written anew; columns are bytes, as `ast` counts them."""
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[: part.lineno - 1]) + lines[part.lineno - 1][: part.col_offset]
    after = lines[part.end_lineno - 1][part.end_col_offset :] + b"".join(lines[part.end_lineno :])
    return (before + text.encode() + after).decode()


def mutations(source: str, line: int) -> list[tuple[ast.AST, str]]:
    """What can be changed on a line within a function."""
    tree = ast.parse(source)
    in_functions: set[int] = set()
    in_f_strings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in node.body:
                in_functions |= {id(inner) for inner in ast.walk(statement)}
        elif isinstance(node, ast.JoinedStr):
            in_f_strings |= {id(inner) for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if id(node) in in_functions - in_f_strings]
    nodes = [node for node in nodes if getattr(node, "lineno", 0) == line]
    return [change for node in nodes for change in changes(node, source)]


def pytest_status(tree: Path, tests: list[str], *options: str) -> int:
    """Pytest's exit status for the tests on the tree as it is now, or HUNG."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *tests]
    try:
        return subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return HUNG


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("coverage", help="a coverage file with a context for each test")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = CoverageData(arguments.coverage)
    data.read()
    lines = []
    for file in sorted(data.measured_files()):
        for line, contexts in sorted(data.contexts_by_lineno(file).items()):
            lines.append((file, line, sorted({context.rpartition("|")[0] for context in contexts if context})))
    rng = random.Random(arguments.seed)
    rows = caught = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache"))
        while rows < arguments.count:
            file, line, tests = rng.choice(lines)
            path = tree / Path(file).relative_to(ROOT)
            source = path.read_text(encoding="utf-8")
            possible = mutations(source, line) if tests else []
            if not possible:
                continue
            part, text = rng.choice(possible)
            path.write_text(mutate_source(source, part, text), encoding="utf-8")
            chosen = rng.sample(tests, min(TESTS, len(tests)))
            status = pytest_status(tree, chosen, "-n", "2")
            is_caught = status != 0
            path.write_text(source, encoding="utf-8")
            if is_caught and pytest_status(tree, chosen, "--collect-only") != 0:
                raise SystemExit(f"tests of {arguments.coverage} can't be collected: make it anew on this tree")
            rows, caught = rows + 1, caught + is_caught
            place = f"{path.relative_to(tree)}:{line}"
            old = ast.get_source_segment(source, part)
            row = {"caught": is_caught, "hung": status == HUNG, "at": place, "was": old, "is": text}
            print(json.dumps(row | {"tests": len(tests)}), flush=True)
    print(json.dumps({"mutations": rows, "caught": caught, "seed": arguments.seed}))
    return int(caught * 10 < rows * 9)


if __name__ == "__main__":
    sys.exit(main())
