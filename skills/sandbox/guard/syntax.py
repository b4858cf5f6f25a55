"""What generated source may contain: a whitelist of nodes, of their fields, of names and of attributes.

Everything that is not listed is refused with a message for the model that wrote it, all of it at once.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from sdg.skills.sandbox.guard import advice
from sdg.skills.sandbox.guard.builtins import EXCEPTIONS, PLAIN_TYPES
from sdg.skills.sandbox.guard.errors import Refused
from sdg.skills.sandbox.guard.formats import LONG_FORMAT, is_short_format
from sdg.skills.sandbox.guard.methods import METHODS

MAX_SOURCE_BYTES = 8 * 1024
"""Unless a guard is told otherwise."""
MAX_NESTING = 60
MAX_STARS = 8
MAX_FORMATTED = 32
MAX_TOLD = 8
"""Refusals told at once."""
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
_ANNOTATION = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load
)  # fmt: skip
_UNCALLABLE = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr)


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
    """Walks a tree once and notes whatever is not allowed, in the order of the source."""

    def __init__(
        self,
        *,
        fields: Collection[str],
        functions: Mapping[str, Any],
        errors: Collection[str],
        builtins: Collection[str],
        variables: Collection[str],
    ) -> None:
        self._fields, self._functions, self._builtins = fields, functions, builtins
        self._variables, self._errors = variables, [*EXCEPTIONS, *errors]
        self._named: set[int] = set()
        self._called: set[int] = set()
        self.problems: dict[str, int] = {}
        self._checks: dict[type, Callable[[Any], None]] = {
            ast.FunctionDef: self._function, ast.arg: self._argument, ast.Name: self._name,
            ast.Attribute: self._attribute, ast.Constant: self._constant, ast.Assign: self._assignment,
            ast.AugAssign: self._augmented, ast.AnnAssign: self._annotated, ast.For: self._loop,
            ast.comprehension: self._loop, ast.Call: self._call, ast.keyword: self._keyword,
            ast.JoinedStr: self._joined, ast.ExceptHandler: self._handler, ast.Raise: self._raise,
            ast.Delete: self._delete, ast.NamedExpr: self._walrus, ast.Nonlocal: self._nonlocal,
            ast.Expr: self._statement, ast.Compare: self._comparison,
        }  # fmt: skip

    def inspect(self, tree: ast.Module) -> None:
        """Walk all nodes, parents first, except inside type hints (checked where they stand, never compiled)."""
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            if not self._is_known(node):
                continue
            if type(node) in self._checks:
                self._checks[type(node)](node)
            skipped = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
            stack.extend(child for child in reversed(list(ast.iter_child_nodes(node))) if id(child) not in skipped)

    def report(self) -> None:
        """Raises `Refused` with all that was noted, if anything was."""
        found = sorted(self.problems.items(), key=lambda problem: problem[1] or 10**6)[:MAX_TOLD]
        if found:
            rest = [f"line {line}: {message}" if line else message for message, line in found[1:]]
            raise Refused("\n".join([found[0][0], *rest]), line=found[0][1])

    def refuse(self, node: ast.AST | None, message: str) -> None:
        self.problems.setdefault(message, getattr(node, "lineno", 0))

    def _is_known(self, node: ast.AST) -> bool:
        known = FIELDS.get(type(node))
        if known is None and (not isinstance(node, _OPERATORS) or isinstance(node, ast.MatMult)):
            self.refuse(node, advice.statement(node))
        elif known is not None and any(getattr(node, part) for part in node._fields if part not in known):
            self.refuse(node, f"this form of {type(node).__name__} is not allowed")
        if isinstance(node, ast.Call | ast.List | ast.Tuple | ast.Set | ast.Dict):
            stars = sum(type(child) is ast.Starred for child in ast.iter_child_nodes(node))
            stars += node.keys.count(None) if isinstance(node, ast.Dict) else 0
            if stars > MAX_STARS:
                self.refuse(node, f"more than {MAX_STARS} stars in one place")
        return known is not None or isinstance(node, _OPERATORS)

    def _check_name(self, node: ast.AST, name: str, *, bound: bool = False) -> None:
        """A name must be ASCII and not one of the interpreter's; the names of the host's functions cannot be bound."""
        if not name.isascii():
            self.refuse(node, f"use plain ASCII names, not {name!r}")
        if name.startswith("__"):
            self.refuse(node, advice.private(name))
        if bound and (name in self._functions or name in self._errors):
            self.refuse(node, f"{name} is given and cannot be redefined: choose another name")

    def _function(self, node: ast.FunctionDef) -> None:
        self._check_name(node, node.name, bound=True)
        if node.decorator_list:
            self.refuse(node, "decorators are not allowed: write a plain def")
        self._annotation(node.returns)

    def _argument(self, node: ast.arg) -> None:
        self._check_name(node, node.arg, bound=True)
        self._annotation(node.annotation)

    def _annotation(self, node: ast.expr | None) -> None:
        for part in ast.walk(node) if node is not None else ():
            if not isinstance(part, _ANNOTATION):
                self.refuse(node, "a type hint must be a plain type")
            if isinstance(part, ast.Name | ast.Attribute):
                self._check_name(part, part.id if isinstance(part, ast.Name) else part.attr)

    def _name(self, node: ast.Name) -> None:
        name = node.id
        self._check_name(node, name, bound=not isinstance(node.ctx, ast.Load))
        if name.startswith((".", "__")) or name in self._variables or name in self._functions:
            return
        if name in self._errors:
            if id(node) not in self._named:
                self.refuse(node, f"{name} can only be raised or named in except")
        elif name not in self._builtins:
            self.refuse(node, advice.unknown(name, functions=self._functions))

    def _attribute(self, node: ast.Attribute) -> None:
        owner = node.value.id if isinstance(node.value, ast.Name) and node.value.id not in self._variables else ""
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, "what functions return cannot be changed: attributes are read-only")
        elif node.attr not in self._fields and node.attr not in METHODS:
            told = advice.attribute(node, fields=self._fields, functions=self._functions, bound=self._variables)
            self.refuse(node, told)
        elif owner in PLAIN_TYPES and (owner != "str" or node.attr not in TEXT_FUNCTIONS):
            self.refuse(node, f"call {node.attr} on a value, as in value.{node.attr}(...)")
        elif node.attr not in self._fields and id(node) not in self._called and node.attr != "get" and not owner:
            self.refuse(node, f"{node.attr} is a method: it can only be called, as in value.{node.attr}(...)")

    def _comparison(self, node: ast.Compare) -> None:
        """Neither side is a function of the host that somebody forgot to call: nothing at run time would say so."""
        for part in (node.left, *node.comparators):
            if isinstance(part, ast.Name) and part.id in self._functions:
                self.refuse(part, advice.uncalled(part.id))
        later = [part for side in node.comparators[1:] for part in ast.walk(side)]
        if any(isinstance(part, ast.NamedExpr) for part in later):
            self.refuse(node, "write := in a line of its own, not inside a chain of comparisons")

    def _constant(self, node: ast.Constant) -> None:
        if type(node.value) is int and node.value.bit_length() > 64:
            self.refuse(node, "the number is too large")
        elif node.value is not Ellipsis and type(node.value) not in (str, bool, float, int, type(None)):
            kind = type(node.value).__name__
            self.refuse(node, f"constants of type {kind} are not allowed: use plain numbers and texts")

    def _target(self, node: ast.expr, *, plain: bool = False, inner: bool = False) -> None:
        if isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                if inner and isinstance(item, ast.Starred):
                    self.refuse(node, "a star inside a nested pattern is not allowed: unpack it in a line of its own")
                self._target(item, plain=plain, inner=True)
        elif isinstance(node, ast.Starred):
            self._target(node.value, plain=True)
        elif isinstance(node, ast.Subscript) and not plain:
            root: ast.expr = node
            while isinstance(root, ast.Subscript):
                root = root.value
            given = isinstance(root, ast.Call) and isinstance(root.func, ast.Name) and root.func.id in self._functions
            if given or isinstance(root, ast.Attribute):
                self.refuse(node, "what functions return cannot be changed: copy it into a variable first")
        elif isinstance(node, ast.Attribute):
            self.refuse(node, f"{node.attr} cannot be set: what functions return is read-only; use a variable")
        elif not isinstance(node, ast.Name):
            self.refuse(node, "only names and items of your own lists and dicts can be assigned to")

    def _assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)

    def _augmented(self, node: ast.AugAssign) -> None:
        self._target(node.target)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if not isinstance(node.target, ast.Name):
            self.refuse(node, "only names can have type hints")

    def _walrus(self, node: ast.NamedExpr) -> None:
        self._target(node.target, plain=True)

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        if getattr(node, "is_async", 0):
            self.refuse(node.target, "async is not allowed")
        self._target(node.target, plain=True)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        self._called.add(id(function))
        if isinstance(function, _UNCALLABLE):
            self.refuse(node, "this cannot be called")
        elif isinstance(function, ast.Attribute) and function.attr in self._fields and function.attr not in METHODS:
            self.refuse(node, f"{function.attr} is a value, not a method: write it without brackets")

    def _keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            self._check_name(node.value, node.arg)

    def _joined(self, node: ast.JoinedStr) -> None:
        """Each value is of bounded length, so their number bounds the text."""
        if sum(isinstance(part, ast.FormattedValue) for part in node.values) > MAX_FORMATTED:
            self.refuse(node, f"more than {MAX_FORMATTED} values in one f-string: join a list of texts")
        for part in node.values:
            spec = part.format_spec if isinstance(part, ast.FormattedValue) else None
            if isinstance(spec, ast.JoinedStr) and all(isinstance(piece, ast.Constant) for piece in spec.values):
                if not is_short_format("".join(str(cast(ast.Constant, piece).value) for piece in spec.values)):
                    self.refuse(node, LONG_FORMAT)

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._check_name(node, node.name, bound=True)
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        for kind in kinds:
            self._named.add(id(kind))
            if not isinstance(kind, ast.Name) or kind.id not in self._errors:
                self.refuse(kind, f"except can name these only: {', '.join(self._errors)}")

    def _raise(self, node: ast.Raise) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        self._named.add(id(raised))
        if isinstance(node.exc, ast.Call) and (node.exc.keywords or len(node.exc.args) > 1):
            self.refuse(node, 'an exception takes one text: raise ValueError("...")')
        if raised is not None and not isinstance(raised, ast.Name):
            self.refuse(node, 'raise an exception by its name: raise ValueError("...")')
        elif (
            raised is not None
            and raised.id not in self._errors
            and (isinstance(node.exc, ast.Call) or raised.id not in self._variables)
        ):
            self.refuse(node, f"raise one of these: {', '.join(self._errors)}")

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Subscript | ast.Name):
                self.refuse(node, "del is allowed for variables and items of your own lists and dicts only")
            self._target(target)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            self._check_name(node, name, bound=True)

    def _statement(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Starred):
            self.refuse(node, "a star cannot stand alone")
