"""Generated source with the functions that its entry needs and no others: models write helpers once, or too many."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sdg.skills.sandbox.guard.extract import parsed
from sdg.skills.sandbox.guard.outline import names_at_top, needed_names, starts

__all__ = ["amended", "needed"]


def needed(source: str, entry: str, *, others: Sequence[str] = ()) -> str:
    """`source` without the functions that `entry` doesn't need, and with those of `others` that it lacks.

    Of `others`, sources too, the first that binds a missing name gives it. What isn't Python, has no `entry` or needs
    no change comes back as it is; nothing but functions and constants is added, and nothing but functions, imports for
    annotations and the line that would start `entry` left out.
    """
    parts = list(_parts(source))
    found = {name for node, _ in parts for name in (*names_at_top(node), *_lends(node))}
    if entry not in found:
        return source
    lent = {name: part for other in reversed(others) for part in _parts(other) for name in _lends(part[0])}
    wanted = needed_names(entry, [node for node, _ in (*lent.values(), *parts)])
    added = dict.fromkeys(lent[name] for name in lent if name in wanted and name not in found)
    kept = [part for part in parts if not _is_spare(part[0], entry) and
            (not isinstance(part[0], ast.FunctionDef) or part[0].name in wanted)]  # fmt: skip
    if not added and len(kept) == len(parts):
        return source
    return "\n\n\n".join(text for _, text in [*added, *kept]) + "\n"


def amended(source: str, entry: str, *, earlier: str) -> str:
    """`source` without what `entry` doesn't need; functions that it leaves out, `entry` too, are those of `earlier`."""
    names = {name for node, _ in _parts(source) for name in names_at_top(node)}
    if names and entry not in names:
        source += "\n\n" + "".join(part for node, part in _parts(earlier) if entry in names_at_top(node)) + "\n"
    return needed(source, entry, others=[earlier] if earlier else [])


def _lends(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [name.asname or name.name.partition(".")[0] for name in node.names]
    return names_at_top(node) if isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign) else []


def _is_spare(node: ast.stmt, entry: str) -> bool:
    return starts(node) == entry or (isinstance(node, ast.ImportFrom) and node.module in {"typing", "__future__"})


def _parts(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements at the top of a source, each with the comments above it. What follows another on its line belongs
    to that one."""
    tree, lines, end = parsed(source), source.split("\n"), 0
    for node in tree.body if tree is not None else ():
        last = node.end_lineno or node.lineno
        if last > end:
            yield node, "\n".join(lines[end:last]).strip("\n")
        end = max(end, last)
