"""A gate's judgement, and the two methods that give it (ResponsibleTA, section 3)."""

from dataclasses import dataclass
from typing import Protocol

from sdg.envs.perception import Observation

CONFIRMATION = "confirmation"
"""The source of a verdict that a person gave."""


@dataclass(frozen=True, slots=True)
class Command:
    """One step-wise command to an executor: a skill or action name and its argument as text ("" when it takes none)."""

    name: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.argument!r})" if self.argument else f"{self.name}()"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a command passed, why, how sure (confidence in [0, 1]) and which guard says so."""

    passed: bool
    reason: str
    confidence: float = 1.0
    source: str = "rules"


class Gate(Protocol):
    """The feasibility predictor and the completeness verifier; it knows no kind of world."""

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """May this command be executed on what is observed now?"""
        ...

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Did the command have its effect between the two observations?"""
        ...
