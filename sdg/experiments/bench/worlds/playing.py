"""Playing a world's levels with a library of skills and hand-written programs: every command passes the gate."""

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
"""Guard steps that a program may take: programs over a body ask for its place at every turn."""


def play(world_name: str, skills: Mapping[str, Skill], level: str, seed: int) -> Robot:
    """The robot after the hand-written program ran in a seed's episode."""
    kind = domain(world_name)
    world = kind.open(level)
    world.reset(seed)
    robot = Robot(world, skills, domain=kind, rng=np.random.default_rng(seed), attempts=1)
    gate = RulesGuard({name: skill.usage for name, skill in skills.items()}, resolve=kind.language.resolve)
    run_program(WORDS[world_name].program(world.mission), Scope(robot, GatedExecutor(robot, gate)), budget=BUDGET)
    return robot


def success_of(world: str, skills: Mapping[str, Skill], level: str, *, episodes: int, seed: int) -> int:
    """How many of `episodes` unseen episodes of a level the hand-written program solves with these skills."""
    chosen = seeds("evaluation", count=episodes, seed=seed, level=level)
    return sum(play(world, skills, level, each).ending.done for each in chosen)
