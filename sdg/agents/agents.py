"""Agents under one harness: each has the same world, the same limit and the same judge."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol, cast

import numpy as np

from sdg.deduction.deduce import DeductionSettings, Planner, Toolkit, deduce
from sdg.deduction.episode import (
    MISSION_FAILED,
    OUT_OF_TIME,
    UNFINISHED,
    WORKER_LOST,
    Episode,
    UnjudgedWorld,
    is_judged,
)
from sdg.deduction.protocols import CalledSkill
from sdg.envs import domains
from sdg.envs.domain import Domain
from sdg.envs.world import World
from sdg.gate.executor import GateGuard, GuardChain
from sdg.gate.rules import RulesGuard
from sdg.skills.library.composed import ComposedSkill


@dataclass(frozen=True, slots=True)
class Task:
    """One episode to play: `seed` picks the level's layout and mission; `repeat` varies the agent's own randomness.

    `instruction` replaces the level's own mission; the world may be unable to judge it. `domain_name` is one of
    `sdg.envs.domains`.
    """

    level: str
    seed: int
    repeat: int = 0
    instruction: str = ""
    domain_name: str = domains.DEFAULT

    @property
    def domain(self) -> Domain:
        """The kind of world of this level."""
        return domains.domain(self.domain_name)

    @property
    def random_seed(self) -> int:
        """The seed of the agent's own randomness."""
        return self.seed * 1009 + self.repeat

    def unit(self, agent: str) -> str:
        """The name of this episode in a journal."""
        words = f"/{sha256(self.instruction.encode()).hexdigest()[:12]}" if self.instruction else ""
        return f"{agent}/{self.level}/{self.seed}/{self.repeat}{words}"


class Agent(Protocol):
    """Plays one instruction in one episode."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    def play(self, world: World, task: Task) -> Episode:
        """Play a world that was just reset to the task's seed."""
        ...


def play_task(agent: Agent, task: Task, *, bot_steps: int | None = None) -> dict[str, Any]:
    """Play one task in a fresh world: a row for the journal of episodes. Raises `ModelError` from planners."""
    began = time.perf_counter()
    level, world = open_world(task)
    return _row(agent.name, level, task=task, episode=agent.play(world, task), bot_steps=bot_steps, began=began)


def lost_task(name: str, task: Task, *, reason: str, bot_steps: int | None = None) -> dict[str, Any]:
    """The row of a task whose process hung or died while agent `name` played it: it counts as a failure."""
    began = time.perf_counter()
    level, world = open_world(task)
    episode = Episode(world.mission, False, WORKER_LOST, (), world.max_steps, judged=is_judged(world))
    row = _row(name, level, task=task, episode=episode, bot_steps=bot_steps, began=began)
    return row | {"success": False, "error": reason}


def _row(name: str, level: str, *, task: Task, episode: Episode, bot_steps: int | None, began: float) -> dict[str, Any]:
    head = {"unit": task.unit(name), "agent": name, "level": level, "seed": task.seed}
    tail = {"repeat": task.repeat, "bot_steps": bot_steps, "seconds": round(time.perf_counter() - began, 4)}
    return head | episode.row() | tail


def open_world(task: Task) -> tuple[str, World]:
    """The task's level name and its world, just reset; an instruction that the world can't verify makes it unjudged.

    Raises ValueError for a level that doesn't exist and for an instruction that is blank or over 500 characters.
    """
    level = task.domain.level_name(task.level)
    world = task.domain.open(level)
    try:
        begin(world, task)
    except ValueError:
        return level, cast(World, UnjudgedWorld(world, task.instruction))
    return level, world


def begin(world: World, task: Task) -> None:
    """Reset a world to the task's beginning, with the task's instruction."""
    world.reset(task.seed)
    if task.instruction and is_judged(world):
        world.set_instruction(task.instruction)


def rules_gate(skills: Mapping[str, CalledSkill], domain: Domain) -> GateGuard:
    """A gate of plain rules for these skills, as a chain that learned and model guards can be added to."""
    usages = {name: skill.usage for name, skill in skills.items()}
    return GuardChain(rules=[RulesGuard(usages, resolve=domain.language.resolve, affordances=domain.affordances)])


@dataclass(frozen=True)
class PlannerAgent:
    """SDG's deduction with whatever skills it is given; `gate_of` makes the gate for them."""

    name: str
    planner_of: Callable[[int], Planner]
    skills: Mapping[str, CalledSkill]
    gate_of: Callable[[Mapping[str, CalledSkill], Domain], GateGuard] = rules_gate
    settings: DeductionSettings = field(default_factory=DeductionSettings)
    restarts: bool = False
    composed: Mapping[str, ComposedSkill] = field(default_factory=dict)

    def play(self, world: World, task: Task) -> Episode:
        """Play one instruction within the settings' number of interactions; the task's random seed is the planner's."""
        return deduce(
            world,
            planner=self.planner_of(task.random_seed),
            toolkit=Toolkit(task.domain, self.skills, self.gate_of(self.skills, task.domain), self.composed),
            seed=task.random_seed,
            settings=self.settings,
            restart=(lambda: begin(world, task)) if self.restarts else None,
        )


@dataclass(frozen=True)
class RandomAgent:
    """Draws primitive actions with equal chance until the episode is over.

    `masked`: only actions that change something, as far as the agent knows; learned skills have the same mask.
    """

    name: str = "random"
    masked: bool = False

    def play(self, world: World, task: Task) -> Episode:
        """Act until the mission is done, failed or out of time."""
        rng, domain = np.random.default_rng(task.random_seed), task.domain
        logits = np.zeros(len(domain.actions), np.float32)

        def choose() -> int:
            logits[:] = 0
            if self.masked:
                domain.inputs.mask_noops_row(world.memory, 0, logits)
            return int(rng.choice([action.number for action in domain.actions if logits[action.number] >= 0]))

        return act_out(world, choose)


@dataclass(frozen=True)
class ReplayAgent:
    """Plays the actions that `actions_for(level, seed)` gives: this is how an oracle or a recording is played."""

    name: str
    actions_for: Callable[[str, int], list[int] | None] = field(repr=False)

    def play(self, world: World, task: Task) -> Episode:
        """Play these actions; without any, the episode has no steps."""
        actions = iter(self.actions_for(task.level, task.seed) or ())
        return act_out(world, lambda: next(actions, None))


def act_out(world: World, choose: Callable[[], int | None]) -> Episode:
    """Step a world as `choose` says until the episode is over or it returns None."""
    actions: list[int] = []
    success, cause = False, UNFINISHED
    while (action := choose()) is not None:
        result = world.step(action)
        actions.append(action)
        if result.done:
            success = result.success
            failure = MISSION_FAILED if result.terminated else OUT_OF_TIME
            cause = "" if success else failure
            break
    return Episode(world.mission, success, cause, tuple(actions), world.max_steps, judged=is_judged(world))
