"""Verification: does the hypothesis hold in the world? (SDG, section 4.3)

Each subgoal in turn is searched from the state where the previous one ended, until its check function fires; the
actions are kept. A hypothesis is verified when every check fired and the environment says that the task is done, within
T_verify searched steps.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from sdg.envs.domain import Domain
from sdg.envs.world import ActionValue
from sdg.hypothesis.hypothesis import Hypothesis, SubgoalRow
from sdg.sandbox.guard import Refused
from sdg.skills.checks.alternatives import reached_by
from sdg.skills.checks.check import compile_check
from sdg.skills.practice.agreement import Agreement, agreement, faults, pays_for_nothing
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import Search, SearchedTask, SearchResult, hold_when_done
from sdg.skills.settings import Count
from sdg.skills.subgoal import CheckFunction, Experience, Subgoal

PAYS_FOR_NOTHING = "is checked by what is true after {}: let its check ask for what the goal changes"


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """Stage 2: each subgoal is searched until its check fires (SDG, section 4.3)."""

    t_verify: Annotated[int, Ge(0), Le(10**9)] = 3000
    """environment steps searched an instruction, summed over all its subgoals (the paper's T_verify)"""
    most_per_subgoal: Count = 2000
    """environment steps searched for one subgoal; what is left is for a new hypothesis"""
    health_steps: Count = 6
    """steps of a short walk on which all checks are tried first; they count as searched"""
    judged_steps: Count = 100
    """steps on which the last check of a verified hypothesis is compared with the world"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedSubgoal(SubgoalRow):
    """How one subgoal was searched: `actions` reach it from where `restore_actions` lead.

    `reached_by` is the source of the part of its check that was true when it was reached, "" if the whole check was
    (`sdg.skills.checks.alternatives`).
    """

    reached: bool
    restore_actions: tuple[ActionValue, ...]
    actions: tuple[ActionValue, ...]
    searched_steps: int
    inconsistent: int
    reached_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result for one hypothesis, a row of `verifications.jsonl`. `cause` says why it wasn't verified, "" if it was.

    `failed_goal` is the index of the subgoal that `cause` is about, None if it is about none. `seen` describes, in the
    domain's words, what the agent knew at the end of a failed search; the prompt for the next hypothesis repeats it.
    `practised` are the subgoals that a search which learns goes on practising, by which an interrupted run goes on.
    """

    unit: str
    level: str
    seed: int
    instruction: str
    verified: bool
    searched_steps: int
    replayed_steps: int
    cause: str
    agreement: Agreement | None
    subgoals: tuple[SearchedSubgoal, ...]
    seen: str = ""
    failed_goal: int | None = None
    practised: tuple[SearchedTask, ...] = ()

    @property
    def reached_count(self) -> int:
        """How many subgoals were reached."""
        return sum(goal.reached for goal in self.subgoals)

    def experiences(self) -> list[Experience]:
        """Grounded experience: each reached subgoal with the part of its check that was true, confirmed if the
        hypothesis was verified.

        Needless subgoals, of whose check only a part was true and before any action, are left out. Where a thing is
        known already, "unless it is known, look for it elsewhere" is reached without an action and shows nothing of how
        to look for it.
        """
        return [
            Experience(
                instruction=self.instruction,
                level=self.level,
                seed=self.seed,
                index=index,
                subgoal=Subgoal(goal.description, CheckFunction(goal.name, goal.reached_by or goal.check)),
                restore_actions=goal.restore_actions,
                actions=goal.actions,
                confirmed=self.verified,
            )
            for index, goal in enumerate(self.subgoals)
            if goal.reached and (goal.actions or not goal.reached_by)
        ]


def verify(
    hypothesis: Hypothesis,
    start: Starts,
    *,
    level: str,
    seed: int,
    settings: VerifySettings,
    search: Search,
    random_seed: int = 0,
    unit: str = "",
) -> Verification:
    """Search the subgoals of a hypothesis in order, from `start` (one row, as `reset(seed)` left it)."""
    results: list[SearchedSubgoal] = []
    restore: tuple[ActionValue, ...] = ()
    replay_steps = 0
    before = start
    is_done = False
    seen = ""
    cause, failed_goal, search_steps = _health_problem(hypothesis, start, settings=settings, seed=random_seed)
    for index, subgoal in enumerate(() if cause else hypothesis.subgoals):
        check = subgoal.check
        if is_done:
            outcome = hold_when_done(start, check)
        else:
            outcome = search(
                start,
                check,
                must_succeed=index == len(hypothesis.subgoals) - 1,
                budget=min(settings.t_verify - search_steps, settings.most_per_subgoal),
                seed=random_seed + index,
            )
        outcome = _unless_it_pays_for_nothing(outcome, start, check, seed=random_seed)
        search_steps += outcome.steps
        replay_steps += outcome.episodes * len(restore)
        results.append(_searched_subgoal(subgoal, outcome, restore, start.domain))
        if not outcome.reached:
            cause, failed_goal = f"goal {index + 1} ({subgoal.description!r}) {outcome.cause}", index
            seen = start.domain.perceivable.code_view(outcome.after.rows.perception(0)).describe()
            break
        restore += outcome.actions
        before, start, is_done = before if is_done else start, outcome.after, outcome.done
    last_check = hypothesis.subgoals[-1].check
    return Verification(
        unit=unit,
        level=level,
        seed=seed,
        instruction=hypothesis.instruction,
        verified=not cause,
        searched_steps=search_steps,
        replayed_steps=replay_steps,
        cause=cause,
        agreement=None if cause else agreement(before, last_check, steps=settings.judged_steps, seed=random_seed),
        subgoals=tuple(results),
        seen=seen,
        failed_goal=failed_goal,
    )


def _searched_subgoal(
    subgoal: Subgoal, outcome: SearchResult, restore: tuple[ActionValue, ...], domain: Domain
) -> SearchedSubgoal:
    """The row of a subgoal that was searched from where `restore` leads."""
    check = subgoal.check
    part = _part_that_fired(check, outcome, domain) if outcome.reached else check
    return SearchedSubgoal(
        description=subgoal.description,
        name=check.name,
        check=check.source,
        reached=outcome.reached,
        restore_actions=restore,
        actions=outcome.actions,
        searched_steps=outcome.steps,
        inconsistent=outcome.inconsistent,
        reached_by="" if part == check else part.source,
    )


def _unless_it_pays_for_nothing(
    outcome: SearchResult, start: Starts, check: CheckFunction, *, seed: int
) -> SearchResult:
    """`outcome`, or a failure if time alone fulfils the check; the steps of this trial are added."""
    if not outcome.actions:
        return outcome
    trial_start = Starts(start.rows, start.targets, (check,), np.zeros(1, np.int64))
    idle, steps = pays_for_nothing(trial_start, seed=seed)
    outcome = replace(outcome, steps=outcome.steps + steps)
    cause = PAYS_FOR_NOTHING.format(idle)
    return replace(outcome, reached=False, actions=(), after=start, cause=cause) if idle else outcome


def _part_that_fired(check: CheckFunction, outcome: SearchResult, domain: Domain) -> CheckFunction:
    """The part of a check that was true when it fired."""
    if (end := outcome.end) is None:
        return check

    def fires(part: CheckFunction) -> bool:
        try:
            return compile_check(part, domain).fires(end)
        except Refused:
            return False

    return reached_by(check, fires)


def _health_problem(
    hypothesis: Hypothesis, start: Starts, *, settings: VerifySettings, seed: int
) -> tuple[str, int | None, int]:
    """Why a check of the hypothesis can't be trusted ("" when all can), its index, and the steps that the test took."""
    checks = [subgoal.check for subgoal in hypothesis.subgoals]
    for index, check in enumerate(checks):
        try:
            compile_check(check, start.domain)
        except Refused as error:
            return f"the check of goal {index + 1} was refused: {error}", index, 0
    problems, steps = faults(start, checks, steps=settings.health_steps, seed=seed)
    for index, fault in enumerate(problems):
        if fault:
            return f"the check of goal {index + 1} can't be trusted: {fault}", index, steps
    return "", None, steps
