"""The top level of a source: functions, docstrings and constants, and which function is the entry."""

import ast
from collections.abc import Callable, Collection, Iterable, Mapping

from sdg.sandbox.guard.syntax import loads

_MUTATORS = frozenset(
    str.split(
        "add append appendleft clear difference_update discard extend insert intersection_update pop popitem popleft "
        "remove reverse setdefault sort subtract symmetric_difference_update update"
    )
)
_CONSTANT = (ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.Tuple, ast.Load)
_LITERAL = (*_CONSTANT, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Call, ast.Name,
            ast.Attribute)  # fmt: skip
_MAKERS = frozenset({"float", "int", "str", "list", "dict", "set", "tuple", "frozenset"})
_STATEMENTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that the syntax whitelist judges in more detail."""
_BINDS: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.arg: "arg", ast.FunctionDef: "name", ast.ClassDef: "name", ast.ExceptHandler: "name"
}  # fmt: skip
Refuse = Callable[[ast.AST | None, str], None]


def names_bound(tree: ast.AST) -> dict[str, ast.AST]:
    """Every name that a tree binds anywhere, and a node that binds it."""
    nodes = [node for node in ast.walk(tree) if not isinstance(getattr(node, "ctx", None), ast.Load)]
    return {name: node for node in nodes if (name := getattr(node, _BINDS.get(type(node), ""), None))}


def needed_names(entry: str, definitions: Iterable[ast.stmt]) -> frozenset[str]:
    """All names that a function reads, directly or through definitions that it needs."""
    return reached_names(entry, {name: set(loads(node)) for node in definitions for name in names_at_top(node)})


def reached_names(entry: str, reads: Mapping[str, Collection[str]]) -> frozenset[str]:
    """A name with all names that it reads, directly or through others; `reads` has those that each name reads."""
    closure, new = set[str](), {entry}
    while new:
        closure |= new
        new = {read for name in new for read in reads.get(name, ())} - closure
    return frozenset(closure)


def names_at_top(node: ast.stmt) -> list[str]:
    """Names that a module statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def entry_of(tree: ast.Module, entry: str, refuse: Refuse, *, is_truth: bool = False) -> str:
    """The entry function's name, "" where there is none; beside functions only constants may stand in `tree`. With
    `is_truth` a value that it returns by `and` or `or` becomes True or False."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    entry = entry or next(reversed(functions), "")
    _check_top(tree, refuse)
    if entry not in functions:
        advice = f"define a function named {entry}; there are: {', '.join(functions)}"
        refuse(None, advice if functions else f"there is no function: put the code into def {entry or 'check'}():")
        return ""
    if ast.unparse(functions[entry].args):
        refuse(functions[entry], f"{entry}() must take no arguments: write def {entry}():")
    inner = {node for node in ast.walk(functions[entry]) if isinstance(node, ast.FunctionDef)} - {functions[entry]}
    for node in {*ast.walk(functions[entry])}.difference(*map(ast.walk, inner)) if is_truth else ():
        if isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp):
            node.value = ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=node.value))
    return entry


def _check_top(tree: ast.Module, refuse: Refuse) -> None:
    """Refuse top-level statements other than functions and constants, and changes of constants."""
    aliases = [alias for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    names = _MAKERS.union(*map(names_at_top, tree.body), (alias.asname or alias.name for alias in aliases))
    for statement in tree.body:
        if not isinstance(statement, _STATEMENTS) and not _is_harmless(statement, names):
            refuse(statement, "outside functions only constants such as NAME = 'some text' are allowed: leave this "
                              "line out, or put it into a function")  # fmt: skip
    constants = {name for node in tree.body if hasattr(node, "value") and not is_constant(node.value)
               for name in names_at_top(node)}  # fmt: skip
    problem = "is a constant, and nothing lasts from one call to the next: make it inside the function"
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), attr)) if attr in _MUTATORS and name in constants:
                refuse(node, f"{name} {problem}")
            case ast.Subscript(ast.Name(name), _, ast.Store() | ast.Del()) if name in constants:
                refuse(node, f"{name} {problem}")


def is_constant(node: ast.AST | None) -> bool:
    """Whether this value can never change."""
    return node is not None and all(isinstance(part, _CONSTANT) for part in ast.walk(node))


def _is_harmless(statement: ast.stmt, names: frozenset[str]) -> bool:
    """Whether it binds constants: displays of them, arithmetic on `names`, `float("inf")`, empty containers."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign | ast.AnnAssign) and value is not None:
        return all(isinstance(part, _LITERAL) for part in ast.walk(value)) and names.issuperset(loads(value))
    return isinstance(statement, ast.Pass) or isinstance(value, ast.Constant)


def is_static(tree: ast.Module) -> bool:
    """Whether the module makes nothing that can be changed; then it runs once for all calls."""
    defaults = [part for node in ast.walk(tree) if isinstance(node, ast.arguments)
                for part in (*node.defaults, *node.kw_defaults)]  # fmt: skip
    values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return all(map(is_constant, filter(None, [*defaults, *values])))
