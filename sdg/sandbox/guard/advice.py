"""Advice on what to write instead, worded for the language model that wrote the refused code."""

import ast
import difflib
from collections.abc import Collection, Iterable
from functools import lru_cache

from sdg.sandbox.guard.library import METHODS, MODULES as IMPORTABLE

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
HINT_MODULES = frozenset({"typing", "__future__", "collections.abc"})
"""Only type hints need these."""
_STATEMENTS: dict[str, str] = {
    "ClassDef": "Classes are not allowed: use plain functions and values.",
    "Global": "global is not allowed: pass values as arguments and return them.",
    "AsyncFunctionDef": "async functions are not allowed: write a plain def.",
    "Await": "await is not allowed: call the function directly.",
    "Yield": "yield is not allowed: build and return a list.",
    "YieldFrom": "yield is not allowed: build and return a list.",
    "With": "with is not allowed: there is nothing to open or to close.",
    "Match": "match is not allowed: use if / elif / else.",
    "MatMult": "The operator @ is not allowed.",
}
_MODULE_OF = {"np": "numpy", "deque": "collections", "defaultdict": "collections", "Counter": "collections",
          "List": "typing", "Dict": "typing", "Tuple": "typing", "Optional": "typing"}  # fmt: skip
_NAMES: dict[str, str] = {
    "__name__": "leave out `if __name__ == ...`: the function is called for you",
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


_close_matches = lru_cache(1000)(difflib.get_close_matches)
_ANSWERS: dict[str, str] = {
    **{short: f"there is no module {short} here: {MODULES[module]}" for short, module in _MODULE_OF.items()},
    **{module: f"there is no module {module} here: {instead}" for module, instead in MODULES.items()},
    **{name: f"there is no {name}: {instead}" for name, instead in _NAMES.items()},
    **{name: f"{name} has to be imported: write `from {module} import {name}` above"
       for module in sorted(IMPORTABLE, reverse=True) for name in IMPORTABLE[module]},
    **{module: f"{module} has to be imported: write `import {module}` above" for module in IMPORTABLE},
}  # fmt: skip
"""Advice about unknown names; of equal keys the last one counts."""


def statement(node: ast.AST) -> str:
    """Advice on a statement or an expression that the language does not have."""
    name = type(node).__name__
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = str(node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        return f"Imports are not available: {MODULES.get(module, 'use only the functions that were described')}."
    return _STATEMENTS.get(name, f"{name} is not allowed here: use plain functions, loops, conditions and expressions.")


def attribute(node: ast.Attribute, *, fields: Iterable[str], functions: Collection[str]) -> str:
    """Advice on an attribute that doesn't exist."""
    name, fields = node.attr, list(fields)
    if name in functions:
        is_named = isinstance(node.value, ast.Name | ast.Attribute)
        before = f"`{ast.unparse(node.value)[:40]}.`" if is_named else "anything before it"
        return f"{name} is a plain function: call it without {before}, as in {name}(...)"
    hints = [f"; did you mean {match}?" for match in _close_matches(name, (*fields, *sorted(METHODS)), 1, 0.7)]
    instead = f": {_ATTRIBUTES[name]}" if name in _ATTRIBUTES else f"; the attributes are: {', '.join(fields)}"
    return f"there is no attribute {name!r}{''.join(hints) or instead}"


def unknown(name: str, *, functions: Collection[str]) -> str:
    """Advice on a name that doesn't exist."""
    hints = [f"did you mean {match}? The" for match in _close_matches(name, tuple(functions), 1, 0.75)]
    return _ANSWERS.get(
        name,
        f"the name {name!r} is not known; {''.join(hints) or 'the'} functions are: {', '.join(functions)}; "
        "builtins such as len, any, all, min, max, sorted and range work too",
    )


def syntax(error: SyntaxError) -> str:
    """A syntax error, with the Python form of what other languages write."""
    hint = next((f": {hint}" for sign, hint in _FOREIGN.items() if sign in (error.text or "")), ".")
    return f"This is not valid Python: {error.msg}{hint}"


_FOREIGN: dict[str, str] = {
    "&&": "write `and`", "||": "write `or`", "!(": "write `not`", " !": "write `not`", "++": "write n += 1",
    "else if": "write elif", "=>": "write lambda or def", " ? ": "write A if condition else B", "<>": "write !=",
    "\u00a0": "indent with plain spaces", "\u2212": "write a plain -", "\uff08": "write plain brackets",
    "\u201c": "write plain quotes",
    "def ": "a function begins with `def name():`, and its lines are indented",
}  # fmt: skip
