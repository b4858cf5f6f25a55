"""Stage 4, deduction: a model writes a program over skills and perception, runs it, and mends it (SDG, section 4.5).

One instruction is one episode: the world isn't reset between interactions, and all their steps count towards the
level's own limit. `restart` is the other reading of the paper: the world begins again before every interaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sdg.deduction.episode import MISSION_FAILED, OUT_OF_TIME, SKILL_FAILED, UNFINISHED, Episode, Interaction
from sdg.deduction.program import ENTRY, NO_PROGRAM, Program, ProgramResult, Scope, run_program
from sdg.deduction.protocols import Skill
from sdg.deduction.robot import Robot
from sdg.deduction.unverifiable import is_judged
from sdg.envs.domain import Domain
from sdg.envs.world import World
from sdg.gate.executor import GatedExecutor
from sdg.gate.verdict import Gate
from sdg.llm.model import Completion, LanguageModel, Message, Sampling
from sdg.prompts.replies import cut_off, tidy
from sdg.prompts.sources import needed
from sdg.skills.sandbox.guard import Refused, extract_code
from sdg.skills.settings import Count


@dataclass(frozen=True, slots=True)
class DeductionSettings:
    """Stage 4: programs over skills, repaired while they fail (SDG, section 4.5)."""

    interactions: Count = 4
    """programs an episode may take: the first one and its repairs"""
    attempts: Count = 5
    """how often a skill is tried before it counts as failed"""
    budget: Count = 400_000
    """steps of the guard that a program may take"""

    def __post_init__(self) -> None:
        if min(self.interactions, self.attempts, self.budget) < 1:
            raise ValueError("interactions, attempts and budget are 1 or more")


@dataclass(frozen=True, slots=True)
class Failure:
    """What the debug prompt tells of the last program: its error, its calls in order and what the robot knows now."""

    program: str
    error: str
    calls: tuple[str, ...]
    state: str
    steps_left: int


class PlannerPrompts(Protocol):
    """Whoever words the generation prompt and the debug prompt."""

    def generate(self, instruction: str, *, skills: Sequence[Skill]) -> Sequence[Message]:
        """Role, skills, perception functions, one worked example, output format, then the instruction."""
        ...

    def debug(self, instruction: str, *, skills: Sequence[Skill], failure: Failure) -> Sequence[Message]:
        """The same with the failed program, what went wrong, and general hints."""
        ...


@dataclass(frozen=True)
class Planner:
    """A model and the prompts it is asked with."""

    model: LanguageModel
    prompts: PlannerPrompts
    sampling: Sampling = field(default_factory=Sampling)

    def write(self, instruction: str, *, skills: Sequence[Skill], failure: Failure | None) -> Completion:
        """A reply that should hold a program. Raises what the model raises."""
        if failure is None:
            messages = self.prompts.generate(instruction, skills=skills)
        else:
            messages = self.prompts.debug(instruction, skills=skills, failure=failure)
        return self.model.complete(messages, sampling=self.sampling)


@dataclass(frozen=True)
class Toolkit:
    """What a planner's robot acts with in a domain: skills by name and the gate before them."""

    domain: Domain
    skills: Mapping[str, Skill]
    gate: Gate


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

    A world that can't judge (`UnjudgedWorld`) is left as soon as a program ends well by its own lights; then no success
    is claimed.
    Raises `ModelError` (or `BudgetExceeded`) when the planner's model gives no reply: the episode is then unfinished.
    """
    rng = np.random.default_rng(seed)
    robot = _embody(world, toolkit, rng=rng, attempts=settings.attempts)
    interactions: list[Interaction] = []
    actions: list[Any] = []
    for attempt in range(settings.interactions):
        if attempt and restart is not None:
            actions += robot.actions
            restart()
            robot = _embody(world, toolkit, rng=rng, attempts=settings.attempts)
        reply = planner.write(
            world.mission, skills=tuple(toolkit.skills.values()), failure=_failure(interactions, robot, world)
        )
        played = _interact(reply, world, robot=robot, gate=toolkit.gate, settings=settings)
        cut = cut_off(reply, planner.sampling.max_tokens) if played.cause == NO_PROGRAM else ""
        interactions.append(replace(played, error=f"{played.error}\n{cut}".rstrip()))
        if robot.ending.done or (robot.ending.over and restart is None):
            break
        if not is_judged(world) and interactions[-1].cause == UNFINISHED:
            break
    return Episode(
        instruction=world.mission,
        success=robot.ending.done,
        cause="" if robot.ending.done else interactions[-1].cause,
        actions=(*actions, *robot.actions),
        forgot=tuple(len(actions) + step for step in robot.forgot),
        max_steps=world.max_steps,
        interactions=tuple(interactions),
        llm_calls=len(interactions),
        judged=is_judged(world),
    )


def _embody(world: World, toolkit: Toolkit, *, rng: np.random.Generator, attempts: int) -> Robot:
    return Robot(world, toolkit.skills, domain=toolkit.domain, rng=rng, attempts=attempts)


def _failure(interactions: Sequence[Interaction], robot: Robot, world: World) -> Failure | None:
    if not interactions:
        return None
    last = interactions[-1]
    calls = tuple(str(call) for call in last.calls)
    left = world.max_steps - len(robot.actions)
    return Failure(last.program, last.error, calls, robot.perception().describe(), left)


def _interact(reply: Completion, world: World, *, robot: Robot, gate: Gate, settings: DeductionSettings) -> Interaction:
    """Read a program out of a reply and run it; everything it does wrong is a value.

    Helpers that the program doesn't use are left out: models carry the worked example's over whole.
    """
    began = len(robot.actions)
    try:
        source = needed(extract_code(reply.text), ENTRY)
    except Refused as refusal:
        source, ran = tidy(reply.text), ProgramResult(str(refusal), NO_PROGRAM, ())
    else:
        scope = Scope(robot, GatedExecutor(robot, gate))
        ran = run_program(Program(source, world.mission), scope, budget=settings.budget)
    error, cause = _judge(ran, robot)
    return Interaction(
        program=source,
        cause=cause,
        error=error,
        state=robot.perception().describe(),
        calls=ran.calls,
        began=began,
        ended=len(robot.actions),
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
    )


def _judge(ran: ProgramResult, robot: Robot) -> tuple[str, str]:
    """The message for the debug prompt and the cause of failure; both empty when the mission is done."""
    if robot.ending.done:
        return "", ""
    if robot.ending.failed:
        return "The mission has failed: it was done in a way or an order that it doesn't allow.", MISSION_FAILED
    if robot.ending.out_of_time:
        return "The time limit of the mission is reached.", OUT_OF_TIME
    if ran.error:
        return ran.error, ran.cause
    lost = [call for call in ran.calls if not call.success]
    advice = f" A call returned False: {lost[-1]}." if lost else ""
    return f"The program ended, but the instruction is not done.{advice}", SKILL_FAILED if lost else UNFINISHED
