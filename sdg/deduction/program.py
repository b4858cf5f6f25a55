"""A plan as code: `def program():` over skills and perception functions, and how it runs (SDG, section 4.5).

Errors go by whose fault they are. What the generated code does wrong becomes the text of the next debug prompt. What
ends the run from outside (the episode is over, a budget is spent, a fault of ours) is a BaseException, so that no
`except Exception` in generated code can hold it up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sdg.deduction.robot import Robot, describe_argument
from sdg.gate.executor import GatedExecutor, IllegalCommand, Outcome
from sdg.gate.verdict import Command, Verdict
from sdg.skills.sandbox.guard import FILENAME, Guard, Guarded, GuardError, Refused, Signature
from sdg.skills.sandbox.guard.signature import NUMBER

MAX_IDLE_CALLS = 1000
"""Skill calls without a single step (refused, or true already) that one program may make."""

SOURCE_BYTES = 16 * 1024
"""Of a program: twice the worked example, so that a model may take its helpers over and add its own."""

ENTRY = "program"
"""The function that a program defines."""

ARGUMENT_NAMES = frozenset({"thing", "object", "obj", "item", "name", "description", "target", "argument"})
"""Keywords under which a skill's one argument is understood; models don't always give it by position."""

# Why a program came to nothing by its own fault.
NO_PROGRAM = "no program"
PROGRAM_ERROR = "program error"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Program:
    """What the planner wrote for an instruction at its n-th attempt (from 0)."""

    source: str
    instruction: str
    attempt: int = 0

    def __str__(self) -> str:
        return self.source


class CommandError(Exception):
    """A command was refused or is illegal; raised into the program, which may catch it and do something else."""


class EpisodeOver(BaseException):
    """The world has ended the episode: nothing that the program could still do would count."""


class TooManyCalls(BaseException):
    """The program goes on calling skills without a step: time stands still, so nothing else would ever end it."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}: {MAX_IDLE_CALLS} skill calls took no step: is there a loop that never ends?")


class TooDeep(BaseException):
    """The program left the skill that it calls no space on the stack: its fault, though ours is what fails."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}: the skill is called from too deep inside other calls and generators")


class Fault(BaseException):
    """Something of ours failed below the program; `__cause__` says what. It unwinds the program and is raised again."""


@dataclass(frozen=True, slots=True)
class Call:
    """One skill call of a program: where it stands, when it began (steps since reset) and what came of it."""

    command: Command
    line: int
    began: int
    steps: int
    success: bool
    message: str
    refused: bool = False
    verdicts: tuple[Verdict, ...] = ()

    def __str__(self) -> str:
        result = "refused" if self.refused else str(self.success)
        why = f" ({self.message})" if self.message else ""
        return f"line {self.line}: {self.command} -> {result} after {self.steps} steps{why}"


class Scope:
    """The names that a program may use, bound to one robot behind its executor; keeps the log of calls."""

    def __init__(self, robot: Robot, executor: GatedExecutor) -> None:
        self.calls: list[Call] = []
        self._idle = 0
        self._robot, self._executor = robot, executor

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """Skills, perception functions and `Domain.forgets` by name."""
        perception = {name: self._live(name) for name in self._robot.functions()}
        skills = {name: self._skill(name) for name in self._robot.skills}
        return perception | self._forgets() | skills

    def guard(self, *, budget: int) -> Guard:
        """The guard that knows these names, how each is called, and the error that a refused command raises."""
        functions: dict[str, Callable[..., object] | Signature] = dict(self._robot.functions())
        functions |= self._forgets()
        for name, skill in self._robot.skills.items():
            wanted = int(skill.takes_argument)
            functions[name] = Signature(name, wanted, wanted, returns=NUMBER, keywords=ARGUMENT_NAMES)
        return Guard(
            functions,
            records=self._robot.domain.perceivable.records,
            errors=(CommandError,),
            budget_steps=budget,
            source_bytes=SOURCE_BYTES,
        )

    def _forgets(self) -> dict[str, Callable[..., object]]:
        name = self._robot.domain.forgets
        return {name: self._robot.forget} if name else {}

    def _live(self, name: str) -> Callable[..., object]:
        """A perception function that always answers from the latest snapshot."""
        return lambda *values, **named: self._robot.functions()[name](*values, **named)

    def _skill(self, name: str) -> Callable[..., bool]:
        return lambda *values, **named: self._call(name, (*values, *named.values()))

    def _call(self, name: str, arguments: tuple[object, ...]) -> bool:
        """True when the skill succeeded, False when it didn't; CommandError for what was refused or is illegal."""
        if self._robot.ending.over:
            raise EpisodeOver
        line, began = _calling_line(), len(self._robot.actions)
        outcome = self._execute(name, arguments)
        self.calls.append(
            Call(outcome.command, line, began, outcome.steps, outcome.success, outcome.error or outcome.reason,
                 bool(outcome.error), outcome.verdicts)
        )  # fmt: skip
        if self._robot.ending.over:
            raise EpisodeOver
        self._idle += outcome.steps == 0
        if self._idle > MAX_IDLE_CALLS:
            raise TooManyCalls(line)
        if outcome.error:
            raise CommandError(outcome.error)
        return outcome.success

    def _execute(self, name: str, arguments: tuple[object, ...]) -> Outcome:
        try:
            command = Command(name, self._argument(name, arguments))
        except IllegalCommand as error:
            return Outcome(Command(name), False, error=f"{name}: {error}")
        try:
            return self._executor.execute(command)
        except RecursionError:
            raise TooDeep(_calling_line()) from None
        except Exception as error:
            # The program may catch Exception; a spent budget or a fault of ours is none of its business.
            raise Fault from error

    def _argument(self, name: str, arguments: tuple[object, ...]) -> str:
        wanted = int(self._robot.skills[name].takes_argument)
        if len(arguments) != wanted:
            raise IllegalCommand(f"takes {wanted} argument{'' if wanted == 1 else 's'}, got {len(arguments)}")
        return describe_argument(arguments[0], self._robot.domain) if arguments else ""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended: `error` and `cause` are empty when it ran to its end or the episode did before."""

    error: str
    cause: str
    calls: tuple[Call, ...]


def run_program(program: Program, scope: Scope, *, budget: int) -> ProgramResult:
    """Compile and run a program behind the guard, with the names of `scope` and `budget` steps of generated code.

    What the program does wrong is in the result. Raises what failed below it, for whose fault see `Fault`.
    """
    try:
        guarded = scope.guard(budget=budget).load(program.source, entry=ENTRY)
    except Refused as error:
        return ProgramResult(quoted(str(error), program, error.line), NO_PROGRAM, ())
    error_text, cause = _run(guarded, scope, program=program)
    return ProgramResult(error_text, cause, tuple(scope.calls))


def _run(guarded: Guarded, scope: Scope, *, program: Program) -> tuple[str, str]:
    """The error text and the cause, both empty for a program that came to its end or to the episode's."""
    try:
        guarded(scope.functions())
    except EpisodeOver:
        pass
    except Fault as fault:
        raise fault.__cause__ or fault from None
    except CommandError as error:
        line = guarded.line_of(error)
        return quoted(f"line {line}: {error}", program, line), REFUSED
    except (GuardError, TooManyCalls, TooDeep) as error:
        return quoted(str(error), program, error.line), PROGRAM_ERROR
    return "", ""


def quoted(message: str, program: Program, line: int) -> str:
    """The message with the program's line under it, where there is one."""
    lines = program.source.split("\n")
    shown = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
    return f"{message}\n    {shown}" if shown else message


def _calling_line() -> int:
    """The line of the program that is running, 0 where no program is on the stack."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_filename == FILENAME:
            return frame.f_lineno
        frame = frame.f_back
    return 0
