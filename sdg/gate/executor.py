"""The only way to act: ask the gate, act, ask the gate again (ResponsibleTA, section 3).

All agents act through the same executor. An expected failure is a value (`Outcome`); the functions that generated
programs call turn it into `CommandError` or False, see `sdg.deduction.program`.

One gate is made of many guards: rules before learned ones, learned ones before language models, which are asked only
about what the cheap and certain ones let through. A guard that fails keeps the gate closed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sdg.envs.world import Observation
from sdg.errors import IllegalCommand
from sdg.llm.model import BudgetExceeded

CONFIRMATION = "confirmation"
"""The source of a verdict that a person gave."""


@dataclass(frozen=True, slots=True)
class Command:
    """One step-wise command to an executor: a skill or action name and its argument as text ("" when it takes none).

    `final`: the planner itself says that it can't be undone. `shown` is what people read in place of the argument.
    """

    name: str
    argument: str = ""
    final: bool = False
    shown: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        name = repr(self.name)[1:-1]  # what controls a terminal is shown, not sent
        return f"{name}({self.shown or self.argument!r})" if self.argument else f"{name}()"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a command passed, why, how sure (confidence in [0, 1]) and which guard says so."""

    passed: bool
    reason: str
    confidence: float = 1.0
    source: str = "rules"


class GateGuard(Protocol):
    """The feasibility predictor and the completeness verifier; it knows no kind of world."""

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """May this command be executed on what is observed now?"""
        ...

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Did the command have its effect between the two observations?"""
        ...


MAX_ERROR_CHARS = 200


def _ask(guard: GateGuard, question: Callable[[GateGuard], Verdict]) -> Verdict:
    """A guard's verdict, or a refusal that names it where it gives none; BudgetExceeded is passed on, it ends a run."""
    try:
        verdict: object = question(guard)
        # Only a Verdict whose `passed` is True opens the gate: a model's "yes" or a truthy array doesn't.
        if not isinstance(verdict, Verdict) or not isinstance(verdict.passed, bool):
            why = f"gave no verdict but {_one_line(verdict, repr)}"
        elif (
            isinstance(verdict.reason, str)
            and isinstance(verdict.confidence, int | float)
            and 0 <= verdict.confidence <= 1
        ):
            return verdict
        else:
            why = f"gave a verdict that can't be read: {_one_line(verdict, repr)}"
    except BudgetExceeded:
        raise
    except Exception as error:
        why = f"failed ({type(error).__name__}: {_one_line(error)})"
    source = _one_line(getattr(guard, "source", type(guard).__name__))
    return Verdict(False, f"the guard '{source}' {why}", source=source)


def _one_line(value: object, words: Callable[[object], str] = str) -> str:
    """A value's text on one line; a guard's own classes may fail even at giving that."""
    try:
        return " ".join(words(value)[:MAX_ERROR_CHARS].split())
    except Exception:
        return f"something of type {type(value).__name__}"


class GuardChain:
    """Asks its guards in order and stops at the first refusal; without one, passes with the least sure verdict. A guard
    that can't judge refuses: an error becomes a refusal that names it.

    Raises ValueError without any guard: an open gate must be asked for by name (`OpenGate`).
    """

    source = "chain"

    def __init__(
        self, *, rules: Sequence[GateGuard] = (), learned: Sequence[GateGuard] = (), llm: Sequence[GateGuard] = ()
    ) -> None:
        self.guards = (*rules, *learned, *llm)
        if not self.guards:
            raise ValueError("a chain needs at least one guard; use OpenGate to let every command through")

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """May this command be executed on what is observed now?"""
        return self._first_refusal(lambda guard: guard.feasible(command, observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Did the command have its effect between the two observations?"""
        return self._first_refusal(lambda guard: guard.complete(command, before, after))

    def _first_refusal(self, question: Callable[[GateGuard], Verdict]) -> Verdict:
        passed: list[Verdict] = []
        for guard in self.guards:
            passed.append(verdict := _ask(guard, question))
            if not verdict.passed:
                return verdict
        return min(passed, key=lambda verdict: verdict.confidence)


class OpenGate:
    """Lets every command through: the row "without the gate" of an ablation, never a default."""

    source = "open"

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Always passes."""
        return Verdict(True, "the gate is open", source=self.source)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Always passes."""
        return Verdict(True, "the gate is open", source=self.source)


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
    """The outcome of one command; `error` isn't empty if it was refused or illegal, so that nothing was done.

    `result`: what the executor behind a `sdg.Gate` returned for it, as text.
    """

    command: Command
    success: bool
    steps: int = 0
    error: str = ""
    reason: str = ""
    verdicts: tuple[Verdict, ...] = ()
    result: str = ""


class GatedExecutor:
    """Executes commands on a body behind a gate; a gate that fails refuses. A body with private values says by its
    `protect(gate)` how guards are asked about it."""

    def __init__(self, body: Body, gate: GateGuard) -> None:
        protect = getattr(body, "protect", None)
        self._body, self._gate = body, GuardChain(rules=[protect(gate) if protect else gate])

    def execute(self, command: Command) -> Outcome:
        """Judge, act, judge again. Raises what the body raises, nothing for a program's or a guard's faults."""
        before = self._body.observe()
        feasible = self._gate.feasible(command, before)
        if not feasible.passed:
            return Outcome(command, False, error=feasible.reason or "refused", verdicts=(feasible,))
        try:
            performed = self._body.perform(command)
        except IllegalCommand as error:
            return Outcome(command, False, error=str(error) or "it can't be done", verdicts=(feasible,))
        # If nothing was done, there is only one moment to judge: `before`.
        complete = self._gate.complete(command, before, self._body.observe() if performed.steps else before)
        failure = f"not reached in {performed.steps} steps and {performed.attempts} attempts"
        failure += f": {performed.note}" if performed.note else ""
        reason = complete.reason if performed.reached else failure
        success = performed.reached and complete.passed
        return Outcome(command, success, performed.steps, reason=reason, verdicts=(feasible, complete))
