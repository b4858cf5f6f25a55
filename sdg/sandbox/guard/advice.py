"""What to write instead: refusals worded for the language model that wrote the code."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable

from sdg.sandbox.guard.helpers import METHODS
from sdg.sandbox.guard.helpers import NAMES as IMPORTABLE

MODULES: dict[str, str] = {
    "math": "write n ** 0.5 for a square root, abs(a - b) for a difference, float('inf') for infinity",
    "numpy": "write sums and distances with sum(...), min(...), max(...) and abs(...)",
    "random": "there is no chance here: choose with min(...), max(...), sorted(...) or next(...)",
    "time": "there is no clock here: count steps with the functions that were described",
    "collections": "use a dict with counts.get(key, 0) + 1 or d.setdefault(key, []), and a list as a queue",
    "itertools": "write nested loops or comprehensions",
    "functools": "write a loop",
    "operator": "write a lambda, such as key=lambda o: o.name",
    "re": "use text methods such as split(), startswith(), replace() and `in`",
    "typing": "type hints need no import: List[int] or list[int] can be written as they are",
    "copy": "use items.copy() or list(items)",
    "json": "work with the values themselves",
}
_WORDS: dict[str, str] = {
    "ClassDef": "Classes are not allowed: use plain functions and values.",
    "Global": "global is not allowed: pass values as arguments and return them.",
    "AsyncFunctionDef": "async functions are not allowed: write a plain def.",
    "Await": "await is not allowed: call the function directly.",
    "Yield": "yield is not allowed: build and return a list.",
    "YieldFrom": "yield is not allowed: build and return a list.",
    "With": "with is not allowed: there is nothing to open or to close.",
    "MatMult": "The operator @ is not allowed.",
}
_SHORT = {"np": "numpy", "deque": "collections", "defaultdict": "collections", "Counter": "collections",
          "List": "typing", "Dict": "typing", "Tuple": "typing", "Optional": "typing"}  # fmt: skip
NAMES: dict[str, str] = {
    "true": "write True", "false": "write False", "null": "write None", "undefined": "write None",
    "type": "ask isinstance(value, int) for a value's type", "hasattr": "read the attribute itself, as in value.name",
    "getattr": "read the attribute itself, as in value.name", "reduce": "write a loop",
    "sqrt": "write n ** 0.5", "super": "use plain functions", "input": "nobody can be asked",
    "open": "there are no files", "eval": "write the expression itself", "exec": "write the statements themselves",
    "self": "call the functions by their names alone", "robot": "call the functions by their names alone",
    "hash": "compare the values themselves", "id": "compare with == or by name", "object": "use None or a text",
    "format": "use an f-string", "vars": "read the attribute itself", "dir": "read the attribute itself",
    "SystemExit": "use return, or raise ValueError", "exit": "use return", "quit": "use return",
}  # fmt: skip
_ATTRIBUTES: dict[str, str] = {
    "format": "use an f-string, such as f'{name} {number}'", "length": "write len(value)", "size": "write len(value)",
    "contains": "write `part in whole`", "includes": "write `part in whole`", "has": "write `part in whole`",
    "push": "write items.append(value)", "x": "a pair has no names: write x, y = pair",
    "y": "a pair has no names: write x, y = pair", "encode": "texts stay texts", "fromkeys": "write {key: 0 for ...}",
    "appendleft": "write items.insert(0, value)", "popleft": "write items.pop(0)", "has_key": "write `key in d`",
    "iteritems": "write d.items()", "trim": "write text.strip()", "toLowerCase": "write text.lower()",
}  # fmt: skip


def statement(node: ast.AST) -> str:
    """What to write instead of a statement or an expression that the language does not have."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return imported(node)
    name = type(node).__name__
    return _WORDS.get(name, f"{name} is not allowed here: use plain functions, loops, conditions and expressions.")


def is_module(name: str) -> bool:
    """Whether a module, or the package that it belongs to, is one that models import."""
    return name.partition(".")[0] in MODULES


def imported(node: ast.Import | ast.ImportFrom) -> str:
    """What to do without a module."""
    module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    instead = MODULES.get((module or "").partition(".")[0], "use only the functions that were described")
    return f"Imports are not available: {instead}."


def attribute(node: ast.Attribute, *, fields: Iterable[str], functions: Collection[str]) -> str:
    """What to write instead of an attribute that there is not."""
    if node.attr in functions:
        is_named = isinstance(node.value, ast.Name | ast.Attribute)
        before = f"`{ast.unparse(node.value)[:40]}.`" if is_named else "anything before it"
        return f"{node.attr} is a plain function: call it without {before}, as in {node.attr}(...)"
    known = list(fields)
    near = difflib.get_close_matches(node.attr, [*known, *sorted(METHODS)], n=1, cutoff=0.7)
    if near or node.attr in _ATTRIBUTES:
        hint = f"; did you mean {near[0]}?" if near else f": {_ATTRIBUTES[node.attr]}"
        return f"there is no attribute {node.attr!r}{hint}"
    return f"there is no attribute {node.attr!r}; the attributes are: {', '.join(known)}"


def unknown(name: str, *, functions: Collection[str]) -> str:
    """What to write instead of a name that there is not."""
    if name in IMPORTABLE:
        return f"{name} has to be imported: write `import {name}` above"
    for module in sorted(IMPORTABLE):
        if name in IMPORTABLE[module]:
            return f"{name} has to be imported: write `from {module} import {name}` above"
    if name in NAMES:
        return f"there is no {name}: {NAMES[name]}"
    if _SHORT.get(name, name) in MODULES:
        return f"there is no module {name} here: {MODULES[_SHORT.get(name, name)]}"
    near = difflib.get_close_matches(name, list(functions), n=1, cutoff=0.75)
    hint = f"did you mean {near[0]}? The" if near else "the"
    listed = ", ".join(functions)
    end = "builtins such as len, any, all, min, max, sorted and range work too"
    return f"the name {name!r} is not known; {hint} functions are: {listed}; {end}"


def uncalled_advice(name: str) -> str:
    """A function that stands where its value is meant."""
    return f"{name} is a function: call it, as in {name}()"


def syntax(error: SyntaxError) -> str:
    """A fault of syntax, with the Python for what other languages write."""
    line = error.text or ""
    hint = next((f": {hint}" for sign, hint in _FOREIGN.items() if sign in line), ".")
    return f"This is not valid Python: {error.msg}{hint}"


_FOREIGN: dict[str, str] = {
    "&&": "write `and`", "||": "write `or`", "!(": "write `not`", " !": "write `not`", "++": "write n += 1",
    "else if": "write elif", "=>": "write lambda or def", " ? ": "write A if condition else B", "<>": "write !=",
    "\u00a0": "indent with plain spaces", "\u2212": "write a plain -", "\uff08": "write plain brackets",
    "\u201c": "write plain quotes",
    "def ": "a function begins with `def name():`, and its lines are indented",
}  # fmt: skip


def private(name: str) -> str:
    """A name that begins with an underscore."""
    if name == "__name__":
        return "leave out `if __name__ == ...`: the function is called for you"
    return f"names that begin with an underscore, such as {name!r}, are not allowed: choose another name"
