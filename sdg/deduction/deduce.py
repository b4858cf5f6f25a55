"""Stage 4, deduction: a model writes a program over skills and perception, runs it, and mends it (SDG, section 4.5).

One instruction is one episode: the world isn't reset between interactions, and all their steps count towards the
level's own limit. `restart` is the other reading of the paper: the world begins again before every interaction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from sdg.deduction.episode import MISSION_FAILED, OUT_OF_TIME, SKILL_FAILED, UNFINISHED, Episode, Interaction, is_judged
from sdg.deduction.planner import Prompts
from sdg.deduction.program import ENTRY, NO_PROGRAM, ProgramLimits, ProgramResult, Scope, run_program
from sdg.deduction.protocols import CalledSkill
from sdg.deduction.robot import Robot
from sdg.envs.domain import Domain
from sdg.envs.world import World
from sdg.gate.executor import GatedExecutor, GateGuard
from sdg.llm.model import Completion, LanguageModel, NotRecorded, Sampling
from sdg.prompts.replies import cut_off, extract_code, tidy
from sdg.prompts.sources import amend_source
from sdg.sandbox.guard import Refused
from sdg.skills.library.composed import ComposedSkill
from sdg.skills.settings import Count

MAX_MENDS = 2
"""Further exchanges about a reply without a usable program before it counts as a failed one."""


@dataclass(frozen=True, slots=True)
class DeductionSettings:
    """Stage 4: programs over skills, repaired while they fail (SDG, section 4.5)."""

    interactions: Count = 4
    """programs an episode may take: the first one and its repairs"""
    attempts: Count = 5
    """how often a skill is tried before it counts as failed"""
    budget: Count = 400_000
    """guard steps that one program may use"""
    draws: Count = 16
    """actions drawn before each step, of which the one taken least often in that state is taken; 1: the first"""

    def __post_init__(self) -> None:
        if min(self.interactions, self.attempts, self.budget, self.draws) < 1:
            raise ValueError("interactions, attempts, budget and draws are 1 or more")


@dataclass(frozen=True)
class Planner:
    """A model and the prompts it is asked with."""

    model: LanguageModel
    prompts: Prompts
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True)
class Toolkit:
    """The means of a planner's robot in a domain: skills by name and the gate before them."""

    domain: Domain
    skills: Mapping[str, CalledSkill]
    gate: GateGuard
    composed: Mapping[str, ComposedSkill] = field(default_factory=dict)


def deduce(
    world: World,
    *,
    planner: Planner,
    toolkit: Toolkit,
    seed: int,
    settings: DeductionSettings = DeductionSettings(),
    restart: Callable[[], None] | None = None,
) -> Episode:
    """Play a world that was just reset until its mission is done, the episode is over or no interaction is left.

    A world that can't judge (`UnjudgedWorld`) is left as soon as a program ends with all its skills successful; no
    success is claimed then.
    Raises `ModelError` (or `BudgetExceeded`) when the planner's model gives no reply: the episode is then unfinished.
    """
    rng = np.random.default_rng(seed)
    new_robot = partial(
        Robot, world, toolkit.skills, domain=toolkit.domain, rng=rng, attempts=settings.attempts, draws=settings.draws
    )
    robot = new_robot()
    interactions: list[Interaction] = []
    actions, forgot = list[Any](), list[int]()
    for attempt in range(settings.interactions):
        if attempt and restart is not None:
            forgot += [len(actions) + step for step in robot.forgot]
            actions += robot.actions
            restart()
            robot = new_robot()
        programs_left = settings.interactions - attempt
        last = interactions[-1] if interactions else None
        stops_early = programs_left > 1 and restart is None
        try:
            interactions.append(
                _interact(
                    world, planner, robot, toolkit, settings, last, programs=programs_left, stops_early=stops_early
                )
            )
        except NotRecorded:
            if not interactions:
                raise
            break
        is_settled_unjudged = not is_judged(world) and interactions[-1].cause == UNFINISHED
        if robot.ending.done or (robot.ending.over and restart is None) or is_settled_unjudged:
            break
    return Episode(
        instruction=world.mission,
        success=robot.ending.done,
        cause="" if robot.ending.done else interactions[-1].cause,
        actions=(*actions, *robot.actions),
        forgot=(*forgot, *(len(actions) + step for step in robot.forgot)),
        max_steps=world.max_steps,
        interactions=tuple(interactions),
        llm_calls=sum(interaction.llm_calls for interaction in interactions),
        judged=is_judged(world),
    )


def _interact(
    world: World,
    planner: Planner,
    robot: Robot,
    toolkit: Toolkit,
    settings: DeductionSettings,
    last: Interaction | None,
    *,
    programs: int,
    stops_early: bool,
) -> Interaction:
    """Ask for a program and run it; its errors are returned, not raised. `programs` are left, including this one.

    Functions that the reply leaves out are taken from the last program; unused ones are dropped. A reply without a
    program is sent back to be mended, which costs no interaction. `stops_early`: stop a program when a third of the
    steps is left, so that a repaired one can use it.
    """
    first_step = len(robot.actions)
    steps_left = world.max_steps - first_step
    state = robot.code_view().describe()
    messages = planner.prompts.ask(
        world.mission,
        skills=(*toolkit.skills.values(), *toolkit.composed.values()),
        limits=ProgramLimits(steps_left, programs, settings.budget, settings.attempts, state),
        failure=None if last is None else replace(last, state=state),
    )
    share = max(1, 2 * steps_left // 3) if stops_early else None
    replies: list[Completion] = []
    for _ in range(MAX_MENDS + 1):
        replies.append(reply := planner.model.complete(messages, sampling=planner.sampling))
        scope = Scope(robot, GatedExecutor(robot, toolkit.gate), steps=share, composed=toolkit.composed)
        try:
            known = {*scope.functions(), *toolkit.composed}
            source = amend_source(extract_code(reply.text), ENTRY, earlier=last.program if last else "", given=known)
        except Refused as refusal:
            source, outcome = tidy(reply.text), ProgramResult(str(refusal), NO_PROGRAM, ())
        else:
            outcome = run_program(source, scope, budget=settings.budget)
        error, cause = _judge(outcome, robot)
        if cause != NO_PROGRAM:
            break
        error = f"{error}\n{cut_off(reply, planner.sampling.max_tokens)}".rstrip()
        messages = planner.prompts.mend(messages, reply=tidy(reply.text), problem=error)
    return Interaction(
        program=source,
        cause=cause,
        error=error.rstrip(),
        state=robot.code_view().describe(),
        calls=outcome.calls,
        began=first_step,
        ended=len(robot.actions),
        prompt_tokens=sum(reply.prompt_tokens for reply in replies),
        completion_tokens=sum(reply.completion_tokens for reply in replies),
        llm_calls=len(replies),
        composed=scope.composed.log,
    )


def _judge(outcome: ProgramResult, robot: Robot) -> tuple[str, str]:
    """The message for the debug prompt and the cause of failure; both empty when the mission is done."""
    if robot.ending.done:
        return "", ""
    if robot.ending.failed:
        return "The mission has failed: it was done in a way or an order that it doesn't allow.", MISSION_FAILED
    if robot.ending.out_of_time:
        return "The time limit of the mission is reached.", OUT_OF_TIME
    if outcome.error:
        return outcome.error, outcome.cause
    cause = UNFINISHED if all(call.success for call in outcome.calls) else SKILL_FAILED
    return "The program ended, but the instruction is not carried out.", cause
