"""The shape of files: short, quiet, and labelled."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("envs", "skills", "sdg", "experiments")
FILES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def long_functions(tree: ast.AST, *, limit: int) -> list[str]:
    """Functions longer than `limit` lines, their docstrings not counted."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if lines > limit:
                found.append(f"{node.name} (line {node.lineno}) has {lines} lines, {limit} is the most")
    return found


def prints(tree: ast.AST) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_are_short(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= MAX_FILE_LINES, f"{label(path)} has {lines} lines: find the second noun in it and give it a file."


@pytest.mark.parametrize("path", FILES, ids=label)
def test_functions_are_short(path: Path) -> None:
    found = long_functions(ast.parse(path.read_text("utf-8")), limit=MAX_FUNCTION_LINES)
    assert not found, f"{label(path)}: " + "; ".join(found)


@pytest.mark.parametrize("path", FILES, ids=label)
def test_only_experiments_print(path: Path) -> None:
    lines = prints(ast.parse(path.read_text("utf-8")))
    assert path.is_relative_to(ROOT / "experiments") or not lines, (
        f"{label(path)} prints on lines {lines}: return a value or raise, whoever calls decides what is shown."
    )


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_say_what_they_are(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{label(path)} has no docstring of its own."


def test_every_folder_of_code_is_a_package() -> None:
    missing = {label(path.parent) for path in FILES if not (path.parent / "__init__.py").exists()}
    assert not missing, f"without __init__.py an installed copy lacks them: {sorted(missing)}"


@pytest.mark.parametrize("floor", FLOORS)
def test_floors_are_typed(floor: str) -> None:
    assert (ROOT / floor / "py.typed").exists()


def test_the_measures_measure() -> None:
    body = "\n".join("    x = 1" for _ in range(5))
    assert long_functions(ast.parse(f"def f():\n{body}"), limit=5) == ["f (line 1) has 6 lines, 5 is the most"]
    assert not long_functions(ast.parse(f'def f():\n    """a\n\n    b"""\n{body}'), limit=6)
    assert prints(ast.parse("x = 1\nprint(x)")) == [2]
