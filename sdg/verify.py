"""Verification: does the hypothesis hold in the world? (SDG, section 4.3)

For each subgoal in turn a small policy searches from the state where the previous one ended, paid by its check
function. The search stops at the first success and keeps the actions. A hypothesis is verified when every check fired
and the environment says that the task is done, within T_verify searched steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdg.hypothesis import Hypothesis
from skills.experience import Experience
from skills.search import Search, Searched
from skills.starts import Starts
from skills.subgoal import Subgoal


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """`t_verify` single environment steps may be searched an instruction (the paper's T_verify), at most
    `most_per_subgoal` of them for one subgoal."""

    t_verify: int = 3000
    most_per_subgoal: int = 2000

    def less(self, spent: int) -> VerifySettings:
        """What is left after `spent` steps were searched for earlier hypotheses of the instruction."""
        return replace(self, t_verify=max(0, self.t_verify - spent))


@dataclass(frozen=True, slots=True)
class SubgoalResult:
    """How one subgoal went: `actions` reach it from where `restore_actions` lead; `path` is how its check was asked."""

    subgoal: Subgoal
    reached: bool
    restore_actions: tuple[int, ...]
    actions: tuple[int, ...]
    searched_steps: int
    path: str
    inconsistent: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of one hypothesis. `cause` is "" when it was verified and says why not otherwise."""

    hypothesis: Hypothesis
    level: str
    seed: int
    verified: bool
    results: tuple[SubgoalResult, ...]
    searched_steps: int
    replayed_steps: int
    cause: str

    def experiences(self) -> tuple[Experience, ...]:
        """Grounded experience: every reached subgoal; those of a hypothesis that failed later are unconfirmed."""
        return tuple(
            Experience(
                instruction=self.hypothesis.instruction,
                level=self.level,
                seed=self.seed,
                index=index,
                subgoal=result.subgoal,
                restore_actions=result.restore_actions,
                actions=result.actions,
                confirmed=self.verified,
            )
            for index, result in enumerate(self.results)
            if result.reached
        )


def verify(
    hypothesis: Hypothesis,
    start: Starts,
    *,
    level: str,
    seed: int,
    settings: VerifySettings,
    search: Search,
    random_seed: int = 0,
) -> Verification:
    """Search the subgoals of a hypothesis in order, from `start` (one row, as `reset(seed)` left it)."""
    results: list[SubgoalResult] = []
    restore: tuple[int, ...] = ()
    searched = replayed = 0
    for index, subgoal in enumerate(hypothesis.subgoals):
        last = index == len(hypothesis.subgoals) - 1
        budget = min(settings.t_verify - searched, settings.most_per_subgoal)
        found: Searched = search(start, subgoal.check, must_succeed=last, budget=budget, seed=random_seed + index)
        searched += found.steps
        replayed += found.episodes * len(restore)
        results.append(
            SubgoalResult(subgoal, found.reached, restore, found.actions, found.steps, found.path, found.inconsistent)
        )
        if not found.reached:
            cause = f"goal {index + 1} ({subgoal.description!r}) {found.cause}"
            return Verification(hypothesis, level, seed, False, tuple(results), searched, replayed, cause)
        restore += found.actions
        start = found.after
    return Verification(hypothesis, level, seed, True, tuple(results), searched, replayed, "")
