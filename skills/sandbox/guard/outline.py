"""What stands at the top of a source: functions, docstrings and constants, and which function is the entry."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from sdg.skills.sandbox.guard.errors import Refused

FRESH = ".fresh"
"""Name of the function that makes a module's lists, dicts and sets anew: nothing may last from one run to the next."""

_CHANGING = frozenset(
    str.split(
        "add append clear difference_update discard extend insert intersection_update pop popitem remove reverse "
        "setdefault sort symmetric_difference_update update"
    )
)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def names_bound(tree: ast.Module) -> frozenset[str]:
    """Every name that the source binds anywhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef) or (isinstance(node, ast.ExceptHandler) and node.name):
            names.add(str(node.name))
    return frozenset(names)


def entry_of(tree: ast.Module, entry: str | None) -> str:
    """The entry function's name; the module must hold nothing but the functions that it needs, and constants."""
    functions: dict[str, ast.FunctionDef] = {}
    known: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            if statement.name in functions:
                raise Refused(f"{statement.name} is defined twice", line=statement.lineno)
            if any(not _is_constant(d) for d in [*statement.args.defaults, *statement.args.kw_defaults] if d):
                raise Refused("default values must be plain constants", line=statement.lineno)
            functions[statement.name] = statement
        elif not _is_harmless(statement, known):
            raise Refused(_misplaced(tree, entry), line=statement.lineno)
        for target in targets_of(statement):
            if target.id in known:  # one may be made once and the other for each call: it would last, and grow
                raise Refused(
                    f"{target.id} is bound twice: give the second constant a name of its own", line=target.lineno
                )
            known.add(target.id)
    for statement in tree.body:
        for target in targets_of(statement):
            if target.id in functions:
                raise Refused(f"{target.id} is a function: give the constant another name", line=statement.lineno)
    if not functions:
        wanted = f"def {entry}():" if entry else "one function"
        raise Refused(f"there is no function: define {wanted}")
    _refuse_changes(tree, constants={target.id for s in tree.body if is_fresh(s) for target in targets_of(s)})
    if entry is None:
        called = {name for f in functions.values() for name in _loads(f) if name != f.name}
        entries = [name for name in functions if name not in called]
        if len(entries) != 1:
            raise Refused(f"define exactly one function that the others serve; there are: {', '.join(functions)}")
        entry = entries[0]
    if entry not in functions:
        raise Refused(f"define a function named {entry}; there are: {', '.join(functions)}")
    _check_entry(functions, entry)
    return entry


def is_fresh(statement: ast.stmt) -> bool:
    """Whether a statement of the module must be run anew before each run: a constant that is not a plain one."""
    return isinstance(statement, ast.Assign | ast.AnnAssign) and not (
        statement.value is None or _is_constant(statement.value)
    )


def targets_of(statement: ast.stmt) -> list[ast.Name]:
    """The names that a module's constant is bound to."""
    if isinstance(statement, ast.Assign):
        parts = [part for target in statement.targets for part in getattr(target, "elts", [target])]
        return [part for part in parts if isinstance(part, ast.Name)]
    return [statement.target] if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) else []


def _misplaced(tree: ast.Module, entry: str | None) -> str:
    only = "outside functions only constants such as NAME = 'some text' are allowed"
    wanted = f"def {entry}():" if entry else "a function"
    if any(isinstance(statement, ast.FunctionDef) for statement in tree.body):
        return f"{only}: leave this line out, or put it into {wanted}"
    return f"{only}: put the code into {wanted}"


def _refuse_changes(tree: ast.Module, *, constants: set[str]) -> None:
    """A constant that is changed is meant to last, which nothing does."""
    for node in ast.walk(tree) if constants else ():
        owner = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            owner = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner = node.value
        if isinstance(owner, ast.Name) and owner.id in constants:
            raise Refused(
                f"{owner.id} is a constant, and nothing lasts from one call to the next: make it inside the function",
                line=getattr(node, "lineno", 0),
            )


def _check_entry(functions: Mapping[str, ast.FunctionDef], entry: str) -> None:
    arguments = functions[entry].args
    if arguments.posonlyargs or arguments.args or arguments.kwonlyargs:
        raise Refused(f"{entry}() must take no arguments: write def {entry}():", line=functions[entry].lineno)
    needed, new = {entry}, {entry}
    while new:
        new = {name for f in new for name in _loads(functions[f]) if name in functions} - needed
        needed |= new
    unused = [name for name in functions if name not in needed]
    if unused:
        raise Refused(
            f"{unused[0]} is never used by {entry}: define only what it needs", line=functions[unused[0]].lineno
        )


def _loads(function: ast.FunctionDef) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _is_constant(node: ast.expr) -> bool:
    """A value that nothing can change: it is made once."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and type(getattr(node.operand, "value", None)) in (int, float)
    if isinstance(node, ast.Tuple):
        return len(node.elts) <= 100 and all(_is_constant(item) for item in node.elts)
    return isinstance(node, ast.Constant)


def _is_literal(node: ast.expr | None, known: Collection[str]) -> bool:
    """Constants, `known` ones by name, displays of them, arithmetic on them, and `float("inf")`."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(_is_literal(item, known) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_literal(part, known) for part in [*node.keys, *node.values])
    if isinstance(node, ast.BinOp):
        both = _is_literal(node.left, known) and _is_literal(node.right, known)
        return both and isinstance(node.op, _ARITHMETIC)
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id == "float" and not node.keywords
        return plain and len(node.args) == 1 and _is_constant(node.args[0])
    return node is not None and (_is_constant(node) or (isinstance(node, ast.Name) and node.id in known))


def _is_harmless(statement: ast.stmt, known: Collection[str]) -> bool:
    """A docstring, or constants bound to names."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and _is_literal(statement.value, known)
    return (
        isinstance(statement, ast.Assign)
        and all(_is_plain_target(target, statement.value) for target in statement.targets)
        and _is_literal(statement.value, known)
    )


def _is_plain_target(target: ast.expr, value: ast.expr) -> bool:
    """A name, or as many names as there are values."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple | ast.List):
        return len(target.elts) == len(value.elts) and all(isinstance(part, ast.Name) for part in target.elts)
    return isinstance(target, ast.Name)
