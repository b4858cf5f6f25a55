"""The guard: Python that a language model wrote becomes a function that cannot do harm.

    guard = Guard(perception.functions(), records=(Object,), returns=bool)
    check = guard.load(extract_code(reply), entry="check")       # raises Refused
    reached = check(perception.functions())                      # raises BudgetSpent, GeneratedError

A whitelist of syntax and names decides what is accepted; what is accepted runs without builtins, under a budget of
steps that is woven into it (deterministic: no clock), with operations that look at sizes first. The guard knows the
functions and record types it is given and nothing of any world. It bounds work and memory; the process around it
(`skills/sandbox/process/supervisor.py`) is the second wall. Compiled code never travels: source does
(`Guarded.source`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import CodeType
from typing import Any

from sdg.skills.sandbox.guard.border import Border, Functions, HostFault
from sdg.skills.sandbox.guard.builtins import EXCEPTIONS, PLAIN_TYPES, RAW, Builtins
from sdg.skills.sandbox.guard.errors import BudgetSpent, BudgetStop, GeneratedError, GuardError, Refused
from sdg.skills.sandbox.guard.extract import extract_code
from sdg.skills.sandbox.guard.kinds import Kinds
from sdg.skills.sandbox.guard.meter import (
    CONTAINERS,
    COUNTER,
    FILENAME,
    MAX_BITS,
    MAX_CALL_DEPTH,
    SCALARS,
    SOURCE,
    Meter,
)
from sdg.skills.sandbox.guard.methods import Methods
from sdg.skills.sandbox.guard.operators import Operators
from sdg.skills.sandbox.guard.outline import FRESH, entry_of, names_bound
from sdg.skills.sandbox.guard.signature import Signature, fields_of, signatures_of
from sdg.skills.sandbox.guard.syntax import MAX_SOURCE_BYTES, Inspector, parse
from sdg.skills.sandbox.guard.weave import Weaver

__all__ = [
    "BudgetSpent", "FILENAME", "GeneratedError", "Guard", "GuardError", "Guarded", "HostFault", "Refused", "Signature",
    "extract_code",
]  # fmt: skip

BUDGET_STEPS = 20_000
MAX_MESSAGE_CHARACTERS = 500
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""Where something lies in memory, as an error about a function tells it: it differs from run to run."""
_BUILTIN_NAMES = frozenset(Builtins(Meter({}, records=frozenset())).calls)


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
            if not name.isidentifier() or name.startswith("_") or name in _BUILTIN_NAMES:
                raise ValueError(f"function {name!r}: the name is not safe to give to generated code")

    def load(self, source: str, *, entry: str | None = None) -> Guarded:
        """Compile source whose function `entry` (by default its only one that no other calls) takes no arguments.

        Raises `Refused`, with a line number where one is known.
        """
        try:
            return self._load(parse(source, at_most=self.source_bytes), source, entry=entry)
        except RecursionError:
            raise Refused("The code is nested too deeply.") from None

    def _load(self, tree: ast.Module, source: str, *, entry: str | None) -> Guarded:
        variables = names_bound(tree)
        Inspector(self.fields, self.signatures, errors=self.errors, variables=variables).inspect(tree)
        entry = entry_of(tree, entry)
        kinds = Kinds(fields=self.fields, functions=self.signatures, variables=variables)
        kinds.learn(tree)
        weaver = Weaver(
            kinds,
            builtins=_BUILTIN_NAMES,
            errors={**EXCEPTIONS, **self.errors},
            truths=frozenset({entry}) if self.returns is bool else frozenset(),
        )
        return Guarded(self, source=source, entry=entry, code=_compile(weaver.visit(tree)))


class Guarded:
    """Accepted code, ready to run. Not for two threads at once: load the source once in each.

    Calling it with the functions' mapping runs the entry function and returns its value. Raises `BudgetSpent` or
    `GeneratedError` for faults of the code; exceptions of the host's functions pass through unchanged unless the code
    caught them, except a plain `ValueError` or `TypeError`, which is how a function refuses an argument and therefore
    becomes a `GeneratedError` with a line.
    """

    def __init__(self, guard: Guard, *, source: str, entry: str, code: CodeType) -> None:
        self.source = source
        self.entry = entry
        self.budget_steps = guard.budget_steps
        self._returns = guard.returns
        self._names: dict[str, Any] = {"__builtins__": {}, COUNTER: guard.budget_steps, SOURCE: source}
        self._meter = Meter(self._names, records=guard.records)
        self._border = Border(self._meter)
        self._names.update(_furnish(self._meter, errors={**EXCEPTIONS, **guard.errors}))
        used = set(code.co_names) | _names_in(code)
        for name, signature in guard.signatures.items():
            if name in used:
                self._names[name] = self._border.wrap(signature)
            if f".{name}" in used:
                self._names[f".{name}"] = self._border.direct(signature)
        exec(code, self._names)
        self._function: Callable[[], Any] = _renewing(self._names.get(FRESH), self._names[entry])

    @property
    def steps(self) -> int:
        """Steps that the last run cost."""
        return int(self.budget_steps - self._names[COUNTER])

    def __call__(self, functions: Functions) -> Any:
        self._names[COUNTER] = self.budget_steps
        self._border.begin(functions)
        try:
            value = self._function()
        except (Exception, BudgetStop) as error:
            self._meter.depth = 0
            raise self._explained(error) from None
        if self._border.stopped is not None:
            raise self._border.stopped
        if self._names[COUNTER] < 0:
            raise self._overspent(0)
        if type(value) is bool or (self._returns is not bool and type(value) in SCALARS):
            return value
        if self._returns is bool:
            raise self._unfit(value)
        return self._plain(value)

    def line_of(self, error: BaseException) -> int:
        """The line of the source that an exception passed through last, 0 when none."""
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILENAME:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _explained(self, error: BaseException) -> BaseException:
        """The exception that a caller sees for one that left the generated code."""
        if self._border.stopped is not None:
            return self._border.stopped
        line = self.line_of(error)
        if self._names[COUNTER] < 0 or isinstance(error, BudgetStop):
            return self._overspent(line)
        if any(error is raised for raised in self._border.raised) and type(error) not in (ValueError, TypeError):
            return error
        return GeneratedError(_message(error) + self._hint(error), line=line, kind=type(error).__name__)

    def _hint(self, error: BaseException) -> str:
        """Records are asked as if they were dicts by many a model, and functions used without being called."""
        if isinstance(error, TypeError | AttributeError) and "'function'" in str(error.args[:1]):
            return ": call the function first, as in name()"
        if isinstance(error, TypeError | AttributeError) and "'NoneType' object" in str(error.args[:1]):
            return ": it is None here: ask `is not None` first"
        record = next((r for r in self._meter.records if f"{r.__name__!r} object" in str(error.args[:1])), None)
        if not isinstance(error, TypeError | AttributeError) or record is None:
            return ""
        return f": it has attributes only, which are {', '.join(f.name for f in fields(record))}"

    def _overspent(self, line: int) -> BudgetSpent:
        return BudgetSpent(
            f"{self.entry}() did not finish within {self.budget_steps} steps: is there a loop that never ends?",
            line=line,
        )

    def _unfit(self, value: object) -> GeneratedError:
        if value is None:
            return GeneratedError(
                f"{self.entry}() returned None: every path must return True or False", kind="TypeError"
            )
        return GeneratedError(
            f"{self.entry}() returned a value of type {type(value).__name__}: it must return True or False",
            kind="TypeError",
        )

    def _plain(self, value: Any) -> Any:
        """A returned container or record, if there is nothing else in it. Functions and iterators become None."""
        if type(value) not in CONTAINERS:
            return value if type(value) in self._meter.records else None
        try:
            return self._border.plain(value)
        except BudgetStop:
            raise self._overspent(0) from None
        except Exception:
            return None


def _message(error: BaseException) -> str:
    """An exception's own text, shortened and free of control characters: it goes into prompts and logs."""
    try:
        text = _ADDRESS.sub("", str(error.args[1] if isinstance(error, OverflowError) and error.args[1:] else error))
    except Exception:
        text = ""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text[:MAX_MESSAGE_CHARACTERS])


def _furnish(meter: Meter, *, errors: Mapping[str, type[Exception]]) -> dict[str, Any]:
    """Everything that woven code can name besides its own functions and the host's."""
    builtins = Builtins(meter)
    methods = Methods(meter, builtins)
    names: dict[str, Any] = dict(builtins.calls)
    names |= {f".{name}": function for name, function in Operators(meter).calls.items()}
    names |= {f".m_{name}": function for name, function in methods.calls.items()}
    names |= {f".raw_{name}": function for name, function in RAW.items()}
    names |= {f".str_{name}": function for name, function in methods.texts.items()}
    names |= {f".short_{name}": getattr(str, name) for name in methods.texts}
    names |= {f".{f.__name__}_flat": builtins.extreme_flat(f) for f in (min, max)}
    names |= {f".type_{name}": kind for name, kind in PLAIN_TYPES.items()}
    names |= {f".{name}": error for name, error in errors.items()}
    names |= {
        ".tick": meter.tick, ".spent": meter.spent, ".enter": meter.enter, ".leave": meter.leave, ".key": meter.key,
        ".text": meter.text, ".star": meter.bulk, ".rows": meter.rows, ".repr": builtins.repr,
        ".merged": builtins.merged, ".set": builtins.calls["set"], ".sorted_flat": builtins.sorted_flat,
        ".getter": builtins.getter,
        ".error": lambda kind, *text: kind(*map(meter.text, text)),
        ".formatted": lambda value: _formatted(value, meter),
        ".deeper": lambda function: _deeper(function, meter),
    }  # fmt: skip
    return names


def _formatted(value: Any, meter: Meter) -> Any:
    """A value for a short number format."""
    if type(value) in (int, float, bool):
        if type(value) is int and value.bit_length() > MAX_BITS:
            raise ValueError("the number is too large to be written")
        meter.charge(value.bit_length() if type(value) is int else 0)
        return value
    return meter.text(value)


def _deeper(function: Callable[..., Any], meter: Meter) -> Callable[..., Any]:
    """A lambda that may call itself, with its depth counted."""

    def call(*arguments: Any, **named: Any) -> Any:
        meter.enter()
        try:
            return function(*arguments, **named)
        finally:
            meter.leave()

    return call


def _renewing(fresh: Callable[[], Any] | None, entry: Callable[[], Any]) -> Callable[[], Any]:
    """The entry function, with the module's lists, dicts and sets made anew before each run."""
    return entry if fresh is None else lambda: (fresh(), entry())[1]


def _compile(tree: ast.Module) -> CodeType:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(ast.fix_missing_locations(tree), FILENAME, "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        raise Refused(f"This is not valid Python: {error.msg}.", line=error.lineno or 0) from None
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Refused(f"This cannot be compiled: {str(error)[:200]}.") from None


def _names_in(code: CodeType) -> set[str]:
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= set(constant.co_names) | _names_in(constant)
    return names


assert MAX_CALL_DEPTH * 6 < 1000, "recursion must end well before the interpreter's own limit"
