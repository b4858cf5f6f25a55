"""What generated source may contain: a whitelist of nodes, of their fields, of names and of attributes.

Everything that is not listed is refused with a message for the model that wrote it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.builtins import EXCEPTIONS, PLAIN_TYPES
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.methods import METHODS

MAX_SOURCE_BYTES = 8 * 1024
"""Unless a guard is told otherwise."""
MAX_NESTING = 60
MAX_STARS = 8
MAX_FORMATTED = 32
TEXT_FUNCTIONS = frozenset({"lower", "upper", "strip", "title", "capitalize", "casefold"})
"""Methods of str that may be passed on as functions: `key=str.lower`."""

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

_OPERATORS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
_WORDS = {
    "ClassDef": "Classes are not allowed: use plain functions and values.",
    "Global": "global is not allowed: pass values as arguments and return them.",
    "AsyncFunctionDef": "async functions are not allowed: write a plain def.",
    "Await": "await is not allowed: call the function directly.",
    "Yield": "yield is not allowed: build and return a list.",
    "YieldFrom": "yield is not allowed: build and return a list.",
    "With": "with is not allowed: there is nothing to open or to close.",
    "Match": "match is not allowed: use if / elif / else.",
    "MatMult": "The operator @ is not allowed.",
    "Pow": "",
}
_FORMAT = re.compile(r"([^{}]?[<>^=])?[-+ ]?#?\d{0,2}[,_]?(\.\d{1,2})?[bdeEfFgGosxX%]?")
_ANNOTATION = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load
)  # fmt: skip


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
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_NESTING:
            line = min((getattr(node, "lineno", 0) for node in level), default=0)
            raise Refused(f"The code is nested more than {MAX_NESTING} levels deep.", line=line)
        level = [child for node in level for child in ast.iter_child_nodes(node)]


class Inspector:
    """Walks a tree once and refuses whatever is not allowed."""

    def __init__(
        self,
        fields: Mapping[str, int],
        functions: Mapping[str, Any],
        *,
        errors: Mapping[str, type],
        variables: frozenset[str],
    ) -> None:
        self._fields = fields
        self._functions = functions
        self._variables = variables
        self._errors = {**EXCEPTIONS, **errors}
        self._checks: dict[type, Callable[[Any], None]] = {
            ast.FunctionDef: self._function, ast.arguments: self._arguments, ast.arg: self._argument,
            ast.Name: self._name,
            ast.Attribute: self._attribute, ast.Constant: self._constant, ast.Assign: self._assignment,
            ast.AugAssign: self._augmented, ast.AnnAssign: self._annotated, ast.For: self._loop,
            ast.comprehension: self._loop, ast.Call: self._call, ast.keyword: self._keyword,
            ast.FormattedValue: self._formatted, ast.JoinedStr: self._joined,
            ast.Try: self._try, ast.ExceptHandler: self._handler,
            ast.Raise: self._raise, ast.Delete: self._delete, ast.NamedExpr: self._walrus, ast.Nonlocal: self._nonlocal,
            ast.Expr: self._statement, ast.Compare: self._comparison,
        }  # fmt: skip

    def inspect(self, tree: ast.Module) -> None:
        """Raise `Refused` at the first thing that is not allowed, in the order of the source."""
        self._stars: dict[int, int] = {}
        for node in _in_order(tree):
            self._known(node)
            check = self._checks.get(type(node))
            if check is not None:
                check(node)

    def _known(self, node: ast.AST) -> None:
        known = FIELDS.get(type(node))
        name = type(node).__name__
        if known is None and (not isinstance(node, _OPERATORS) or isinstance(node, ast.MatMult)):
            told = advice.imported(node) if isinstance(node, ast.Import | ast.ImportFrom) else _WORDS.get(name)
            self._refuse(
                node, told or f"{name} is not allowed here: use plain functions, loops, conditions and expressions."
            )
        if known is not None and any(part not in known for part in node._fields):
            self._refuse(node, f"this form of {name} is not allowed")
        if isinstance(node, ast.Call | ast.List | ast.Tuple | ast.Set | ast.Dict):
            stars = sum(type(child) is ast.Starred for child in ast.iter_child_nodes(node))
            stars += node.keys.count(None) if isinstance(node, ast.Dict) else 0
            if stars > MAX_STARS:
                self._refuse(node, f"more than {MAX_STARS} stars in one place")

    def _refuse(self, node: ast.AST, message: str) -> None:
        raise Refused(message, line=getattr(node, "lineno", 0))

    def check_name(self, node: ast.AST, name: str, *, bound: bool = False) -> None:
        """A name must be ASCII and not private; the names of the host's functions cannot be bound."""
        if not name.isascii():
            self._refuse(node, f"use plain ASCII names, not {name!r}")
        if name.startswith("_") and name != "_":
            self._refuse(node, advice.private(name))
        if bound and (name in self._functions or name in self._errors):
            self._refuse(node, f"{name} is given and cannot be redefined: choose another name")

    def _function(self, node: ast.FunctionDef) -> None:
        self.check_name(node, node.name, bound=True)
        if node.decorator_list:
            self._refuse(node, "decorators are not allowed: write a plain def")
        self._annotation(node.returns)

    def _arguments(self, node: ast.arguments) -> None:
        if node.vararg or node.kwarg:
            self._refuse(node.vararg or node.kwarg or node, "*args and **kwargs are not allowed: name the parameters")

    def _argument(self, node: ast.arg) -> None:
        self.check_name(node, node.arg, bound=True)
        self._annotation(node.annotation)

    def _annotation(self, node: ast.expr | None) -> None:
        for part in ast.walk(node) if node is not None else ():
            if not isinstance(part, _ANNOTATION):
                self._refuse(node or part, "a type hint must be a plain type")
            if isinstance(part, ast.Name | ast.Attribute):
                self.check_name(part, part.id if isinstance(part, ast.Name) else part.attr)

    def _name(self, node: ast.Name) -> None:
        self.check_name(node, node.id, bound=not isinstance(node.ctx, ast.Load))

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._refuse(node, "what functions return cannot be changed: attributes are read-only")
        if node.attr not in self._fields and node.attr not in METHODS:
            self._refuse(
                node,
                advice.attribute(node, fields=self._fields, functions=self._functions, bound=self._variables),
            )

    def _comparison(self, node: ast.Compare) -> None:
        """Neither side is a function of the host that somebody forgot to call: nothing at run time would say so."""
        for part in (node.left, *node.comparators):
            if isinstance(part, ast.Name) and part.id in self._functions:
                self._refuse(part, advice.uncalled(part.id))

    def _constant(self, node: ast.Constant) -> None:
        if node.value is Ellipsis or type(node.value) in (str, bool, float, type(None)):
            return
        if type(node.value) is not int:
            kind = type(node.value).__name__
            self._refuse(node, f"constants of type {kind} are not allowed: use plain numbers and texts")
        elif node.value.bit_length() > 64:
            self._refuse(node, "the number is too large")

    def _target(self, node: ast.expr, *, plain: bool = False, inner: bool = False) -> None:
        if isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                if inner and isinstance(item, ast.Starred):
                    self._refuse(node, "a star inside a nested pattern is not allowed: unpack it in a line of its own")
                self._target(item, plain=plain, inner=True)
        elif isinstance(node, ast.Starred):
            self._target(node.value, plain=True)
        elif isinstance(node, ast.Subscript) and not plain:
            if isinstance(node.slice, ast.Slice):
                self._refuse(node, "slices cannot be assigned to or deleted: build a new list")
            if not isinstance(node.value, ast.Name | ast.Subscript):
                self._refuse(node, "what functions return cannot be changed: copy it into a variable first")
            self._root(node.value)
        elif isinstance(node, ast.Attribute):
            self._refuse(node, f"{node.attr} cannot be set: what functions return is read-only; use a variable")
        elif not isinstance(node, ast.Name):
            self._refuse(node, "only names and items of your own lists and dicts can be assigned to")

    def _root(self, node: ast.expr) -> None:
        while isinstance(node, ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Name):
            self._refuse(node, "what functions return cannot be changed: copy it into a variable first")

    def _assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)

    def _augmented(self, node: ast.AugAssign) -> None:
        self._target(node.target)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if not isinstance(node.target, ast.Name):
            self._refuse(node, "only names can have type hints")

    def _walrus(self, node: ast.NamedExpr) -> None:
        self._target(node.target, plain=True)

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        if getattr(node, "is_async", 0):
            self._refuse(node.target, "async is not allowed")
        self._target(node.target, plain=True)

    def _call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.Set | ast.JoinedStr):
            self._refuse(node, "this cannot be called")

    def _keyword(self, node: ast.keyword) -> None:
        if node.arg is None:
            self._refuse(node.value, "** in a call is not allowed: name the arguments")
        else:
            self.check_name(node.value, node.arg)

    def _joined(self, node: ast.JoinedStr) -> None:
        """Each value is of bounded length, so their number bounds the text."""
        if sum(isinstance(part, ast.FormattedValue) for part in node.values) > MAX_FORMATTED:
            self._refuse(node, f"more than {MAX_FORMATTED} values in one f-string: join a list of texts")

    def _formatted(self, node: ast.FormattedValue) -> None:
        spec = node.format_spec
        if spec is None:
            return
        parts = spec.values if isinstance(spec, ast.JoinedStr) else [spec]
        if not all(isinstance(part, ast.Constant) and _FORMAT.fullmatch(str(part.value)) for part in parts):
            self._refuse(node, "only short number formats such as {x:.2f} are allowed in f-strings")

    def _try(self, node: ast.Try) -> None:
        for inner in _same_function(node.finalbody):
            if isinstance(inner, ast.Return | ast.Break | ast.Continue):
                self._refuse(inner, "return, break and continue are not allowed inside finally")

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.check_name(node, node.name, bound=True)
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        for kind in types:
            if not isinstance(kind, ast.Name) or kind.id not in self._errors:
                self._refuse(kind, f"except can name these only: {', '.join(self._errors)}")

    def _raise(self, node: ast.Raise) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(node.exc, ast.Call) and (node.exc.keywords or len(node.exc.args) > 1):
            self._refuse(node, 'an exception takes one text: raise ValueError("...")')
        if raised is not None and not isinstance(raised, ast.Name):
            self._refuse(node, 'raise an exception by its name: raise ValueError("...")')

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                self._refuse(node, "del is allowed for items of your own lists and dicts only")
            self._target(target)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            self.check_name(node, name, bound=True)

    def _statement(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Starred):
            self._refuse(node, "a star cannot stand alone")


def _same_function(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of statements, without those of functions defined in them."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, parents first, except inside type hints (checked where they stand, never compiled)."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        skipped = {id(getattr(node, name, None)) for name in ("annotation", "returns", "format_spec")}
        stack.extend(child for child in reversed(list(ast.iter_child_nodes(node))) if id(child) not in skipped)


def is_type_list(node: ast.expr, variables: frozenset[str]) -> bool:
    """Whether an expression is a plain type or a tuple of them, as `isinstance` takes."""
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(is_type_list(item, variables) for item in node.elts)
    return isinstance(node, ast.Name) and node.id in PLAIN_TYPES and node.id not in variables
