"""One gate made of many guards: rules before learned ones, learned ones before language models, and closed on error.

Cheap and certain guards speak first: a model is asked only about what they let through (ResponsibleTA, section 3).
"""

from collections.abc import Callable, Sequence

from sdg.envs.perception import Observation
from sdg.gate.verdict import Command, Gate, Verdict
from sdg.llm.model import BudgetExceeded

MAX_ERROR_CHARS = 200


class FailClosed:
    """Refuses whatever the guard inside can't judge: an error becomes a refusal that names the guard.

    A spent budget is no judgement: `BudgetExceeded` is passed on and ends the run.
    """

    def __init__(self, guard: Gate, *, source: str = "") -> None:
        self.guard = guard
        self.source = source or str(getattr(guard, "source", type(guard).__name__))

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """The guard's verdict, or a refusal when it gives none."""
        return self._ask(lambda: self.guard.feasible(command, observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """The guard's verdict, or a refusal when it gives none."""
        return self._ask(lambda: self.guard.complete(command, before, after))

    def _ask(self, question: Callable[[], Verdict]) -> Verdict:
        try:
            verdict: object = question()
        except BudgetExceeded:
            raise
        except Exception as error:
            return self._refuse(f"failed ({type(error).__name__}: {_one_line(error)})")
        # Only a Verdict whose `passed` is True opens the gate: a model's "yes" or a truthy array doesn't.
        if not isinstance(verdict, Verdict) or not isinstance(verdict.passed, bool):
            return self._refuse(f"gave no verdict but {_one_line(verdict, repr)}")
        sure = verdict.confidence
        if not isinstance(verdict.reason, str) or not isinstance(sure, int | float) or not 0 <= sure <= 1:
            return self._refuse(f"gave a verdict that can't be read: {_one_line(verdict, repr)}")
        return verdict

    def _refuse(self, why: str) -> Verdict:
        return Verdict(False, f"the guard '{self.source}' {why}", source=self.source)


def _one_line(value: object, words: Callable[[object], str] = str) -> str:
    """A value's text on one line; a guard's own classes may fail even at giving that."""
    try:
        return " ".join(words(value)[:MAX_ERROR_CHARS].split())
    except Exception:
        return f"something of type {type(value).__name__}"


class GuardChain:
    """Asks its guards in order and stops at the first refusal; without one, passes with the least sure verdict.

    Raises ValueError without any guard: an open gate must be asked for by name (`OpenGate`).
    """

    source = "chain"

    def __init__(self, *, rules: Sequence[Gate] = (), learned: Sequence[Gate] = (), llm: Sequence[Gate] = ()) -> None:
        self.guards = tuple(FailClosed(guard) for guard in (*rules, *learned, *llm))
        if not self.guards:
            raise ValueError("a chain needs at least one guard; use OpenGate to let every command through")

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """May this command be executed on what is observed now?"""
        return self._first_refusal(lambda guard: guard.feasible(command, observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Did the command have its effect between the two observations?"""
        return self._first_refusal(lambda guard: guard.complete(command, before, after))

    def _first_refusal(self, ask: Callable[[FailClosed], Verdict]) -> Verdict:
        passed: list[Verdict] = []
        for guard in self.guards:
            verdict = ask(guard)
            if not verdict.passed:
                return verdict
            passed.append(verdict)
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
