"""Agents under one harness: whoever plays an instruction has the same world, the same limit and the same judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from envs.babyai.world import ACTIONS, BabyAIWorld
from sdg.deduce import DeductionSettings, Equipment, Planner, deduce
from sdg.episode import MISSION_FAILED, OUT_OF_TIME, UNFINISHED, Episode
from sdg.gate.chain import GuardChain
from sdg.gate.rules import RulesGuard
from sdg.gate.verdict import Gate
from sdg.primitives import primitive_skills
from sdg.robot import resolve_records
from sdg.roles import Judge, Skill


@dataclass(frozen=True, slots=True)
class Task:
    """One episode to play: the level's layout and mission under `seed`; `repeat` varies the agent's own draws."""

    level: str
    seed: int
    repeat: int = 0

    @property
    def random_seed(self) -> int:
        """What an agent's own randomness begins from."""
        return self.seed * 1009 + self.repeat

    def unit(self, agent: str) -> str:
        """The name of this episode in a journal."""
        return f"{agent}/{self.level}/{self.seed}/{self.repeat}"


class Agent(Protocol):
    """Whoever plays one instruction in one episode."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        ...

    def play(self, world: BabyAIWorld, task: Task) -> Episode:
        """Play a world that was just reset to the task's seed."""
        ...


def play_task(agent: Agent, task: Task, *, bot_steps: int | None = None) -> dict[str, Any]:
    """Play one task in a fresh world: a row for the journal of episodes. Raises `ModelError` from planners."""
    began = time.perf_counter()
    world = BabyAIWorld(task.level)
    world.reset(task.seed)
    episode = agent.play(world, task)
    head = {"unit": task.unit(agent.name), "agent": agent.name, "level": world.level, "seed": task.seed}
    tail = {"repeat": task.repeat, "bot_steps": bot_steps, "seconds": round(time.perf_counter() - began, 4)}
    return head | episode.row() | tail


def rules_gate(skills: Mapping[str, Skill]) -> Gate:
    """The plain rules over these skills, in the chain where learned and model guards find their place."""
    usages = {name: skill.usage for name, skill in skills.items()}
    return GuardChain(rules=[RulesGuard(usages, resolve=resolve_records)])


@dataclass(frozen=True)
class PlannerAgent:
    """SDG's deduction with whatever skills it is given; `gate_of` makes the gate for them."""

    name: str
    planner_of: Callable[[int], Planner]
    skills: Mapping[str, Skill]
    judge: Judge
    gate_of: Callable[[Mapping[str, Skill]], Gate] = rules_gate
    settings: DeductionSettings = field(default_factory=DeductionSettings)
    restarts: bool = False

    def play(self, world: BabyAIWorld, task: Task) -> Episode:
        """One instruction, up to the settings' interactions; the planner is made from the task's own random seed."""
        return deduce(
            world,
            planner=self.planner_of(task.random_seed),
            equipment=Equipment(self.skills, self.gate_of(self.skills), self.judge),
            seed=task.random_seed,
            settings=self.settings,
            restart=(lambda: world.reset(task.seed)) if self.restarts else None,
        )


def action_agent(planner_of: Callable[[int], Planner], *, judge: Judge, settings: DeductionSettings) -> PlannerAgent:
    """SDG-action: the same planner, gate and budgets, with the six primitive actions in place of skills."""
    return PlannerAgent("sdg-action", planner_of, primitive_skills(), judge, settings=settings)


@dataclass(frozen=True)
class RandomAgent:
    """Each of the six actions with equal chance, until the episode is over."""

    name: str = "random"

    def play(self, world: BabyAIWorld, task: Task) -> Episode:
        """Act until the mission is done, failed or out of time."""
        rng = np.random.default_rng(task.random_seed)
        return act_out(world, lambda: int(rng.integers(len(ACTIONS))))


@dataclass(frozen=True)
class ReplayAgent:
    """Plays the actions that `actions_for(level, seed)` names: how an oracle or a record joins the harness."""

    name: str
    actions_for: Callable[[str, int], list[int] | None] = field(repr=False)

    def play(self, world: BabyAIWorld, task: Task) -> Episode:
        """Act as told; an episode of no steps where nothing is told."""
        actions = iter(self.actions_for(task.level, task.seed) or ())
        return act_out(world, lambda: next(actions, None))


def act_out(world: BabyAIWorld, choose: Callable[[], int | None]) -> Episode:
    """Step a world by `choose` until the episode is over or it chooses None."""
    actions: list[int] = []
    success, cause = False, UNFINISHED
    while (action := choose()) is not None:
        result = world.step(action)
        actions.append(action)
        if result.done:
            success = result.success
            cause = "" if success else MISSION_FAILED if result.terminated else OUT_OF_TIME
            break
    return Episode(world.mission, success, cause, tuple(actions), world.max_steps)
