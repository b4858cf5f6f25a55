"""The only way to act: ask the gate, act, ask the gate again (ResponsibleTA, section 3).

All agents act through the same executor. An expected failure is a value (`Outcome`); the functions that generated
programs call turn it into `CommandError` or False, see `sdg.deduction.program`.
"""

from dataclasses import dataclass
from typing import Protocol

from sdg.envs.perception import Observation
from sdg.errors import SDGError
from sdg.gate.chain import FailClosed
from sdg.gate.verdict import Command, Gate, Verdict


class IllegalCommand(SDGError, ValueError):
    """A command that a body has no way to carry out; the message says what to say instead."""


@dataclass(frozen=True, slots=True)
class SkillResult:
    """The result of a command: whether its check fired, in how many steps and attempts (0 steps: it held already).

    `note` may say why it was given up.
    """

    reached: bool
    steps: int
    attempts: int
    note: str = ""


class Body(Protocol):
    """Carries out commands in a world, without asking the gate."""

    def observe(self) -> Observation:
        """What guards observe at this moment."""
        ...

    def perform(self, command: Command) -> SkillResult:
        """Carry out a command. Raises IllegalCommand where there is no way to."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one command; `error` isn't empty if it was refused or illegal, so that nothing was done."""

    command: Command
    success: bool
    steps: int = 0
    error: str = ""
    reason: str = ""
    verdicts: tuple[Verdict, ...] = ()


class GatedExecutor:
    """Executes commands on a body behind a gate; a gate that fails refuses."""

    def __init__(self, body: Body, gate: Gate) -> None:
        self._body = body
        self._gate = FailClosed(gate)

    def execute(self, command: Command) -> Outcome:
        """Judge, act, judge again. Never raises for what a program, a guard or the world did wrong."""
        before = self._body.observe()
        feasible = self._gate.feasible(command, before)
        if not feasible.passed:
            return Outcome(command, False, error=feasible.reason, verdicts=(feasible,))
        try:
            performed = self._body.perform(command)
        except IllegalCommand as error:
            return Outcome(command, False, error=str(error), verdicts=(feasible,))
        # If nothing was done, there is only one moment to judge: `before`.
        complete = self._gate.complete(command, before, self._body.observe() if performed.steps else before)
        verdicts = (feasible, complete)
        if not performed.reached:
            tried = f"not reached in {performed.steps} steps and {performed.attempts} attempts"
            reason = f"{tried}: {performed.note}" if performed.note else tried
            return Outcome(command, False, performed.steps, reason=reason, verdicts=verdicts)
        return Outcome(command, complete.passed, performed.steps, reason=complete.reason, verdicts=verdicts)
