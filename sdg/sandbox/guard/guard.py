"""The guard: Python that a language model wrote becomes a function that cannot do harm.

    guard = Guard(functions, records=(Object,), returns=bool)
    check = guard.load(source, entry="check")                    # raises Refused
    reached = check(functions)                                   # raises BudgetSpent, GeneratedError

A whitelist of syntax and names decides what is accepted; accepted code runs without builtins, under a budget of steps
that is woven into it (deterministic: no clock), with operations that check sizes first. The guard knows the functions
and record types that it is given and nothing about any world: exact types go to the host, fresh plain data comes back.
Only source is sent elsewhere (`GuardedFunction.source`), never compiled code.
"""

import dataclasses
import inspect
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from traceback import walk_tb
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from sdg.sandbox.guard.errors import BudgetSpent, BudgetStop, GeneratedError, Refused, TooLarge
from sdg.sandbox.guard.library import BUILTINS, METHODS, MODULES, Library
from sdg.sandbox.guard.meter import FILENAME, UNITS_PER_STEP
from sdg.sandbox.guard.outline import entry_of, is_static, names_bound
from sdg.sandbox.guard.syntax import MAX_SOURCE_BYTES, parse
from sdg.sandbox.guard.table import EXCEPTIONS
from sdg.sandbox.guard.weave import Weaver

MAX_ARGUMENT_CHARACTERS = 2_000
"""Longest argument as text; each of its parts counts for two more."""
_ARGUMENT_KINDS: frozenset[type] = frozenset({list, tuple, dict})
_VALUE_KINDS: frozenset[type] = frozenset({list, tuple, dict, set, frozenset})
_RESERVED_NAMES = frozenset(
    name
    for kind in (str, int, float, list, dict, set, tuple, range, type, Exception, AttributeError, UnicodeDecodeError,
                 FunctionType, BuiltinFunctionType, GeneratorType, MethodType, deque)
    for name in dir(kind)
) - {"name"}  # fmt: skip
BUDGET_STEPS = 20_000
MAX_MESSAGE_CHARACTERS = 500
MIN_STACK = 5000
"""Least limit of the interpreter's stack: 60 calls of generated code with all their loops stay far below it, wherever
they begin, so that no answer depends on the caller's depth."""
sys.setrecursionlimit(max(sys.getrecursionlimit(), MIN_STACK))


class HostFault(BaseException):
    """A host function broke its promise. Not an `Exception`: generated code must not go on with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """A function that generated code may call: how many arguments it takes and under which names."""

    name: str
    least: int = 0
    most: int = 0
    keywords: frozenset[str] = frozenset()
    weak: bool = False
    """Whether the source may define this name and its definition wins; other names cannot be bound."""

    @classmethod
    def of(cls, name: str, function: Callable[..., object]) -> "Signature":
        """The signature of a Python function, from its parameters."""
        parameters = list(inspect.signature(function).parameters.values())
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return cls(
            name=name,
            least=sum(p.default is p.empty for p in positional),
            most=1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional),
            keywords=frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)),
        )


def fields_of(records: Collection[type]) -> tuple[str, ...]:
    """Names of the fields of all record types.

    Raises `ValueError` for a record that is not a frozen dataclass, and for a field that generated code could misuse:
    one that is not flat, or whose name is an attribute of a plain value (`format`, `gi_frame`, `mro`, ...).
    """
    for record in records:
        if not getattr(getattr(record, "__dataclass_params__", None), "frozen", False):
            raise ValueError(f"{record.__name__} must be a frozen dataclass")
        for field in dataclasses.fields(record):
            words = inspect.formatannotation(field.type).translate(str.maketrans("[],|'\"", "      ")).split()
            is_taken = METHODS.intersection(dir(record)) or field.name in _RESERVED_NAMES
            if is_taken or field.name.startswith("_") or not field.name.isascii():
                raise ValueError(f"field {record.__name__}.{field.name}: the name is not safe as an allowed attribute")
            if not words or not {"int", "float", "bool", "str", "None", "tuple", "..."}.issuperset(words):
                raise ValueError(f"field {record.__name__}.{field.name}: {field.type} is not a flat, immutable type")
    return tuple(dict.fromkeys(field.name for record in records for field in dataclasses.fields(record)))


def reserved_names(records: Collection[type] = ()) -> frozenset[str]:
    """Names that no function of the host may have, because they mean something else in programs.

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
        self.signatures = {
            name: function if isinstance(function, Signature) else Signature.of(name, function)
            for name, function in functions.items()
        }
        self.records, self.returns = frozenset(records), returns
        self.fields = fields_of(self.records)
        self.errors = EXCEPTIONS | {error.__name__: error for error in errors}
        self.budget_steps, self.source_bytes = budget_steps, source_bytes
        for name in self.signatures:
            if not name.isidentifier() or name.startswith("_") or name in BUILTINS:
                raise ValueError(f"function {name!r}: the name is not safe to give to generated code")

    def load(self, source: str, *, entry: str = "") -> "GuardedFunction":
        """Compile source whose function `entry` (by default its last one) takes no arguments.

        Raises `Refused` with all that is wrong, with line numbers where they are known.
        """
        try:
            tree = parse(source, at_most=self.source_bytes)
            weaver = Weaver(
                tree,
                fields=self.fields,
                functions=self.signatures,
                errors=self.errors,
                bound=names_bound(tree),
                fixed={name for name, signature in self.signatures.items() if not signature.weak}
                | (self.errors.keys() - EXCEPTIONS),
            )
            entry_name = entry_of(tree, entry, weaver.refuse, is_truth=self.returns is bool)
            lasts = is_static(tree)  # asked before weaving changes the tree
            code = weaver.compile(tree)
        except (RecursionError, ValueError) as error:
            raise Refused(f"The code cannot be judged: {str(error)[:200]}.") from None
        return GuardedFunction(self, source=source, entry=entry_name, code=code, is_static=lasts)


class GuardedFunction(Library):
    """Accepted code, ready to run. Not for two threads at once: load the source once in each.

    Calling it with the functions' mapping runs the entry function and returns its value. Raises `BudgetSpent` or
    `GeneratedError` for faults of the code; exceptions of the host's functions pass through unchanged unless the code
    caught them. Only a plain `ValueError` or `TypeError`, by which a function refuses an argument, and an
    `OverflowError` or `ZeroDivisionError`, as numbers can make anywhere, become a `GeneratedError` with a line.
    """

    _stop_error: BaseException | None

    def __init__(self, guard: Guard, *, source: str, entry: str, code: CodeType, is_static: bool) -> None:
        super().__init__(guard.records)
        self.source, self.entry = source, entry
        self.budget_steps, self._returns = guard.budget_steps, guard.returns
        self._code, self._is_static, self._module = code, is_static, dict[str, Any]()
        self._names: dict[str, Any] = self.calls | {
            "__builtins__": {}, **{f".e_{name}": error for name, error in guard.errors.items()},
            **{name: self.wrap(signature) for name, signature in guard.signatures.items()},
        }  # fmt: skip

    @property
    def steps(self) -> int:
        """Steps that the last run cost."""
        return self.budget_steps - max(0, self.left) // UNITS_PER_STEP

    def __call__(self, functions: Mapping[str, Callable[..., Any]]) -> Any:
        self.left, self.depth, self._functions = self.budget_steps * UNITS_PER_STEP, 0, functions
        self._host_errors, self._stop_error = list[Exception](), None
        try:
            names = self._module
            if not names:  # nothing lasts between calls: the module is made again, and can't read what it was before
                names = dict(self._names)
                exec(self._code, names)
                self._module = names if self._is_static else {}
            value = names[self.entry]()
            self.tick(0)  # raises where the budget is spent although the code went on
            return value if type(value) is bool else self._result(value)
        except (Exception, BudgetStop) as error:
            raise self._error_for_caller(error) from None

    def wrap(self, signature: Signature) -> Callable[..., Any]:
        """The function under a signature's name; what it is given and returns becomes fresh plain data.

        Each call costs a step, so that none is possible when the budget is spent. The function raises `HostFault` where
        what it wraps returns anything else.
        """
        name, words = signature.name, signature.keywords
        least, most = signature.least, signature.most

        def call(*arguments: Any, **keywords: Any) -> Any:
            self.tick(UNITS_PER_STEP)
            count = len(arguments) + len(keywords)
            if not least <= count <= most or not words.issuperset(keywords):
                unknown = next((word for word in keywords if word not in words), "")
                problem = f"and none is named {unknown}: give arguments by position" if unknown else f"{count} given"
                range_text = f"{least}" if least == most else f"{least} to {most}"
                raise TypeError(f"{name}() takes {range_text} argument{'' if range_text == '1' else 's'}, {problem}")
            values = [self.receive(argument) for argument in arguments]
            keyword_values = keywords and {word: self.receive(value) for word, value in keywords.items()}
            try:
                value = self._functions[name](*values, **keyword_values)
            except (RecursionError, MemoryError):
                raise  # generated code can cause these in any function, by deep calls or by filling memory
            except Exception as error:
                self.tick(2 * UNITS_PER_STEP)  # the error is kept with its frames
                self._host_errors.append(error)
                raise
            except BaseException as error:
                self._stop(self._stop_error or error)
                raise
            if type(value) in self.flat:
                return value
            try:
                return self.charge_made(self._copy(value, _VALUE_KINDS))
            except TypeError as error:
                raise self._stop(HostFault(f"{name}() returned what generated code may not hold: {error}")) from None

        call.__qualname__ = name
        return call

    def _stop(self, error: BaseException) -> BaseException:
        """End the run for the host: no budget is left, so no further call reaches the host."""
        self._stop_error, self.left = error, -1
        return error

    def receive(self, value: Any) -> Any:
        """An argument on its way to the host: plain types, or records that it returned; containers are copied."""
        size = 0 if type(value) in self.flat - {str} else len(value if type(value) is str else self.text(value))
        if size > MAX_ARGUMENT_CHARACTERS:
            raise TooLarge(f"an argument of {size} characters; at most {MAX_ARGUMENT_CHARACTERS} are allowed")
        return self._copy(value, _ARGUMENT_KINDS)

    def _copy(self, value: Any, containers: frozenset[type]) -> Any:
        """Plain data without anything that can be changed elsewhere; numpy's numbers become plain ones.

        Raises TypeError for all else.
        """
        kind = type(value)
        if kind in self.flat:
            return value
        if isinstance(value, np.generic) and type(value.item()) in self.flat:
            return value.item()
        if kind not in containers:
            raise TypeError(f"a {kind.__name__} cannot be an argument: give plain values or what a function returned")
        if kind is dict:
            return {self._copy(key, containers): self._copy(value[key], containers) for key in value}
        is_flat = kind is list and self.flat.issuperset(map(type, value))
        return value.copy() if is_flat else kind([self._copy(item, containers) for item in value])

    def line_of(self, error: BaseException) -> int:
        """The line of the source that an exception passed through last, 0 when none."""
        frames = walk_tb(error.__traceback__)  # clean-up code has no line
        return [0, *(line for frame, line in frames if line and frame.f_code.co_filename == FILENAME)][-1]

    def _error_for_caller(self, error: BaseException) -> BaseException:
        """The exception that a caller sees for one that left the generated code."""
        if self._stop_error is not None:
            return self._stop_error
        line = self.line_of(error)
        if isinstance(error, BudgetStop) and error.__cause__ is not None:
            return GeneratedError("", line=line, kind=type(error.__cause__).__name__)
        if self.left < 0:
            return BudgetSpent(
                f"{self.entry}() did not finish within {self.budget_steps} steps: is there a loop that never ends?",
                line=line,
            )
        is_host_error = any(error is host_error for host_error in self._host_errors)
        if is_host_error and type(error) not in (ValueError, TypeError, OverflowError, ZeroDivisionError):
            return error
        return GeneratedError(self._message(error), line=line, kind=type(error).__name__)

    def _message(self, error: BaseException) -> str:
        """An exception's text, shortened and free of control characters: it goes into prompts and logs. Making it is
        charged to the rest of the budget.

        A hint is added, because many models use records like dicts, or functions without calling them.
        """
        try:
            # A function's address, which differs from run to run, is cut off.
            text = self.text(error).partition(" at 0x")[0][:MAX_MESSAGE_CHARACTERS]
        except (Exception, BudgetStop):
            return ""
        signs = {f"{record.__name__!r} object": f"it has attributes only, which are {', '.join(fields_of([record]))}"
                 for record in self.records} | {
            "function'": "call the function first, as in name()", "'method'": "call the function first, as in name()",
            "'NoneType' object": "it is None here: ask `is not None` first",
        }  # fmt: skip
        hint = next((f": {hint}" for sign, hint in signs.items() if sign in text[:200]), "")
        printable = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)
        return printable + hint if isinstance(error, TypeError | AttributeError) else printable

    def _result(self, value: Any) -> Any:
        """A copy of an entry function's value; functions and iterators become None."""
        if self._returns is bool:
            value_text = f"a value of type {type(value).__name__}: it" if value is not None else "None: every path"
            raise TypeError(f"{self.entry}() returned {value_text} must return True or False")
        try:
            return value if type(value) in self.flat else self.receive(value)
        except Exception:
            return None
