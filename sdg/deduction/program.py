"""A plan as code: `def program():` over skills and perception functions, and how it runs (SDG, section 4.5).

Errors are sorted by whose fault they are: those of the generated code become the text of the next debug prompt.
"""

from dataclasses import dataclass

from sdg.deduction.scope import (
    NO_PROGRAM,
    PROGRAM_ERROR,
    REFUSED,
    SOURCE_BYTES,
    Call,
    CommandError,
    EpisodeOver,
    Fault,
    Scope,
    Stopped,
)
from sdg.sandbox.guard import GuardError, Refused

ENTRY = "program"
"""The function that a program defines."""


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What a program may use: the `steps` and `programs` left in the episode, a `budget` of operations, and so many
    `attempts` in a skill call; `state` is what is known when it begins."""

    steps: int
    programs: int
    budget: int
    attempts: int
    state: str = ""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended: `error` and `cause` are empty when it ran to its end or the episode ended first."""

    error: str
    cause: str
    calls: tuple[Call, ...]


def run_program(source: str, scope: Scope, *, budget: int) -> ProgramResult:
    """Compile and run a program behind the guard, with the names of `scope` and `budget` steps of generated code.

    The program's own errors are in the result. Raises what failed below it, see `Fault`.
    """
    scope.own_lines = source.count("\n") + 1
    try:
        behind = scope.composed.link(source)
        program = scope.guard(budget=budget, source_bytes=SOURCE_BYTES + len(behind.encode())).load(
            source + behind, entry=ENTRY
        )
    except Refused as error:
        return ProgramResult(quote_line(str(error), source, error.line), NO_PROGRAM, ())
    error_text = cause = ""
    try:
        program(scope.functions())
    except EpisodeOver:
        pass
    except Fault as fault:
        raise fault.__cause__ or fault from None
    except CommandError as error:
        line = program.line_of(error)
        error_text, cause = quote_line(f"line {line}: {error}", source, line), REFUSED
    except (GuardError, Stopped) as error:
        error_text, cause = quote_line(str(error), source, error.line), getattr(error, "cause", PROGRAM_ERROR)
    return ProgramResult(error_text, cause, tuple(scope.calls))


def quote_line(message: str, source: str, line: int) -> str:
    """The message with the program's line under it, where there is one."""
    lines = source.split("\n")
    quote = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else "(in a composed skill)" if line > 0 else ""
    return f"{message}\n    {quote}" if quote else message
