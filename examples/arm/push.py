"""Skills of the arm from checks written by hand, a program over them, a film: `python -m examples.arm.push OUT`."""

import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

from sdg.deduction.library_skills import options_of
from sdg.deduction.program import Scope, run_program
from sdg.deduction.robot import Robot
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.experiments.play.film import animate
from sdg.gate.executor import GatedExecutor
from sdg.gate.rules import RulesGuard
from sdg.skills.learning.by_hand import SkillSpec, check_that, learn_library
from sdg.skills.learning.train import TrainSettings
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import save_library

ARM = domain("examples.arm.arm:ARM")
NEARER = 'nearer("object", "goal") >= 0.015 or distance("object", "goal") <= 0.1'
SPECS = (
    SkillSpec("touch", "touch the object", check_that('distance("fingertip", "object") <= 0.09')),
    SkillSpec("reach", "bring the fingertip to the goal", check_that('distance("fingertip", "goal") <= 0.1')),
    SkillSpec("push", "push the object nearer to the goal", check_that(NEARER), 60, 600_000, after=("touch",)),
)
PROGRAM = 'def program():\n    while distance("object", "goal") > 0.1:\n        touch()\n        push()\n'
SETTINGS = TrainSettings(
    n_envs=16, patience=20, evaluate_every=25_000, validation_starts=200, learner="sb3", side_effect_cost=0.0
)


def run(library: SkillLibrary, level: str, seed: int, source: str = PROGRAM) -> Robot:
    """The robot after it ran a program from a seed; every command passes the gate."""
    world, skills = ARM.open(level), options_of(library)
    world.reset(seed)
    robot = Robot(world, skills, domain=ARM, rng=np.random.default_rng(seed), attempts=1)
    gate = RulesGuard({name: skill.usage for name, skill in skills.items()}, resolve=ARM.language.resolve)
    run_program(source, Scope(robot, GatedExecutor(robot, gate)), budget=100_000)
    return robot


def film(robot: Robot, level: str, seed: int) -> bytes:
    """A GIF of a robot's actions from a seed."""
    world = ARM.open(level, lift_time_limit=True)
    world.reset(seed)
    images = [Image.fromarray(world.render())]
    for action in robot.actions:
        world.step(action)
        images.append(Image.fromarray(world.render()))
    return animate(images, [160] * len(robot.actions) + [2500])


def main(out: Path, seed: int = 0, count: int = 400) -> None:
    library = learn_library(ARM, "Push", SPECS, settings=SETTINGS, seed=seed, on_evaluation=print)
    save_library(library, out / "library")
    held_out = seeds("evaluation", count=count, seed=seed + 1)
    successes = [run(library, "Push", start_seed).ending.done for start_seed in held_out]
    print(f"{time.process_time():.0f} s  program: {sum(successes)} of {count}", *library.skills, sep="\n")
    first = held_out[0]
    (out / "push.gif").write_bytes(film(run(library, "Push", first), "Push", first))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
