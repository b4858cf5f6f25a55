"""Verification: does the hypothesis hold in the world? (SDG, section 4.3)

Each subgoal in turn is searched from the state where the previous one ended, until its check function fires; the
actions are kept. A hypothesis is verified when every check fired and the environment says that the task is done, within
T_verify searched steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Le

from sdg.envs.domain import Domain
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.skills.checks.alternatives import reached_by
from sdg.skills.checks.check import compiled
from sdg.skills.experience import Experience
from sdg.skills.practice.agreement import Agreement, agreement, faults
from sdg.skills.practice.starts import Starts
from sdg.skills.sandbox.guard import GuardError, Refused
from sdg.skills.search.search import Search, Searched
from sdg.skills.settings import Count
from sdg.skills.subgoal import CheckFunction, Subgoal


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """Stage 2: each subgoal is searched until its check fires (SDG, section 4.3)."""

    t_verify: Annotated[int, Ge(0), Le(10**9)] = 3000
    """environment steps searched an instruction, summed over all its subgoals (the paper's T_verify)"""
    most_per_subgoal: Count = 2000
    """environment steps searched for one subgoal; what is left is for a new hypothesis"""
    health_steps: Count = 6
    """steps of a short walk that checks are first asked about, which count as searched"""
    judged_steps: Count = 100
    """steps on which the last check of a verified hypothesis is compared with the world"""

    def less(self, spent: int) -> VerifySettings:
        """What is left after `spent` steps were searched for earlier hypotheses of the instruction."""
        return replace(self, t_verify=max(0, self.t_verify - spent))


@dataclass(frozen=True, slots=True)
class SubgoalResult:
    """How one subgoal went: `actions` reach it from where `restore_actions` lead; `path` is how its check was asked.

    `reached_by` is what of its check held then (`sdg.skills.checks.alternatives`); None where nothing was reached.
    """

    subgoal: Subgoal
    reached: bool
    restore_actions: tuple[int, ...]
    actions: tuple[int, ...]
    searched_steps: int
    path: str
    inconsistent: int = 0
    reached_by: CheckFunction | None = None

    @property
    def was_needless(self) -> bool:
        """Whether a way out of its check held before anything was done."""
        return not self.actions and self.reached_by not in (None, self.subgoal.check)


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of one hypothesis. `cause` is "" when it was verified and says why not otherwise.

    `seen` is what the agent knew where a search that failed ended, in the domain's words, for who hypothesizes next.
    """

    hypothesis: Hypothesis
    level: str
    seed: int
    verified: bool
    results: tuple[SubgoalResult, ...]
    searched_steps: int
    replayed_steps: int
    cause: str
    agreement: Agreement | None = None
    seen: str = ""

    def experiences(self) -> tuple[Experience, ...]:
        """Grounded experience: every reached subgoal by what it was reached by; unconfirmed where it failed later.

        One that wasn't needed is none: it was reached before anything was done, and not in every way that its check
        knows. That a thing is known says nothing of "unless it is known, look for it elsewhere".
        """
        return tuple(
            Experience(
                instruction=self.hypothesis.instruction,
                level=self.level,
                seed=self.seed,
                index=index,
                subgoal=replace(result.subgoal, check=result.reached_by or result.subgoal.check),
                restore_actions=result.restore_actions,
                actions=result.actions,
                confirmed=self.verified,
            )
            for index, result in enumerate(self.results)
            if result.reached and not result.was_needless
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
    replayed = 0
    problem, searched = _unhealthy(hypothesis, start, settings=settings, seed=random_seed)
    if problem:
        return Verification(hypothesis, level, seed, False, (), searched, 0, problem)
    for index, subgoal in enumerate(hypothesis.subgoals):
        last = index == len(hypothesis.subgoals) - 1
        budget = min(settings.t_verify - searched, settings.most_per_subgoal)
        found: Searched = search(start, subgoal.check, must_succeed=last, budget=budget, seed=random_seed + index)
        searched += found.steps
        replayed += found.episodes * len(restore)
        grounded = _reached_by(subgoal.check, found, start.domain) if found.reached else None
        actions, how = found.actions, (found.path, found.inconsistent, grounded)
        results.append(SubgoalResult(subgoal, found.reached, restore, actions, found.steps, *how))
        if not found.reached:
            cause = f"goal {index + 1} ({subgoal.description!r}) {found.cause}"
            known = start.domain.perceivable.shown(found.after.rows.perception(0)).describe()
            return Verification(hypothesis, level, seed, False, tuple(results), searched, replayed, cause, seen=known)
        restore += found.actions
        before, start = start, found.after
    judged = agreement(before, hypothesis.subgoals[-1].check, steps=settings.judged_steps, seed=random_seed)
    return Verification(hypothesis, level, seed, True, tuple(results), searched, replayed, "", judged)


def _reached_by(check: CheckFunction, found: Searched, domain: Domain) -> CheckFunction:
    """What of a check held when it fired."""

    def fires(part: CheckFunction) -> bool:
        try:
            return found.end is not None and compiled(part, domain)(found.end)
        except (Refused, GuardError):
            return False

    return reached_by(check, fires) if found.end is not None else check


def _unhealthy(hypothesis: Hypothesis, start: Starts, *, settings: VerifySettings, seed: int) -> tuple[str, int]:
    """Why a check of the hypothesis can't be trusted ("" when all can), and the steps that finding out took."""
    checks = [subgoal.check for subgoal in hypothesis.subgoals]
    for number, check in enumerate(checks, start=1):
        try:
            compiled(check, start.domain)
        except Refused as error:
            return f"the check of goal {number} was refused: {error}", 0
    found, steps = faults(start, checks, steps=settings.health_steps, seed=seed)
    for number, fault in enumerate(found, start=1):
        if fault:
            return f"the check of goal {number} can't be trusted: {fault}", steps
    return "", steps
