"""The value that the hypothesis stage makes and verification tests (SDG, section 4.2)."""

from dataclasses import dataclass

from sdg.skills.subgoal import CheckFunction, Subgoal


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """How an instruction may unfold: subgoals g_1..g_n in order, each with its check function f_i."""

    instruction: str
    subgoals: tuple[Subgoal, ...]


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of verifying an earlier hypothesis, for the prompt that asks for the next one.

    `failed_goal` counts from 0; `reason`, the goal's `check` and the final view of the agent (`seen`) are shown to the
    model as they stand, "" for nothing.
    """

    subgoals: tuple[str, ...]
    failed_goal: int
    reason: str
    check: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class SubgoalRow:
    """A subgoal as journals have it; `name` is its check's."""

    description: str
    name: str
    check: str

    def subgoal(self) -> Subgoal:
        """The subgoal of this row."""
        return Subgoal(self.description, CheckFunction(self.name, self.check))
