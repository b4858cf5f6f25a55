"""A plan as code, `def program():` over skills and perception functions: its names, and its run (SDG, 4.5).

Skills, perception functions and composed skills are bound to one robot behind its executor. Errors are sorted by whose
fault they are: those of the generated code become the text of the next debug prompt. What ends a program from outside
(the episode is over, it is stopped, a fault of ours) is a BaseException, so that no `except Exception` in generated
code can stop it.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from sdg.deduction.composed import ComposedCalls
from sdg.deduction.protocols import Documented
from sdg.deduction.robot import Robot, describe_argument
from sdg.envs.domain import Domain
from sdg.errors import SDGError
from sdg.gate.executor import Command, GatedExecutor, IllegalCommand, Outcome, Verdict
from sdg.sandbox.guard import FILENAME, Guard, GuardError, Refused, Signature
from sdg.skills.library.composed import ComposedSkill

ENTRY = "program"
"""The function that a program defines."""

MAX_IDLE_CALLS = 1000
"""Skill calls without a single step (refused, or true already) that one program may make."""

MAX_FRUITLESS_CALLS, MAX_FRUITLESS_STEPS = 15, 100
"""Failed skill calls, and steps in them, without anything new after which a program is stopped."""

SOURCE_BYTES = 16 * 1024
"""Largest program: many times what one over good skills needs."""

MAX_LINES = 6
"""Lines kept of a skill call's call chain: the outermost."""

ARGUMENT_NAMES = frozenset({"thing", "object", "obj", "item", "name", "description", "target", "argument"})
"""Keywords accepted for a skill's one argument, because models don't always give it by position."""

# Why a program failed by its own fault: no usable code; it raised; a command was refused or illegal; it used up its
# share of the steps.
NO_PROGRAM = "no program"
PROGRAM_ERROR = "program error"
REFUSED = "refused"
STOPPED = "stopped"


class CommandError(SDGError):
    """A command was refused or is illegal; raised into the program, which may catch it and do something else."""


class EpisodeOver(BaseException):
    """The world has ended the episode: nothing that the program could still do would count."""


class Stopped(BaseException):
    """The program is stopped at one of its lines; `cause` says whose fault it is."""

    def __init__(self, line: int, why: str, cause: str = PROGRAM_ERROR) -> None:
        self.line, self.cause = line, cause
        super().__init__(f"line {line}: {why}")


class Fault(BaseException):
    """Our own code failed below the program; `__cause__` says how. It unwinds the program and is raised again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One skill call of a program: its line, when it began (steps since reset) and its result.

    `lines` are those of the calls that led to it, from the one in `program` to `line` itself.
    """

    command: Command
    line: int
    began: int
    steps: int
    success: bool
    message: str
    refused: bool = False
    verdicts: tuple[Verdict, ...] = ()
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        result = "refused" if self.refused else str(self.success)
        why = f" ({self.message})" if self.message and not self.success else ""
        chain = " > ".join(map(str, self.lines or (self.line,)))
        return f"line {chain}: {self.command} -> {result} after {self.steps} steps{why}"


class Scope:
    """The names that a program may use, bound to one robot behind its executor; keeps the log of calls.

    With `steps` the program is stopped after the call that reaches that number, and in any case when it goes nowhere.
    """

    def __init__(
        self,
        robot: Robot,
        executor: GatedExecutor,
        *,
        steps: int | None = None,
        composed: Mapping[str, ComposedSkill] = MappingProxyType({}),
    ) -> None:
        self.calls: list[Call] = []
        self.composed = ComposedCalls(composed, robot)
        self.own_lines = sys.maxsize
        self._idle, self._fruitless = 0, list[int]()
        self._robot = robot
        self._executor = executor
        self._knowledge = robot.knowledge()
        self._first_step = len(robot.actions)
        self._steps = steps

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """Skills, perception functions and `Domain.forgets` by name."""
        perception = {name: self._live(name) for name in self._robot.functions()}
        skills = {name: partial(self._call, name) for name in self._robot.skills}
        return perception | self._forgets() | skills | dict(self.composed.functions(CommandError))

    def guard(self, *, budget: int, source_bytes: int = SOURCE_BYTES) -> Guard:
        """The guard that knows these names, how each is called, and the error that a refused command raises."""
        robot = self._robot
        functions: dict[str, Callable[..., object] | Signature] = dict(self.composed.signatures())
        functions |= {**robot.functions(), **self._forgets()}
        return program_guard(robot.skills, robot.domain, functions, budget=budget, source_bytes=source_bytes)

    def _forgets(self) -> dict[str, Callable[..., object]]:
        name = self._robot.domain.forgets
        return {name: self._robot.forget} if name else {}

    def _live(self, name: str) -> Callable[..., object]:
        """A perception function that always answers from the latest snapshot."""
        return lambda *values, **named: self._robot.functions()[name](*values, **named)

    def _call(self, name: str, /, *values: object, **keywords: object) -> bool:
        """True when the skill succeeded, else False. Raises CommandError for a refused or illegal command."""
        if self._robot.ending.over:
            raise EpisodeOver
        # Composed skills are linked behind the program, and its author can't see their lines.
        lines = tuple(line for line in _calling_lines() if line <= self.own_lines)
        began = len(self._robot.actions)
        line = lines[-1] if lines else 0
        try:
            outcome = self._executor.execute(Command(name, self._argument(name, (*values, *keywords.values()))))
        except IllegalCommand as error:
            outcome = Outcome(Command(name), False, error=f"{name}: {error}")
        except RecursionError:
            # The program left its skill no space on the stack: that is its fault, although our code fails.
            raise Stopped(
                _calling_lines()[-1], "the skill is called from too deep inside other calls and generators"
            ) from None
        except Exception as error:
            # The program may catch Exception; it must not catch a spent budget or a fault of ours.
            raise Fault from error
        self.calls.append(
            Call(
                command=outcome.command,
                line=line,
                began=began,
                steps=outcome.steps,
                success=outcome.success,
                message=outcome.error or outcome.reason,
                refused=bool(outcome.error),
                verdicts=outcome.verdicts,
                lines=lines,
            )
        )
        if self._robot.ending.over:
            raise EpisodeOver
        steps = len(self._robot.actions) - self._first_step
        if self._steps is not None and steps >= self._steps:
            raise Stopped(line, f"stopped after {steps} steps, so that another program can use the rest", STOPPED)
        if self._goes_nowhere(outcome):
            raise Stopped(
                line,
                f"stopped after {steps} steps: "
                f"{len(self._fruitless)} calls came to nothing since anything new was seen",
                STOPPED,
            )
        self._idle += int(outcome.steps == 0)
        if self._idle > MAX_IDLE_CALLS:
            raise Stopped(line, f"{MAX_IDLE_CALLS} skill calls took no step: is there a loop that never ends?")
        if outcome.error:
            raise CommandError(outcome.error)
        return outcome.success

    def _goes_nowhere(self, outcome: Outcome) -> bool:
        knowledge = self._robot.knowledge()
        if knowledge != self._knowledge:
            self._knowledge, self._fruitless = knowledge, []
        elif outcome.steps and not outcome.success:
            self._fruitless.append(outcome.steps)
        return len(self._fruitless) >= MAX_FRUITLESS_CALLS and sum(self._fruitless) >= MAX_FRUITLESS_STEPS

    def _argument(self, name: str, arguments: tuple[object, ...]) -> str:
        arity = int(self._robot.skills[name].takes_argument)
        if len(arguments) != arity:
            raise IllegalCommand(f"takes {arity} argument{'' if arity == 1 else 's'}, got {len(arguments)}")
        return describe_argument(arguments[0], self._robot.domain) if arguments else ""


def program_guard(
    skills: Mapping[str, Documented],
    domain: Domain,
    functions: Mapping[str, Callable[..., object] | Signature],
    *,
    budget: int,
    source_bytes: int = SOURCE_BYTES,
) -> Guard:
    """The guard of programs: it knows skills and functions, how each is called, and the error of a refused command."""
    as_called = partial(Signature, keywords=ARGUMENT_NAMES, weak=True)
    calls = {
        name: as_called(name, int(skill.takes_argument), int(skill.takes_argument)) for name, skill in skills.items()
    }
    return Guard(
        {**functions, **calls},
        records=domain.perceivable.records,
        errors=(CommandError,),
        budget_steps=budget,
        source_bytes=source_bytes,
    )


def _calling_lines() -> tuple[int, ...]:
    """The program's lines that are on the stack, the outermost first; () where there are none."""
    frame, lines = sys._getframe(1), list[int]()
    while frame.f_back is not None:
        if frame.f_code.co_filename == FILENAME and (not lines or frame.f_lineno != lines[-1]):
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(reversed(lines[-MAX_LINES:]))


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """The limits of a program: the `steps` and `programs` left in the episode, a `budget` of operations, and the
    `attempts` of a skill call; `state` describes the knowledge at its beginning."""

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
    if line <= 0:
        return message
    quote = lines[line - 1].strip()[:200] if line <= len(lines) else "(in a composed skill)"
    return f"{message}\n    {quote}" if quote else message
