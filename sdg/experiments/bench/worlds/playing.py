"""Playing a world's levels with a library of skills and programs by hand: every command passes the gate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sdg.deduction.program import Scope, run_program
from sdg.deduction.protocols import Skill
from sdg.deduction.robot import Robot
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.experiments.bench.worlds.words import WORDS
from sdg.gate.executor import GatedExecutor
from sdg.gate.rules import RulesGuard

BUDGET = 50_000_000
"""Steps of the guard that a program may take: one over a body asks for its place at every turn."""


def play(world_name: str, skills: Mapping[str, Skill], level: str, seed: int) -> Robot:
    """The robot after the program by hand ran in the episode of a seed."""
    kind = domain(world_name)
    world = kind.open(level)
    world.reset(seed)
    robot = Robot(world, skills, domain=kind, rng=np.random.default_rng(seed), attempts=1)
    gate = RulesGuard({name: skill.usage for name, skill in skills.items()}, resolve=kind.language.resolve)
    program = WORDS[world_name].program(world.mission)
    run_program(program, Scope(robot, GatedExecutor(robot, gate)), budget=BUDGET)
    return robot


def success_of(world: str, skills: Mapping[str, Skill], level: str, *, episodes: int, seed: int) -> int:
    """How many of so many unseen episodes of a level the program by hand solves with these skills."""
    chosen = seeds("evaluation", count=episodes, seed=seed, level=level)
    return sum(play(world, skills, level, each).ending.done for each in chosen)
