"""The prompt's API text: made of the functions' own docstrings, complete, and true."""

from __future__ import annotations

from dataclasses import fields

import pytest

from sdg.envs.babyai.perception.snapshot import FUNCTIONS, RECORD_TEXT, BabyAIPerception, Object
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.world import Perception, api_line, api_text


@pytest.fixture(scope="module")
def perception() -> BabyAIPerception:
    world = BabyAIWorld("GoToLocal")
    world.reset(3)
    return world.perception()


def test_every_function_has_its_line(perception: BabyAIPerception) -> None:
    lines = api_text(RECORD_TEXT, FUNCTIONS).splitlines()
    for name, function in perception.functions().items():
        assert function.__doc__
        [line] = [line for line in lines if line.startswith(f"{name}(")]
        assert line == api_line(function)
        assert " ".join(function.__doc__.split()) in line
    assert tuple(perception.functions()) == BabyAIPerception.api


def test_every_record_field_is_documented() -> None:
    documented = set()
    for line in RECORD_TEXT.splitlines():
        if line.startswith("  "):
            documented |= {name.strip() for name in line.split(": ")[0].split(",")}
    assert documented == {field.name for field in fields(Object)}


def test_names_pick_and_order() -> None:
    lines = api_text(RECORD_TEXT, FUNCTIONS, ["get_facing", "find_objects"]).splitlines()
    assert [line.split("(")[0] for line in lines[-2:]] == ["get_facing", "find_objects"]
    assert "get_carried" not in "".join(lines)


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="no perception function is called 'look'"):
        api_text(RECORD_TEXT, FUNCTIONS, ["look"])


@pytest.mark.parametrize("position", [None, 3, (1,), (1, 2, 3), ("a", "b"), (1.5, 2), "xy"])
def test_no_position(perception: BabyAIPerception, position: object) -> None:
    with pytest.raises(ValueError, match="a position is a pair"):
        perception.is_free(position)  # type: ignore[arg-type]


@pytest.mark.parametrize("position", [(10**30, 0), (0, -(10**30)), (2**63, 2**63)])
def test_positions_far_away(perception: BabyAIPerception, position: tuple[int, int]) -> None:
    assert perception.is_free(position) is False


def test_it_is_a_perception(perception: BabyAIPerception) -> None:
    role: Perception = perception
    lines = role.describe().splitlines()
    assert lines[0].startswith("Step 0. The robot is at (0, 0) in room 0")
    assert lines[2] == "The cell straight ahead is free."
    assert len(lines) == 3 + len(perception.get_observed_objects())


def test_of_things_equally_far_the_one_seen_first_comes_first() -> None:
    world, n_ties = BabyAIWorld("GoToLocal"), 0
    for seed in range(40):
        world.reset(seed)
        things = [(thing.distance, thing.id) for thing in world.perception().find_objects("object")]
        assert things == sorted(things)
        n_ties += len(things) - len({distance for distance, _ in things})
    assert n_ties
