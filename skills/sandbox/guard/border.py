"""Where generated code and the host's functions meet: exact types go in, fresh plain data comes out.

Exceptions of the host are remembered, so that they leave the generated code as the objects they were; control
exceptions (those not derived from `Exception`) cannot be swallowed by it and end every further call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import NUMBERS, SCALARS, Meter
from sdg.skills.sandbox.guard.signature import FLAT, NUMBER, Signature

Functions = Mapping[str, Callable[..., Any]]

MAX_ARGUMENT_CHARACTERS = 2_000
MAX_ARGUMENT_NODES = 1_000


class Border:
    """The host's functions as generated code calls them; the functions are exchanged before each run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._cell: list[Functions] = [{}]
        self.raised: list[Exception] = []
        self.stopped: BaseException | None = None

    def begin(self, functions: Functions) -> None:
        """Forget the last run and use these functions from now on."""
        self._cell[0] = functions
        if self.raised or self.stopped is not None:
            self.raised, self.stopped = [], None

    def stop(self, error: BaseException) -> None:
        """The host ends the run: whatever generated code does from here on, each further call raises this again."""
        self.stopped = error
        self._cell[0] = _Stopped(error)

    def wrap(self, signature: Signature) -> Callable[..., Any]:
        """The function under a signature's name, with its arguments and its value checked."""
        least, most, words, call = signature.least, signature.most, signature.keywords, self.direct(signature)

        def checked(*arguments: Any, **named: Any) -> Any:
            if not least <= len(arguments) + len(named) <= most or not words.issuperset(named):
                raise TypeError(_miscounted(signature, len(arguments), named))
            values = [self.plain(argument) for argument in arguments]
            return call(*values, **{word: self.plain(value) for word, value in named.items()})

        checked.__qualname__ = signature.name
        return checked

    def direct(self, signature: Signature) -> Callable[..., Any]:
        """The function for calls whose arguments are known to be right: their number, and that they are flat."""
        name, cell, safe, fresh = signature.name, self._cell, self._safe(signature), self._fresh(signature)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                value = cell[0][name](*arguments, **named)
            except BaseException as error:
                self._note(error)
                raise
            return value if type(value) in safe else fresh(value)

        def bare() -> Any:
            try:
                value = cell[0][name]()
            except BaseException as error:
                self._note(error)
                raise
            return value if type(value) in safe else fresh(value)

        return call if signature.most else bare

    def _note(self, error: BaseException) -> None:
        if isinstance(error, RecursionError | MemoryError):
            return  # generated code can bring it about in any function: it calls it too deep, or after filling memory
        if isinstance(error, Exception):
            self.raised.append(error)
        else:
            self.stop(error)

    def _safe(self, signature: Signature) -> frozenset[type]:
        """Types of values that can be handed out as they are."""
        if signature.returns == NUMBER:
            return NUMBERS
        return SCALARS if signature.returns == FLAT else SCALARS | self._meter.records

    def _fresh(self, signature: Signature) -> Callable[[Any], Any]:
        """How a value that the function returns is made safe to hand out."""
        if signature.returns in (FLAT, NUMBER):
            return self._flat(signature)
        if signature.shallow:
            return lambda value: value.copy() if type(value) is list else self.copy(value)
        return self.copy

    def _flat(self, signature: Signature) -> Callable[[Any], Any]:
        def check(value: Any) -> Any:
            if signature.returns == FLAT and type(value) is tuple and SCALARS.issuperset(map(type, value)):
                return value
            self.stop(HostFault(f"{signature.name}() returned a {type(value).__name__}, not what its annotation says"))
            raise self.stopped or AssertionError

        return check

    def plain(self, value: Any) -> Any:
        """An argument on its way to the host: plain types or records that came from it; containers are copied."""
        kind = type(value)
        if kind is str:
            if len(value) > MAX_ARGUMENT_CHARACTERS:
                raise TooLarge(f"an argument of {len(value)} characters; at most {MAX_ARGUMENT_CHARACTERS} are allowed")
            return value
        if kind in SCALARS or kind in self._meter.records:
            return value
        if kind is list or kind is tuple or kind is dict:
            self._meter.weigh(value)
            return _copied(value, left=[MAX_ARGUMENT_NODES], records=self._meter.records)
        raise TypeError(f"a {kind.__name__} cannot be an argument: give plain values or what a function returned")

    def copy(self, value: Any) -> Any:
        """What the host returned, as fresh plain data. Raises `HostFault` for anything that is not."""
        kind = type(value)
        if kind in SCALARS or kind in self._meter.records:
            return value
        if kind is list:
            return [self.copy(item) for item in value]
        if kind is tuple:
            return tuple([self.copy(item) for item in value])
        if kind is dict:
            return {self.copy(key): self.copy(item) for key, item in value.items()}
        if kind is set or kind is frozenset:
            return kind(map(self.copy, value))
        self.stop(HostFault(f"a function returned a {kind.__name__}, which generated code may not hold"))
        raise self.stopped or AssertionError


class _Stopped(dict[str, Callable[..., Any]]):
    """Functions after the host has ended a run: there are none left, only the error that ended it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def __missing__(self, name: str) -> Callable[..., Any]:
        raise self._error


class HostFault(BaseException):
    """A host function broke its promise. Not an `Exception`: generated code must not go on with it."""


def _copied(value: Any, *, left: list[int], records: frozenset[type]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise TooLarge(f"an argument of more than {MAX_ARGUMENT_NODES} values")
    kind = type(value)
    if kind in SCALARS or kind in records:
        return value
    if kind is dict:
        return {
            _copied(key, left=left, records=records): _copied(item, left=left, records=records)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return kind(_copied(item, left=left, records=records) for item in value)
    raise TypeError(f"a {kind.__name__} cannot be part of an argument")


def _miscounted(signature: Signature, positional: int, named: Iterable[str]) -> str:
    least, most = signature.least, signature.most
    wanted = f"{least}" if least == most else f"{least} to {most}"
    takes = f"{signature.name}() takes {wanted} argument{'' if wanted == '1' else 's'}"
    unknown = [word for word in named if word not in signature.keywords]
    if unknown:
        return f"{takes}, and none is named {unknown[0]}: give arguments by position"
    return f"{takes}, {positional + len(list(named))} given"
