"""The guard: Python that a language model wrote becomes a function that cannot do harm.

    guard = Guard(functions, records=(Object,), returns=bool)
    check = guard.load(extract_code(reply), entry="check")       # raises Refused
    reached = check(functions)                                   # raises BudgetSpent, GeneratedError

A whitelist of syntax and names decides what is accepted; what is accepted runs without builtins, under a budget of
steps that is woven into it (deterministic: no clock), with operations that look at sizes first. The guard knows the
functions and record types it is given and nothing of any world. Compiled code never travels: source does
(`Guarded.source`).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import CodeType
from typing import Any

from sdg.skills.sandbox.guard.border import Border, Functions, HostFault
from sdg.skills.sandbox.guard.errors import BudgetSpent, BudgetStop, GeneratedError, GuardError, Refused
from sdg.skills.sandbox.guard.extract import extract_code
from sdg.skills.sandbox.guard.formats import Formats
from sdg.skills.sandbox.guard.helpers import BUILTINS, Helpers
from sdg.skills.sandbox.guard.helpers import NAMES as MODULES
from sdg.skills.sandbox.guard.meter import (
    FILENAME,
    MAX_CALL_DEPTH,
    SCALARS,
    SOURCE,
    UNITS_PER_STEP,
    Exhausted,
    Lazy,
    Meter,
)
from sdg.skills.sandbox.guard.operators import Operators
from sdg.skills.sandbox.guard.outline import check_top, entry_of, is_constant, is_literal, names_bound
from sdg.skills.sandbox.guard.signature import Signature, fields_of, signatures_of
from sdg.skills.sandbox.guard.syntax import MAX_SOURCE_BYTES, parse, resolved
from sdg.skills.sandbox.guard.table import EXCEPTIONS
from sdg.skills.sandbox.guard.weave import Weaver

__all__ = [
    "BudgetSpent", "FILENAME", "GeneratedError", "Guard", "GuardError", "Guarded", "HostFault", "Refused", "Signature",
    "extract_code", "reserved_names",
]  # fmt: skip

BUDGET_STEPS = 20_000
MAX_MESSAGE_CHARACTERS = 500
_ADDRESS = " at 0x"
"""Where something lies in memory, as an error about a function tells it: it differs from run to run."""


def reserved_names(records: Iterable[type] = ()) -> frozenset[str]:
    """Names that no function of the host, and so no skill, may have: a program that uses one means something else.

    Builtins, exceptions, modules, fields of the records and what the language itself gives a meaning.
    """
    return BUILTINS | set(EXCEPTIONS) | set(MODULES) | set(fields_of(records)) | {"getattr", "hasattr", "type"}


class Guard:
    """Loads source against a set of functions and record types.

    `functions` maps names to the functions themselves (inspected, not kept) or to `Signature`s; `errors` are host
    exceptions that the source may name in `except` and `raise`; `returns=bool` makes every entry function return
    exactly True or False. `budget_steps` is what one run may cost, `source_bytes` how long the source may be.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., object] | Signature],
        *,
        records: Iterable[type] = (),
        errors: Iterable[type[Exception]] = (),
        returns: type | None = None,
        budget_steps: int = BUDGET_STEPS,
        source_bytes: int = MAX_SOURCE_BYTES,
    ) -> None:
        self.signatures = signatures_of(functions)
        self.records = frozenset(records)
        self.fields = fields_of(self.records)
        self.errors: dict[str, type[Exception]] = {error.__name__: error for error in errors}
        self.returns = returns
        self.budget_steps, self.source_bytes = budget_steps, source_bytes
        for name in self.signatures:
            if not name.isidentifier() or name.startswith("_") or name in BUILTINS:
                raise ValueError(f"function {name!r}: the name is not safe to give to generated code")

    def load(self, source: str, *, entry: str | None = None) -> Guarded:
        """Compile source whose function `entry` (by default its only one that no other calls) takes no arguments.

        Raises `Refused` with all that is wrong, with line numbers where they are known.
        """
        try:
            return self._load(parse(source, at_most=self.source_bytes), source, entry=entry)
        except RecursionError:
            raise Refused("The code is nested too deeply.") from None

    def _load(self, tree: ast.Module, source: str, *, entry: str | None) -> Guarded:
        variables = names_bound(tree)
        weaver = Weaver(
            fields=self.fields,
            functions=self.signatures,
            errors={**EXCEPTIONS, **self.errors},
            kept={name for name, signature in self.signatures.items() if not signature.weak} | set(self.errors),
            imported=(imported := resolved(tree, variables | set(self.signatures))),
            variables=variables,
        )
        found = entry_of(tree, entry, weaver.refuse)
        if found:
            check_top(tree, weaver.refuse, imported)
        weaver.truth = found if self.returns is bool else ""
        is_static = all(map(_is_static, tree.body))
        woven = weaver.visit(tree)
        weaver.report()
        return Guarded(self, source=source, entry=found, code=_compile(woven), is_static=is_static)


class Guarded:
    """Accepted code, ready to run. Not for two threads at once: load the source once in each.

    Calling it with the functions' mapping runs the entry function and returns its value. Raises `BudgetSpent` or
    `GeneratedError` for faults of the code; exceptions of the host's functions pass through unchanged unless the code
    caught them, except a plain `ValueError` or `TypeError`, which is how a function refuses an argument and therefore
    becomes a `GeneratedError` with a line.
    """

    def __init__(self, guard: Guard, *, source: str, entry: str, code: CodeType, is_static: bool) -> None:
        self.source = source
        self.entry = entry
        self.budget_steps = guard.budget_steps
        self._returns = guard.returns
        self._meter = Meter(guard.records)
        self._border = Border(self._meter)
        self._names: dict[str, Any] = {"__builtins__": {}, SOURCE: source}
        self._names.update(_furnish(self._meter, guard))
        for name, signature in guard.signatures.items():
            self._names[name] = self._border.wrap(signature)
        self._code = None if is_static else code
        if is_static:
            exec(code, self._names)

    @property
    def steps(self) -> int:
        """Steps that the last run cost."""
        return self.budget_steps - max(0, self._meter.left) // UNITS_PER_STEP

    def __call__(self, functions: Functions) -> Any:
        self._meter.begin(self.budget_steps)
        self._border.begin(functions)
        try:
            if self._code is not None:  # nothing lasts: lists, dicts and sets of the module are made anew
                exec(self._code, self._names)
            value = self._names[self.entry]()
            if self._meter.left >= 0:
                return value if type(value) is bool else self._returned(value)
        except (Exception, BudgetStop, Exhausted) as error:
            raise self._explained(error) from None
        raise self._explained(BudgetStop())

    def line_of(self, error: BaseException) -> int:
        """The line of the source that an exception passed through last, 0 when none."""
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILENAME:
                line = trace.tb_lineno or line  # clean-up code has no line
            trace = trace.tb_next
        return line

    def _explained(self, error: BaseException) -> BaseException:
        """The exception that a caller sees for one that left the generated code."""
        if self._border.stopped is not None:
            return self._border.stopped
        line = self.line_of(error)
        if isinstance(error, Exhausted) and error.__cause__ is not None:
            return GeneratedError("", line=line, kind=type(error.__cause__).__name__)
        if self._meter.left < 0:
            told = f"{self.entry}() did not finish within {self.budget_steps} steps: is there a loop that never ends?"
            return BudgetSpent(told, line=line)
        if any(error is raised for raised in self._border.raised) and type(error) not in (ValueError, TypeError):
            return error
        return GeneratedError(self._message(error) + self._hint(error), line=line, kind=type(error).__name__)

    def _message(self, error: BaseException) -> str:
        """An exception's text, shortened and free of control characters: it goes into prompts and logs. It is made
        under what is left of the budget."""
        try:
            text = self._meter.text(error)
        except (Exception, BudgetStop):
            text = ""
        if _ADDRESS in text:
            text = text.partition(_ADDRESS)[0]
        return "".join(c if c.isprintable() or c == "\n" else " " for c in text[:MAX_MESSAGE_CHARACTERS])

    def _hint(self, error: BaseException) -> str:
        """Records are asked as if they were dicts by many a model, and functions used without being called."""
        text = str(error.args[0])[:200] if error.args and type(error.args[0]) is str else ""
        if not isinstance(error, TypeError | AttributeError):
            return ""
        if "function'" in text or "'method'" in text:
            return ": call the function first, as in name()"
        if "'NoneType' object" in text:
            return ": it is None here: ask `is not None` first"
        record = next((r for r in self._meter.records if f"{r.__name__!r} object" in text), None)
        return f": it has attributes only, which are {', '.join(f.name for f in fields(record))}" if record else ""

    def _returned(self, value: Any) -> Any:
        """What an entry function returned, copied: functions and iterators become None."""
        if self._returns is bool:
            told = f"a value of type {type(value).__name__}: it" if value is not None else "None: every path"
            raise TypeError(f"{self.entry}() returned {told} must return True or False")
        if type(value) in SCALARS or type(value) in self._meter.records:
            return value
        try:
            return self._border.plain(value)
        except Exception:
            return None


def _furnish(meter: Meter, guard: Guard) -> dict[str, Any]:
    """Everything that woven code can name besides its own functions and the host's."""
    operators, formats = Operators(meter), Formats(meter)
    helpers = Helpers(meter, operators)
    names = {f".{name}": function for name, function in operators.calls.items()} | helpers.calls
    names |= {f".e_{name}": error for name, error in {**EXCEPTIONS, **guard.errors}.items()}

    def is_field(value: Any, name: str) -> bool:
        return type(value) in guard.records and name in guard.fields and hasattr(value, name)

    names |= {
        ".tick": meter.tick, ".enter": meter.enter, ".leave": meter.leave, ".caught": meter.caught, ".key": meter.key,
        ".text": meter.text, ".star": meter.bulk, ".rows": meter.rows, ".set": names["set"], ".dict": names["dict"],
        ".lazy": lambda items: Lazy(items, meter), ".missing": object(),
        ".generator": lambda made: lambda *values, **words: Lazy(made(*values, **words), meter),
        ".shown": formats.shown, ".joined": formats.joined,
        ".error": lambda kind, *text: kind(*map(meter.text, text)), ".hasattr": is_field,
        ".getattr": lambda value, name, default: getattr(value, name) if is_field(value, name) else default,
        ".deeper": lambda function: _deeper(function, meter),
    }  # fmt: skip
    return names


def _deeper(function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """A lambda with its depth counted."""

    def call(*arguments: Any, **named: Any) -> Any:
        meter.enter(2)
        try:
            return function(*arguments, **named)
        finally:
            meter.depth -= 1

    return call


def _is_static(statement: ast.stmt) -> bool:
    """Whether a statement of the module may be run once for all: nothing that it makes can be changed."""
    if isinstance(statement, ast.FunctionDef):
        defaults = [*statement.args.defaults, *statement.args.kw_defaults]
        return all(default is None or is_literal(default) for default in defaults)
    return isinstance(statement, ast.Pass) or is_constant(getattr(statement, "value", None))


def _compile(tree: ast.Module) -> CodeType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(ast.fix_missing_locations(tree), FILENAME, "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        raise Refused(f"This is not valid Python: {error.msg}.", line=error.lineno or 0) from None
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Refused(f"This cannot be compiled: {str(error)[:200]}.") from None


assert MAX_CALL_DEPTH * 6 < 1000, "recursion must end well before the interpreter's own limit"
