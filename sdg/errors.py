"""The root of this package's own errors."""

from collections.abc import Iterable


class SDGError(Exception):
    """The base of all errors that sdg defines: `except sdg.SDGError`. The message is for the reader.

    Most are ValueError or RuntimeError as well. `UserError`, `ConfigError`, `RegistryError`: the user's request makes
    no sense. `RunError`: a run can't go on. `LibraryError`, `CheckError`: a library or a check can't be used.
    `ModelError`: no usable reply; `BudgetExceeded` is one. `PrivacyError`: a value can't be protected.
    """


def refuse(kind: type[Exception], faults: Iterable[tuple[object, str]]) -> None:
    """Raise an error of this kind with the words of the first fault that is there, if any."""
    for is_there, words in faults:
        if is_there:
            raise kind(words)


class IllegalCommand(SDGError, ValueError):
    """A command that a body has no way to carry out; the message names commands that exist."""


class BrokenDesktop(SDGError, RuntimeError):
    """The screen went away in the middle of an episode; the episode is lost, the next is unharmed."""


class UserError(SDGError, ValueError):
    """The user asked for something unknown or senseless; the message says what would work."""

    exit_code = 2
    """The exit code of a command that it ends."""
