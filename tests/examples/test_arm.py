"""The arm: a domain of a user's own, whose skills are learned from checks, behind the seam that every world uses."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("mujoco", reason="the extra `mujoco` isn't installed")

from examples.arm import push
from examples.arm.arm import ARM, Arm
from sdg.envs.contract import DomainContract
from sdg.envs.domains import domain
from sdg.skills.learning.by_hand import check_that, learn_library
from sdg.skills.learning.train import Point
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library, save_library

ROOT = Path(__file__).resolve().parents[2]


class TestContract(DomainContract):
    """The arm keeps the contract of every domain."""

    domain = ARM

    def draw(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-2, 2, 7).astype(np.float32)


def test_a_config_names_it_by_module_and_attribute() -> None:
    assert domain("examples.arm.arm:ARM") is ARM


def test_the_example_is_short() -> None:
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "examples" / "arm").glob("*.py"))
    assert lines <= 200


def test_nearer_counts_from_when_the_subgoal_began() -> None:
    world = Arm("Touch")
    world.reset(5)
    for _ in range(20):
        world.step(np.array([2, 1, 0, -1, 0, 0, 0], np.float32))
    now, before = world.perception(), world_at_reset(5).distance("fingertip", "object")
    assert now.nearer("fingertip", "object") == pytest.approx(before - now.distance("fingertip", "object"))
    world.begin_subgoal()
    assert world.perception().nearer("fingertip", "object") == 0


def world_at_reset(seed: int) -> Any:
    world = Arm("Touch")
    world.reset(seed)
    return world.perception()


@pytest.fixture(scope="module")
def learned() -> tuple[SkillLibrary, list[Point]]:
    """Within 30 cm of the object, which is easier than touching it: ten seconds of one core."""
    curve: list[Point] = []
    spec = replace(push.SPECS[0], check=check_that('distance("fingertip", "object") <= 0.3'), total_timesteps=24_000)
    settings = replace(push.SETTINGS, validation_starts=40, evaluate_every=4_000)
    library = learn_library(
        ARM,
        "Push",
        [spec],
        settings=settings,
        seed=0,
        training_starts=100,
        on_evaluation=lambda name, point: curve.append(point),
    )
    return library, curve


def test_a_check_alone_teaches_torques(learned: tuple[SkillLibrary, list[Point]]) -> None:
    library, curve = learned
    assert curve[0].validation_success < 0.8
    assert library["touch"].success_rate > 0.9
    assert library["touch"].episodes > 300


def test_a_program_runs_over_the_stored_skill_and_is_filmed(
    learned: tuple[SkillLibrary, list[Point]], tmp_path: Path
) -> None:
    save_library(learned[0], tmp_path / "library")
    library = load_library(tmp_path / "library")
    robot = push.run(library, "Touch", 7, "def program():\n    touch()\n")
    assert 0 < len(robot.actions) <= 100
    picture: Any = Image.open(io.BytesIO(push.film(robot, "Touch", 7)))
    assert picture.n_frames > len(robot.actions) / 2
    again = push.run(library, "Touch", 7, "def program():\n    touch()\n")
    assert again.actions == robot.actions
