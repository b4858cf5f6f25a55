"""The errors of generated code, by whose fault they are.

`GuardError` and its three kinds are the code's fault and are worded for the language model that wrote it. Faults of the
host's own functions are not wrapped: they pass through as they are.
"""


class GuardError(Exception):
    """Generated code could not be used; `str()` is a message for its author.

    `line` counts from 1 in the source; 0 when unknown.
    """

    def __init__(self, message: str, *, line: int = 0) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}" if line else message)


class Refused(GuardError):
    """The source was not accepted; nothing of it ran."""


class BudgetSpent(GuardError):
    """The code ran longer than its budget of steps: an endless loop, or far too much work."""


class GeneratedError(GuardError):
    """The code raised an exception itself, or returned a forbidden value. `kind` is the exception's name."""

    def __init__(self, message: str, *, line: int = 0, kind: str = "") -> None:
        self.kind = kind
        super().__init__(": ".join(part for part in (kind, message) if part), line=line)


class BudgetStop(BaseException):
    """Unwinds generated code when its budget is spent; no handler that generated code can write catches it."""


class TooLarge(Exception):
    """An operation would make a value larger than generated code may hold. It is raised inside the generated code."""
