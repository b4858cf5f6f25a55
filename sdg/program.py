"""A plan as code: `def program():` over skills and perception functions, and how it runs (SDG, section 4.5).

Errors go by whose fault they are. What the generated code does wrong becomes the text of the next debug prompt. What
ends the run from outside (the episode is over, a budget is spent, a fault of ours) is a BaseException, so that no
`except Exception` in generated code can hold it up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sdg.executor import GatedExecutor, IllegalCommand, Outcome
from sdg.gate.verdict import Command, Verdict
from sdg.robot import Robot, describe_argument

FILE_NAME = "<program>"
"""The file name under which programs are compiled: how a line of theirs is told from a line of ours."""


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
        self._robot, self._executor = robot, executor

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """Skills, perception functions and `forget_visited_rooms` by name."""
        perception = {name: self._live(name) for name in self._robot.perception().functions()}
        skills = {name: self._skill(name) for name in self._robot.skills}
        return perception | {"forget_visited_rooms": self._robot.forget_visited_rooms} | skills

    def _live(self, name: str) -> Callable[..., object]:
        """A perception function that always answers from the latest snapshot."""

        def function(*arguments: object) -> object:
            return self._robot.perception().functions()[name](*arguments)

        function.__name__ = name
        return function

    def _skill(self, name: str) -> Callable[..., bool]:
        def function(*arguments: object) -> bool:
            return self._call(name, arguments)

        function.__name__ = name
        return function

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
        except Exception as error:
            # The program may catch Exception; a spent budget or a fault of ours is none of its business.
            raise Fault from error

    def _argument(self, name: str, arguments: tuple[object, ...]) -> str:
        wanted = int(self._robot.skills[name].takes_argument)
        if len(arguments) != wanted:
            raise IllegalCommand(f"takes {wanted} argument{'' if wanted == 1 else 's'}, got {len(arguments)}")
        return describe_argument(arguments[0]) if arguments else ""


def _calling_line() -> int:
    """The line of the program that is running, 0 where no program is on the stack."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_filename == FILE_NAME:
            return frame.f_lineno
        frame = frame.f_back
    return 0
