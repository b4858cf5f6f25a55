"""Where generated code and the host's functions and records meet: exact types go in, fresh plain data comes out.

Exceptions of the host are remembered, so that they leave the generated code as the same objects; the code cannot
swallow control exceptions (those not derived from `Exception`), which end every further call.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import Any

from sdg.sandbox.guard.errors import TooLarge
from sdg.sandbox.guard.library import METHODS, Library
from sdg.sandbox.guard.meter import NUMBERS, UNITS_PER_STEP

Functions = Mapping[str, Callable[..., Any]]

ANY, NUMBER = 0, 2
"""What a host function promises to return: anything, or a number or bool."""
MAX_ARGUMENT_CHARACTERS = 2_000
"""Longest argument as text; each of its parts counts for two more."""
_ARGUMENT_KINDS: frozenset[type] = frozenset({list, tuple, dict})
_VALUE_KINDS: frozenset[type] = frozenset({list, tuple, dict, set, frozenset})
_FLAT = frozenset({"int", "float", "bool", "str", "None", "tuple", "..."})
_RESERVED_NAMES = frozenset(
    name
    for kind in (str, int, float, list, dict, set, tuple, range, type, Exception, AttributeError, UnicodeDecodeError,
                 FunctionType, BuiltinFunctionType, GeneratorType, MethodType, Counter, defaultdict, deque)
    for name in dir(kind)
) - {"name"}  # fmt: skip


class HostFault(BaseException):
    """A host function broke its promise. Not an `Exception`: generated code must not go on with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """A function that generated code may call: how many arguments it takes, under which names, and what it returns."""

    name: str
    least: int = 0
    most: int = 0
    returns: int = ANY
    keywords: frozenset[str] = frozenset()
    weak: bool = False
    """Whether the source may define this name and its definition wins; other names cannot be bound."""

    @classmethod
    def of(cls, name: str, function: Callable[..., object]) -> Signature:
        """The signature of a Python function, from its parameters."""
        parameters = list(inspect.signature(function).parameters.values())
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return cls(
            name=name,
            least=sum(p.default is p.empty for p in plain),
            most=1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(plain),
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
            annotation = inspect.formatannotation(field.type).translate(str.maketrans("[],|'\"", "      "))
            is_taken = METHODS.intersection(dir(record)) or field.name in _RESERVED_NAMES
            if is_taken or field.name.startswith("_") or not field.name.isascii():
                raise ValueError(f"field {record.__name__}.{field.name}: the name is not safe as an allowed attribute")
            if not annotation.strip() or not _FLAT.issuperset(annotation.split()):
                raise ValueError(f"field {record.__name__}.{field.name}: {field.type} is not a flat, immutable type")
    return tuple(dict.fromkeys(field.name for record in records for field in dataclasses.fields(record)))


class Border(Library):
    """All that generated code can call, with the host's functions, which are exchanged before each run."""

    _functions: Functions
    _host_errors: list[Exception]
    _stop_error: BaseException | None

    def stop(self, error: BaseException) -> BaseException:
        """End the run for the host: no budget is left, so no further call reaches the host."""
        self._stop_error, self.left = error, -1
        return error

    def wrap(self, signature: Signature) -> Callable[..., Any]:
        """The function under a signature's name, with its arguments and its value checked.

        Each call costs a step, so that none is possible when the budget is spent.
        """
        name, least, most, words = signature.name, signature.least, signature.most, signature.keywords
        safe = NUMBERS if signature.returns == NUMBER else self.flat

        def call(*arguments: Any, **keywords: Any) -> Any:
            self.tick(UNITS_PER_STEP)
            count = len(arguments) + len(keywords)
            if not least <= count <= most or not words.issuperset(keywords):
                stranger = next((word for word in keywords if word not in words), "")
                problem = f"and none is named {stranger}: give arguments by position" if stranger else f"{count} given"
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
                self.stop(self._stop_error or error)
                raise
            return value if type(value) in safe else self._fresh(value, name, safe)

        call.__qualname__ = name
        return call

    def _fresh(self, value: Any, name: str, safe: frozenset[type]) -> Any:
        """A function's return value as fresh plain data. Raises `HostFault` for anything else."""
        try:
            is_flat = type(value) is list and safe.issuperset(map(type, value))
            return self.made(value.copy() if is_flat else self._copy(value, _VALUE_KINDS, safe))
        except TypeError as error:
            raise self.stop(HostFault(f"{name}() returned what generated code may not hold: {error}")) from None

    def receive(self, value: Any) -> Any:
        """An argument on its way to the host: plain types, or records that it returned; containers are copied."""
        size = len(value) if type(value) is str else 0
        if type(value) not in self.flat:
            size = len(self.text(value))
        if size > MAX_ARGUMENT_CHARACTERS:
            raise TooLarge(f"an argument of {size} characters; at most {MAX_ARGUMENT_CHARACTERS} are allowed")
        return value if type(value) in self.flat else self._copy(value, _ARGUMENT_KINDS, self.flat)

    def _copy(self, value: Any, containers: frozenset[type], plain: frozenset[type]) -> Any:
        kind = type(value)
        if kind in plain:
            return value
        if kind not in containers:
            raise TypeError(f"a {kind.__name__} cannot be an argument: give plain values or what a function returned")
        if kind is dict:
            return {self._copy(k, containers, plain): self._copy(value[k], containers, plain) for k in value}
        return kind([self._copy(item, containers, plain) for item in value])
