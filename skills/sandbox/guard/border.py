"""Where generated code and the host's functions meet: exact types go in, fresh plain data comes out.

Exceptions of the host are remembered, so that they leave the generated code as the objects they were; control
exceptions (those not derived from `Exception`) cannot be swallowed by it and end every further call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sdg.skills.sandbox.guard.errors import TooLarge
from sdg.skills.sandbox.guard.meter import NUMBERS, SCALARS, UNITS_PER_STEP, Meter
from sdg.skills.sandbox.guard.signature import FLAT, NUMBER, Signature

Functions = Mapping[str, Callable[..., Any]]

MAX_ARGUMENT_CHARACTERS = 2_000
MAX_ARGUMENT_NODES = 1_000


class HostFault(BaseException):
    """A host function broke its promise. Not an `Exception`: generated code must not go on with it."""


class Border:
    """The host's functions as generated code calls them; the functions are exchanged before each run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._functions: Functions = {}
        self.raised: list[Exception] = []
        self.stopped: BaseException | None = None

    def begin(self, functions: Functions) -> None:
        """Forget the last run and use these functions from now on."""
        self._functions, self.raised, self.stopped = functions, [], None

    def stop(self, error: BaseException) -> BaseException:
        """The host ends the run: the budget is gone, so that no further call reaches it."""
        self.stopped, self._meter.left = error, -1
        return error

    def wrap(self, signature: Signature) -> Callable[..., Any]:
        """The function under a signature's name, with its arguments and its value checked.

        It costs a step, and therefore can't be called when the budget is spent.
        """
        name, least, most, words = signature.name, signature.least, signature.most, signature.keywords
        safe = NUMBERS if signature.returns == NUMBER else SCALARS
        if signature.returns not in (NUMBER, FLAT):
            safe = SCALARS | self._meter.records

        def call(*arguments: Any, **named: Any) -> Any:
            self._meter.tick(UNITS_PER_STEP)
            if not least <= len(arguments) + len(named) <= most or not words.issuperset(named):
                raise TypeError(_miscounted(signature, len(arguments), tuple(named)))
            values = [self.plain(argument) for argument in arguments]
            words_given = {word: self.plain(value) for word, value in named.items()}
            try:
                value = self._functions[name](*values, **words_given)
            except BaseException as error:
                self._note(error)
                raise
            return value if type(value) in safe else self._fresh(value, signature, safe)

        call.__qualname__ = name
        return call

    def _note(self, error: BaseException) -> None:
        if isinstance(error, RecursionError | MemoryError):
            return  # generated code can bring it about in any function: it calls it too deep, or after filling memory
        if isinstance(error, Exception):
            self.raised.append(error)
        elif self.stopped is None:
            self.stop(error)

    def _fresh(self, value: Any, signature: Signature, safe: frozenset[type]) -> Any:
        """A value that a function returned, made safe to hand out."""
        if signature.returns not in (FLAT, NUMBER):
            if type(value) is list and safe.issuperset(map(type, value)):
                return self._meter.made(value.copy())
            return self._meter.made(self.copy(value))
        if signature.returns == FLAT and type(value) is tuple and SCALARS.issuperset(map(type, value)):
            return value
        name, kind = signature.name, type(value).__name__
        raise self.stop(HostFault(f"{name}() returned a {kind}, not what its annotation says"))

    def plain(self, value: Any) -> Any:
        """An argument on its way to the host: plain types or records that came from it; containers are copied."""
        if type(value) in (list, tuple, dict):
            self._meter.weigh(value)
        return self._copied(value, left=[MAX_ARGUMENT_NODES])

    def _copied(self, value: Any, *, left: list[int]) -> Any:
        kind = type(value)
        if kind is str and len(value) > MAX_ARGUMENT_CHARACTERS:
            raise TooLarge(f"an argument of {len(value)} characters; at most {MAX_ARGUMENT_CHARACTERS} are allowed")
        left[0] -= 1
        if left[0] < 0:
            raise TooLarge(f"an argument of more than {MAX_ARGUMENT_NODES} values")
        if kind in SCALARS or kind in self._meter.records:
            return value
        if kind is dict:
            return {self._copied(key, left=left): self._copied(item, left=left) for key, item in value.items()}
        if kind is list or kind is tuple:
            return kind(self._copied(item, left=left) for item in value)
        raise TypeError(f"a {kind.__name__} cannot be an argument: give plain values or what a function returned")

    def copy(self, value: Any) -> Any:
        """What the host returned, as fresh plain data. Raises `HostFault` for anything that is not."""
        kind = type(value)
        if kind in SCALARS or kind in self._meter.records:
            return value
        if kind is dict:
            return {self.copy(key): self.copy(item) for key, item in value.items()}
        if kind in (list, tuple, set, frozenset):
            return kind([self.copy(item) for item in value])
        raise self.stop(HostFault(f"a function returned a {kind.__name__}, which generated code may not hold"))


def _miscounted(signature: Signature, positional: int, named: tuple[str, ...]) -> str:
    least, most = signature.least, signature.most
    wanted = f"{least}" if least == most else f"{least} to {most}"
    takes = f"{signature.name}() takes {wanted} argument{'' if wanted == '1' else 's'}"
    unknown = [word for word in named if word not in signature.keywords]
    if unknown:
        return f"{takes}, and none is named {unknown[0]}: give arguments by position"
    return f"{takes}, {positional + len(named)} given"
