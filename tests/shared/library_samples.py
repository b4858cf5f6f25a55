"""A small skill library for tests, and a policy that has learned nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdg.envs.batch import Inputs
from sdg.skills.library.library import CheckTemplate, Skill, SkillLibrary
from sdg.skills.policy.network import BitsPolicy, random_weights, shapes
from sdg.skills.subgoal import CheckFunction


def a_skill(name: str = "discover", **changes: object) -> Skill:
    check = CheckFunction("check_1", "def check_1():\n    return len(find_objects('red ball')) > 0\n")
    skill = Skill(
        name=name,
        description="Finds a thing.",
        takes_argument=True,
        argument_examples=("red ball", "green box"),
        members=("find the red ball", "discover the green box"),
        checks=(CheckTemplate(check, "red ball"),),
        horizon=30,
        success_rate=0.991,
        success_interval=(0.983, 0.995),
        episodes=1000,
        environment_steps=80_000,
    )
    return replace(skill, **changes)  # type: ignore[arg-type]


def a_library(**changes: object) -> SkillLibrary:
    rng = np.random.default_rng(0)
    weights = {
        name: {"w1": rng.normal(size=(5, 3)).astype(np.float32), "b1": np.zeros(3, np.float32)}
        for name in ("discover", "pick_up")
    }
    whole = SkillLibrary(
        skills=(a_skill(), a_skill("pick_up", takes_argument=False, argument_examples=())),
        weights=weights,
        provenance={"levels": ["GoToLocal"], "seed": 0, "command": "train"},
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def assert_equal_libraries(first: SkillLibrary, second: SkillLibrary) -> None:
    assert first.skills == second.skills
    assert first.provenance == second.provenance
    assert set(first.weights) == set(second.weights)
    for name, arrays in first.weights.items():
        assert set(arrays) == set(second.weights[name])
        for key, array in arrays.items():
            assert second.weights[name][key].dtype == np.float32
            np.testing.assert_array_equal(array, second.weights[name][key])


def random_bits(inputs: Inputs, rng: np.random.Generator, *, hidden: tuple[int, int] = (128, 64)) -> BitsPolicy:
    """A policy over binary inputs that has learned nothing, with hidden layers of these widths."""
    sizes = shapes(inputs.size, hidden, inputs.actions)
    return BitsPolicy(random_weights({name: np.zeros(size) for name, size in sizes.items()}, rng), inputs)
