"""The shape of the house: files short, quiet and labelled, folders small, no circles between rooms."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SDG = ROOT / "sdg"
FLOORS = ("envs", "skills", "sandbox", "sdg", "experiments")
"""The folders whose rooms may form no circle: `sdg` without those of the others."""

FILES = sorted(SDG.rglob("*.py"))

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_MODULES = 16
"""In a folder, its `__init__.py` not counted."""

Edge = tuple[str, str]

CIRCLES: dict[str, dict[Edge, str]] = {}
"""Imports between rooms of a floor that close a circle, and what each is for."""


def long_functions(tree: ast.AST, *, limit: int) -> list[str]:
    """Functions longer than `limit` lines, their docstrings not counted."""
    long = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if lines > limit:
                long.append(f"{node.name} (line {node.lineno}) has {lines} lines, {limit} is the most")
    return long


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
    long = long_functions(ast.parse(path.read_text("utf-8")), limit=MAX_FUNCTION_LINES)
    assert not long, f"{label(path)}: " + "; ".join(long)


@pytest.mark.parametrize("path", FILES, ids=label)
def test_only_experiments_print(path: Path) -> None:
    lines = prints(ast.parse(path.read_text("utf-8")))
    assert path.relative_to(SDG).parts[0] in ("experiments", "api", "console.py") or not lines, (
        f"{label(path)} prints on lines {lines}: return a value or raise, whoever calls decides what is shown."
    )


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_say_what_they_are(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{label(path)} has no docstring of its own."


def test_every_folder_of_code_is_a_package() -> None:
    missing = {label(path.parent) for path in FILES if not (path.parent / "__init__.py").exists()}
    assert not missing, f"without __init__.py an installed copy lacks them: {sorted(missing)}"


def modules_of(folders: Iterable[Path]) -> Counter[str]:
    """How many modules each folder holds."""
    paths = (path for folder in folders for path in folder.rglob("*.py"))
    return Counter(label(path.parent) for path in paths if path.name != "__init__.py")


def test_folders_are_small() -> None:
    counted = modules_of([SDG, ROOT / "tests"])
    large = {folder: count for folder, count in counted.items() if count > MAX_MODULES}
    assert not large, f"at most {MAX_MODULES} modules a folder; find the second noun in it and give it a room: {large}"


def room_of(name: str, floor: str) -> str:
    """The room of a floor that a module of ours is in: its folder, or itself where it lies in none; "" elsewhere."""
    parts = name.split(".")
    if parts[0] != "sdg" or len(parts) < 2:
        return ""
    its_floor, below = (parts[1], parts[2:]) if parts[1] in FLOORS else ("sdg", parts[1:])
    return below[0] if its_floor == floor and below else ""


def edges(floor: str) -> dict[Edge, str]:
    """Which room imports which, lazily too, and where; what is imported for types alone doesn't count."""
    places: dict[Edge, str] = {}
    for path in FILES:
        inside = path.relative_to(ROOT).with_suffix("").parts
        if own := room_of(".".join(inside), floor):
            for name, line in imports_of(path):
                room = room_of(name, floor)
                if room and room != own and own != "__init__":
                    places.setdefault((own, room), f"{label(path)}:{line}")
    return places


@cache
def imports_of(path: Path) -> tuple[tuple[str, int], ...]:
    """`imported_modules` of a file, which every floor asks for."""
    return tuple(imported_modules(ast.parse(path.read_text("utf-8"))))


def imported_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules that are imported anywhere in a module but under `if TYPE_CHECKING`, by absolute names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        yield from imported_modules(node)


def circles(imports: Iterable[Edge]) -> set[Edge]:
    """The edges on circles: what is left when rooms that import nothing, or that nothing imports, are gone."""
    remaining = set(imports)
    while True:
        importing, importers = {room for room, _ in remaining}, {room for _, room in remaining}
        inner = {(a, b) for a, b in remaining if a in importers and b in importing}
        if inner == remaining:
            return remaining
        remaining = inner


@pytest.mark.parametrize("floor", FLOORS)
def test_rooms_of_a_floor_form_no_circles(floor: str) -> None:
    places, allowed = edges(floor), CIRCLES.get(floor, {})
    faults = [f"{a} -> {b} ({places[a, b]})" for a, b in sorted(circles(set(places) - set(allowed)))]
    assert not faults, "these go round; move what both need to the lower room: " + ", ".join(faults)
    for edge in allowed:
        assert circles(set(places) - (set(allowed) - {edge})), f"{edge} closes no circle any more: strike it out"


def test_circles_are_found() -> None:
    assert circles([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]) == {("b", "c"), ("c", "b")}
    assert not circles([("a", "b"), ("b", "c"), ("a", "c")])
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sdg.a\ndef f():\n    from sdg.gate import x"
    assert [name for name, _ in imported_modules(ast.parse(lazy))] == ["typing.TYPE_CHECKING", "sdg.gate.x"]


def test_it_is_typed() -> None:
    assert (SDG / "py.typed").exists()


def test_the_measures_measure() -> None:
    body = "\n".join("    x = 1" for _ in range(5))
    assert long_functions(ast.parse(f"def f():\n{body}"), limit=5) == ["f (line 1) has 6 lines, 5 is the most"]
    assert not long_functions(ast.parse(f'def f():\n    """a\n\n    b"""\n{body}'), limit=6)
    assert prints(ast.parse("x = 1\nprint(x)")) == [2]


MEANT_ALIKE = {"Thing", "World"}
"""Class names that two modules share, because they mean the same: things of two worlds, and the world as an interface
and as a user's."""


def test_a_class_name_means_one_thing() -> None:
    names = Counter(
        node.name
        for path in FILES
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not {name for name, count in names.items() if count > 1} - MEANT_ALIKE
