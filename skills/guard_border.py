"""Where generated code and the host's functions meet: exact types go in, fresh plain data comes out.

Exceptions of the host are remembered, so that they leave the generated code as the objects they were; control
exceptions (those not derived from `Exception`) cannot be swallowed by it and end every further call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skills.guard_errors import TooLarge
from skills.guard_meter import SCALARS, Meter
from skills.guard_signature import FLAT, NUMBER, Signature

Functions = Mapping[str, Callable[..., Any]]

MAX_ARGUMENT_CHARACTERS = 2_000
MAX_ARGUMENT_NODES = 1_000
_STEPS_PER_CALL = 2


class Border:
    """The host's functions as generated code calls them; `functions` is exchanged before each run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.functions: Functions = {}
        self.raised: list[Exception] = []
        self.stopped: BaseException | None = None

    def begin(self, functions: Functions) -> None:
        """Forget the last run."""
        self.functions = functions
        self.stopped = None
        if self.raised:
            self.raised = []

    def wrap(self, signature: Signature) -> Callable[..., Any]:
        """The function under a signature's name, with its arguments and its value checked."""
        name, least, most, words = signature.name, signature.least, signature.most, signature.keywords
        meter, fresh = self._meter, self._fresh(signature)

        def call(*arguments: Any, **named: Any) -> Any:
            if self.stopped is not None:
                raise self.stopped
            if arguments or named:
                arguments = tuple([self.plain(argument) for argument in arguments])
                named = {word: self.plain(value) for word, value in named.items()}
            if not least <= len(arguments) + len(named) <= most or not words.issuperset(named):
                raise TypeError(_miscounted(signature, len(arguments) + len(named)))
            meter.tick(_STEPS_PER_CALL)
            try:
                value = self.functions[name](*arguments, **named)
            except Exception as error:
                self.raised.append(error)
                raise
            except BaseException as error:
                self.stopped = error
                raise
            return fresh(value)

        return call

    def _fresh(self, signature: Signature) -> Callable[[Any], Any]:
        """How a value that the function returns is made safe to hand out."""
        if signature.returns in (FLAT, NUMBER):
            return self._flat(signature)
        if signature.shallow:
            return lambda value: list(value) if type(value) is list else self.copy(value)
        return self.copy

    def _flat(self, signature: Signature) -> Callable[[Any], Any]:
        only_numbers = signature.returns == NUMBER

        def check(value: Any) -> Any:
            kind = type(value)
            if kind is int or kind is float or kind is bool or (not only_numbers and (kind is str or value is None)):
                return value
            if kind is tuple and not only_numbers and SCALARS.issuperset(map(type, value)):
                return value
            raise HostFault(f"{signature.name}() returned a {kind.__name__}, not what its annotation says")

        return check

    def plain(self, value: Any) -> Any:
        """An argument on its way to the host: exact plain types, or records that came from it; containers are copied."""
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
        raise HostFault(f"a function returned a {kind.__name__}, which generated code may not hold")


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


def _miscounted(signature: Signature, given: int) -> str:
    least, most = signature.least, signature.most
    wanted = f"{least}" if least == most else f"{least} to {most}"
    return f"{signature.name}() takes {wanted} argument{'' if wanted == '1' else 's'}, {given} given"
