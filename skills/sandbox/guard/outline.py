"""What stands at the top of a source: functions, docstrings and constants, and which function is the entry."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable

from sdg.skills.sandbox.guard.syntax import loads

_CHANGING = frozenset(
    str.split(
        "add append appendleft clear difference_update discard extend insert intersection_update pop popitem popleft "
        "remove reverse setdefault sort subtract symmetric_difference_update update"
    )
)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_DEFINITION = (ast.FunctionDef, ast.ClassDef)
_JUDGED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that the whitelist of syntax says more about."""
Refuse = Callable[[ast.AST | None, str], None]


def names_bound(tree: ast.AST) -> frozenset[str]:
    """Every name that a tree binds anywhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, _DEFINITION) or (isinstance(node, ast.ExceptHandler) and node.name):
            names.add(str(node.name))
    return frozenset(names)


def needed_names(entry: str, definitions: Iterable[ast.stmt]) -> frozenset[str]:
    """All names that a function reads, those included that what it reads needs."""
    named = {name: set(loads(node)) for node in definitions for name in names_at_top(node)}
    reached, new = {entry}, [entry]
    while new:
        found = named.get(new.pop(), set()) - reached
        new += found
        reached |= found
    return frozenset(reached)


def names_at_top(node: ast.stmt) -> list[str]:
    """What a statement of a module binds."""
    if isinstance(node, _DEFINITION):
        return [node.name]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def starts(node: ast.stmt) -> str:
    """`name` for a statement `name()`, also under `if __name__ == "__main__":`, and in `print(name())`."""
    if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
        return starts(node.body[0]) if "__name__" in loads(node.test) else ""
    match node:
        case ast.Expr(ast.Call(ast.Name(name), [], [])) | ast.Expr(ast.Call(_, [ast.Call(ast.Name(name), [], [])], [])):
            return str(name)
    return ""


def entry_of(tree: ast.Module, entry: str | None, refuse: Refuse) -> str:
    """The entry function's name; what is left out of `tree` is what it doesn't need and what would only start it."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if entry is None:
        called = {name for f in functions.values() for name in loads(f) if name != f.name}
        entries = [name for name in functions if name not in called]
        if functions and len(entries) != 1:
            refuse(None, f"define exactly one function that the others serve; there are: {', '.join(functions)}")
        entry = entries[0] if entries else None
    if entry not in functions:
        _refuse_without_entry(tree, entry, refuse, functions)
        return ""
    needed = needed_names(entry, tree.body)
    tree.body = [node for node in tree.body if not _is_spare(node, entry, needed)]
    arguments = functions[entry].args
    if any((arguments.posonlyargs, arguments.args, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)):
        refuse(functions[entry], f"{entry}() must take no arguments: write def {entry}():")
    return entry


def _refuse_without_entry(tree: ast.Module, entry: str | None, refuse: Refuse, names: Collection[str]) -> None:
    wanted = f"def {entry}():" if entry else "one function"
    for statement in tree.body:
        if not isinstance(statement, _JUDGED):
            if not _is_harmless(statement, names_bound(tree)):
                refuse(statement, f"outside functions only constants such as NAME = 'some text' are allowed: put the"
                                  f" code into {wanted}")  # fmt: skip
    there = f"; there are: {', '.join(names)}" if names else ""
    refuse(None, f"define a function named {entry}{there}" if there else f"there is no function: define {wanted}")


def _is_spare(node: ast.stmt, entry: str, needed: Collection[str]) -> bool:
    """Definitions that nothing needs, docstrings, and the line that would start the entry; no spelling of internals."""
    if isinstance(node, _DEFINITION) and node.name not in needed:
        return "__" not in ast.unparse(node)
    return starts(node) == entry or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def check_top(tree: ast.Module, refuse: Refuse, imported: Collection[str]) -> None:
    """Nothing but functions and constants stands there, each bound once, and no constant is meant to last."""
    known: set[str] = set(imported)
    changeable: set[str] = set()
    for statement in tree.body:
        if not isinstance(statement, _JUDGED):
            if not _is_harmless(statement, known):
                refuse(statement, "outside functions only constants such as NAME = 'some text' are allowed: leave this"
                                  " line out, or put it into a function")  # fmt: skip
            if not is_constant(getattr(statement, "value", None)):
                changeable.update(names_at_top(statement))
        for name in names_at_top(statement):
            if name in known:
                refuse(statement, f"{name} is defined twice: give the second one a name of its own")
            known.add(name)
    for node in ast.walk(tree) if changeable else ():
        owner = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            owner = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner = node.value
        if isinstance(owner, ast.Name) and owner.id in changeable:
            refuse(node, f"{owner.id} is a constant, and nothing lasts from one call to the next: make it inside the"
                         " function")  # fmt: skip


def is_constant(node: ast.expr | None) -> bool:
    """A value that nothing can change: it is made once."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and type(getattr(node.operand, "value", None)) in (int, float)
    if isinstance(node, ast.Tuple):
        return len(node.elts) <= 100 and all(is_constant(item) for item in node.elts)
    return isinstance(node, ast.Constant)


def is_literal(node: ast.expr | None, known: Collection[str] = ()) -> bool:
    """Constants, `known` ones by name, displays of them, arithmetic on them, `float("inf")` and empty containers."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(is_literal(item, known) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(is_literal(part, known) for part in [*node.keys, *node.values])
    if isinstance(node, ast.BinOp):
        return is_literal(node.left, known) and is_literal(node.right, known) and isinstance(node.op, _ARITHMETIC)
    if isinstance(node, ast.Call):
        made = [*known, *_MAKERS]
        return not node.keywords and all(is_literal(each, made) for each in (node.func, *node.args))
    named = node.value if isinstance(node, ast.Attribute) else node
    return is_constant(node) or (isinstance(named, ast.Name) and named.id in known)


_MAKERS = frozenset({"float", "int", "str", "list", "dict", "set", "tuple", "frozenset"})


def _is_harmless(statement: ast.stmt, known: Collection[str]) -> bool:
    """A docstring, or constants bound to names."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and is_literal(statement.value, known)
    return (
        isinstance(statement, ast.Assign)
        and all(_is_plain_target(target, statement.value) for target in statement.targets)
        and is_literal(statement.value, known)
    )


def _is_plain_target(target: ast.expr, value: ast.expr) -> bool:
    """A name, or as many names as there are values."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple | ast.List):
        return len(target.elts) == len(value.elts) and all(isinstance(part, ast.Name) for part in target.elts)
    return isinstance(target, ast.Name)
