"""Generated source with the functions that its entry needs and no others: models write helpers once, or too many."""

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sdg.sandbox.guard.library import BUILTINS
from sdg.sandbox.guard.outline import names_at_top, names_bound, reached_names
from sdg.sandbox.guard.syntax import loads, parse_code

MAX_STATEMENTS = 1000
"""At the top of a source; one with more is left as it is, for the guard to refuse."""


@dataclass(frozen=True, slots=True, eq=False)
class SourcePart:
    """A statement at the top of a source, its text, the names that it binds, those of them that it can lend to others,
    and those that it reads."""

    node: ast.stmt
    text: str
    names: list[str]
    provides: list[str]
    reads: frozenset[str]


def prune_source(
    source: str,
    entry: str,
    *,
    parts: Sequence[SourcePart] | None = None,
    others: Sequence[Sequence[SourcePart]] = (),
    given: Collection[str] = (),
) -> str:
    """`source` without the functions that `entry` doesn't need, and with those of `others` that it lacks.

    `parts` are the source's own where they are known. Of `others`, parts of sources, the first that binds a missing
    name gives it; none is missing that is `given`, a builtin or bound in the source. What isn't Python, has no `entry`
    or needs no change comes back as it is; nothing but functions and constants is added, and nothing but functions,
    imports for annotations and the line that would start `entry` left out.
    """
    parts = parts_of(source) if parts is None else parts
    own_names = {name for part in parts for name in (*part.names, *part.provides)}
    if entry not in own_names:
        return source
    known = {*given, *BUILTINS, *own_names}
    providers = [part for other_parts in reversed(others) for part in other_parts]
    provided = {name: part for part in providers for name in part.provides if name not in known}
    if provided.keys() & {name for part in parts for name in part.reads}:
        bound = {name for part in parts for name in names_bound(part.node)}
        provided = {name: part for name, part in provided.items() if name not in bound}
    needs = reached_names(entry, {name: part.reads for part in (*provided.values(), *parts) for name in part.names})
    borrowed = [part for name, part in provided.items() if name in needs]
    own_parts = [
        part
        for part in parts
        if starts(part.node) != entry
        and not (isinstance(part.node, ast.ImportFrom) and part.node.module in {"typing", "__future__"})
        and (not isinstance(part.node, ast.FunctionDef) or part.node.name in needs)
    ]
    if not borrowed and len(own_parts) == len(parts):
        return source
    return "\n\n\n".join(part.text for part in (*dict.fromkeys(borrowed), *own_parts)) + "\n"


def amend_source(source: str, entry: str, *, earlier: str, given: Collection[str] = ()) -> str:
    """`source` without what `entry` doesn't need; functions that it leaves out, `entry` too, are those of `earlier`,
    but for names that are `given`."""
    parts, before = parts_of(source), parts_of(earlier)
    names = {name for part in parts for name in part.names}
    if names and entry not in names:
        provided = [part for part in before if entry in part.names]
        parts, source = [*parts, *provided], source + "\n\n" + "".join(part.text for part in provided) + "\n"
    return prune_source(source, entry, parts=parts, others=[before], given=given)


def starts(node: ast.stmt) -> str:
    """`name` for a statement `name()`, also under `if __name__ == "__main__":`, and in `print(name())`."""
    match node:
        case ast.If(test, [only], []) if "__name__" in loads(test):
            return starts(only)
        case ast.Expr(ast.Call(ast.Name(name), [], [])) | ast.Expr(ast.Call(_, [ast.Call(ast.Name(name), [], [])], [])):
            return str(name)
    return ""


def parts_of(source: str) -> list[SourcePart]:
    """The statements at the top of a source, each with the comments above it. What follows another on its line belongs
    to that one."""
    tree = parse_code(source)
    if tree is None or len(tree.body) > MAX_STATEMENTS:
        return []
    lines, end, parts = source.split("\n"), 0, list[SourcePart]()
    for node in tree.body:
        last = node.end_lineno or node.lineno
        if last > end:
            names = names_at_top(node)
            provides = names if isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign) else []
            if isinstance(node, ast.Import | ast.ImportFrom):
                provides = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            text = "\n".join(lines[end:last]).strip("\n")
            parts.append(SourcePart(node, text, names, provides, frozenset(loads(node))))
        end = max(end, last)
    return parts


def code_lines(source: str) -> int:
    """Lines of a program that aren't empty or a comment alone."""
    return sum(bool(text.strip()) and not text.strip().startswith("#") for text in source.split("\n"))
