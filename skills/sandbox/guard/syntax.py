"""What generated source may contain: a whitelist of nodes, of their fields, of names and of attributes.

Everything that is not listed is refused with a message for the model that wrote it, all of it at once.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.helpers import NAMES as MODULES

MAX_SOURCE_BYTES = 8 * 1024
"""Unless a guard is told otherwise."""
MAX_NESTING = 60
MAX_BLOCKS = 16
"""Loops, comprehensions and handlers inside one another: the compilers of Python 3.12 and 3.13 crash where a
comprehension is the 21st block that is open."""
_BLOCKS: dict[type[ast.AST], int] = {
    ast.For: 1, ast.While: 1, ast.ListComp: 1, ast.SetComp: 1, ast.DictComp: 1, ast.GeneratorExp: 1, ast.With: 2,
    ast.Try: 3,
}  # fmt: skip
_HINTS = frozenset({"typing", "__future__", "collections.abc"})

FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Module: ("body", "type_ignores"),
    ast.FunctionDef: ("name", "args", "body", "decorator_list", "returns", "type_comment"),
    ast.arguments: ("posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults"),
    ast.arg: ("arg", "annotation", "type_comment"),
    ast.Return: ("value",),
    ast.Delete: ("targets",),
    ast.Assign: ("targets", "value", "type_comment"),
    ast.AugAssign: ("target", "op", "value"),
    ast.AnnAssign: ("target", "annotation", "value", "simple"),
    ast.For: ("target", "iter", "body", "orelse", "type_comment"),
    ast.While: ("test", "body", "orelse"),
    ast.If: ("test", "body", "orelse"),
    ast.Raise: ("exc", "cause"),
    ast.Try: ("body", "handlers", "orelse", "finalbody"),
    ast.ExceptHandler: ("type", "name", "body"),
    ast.Assert: ("test", "msg"),
    ast.Nonlocal: ("names",),
    ast.Expr: ("value",),
    ast.Pass: (),
    ast.Break: (),
    ast.Continue: (),
    ast.BoolOp: ("op", "values"),
    ast.NamedExpr: ("target", "value"),
    ast.BinOp: ("left", "op", "right"),
    ast.UnaryOp: ("op", "operand"),
    ast.Lambda: ("args", "body"),
    ast.IfExp: ("test", "body", "orelse"),
    ast.Dict: ("keys", "values"),
    ast.Set: ("elts",),
    ast.ListComp: ("elt", "generators"),
    ast.SetComp: ("elt", "generators"),
    ast.DictComp: ("key", "value", "generators"),
    ast.GeneratorExp: ("elt", "generators"),
    ast.comprehension: ("target", "iter", "ifs", "is_async"),
    ast.Compare: ("left", "ops", "comparators"),
    ast.Call: ("func", "args", "keywords"),
    ast.keyword: ("arg", "value"),
    ast.FormattedValue: ("value", "conversion", "format_spec"),
    ast.JoinedStr: ("values",),
    ast.Constant: ("value", "kind"),
    ast.Attribute: ("value", "attr", "ctx"),
    ast.Subscript: ("value", "slice", "ctx"),
    ast.Starred: ("value", "ctx"),
    ast.Name: ("id", "ctx"),
    ast.List: ("elts", "ctx"),
    ast.Tuple: ("elts", "ctx"),
    ast.Slice: ("lower", "upper", "step"),
}
"""Every node that may appear, with the fields that this guard knows. Operators and contexts have none."""

OPERATORS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)


def parse(source: str, *, at_most: int = MAX_SOURCE_BYTES) -> ast.Module:
    """The tree of a source text. Raises `Refused` for more bytes than `at_most`, no Python, or deep nesting."""
    if not isinstance(source, str):
        raise Refused("The code must be text.")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Refused("The code contains characters that are not valid text.") from None
    if size > at_most:
        shorter = "leave out comments and what isn't called"
        raise Refused(f"The code has {size} bytes; at most {at_most} are allowed: {shorter}.")
    if "\0" in source:
        raise Refused("The code contains a null character.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        raise Refused(advice.syntax(error), line=error.lineno or 0) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise Refused(f"This cannot be read as Python: {str(error)[:200] or 'nested too deeply'}.") from None
    _bound_nesting(tree)
    return tree


def _bound_nesting(tree: ast.AST) -> None:
    level, depth = [(tree, 0)], 0
    while level:
        depth += 1
        if depth > MAX_NESTING or max(blocks for _, blocks in level) > MAX_BLOCKS:
            line = min((getattr(node, "lineno", 0) for node, _ in level), default=0)
            told = (
                f"{MAX_NESTING} levels" if depth > MAX_NESTING else f"{MAX_BLOCKS} loops, comprehensions and handlers"
            )
            raise Refused(f"The code is nested more than {told} deep.", line=line)
        level = [
            (child, blocks + _BLOCKS.get(type(child), 0))
            for node, blocks in level
            for child in ast.iter_child_nodes(node)
        ]


def resolved(tree: ast.Module, shadowed: Collection[str]) -> dict[str, str]:
    """What the names of imports stand for, by name, and `module.member` for members of a module that was imported.

    Imports of what there is, of what only type hints need, and of what nothing uses become `pass`; others stay, for the
    weaver to refuse. `shadowed` are names that the source binds or the host gives.
    """
    found: dict[str, str] = {}
    used = set(loads(tree))
    for node in ast.walk(tree):
        for body in (block for _, block in ast.iter_fields(node) if isinstance(block, list)):
            for place, statement in enumerate(body):
                names = _imported(statement, used)
                if names is not None and names.keys().isdisjoint(shadowed):
                    found |= names
                    body[place] = ast.copy_location(ast.Pass(), statement)
    members = {f".x_{module}.{name}" for module, names in MODULES.items() for name in names}
    return found | {member: member for member in members}


def _imported(node: ast.stmt, used: Collection[str]) -> dict[str, str] | None:
    """What the names of one import stand for, None where it is no import that this guard can do without."""
    if not isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "level", False):
        return None
    found: dict[str, str] = {}
    for alias in node.names:
        module = node.module if isinstance(node, ast.ImportFrom) else None
        name, bound = alias.name, alias.asname or alias.name
        if name in MODULES.get(module or "", ()) or (module, name) == ("contextlib", "suppress"):
            found[bound] = f".x_{module}.{name}"
        elif module is None and name in MODULES:
            found[bound] = f".x_{name}"
        elif {module, name} & _HINTS:
            continue
        elif bound in used or (module or name).partition(".")[0] not in advice.MODULES:
            return None
    return found


def loads(node: ast.AST) -> Iterator[str]:
    """Names that are read anywhere in a tree."""
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))


def load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Store())


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=load(name), args=list(arguments), keywords=[])
