"""Every registered domain keeps its contract; a domain that breaks it is told how."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI, BABYAI_PAPER, BABYAI_PIXELS
from sdg.envs.contract import DomainContract
from sdg.envs.domains import DOMAINS, domain
from sdg.envs.ui.browser import what_is_missing
from sdg.envs.ui.commands import SCREEN, ScreenCommand
from sdg.envs.ui.domain import UI
from sdg.envs.ui.parser import detector
from tests.envs.corridor import CORRIDOR, Corridor, CorridorDomain, Lamp


class TestBabyAI(DomainContract):
    domain = BABYAI


class TestPaperPreset(DomainContract):
    domain = BABYAI_PAPER


class TestPixelPreset(DomainContract):
    domain = BABYAI_PIXELS


class TestCorridor(DomainContract):
    domain = CORRIDOR


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestMiniGrid(DomainContract):
    domain = domain("minigrid:MiniGrid-DoorKey-6x6-v0")


@pytest.mark.skipif(find_spec("mujoco") is None, reason="the extra `mujoco` isn't installed")
class TestAnt(DomainContract):
    domain = domain("ant") if find_spec("mujoco") else CORRIDOR

    def draw(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-1, 1, 8).astype(np.float32)


@pytest.mark.skipif(find_spec("mujoco") is None, reason="the extra `mujoco` isn't installed")
class TestTable(DomainContract):
    domain = domain("table") if find_spec("mujoco") else CORRIDOR

    def draw(self, rng: np.random.Generator) -> Any:
        return rng.uniform(-2, 2, 7).astype(np.float32)


@pytest.mark.skipif(bool(what_is_missing()), reason=f"no browser: {what_is_missing()}")
@pytest.mark.skipif(not (files(detector.__package__) / detector.WEIGHTS).is_file(), reason="no detector is trained yet")
class TestUI(DomainContract):
    domain = UI
    steps = 3

    def draw(self, rng: np.random.Generator) -> ScreenCommand:
        x, y = (int(value) for value in rng.integers(SCREEN, size=2))
        return ScreenCommand("MOVE_COORDS", (x, y))


def test_every_registered_domain_is_tested() -> None:
    tested = {contract.domain.name for contract in DomainContract.__subclasses__() if hasattr(contract, "domain")}
    assert set(DOMAINS) <= tested


def test_domains_are_found_by_name() -> None:
    assert domain("tests.envs.corridor:CORRIDOR") is CORRIDOR


class Forgetful(Corridor):
    """A world that doesn't keep to its seed."""

    count = 0

    def reset(self, seed: int) -> None:
        Forgetful.count += 1
        super().reset(seed + Forgetful.count)


class _Broken(CorridorDomain):
    def open(self, level: str, *, lift_time_limit: bool = False) -> Corridor:
        return Forgetful(level, lift_time_limit=lift_time_limit)


def test_a_world_that_forgets_its_seed_is_found_out() -> None:
    contract = DomainContract()
    contract.domain = _Broken()
    with pytest.raises(AssertionError, match=r"forgets its seed|same seed"):
        contract.test_the_same_seed_is_the_same_episode()


def test_a_perception_function_without_docstring_is_found_out() -> None:
    from dataclasses import replace

    class Silent(CorridorDomain):
        perceivable = replace(CORRIDOR.perceivable, functions={"look": lambda: None})

    contract = DomainContract()
    contract.domain = Silent()
    with pytest.raises(AssertionError, match="look has no docstring"):
        contract.test_every_perception_function_says_what_it_does()


def test_answers_that_checks_can_not_use_are_found_out() -> None:
    from dataclasses import replace

    def with_answers(**answers: Any) -> DomainContract:
        class Odd(CorridorDomain):
            def open(self, level: str, *, lift_time_limit: bool = False) -> Any:
                world = super().open(level, lift_time_limit=lift_time_limit)
                see = world.perception
                world.perception = lambda: _answering(see(), answers)
                return world

        contract = DomainContract()
        contract.domain = Odd()
        return contract

    with_answers(get_position=lambda: np.int64(3)).test_answers_are_plain_data()
    with pytest.raises(AssertionError, match=r"get_position\(\) returned what generated code may not hold: a ndarray"):
        with_answers(get_position=lambda: np.zeros(2)).test_answers_are_plain_data()
    lamp = Lamp(0, "red lamp", "red", 0, np.int64(0), is_on=False, held=False)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"Lamp.distance is a number of numpy"):
        with_answers(elements=lambda: [lamp, replace(lamp, distance=0)]).test_answers_are_plain_data()


def _answering(perception: Any, answers: dict[str, Any]) -> Any:
    for name, answer in answers.items():
        setattr(perception, name, answer)
    return perception
