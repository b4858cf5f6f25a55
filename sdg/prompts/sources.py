"""Generated source with the functions that its entry needs and no others: models write helpers once, or too many."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MAX_SOURCE = 64 * 1024
"""Characters of a source that is looked at; guards admit less, once what isn't needed is gone."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement at the top of a source: what it binds, what it names, its text.

    Other sources may be lent what is `plain`. `starts` is the function that it calls and no more ("" for none);
    `is_typing` marks the import of names for annotations, which nothing reads.
    """

    bound: frozenset[str]
    named: frozenset[str]
    text: str
    is_function: bool
    plain: bool
    starts: str
    is_typing: bool


def needed(source: str, entry: str, *, others: Sequence[str] = ()) -> str:
    """`source` without the functions that `entry` doesn't need, and with those of `others` that it lacks.

    Of `others`, sources too, the first that binds a missing name gives it. What isn't Python, has no `entry` or needs
    no change comes back as it is; nothing but functions and constants is added, and nothing but functions, imports for
    annotations and the line that would start `entry` left out.
    """
    parts = _parts(source)
    found = _parts_by_name(parts)
    if entry not in found:
        return source
    lent = {
        name: part for other in reversed(others) for name, part in _parts_by_name(_parts(other)).items() if part.plain
    }
    wanted = _reached(entry, lent | found)
    added = dict.fromkeys(lent[name] for name in lent if name in wanted and name not in found)
    rest = [part for part in parts if part.starts != entry and not part.is_typing]
    kept = [part for part in rest if not part.is_function or part.bound & wanted]
    if not added and len(kept) == len(parts):
        return source
    return "\n\n\n".join(part.text for part in [*added, *kept]) + "\n"


def _reached(entry: str, parts: Mapping[str, _Part]) -> frozenset[str]:
    """All names that a function needs, those that its helpers need included."""
    reached, new = {entry}, [entry]
    while new:
        named = parts[new.pop()].named - reached
        new += [name for name in named if name in parts]
        reached |= named
    return frozenset(reached)


def _parts_by_name(parts: Sequence[_Part]) -> dict[str, _Part]:
    return {name: part for part in parts for name in part.bound}


def _parts(source: str) -> list[_Part]:
    """The statements at the top of a source, [] where it isn't Python or longer than anybody reads."""
    if len(source) > MAX_SOURCE:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(_statements(ast.parse(source), source.split("\n")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _statements(tree: ast.Module, lines: Sequence[str]) -> Iterator[_Part]:
    """Each with the comments above it. What follows another on its line belongs to that one."""
    end = 0
    for node in tree.body:
        last = node.end_lineno or node.lineno
        if last > end:
            text = "\n".join(lines[end:last]).strip("\n")
            plain = isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign)
            is_typing = isinstance(node, ast.ImportFrom) and node.module in {"typing", "__future__"}
            is_function = isinstance(node, ast.FunctionDef)
            yield _Part(_bound(node), _named(node), text, is_function, plain, _starts(node), is_typing)
        end = max(end, last)


def _starts(node: ast.stmt) -> str:
    """`name` for a statement `name()`, also under `if __name__ == "__main__":`."""
    if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
        return _starts(node.body[0]) if "__name__" in _named(node) else ""
    match node:
        case ast.Expr(ast.Call(ast.Name(name), [], [])):
            return str(name)
    return ""


def _bound(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef):
        return frozenset({node.name})
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return frozenset(each.id for each in stored)


def _named(node: ast.stmt) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


__all__ = ["needed"]
