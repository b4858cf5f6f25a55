"""The language of generated source, as tables: nodes and their fields, the forms of a node that are refused, and the
replacement of a node once its parts are woven.

Everything that is not listed is refused with a message for the model that wrote it; all refusals come at once.
"""

import ast
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from sdg.sandbox.guard import advice
from sdg.sandbox.guard.errors import Refused
from sdg.sandbox.guard.meter import FILENAME
from sdg.sandbox.guard.table import BINARY, COMPARE, UNARY

MAX_SOURCE_BYTES = 8 * 1024
"""The longest source, by default."""
MAX_PARSED_CHARS = 20_000
"""Longer code is too long for any guard, so `parse_code` doesn't parse it."""
MAX_NESTING = 60
MAX_BLOCKS = 16
"""Most nested loops, comprehensions and handlers, because the compilers of Python 3.12 and 3.13 crash where a
comprehension is the 21st open block."""
MAX_COPIED = 10_000
"""Most nodes of all copies of a finally: 16 kB of source could take ten seconds and a gigabyte to compile."""
_BLOCKS: dict[type[ast.AST], int] = {
    ast.For: 1, ast.While: 1, ast.ListComp: 1, ast.SetComp: 1, ast.DictComp: 1, ast.GeneratorExp: 1, ast.Try: 3,
}  # fmt: skip

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
    """The tree of a source text, which `ast.unparse` can write out again. Raises `Refused` for more bytes than
    `at_most`, no Python, deep nesting, and for an f-string that Python reads but can't write."""
    size = len(source.encode(errors="replace"))
    if size > at_most:
        raise Refused(
            f"The code has {size} bytes; at most {at_most} are allowed: leave out comments and what isn't called."
        )
    tree: ast.Module = compile_tree(source, flags=ast.PyCF_ONLY_AST)
    nodes: list[tuple[ast.AST, int, int]] = [(tree, 0, 0)]
    for node, depth, blocks in nodes:  # which grows meanwhile
        if depth > MAX_NESTING or blocks > MAX_BLOCKS:
            raise Refused(
                f"The code is nested more than {MAX_NESTING} levels, or {MAX_BLOCKS} loops, comprehensions and "
                "handlers deep.",
                line=getattr(node, "lineno", 0),
            )
        if isinstance(node, ast.JoinedStr):
            try:
                ast.unparse(node)
            except ValueError:
                raise Refused(
                    "Within an f-string's braces there is a text with special characters: give it a name first.",
                    line=node.lineno,
                ) from None
        nodes += [
            (child, depth + 1, blocks + _BLOCKS.get(type(child), 0))
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.Name | ast.Constant) and child._fields  # operators and contexts have none
        ]
    return tree


def parse_code(code: str) -> ast.Module | None:
    """The tree of Python code of at most MAX_PARSED_CHARS, None for anything else."""
    try:
        return parse(code, at_most=MAX_PARSED_CHARS)
    except Refused:
        return None


_COMPILING = threading.Lock()
"""Python 3.11 counts the depth of trees for all threads together, and filters of warnings hold for all threads, too."""


def compile_tree(code: str | ast.Module, *, flags: int = 0) -> Any:
    """Compile a text or a tree. Raises `Refused` where Python can't compile it."""
    try:
        with _COMPILING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(code, FILENAME, "exec", flags, dont_inherit=True, optimize=0)
    except SyntaxError as error:
        raise Refused(advice.syntax(error), line=error.lineno or 0) from None
    except (ValueError, TypeError, RecursionError, MemoryError, OverflowError) as error:
        raise Refused(f"This cannot be read as Python: {str(error)[:200] or 'nested too deeply'}.") from None


def loads(node: ast.AST) -> Iterator[str]:
    """Names that are read anywhere in a tree; by hand, because `ast.walk` is slow on long lists."""
    parts = [node]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id
        for name in part._fields:
            value = getattr(part, name, None)
            inner = value if isinstance(value, list) else [value]
            parts += [node for node in inner if isinstance(node, ast.AST) and not isinstance(node, ast.Constant)]


def load(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=load(name), args=list(arguments), keywords=[])


MAX_STARS = 8
MAX_FORMATTED = 32
_HINT = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load)
_SPEC_CHARACTERS = frozenset("<>^=+- #,_.0123456789bdeEfFgGosxX%")

Rule = tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[[Any], Any], str]

REFUSED: tuple[Rule, ...] = (
    (ast.FunctionDef, lambda node: node.decorator_list, "decorators are not allowed: write a plain def"),
    (
        (ast.FunctionDef, ast.arg, ast.AnnAssign),
        lambda node: (
            (hint := getattr(node, HINTS[type(node)]))
            and not all(
                isinstance(part, _HINT) and "__" not in getattr(part, "attr", getattr(part, "id", ""))
                for part in ast.walk(hint)
            )
        ),
        "a type hint must be a plain type",
    ),
    (
        (ast.Name, ast.FunctionDef, ast.arg, ast.ExceptHandler, ast.Nonlocal, ast.keyword),
        lambda node: any(
            name.startswith("__") or not name.isascii()
            for part in node._fields
            for value in [getattr(node, part)]
            for name in (value if isinstance(value, list) else [value])
            if isinstance(name, str)
        ),
        "names are plain ASCII and do not begin with two underscores: choose another name",
    ),
    (
        ast.Compare,
        lambda node: len(node.ops) > 1 and any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)),
        "write := in a line of its own, not inside a chain of comparisons",
    ),
    (ast.comprehension, lambda node: node.is_async, "async is not allowed"),
    (ast.Expr, lambda node: isinstance(node.value, ast.Starred), "a star cannot stand alone"),
    (
        ast.Starred,
        lambda node: isinstance(node.ctx, ast.Store) and not isinstance(node.value, ast.Name),
        "a star is for one name: unpack the list that it makes in a line of its own",
    ),
    (ast.AnnAssign, lambda node: not isinstance(node.target, ast.Name), "only names can have type hints"),
    (ast.Constant, lambda node: type(node.value) is int and node.value.bit_length() > 64, "the number is too large"),
    (
        ast.Constant,
        lambda node: type(node.value) is str and node.value.encode(errors="ignore").decode() != node.value,
        "half a character, such as '\\ud800', is no text: leave it out",
    ),
    (
        ast.Constant,
        lambda node: type(node.value) not in (str, bool, float, int, type(None), type(Ellipsis)),
        "constants of bytes and imaginary numbers are not allowed: use plain numbers and texts",
    ),
    (
        (ast.Call, ast.List, ast.Tuple, ast.Set, ast.Dict),
        lambda node: (
            getattr(node, "keys", []).count(None)
            + sum(type(child) is ast.Starred for child in ast.iter_child_nodes(node))
            > MAX_STARS
        ),
        f"more than {MAX_STARS} stars in one place",
    ),
    (
        ast.Raise,
        lambda node: isinstance(node.exc, ast.Call) and (node.exc.keywords or len(node.exc.args) > 1),
        'an exception takes one text: raise ValueError("...")',
    ),
    (
        ast.JoinedStr,
        lambda node: sum(isinstance(part, ast.FormattedValue) for part in node.values) > MAX_FORMATTED,
        f"more than {MAX_FORMATTED} values in one f-string: join a list of texts",
    ),
    (
        ast.FormattedValue,
        lambda node: node.format_spec is not None and not is_short_format(node.format_spec.values),
        "only short formats such as {x:.2f} are allowed in f-strings, written out",
    ),
    (
        ast.BinOp,
        lambda node: (
            isinstance(node.op, ast.Mod)
            and isinstance(node.left, ast.Constant | ast.JoinedStr)
            and type(getattr(node.left, "value", "")) is str
        ),
        "% is for numbers: write an f-string, such as f'{name} {number}'",
    ),
    (
        ast.Tuple,
        lambda node: any(isinstance(item, ast.Slice) for item in node.elts),
        "a slice stands alone between brackets, as in items[1:2]",
    ),
    (
        ast.Try,
        lambda node: any(getattr(part, "finalbody", []) for inner in node.finalbody for part in ast.walk(inner)),
        "a finally inside a finally is not allowed: write it in a function of its own",
    ),
    (
        ast.Try,
        lambda node: count_copied(node) > MAX_COPIED,
        "a finally is compiled anew for every return, break and continue before it: make it shorter, or have fewer",
    ),
    (
        ast.Try,
        lambda node: any(map(leaves, node.finalbody)),
        "a finally is not left by return, break or continue: write that after it",
    ),
    (
        ast.Call,
        lambda node: len(node.keywords) > 1 and any(part.arg is None for part in node.keywords),
        "** stands alone: join the arguments in one dict first",
    ),
    (
        (ast.For, ast.comprehension),
        lambda node: any(isinstance(part, ast.Subscript) for part in ast.walk(node.target)),
        "only names can be bound by a loop: assign to items in its body",
    ),
    (
        ast.Delete,
        lambda node: not all(isinstance(target, ast.Subscript | ast.Name) for target in node.targets),
        "del is allowed for variables and items of your own lists and dicts only",
    ),
)
"""Kinds of nodes, a test that must not hold for them, and the message when it does."""

HINTS: dict[type[ast.AST], str] = {ast.FunctionDef: "returns", ast.arg: "annotation", ast.AnnAssign: "annotation"}
"""Fields with type hints, judged, never compiled."""

WOVEN: dict[type[ast.AST], Callable[[Any], ast.AST | list[ast.stmt]]] = {
    ast.BinOp: lambda node: call(f".{BINARY.get(type(node.op).__name__, '')}", node.left, node.right),
    ast.UnaryOp: lambda node: node
    if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
    else call(f".{UNARY[type(node.op).__name__]}", node.operand),
    ast.Subscript: lambda node: ast.Subscript(
        value=load(".items"), slice=ast.Tuple(elts=[node.value, node.slice], ctx=ast.Load()), ctx=node.ctx
    ),
    ast.Slice: lambda node: call(
        ".slice", *(bound or ast.Constant(value=None) for bound in (node.lower, node.upper, node.step))
    ),
    ast.AnnAssign: lambda node: ast.Assign(targets=[node.target], value=node.value)
    if node.value
    else ast.AnnAssign(target=node.target, annotation=ast.Constant(value=None), simple=node.simple),
    ast.keyword: lambda node: node if node.arg else ast.keyword(arg=None, value=call(".merged", node.value)),
    ast.GeneratorExp: lambda node: call(".lazy", node),
    ast.SetComp: lambda node: call(".set", ast.ListComp(elt=node.elt, generators=node.generators)),
    ast.DictComp: lambda node: call(
        ".dict",
        ast.ListComp(elt=ast.Tuple(elts=[node.key, node.value], ctx=ast.Load()), generators=node.generators),
    ),
    ast.Set: lambda node: call(".set", ast.List(elts=node.elts, ctx=ast.Load())),
    ast.Dict: lambda node: ast.Dict(
        keys=[key if key is None or isinstance(key, ast.Constant) else call(".key", key) for key in node.keys],
        values=[
            call(".merged", value) if key is None else value
            for key, value in zip(node.keys, node.values, strict=True)
        ],
    ),
    ast.Starred: lambda node: node
    if isinstance(node.ctx, ast.Store)
    else ast.Starred(value=call(".star", node.value), ctx=node.ctx),
    ast.JoinedStr: lambda node: call(".joined", *node.values),
    ast.FormattedValue: lambda node: call(
        ".shown", node.value, ast.Constant(value=node.conversion), *filter(None, [node.format_spec])
    ),
    ast.Assert: lambda node: ast.Assert(test=node.test, msg=call(".text", node.msg) if node.msg else None),
    ast.Expr: lambda node: ast.Pass() if isinstance(node.value, ast.Constant) else node,
}  # fmt: skip
"""The replacement of a node once its parts are woven."""


def comparison_name(op: ast.cmpop, *sides: ast.expr) -> str:
    """A comparison's function. `x is "red"` is meant as ==; whether `is` holds there depends on the interpreter."""
    is_text = any(isinstance(side, ast.Constant) and type(side.value) is str for side in sides)
    name = COMPARE[type(op).__name__]
    return f".{ {'is_': 'eq', 'is_not': 'ne'}.get(name, name) if is_text else name }"


def leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement leaves the block that it stands in other than by an exception, which would be lost."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return False
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        return True
    in_loop = in_loop or isinstance(node, ast.For | ast.While)
    return any(leaves(child, in_loop) for child in ast.iter_child_nodes(node))


def count_copied(node: ast.Try) -> int:
    """Nodes of a finally times its copies: it is compiled again for each statement that leaves the block before it."""
    exits = sum(isinstance(part, ast.Return | ast.Break | ast.Continue) for part in ast.walk(node))
    return exits * sum(1 for final in node.finalbody for _ in ast.walk(final))


def is_short_format(pieces: list[ast.expr]) -> bool:
    """Whether a format is written out with at most two digits for width and precision, because C code makes the text
    before anyone can measure it; a fill character may come first."""
    spec = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{{" for piece in pieces)
    body = spec[1:] if spec[1:2] in tuple("<>^=") else spec
    digits = "".join(sign if sign.isdecimal() else " " for sign in body).split()
    return _SPEC_CHARACTERS.issuperset(body) and all(len(run) <= 2 for run in digits)


def unpack(target: ast.expr, value: ast.expr, names: Iterator[str]) -> list[ast.Assign]:
    """Assignments of a value to a target, one for each pattern in it: sets are unpacked in order, and no more items at
    once than are allowed."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [ast.Assign(targets=[target], value=value)]
    has_star = any(isinstance(element, ast.Starred) for element in target.elts)
    inner: list[ast.Assign] = []
    for place, element in enumerate(target.elts):
        if inner or isinstance(element, ast.Tuple | ast.List):  # targets behind a pattern are assigned after it
            name = ast.Name(id=next(names), ctx=ast.Store())
            inner += unpack(element.value if isinstance(element, ast.Starred) else element, load(name.id), names)
            target.elts[place] = ast.Starred(value=name, ctx=ast.Store()) if isinstance(element, ast.Starred) else name
    return [ast.Assign(targets=[target], value=call(".star" if has_star else ".ordered", value)), *inner]
