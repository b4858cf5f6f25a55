"""The learned guards refuse what is next to hopeless, fast, and keep shut where they can't tell."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import Command, GuardChain
from sdg.gate.learned import COMPLETENESS, FEASIBILITY, GuardNetwork, LearnedGuard, load
from sdg.gate.rules import Usage

USAGES = {"go": Usage(asks=frozenset({".facing", "find_objects()"})), "odd": Usage()}


def observe_level(level: str = "GoToLocal", seed: int = 3_000_777) -> Observation:
    world = BabyAIWorld(level)
    world.reset(seed)
    perception = world.perception()
    return PlainObservation(perception.describe(), elements=tuple(perception.elements()), perception=perception)


def test_the_shipped_guards_judge_a_thing_in_view_and_one_that_there_is_not() -> None:
    guard, now = LearnedGuard(USAGES, BABYAI.affordances), observe_level()
    thing = next(element for element in now.elements if element.type != "door")  # type: ignore[attr-defined]
    assert guard.feasible(Command("go", BABYAI.language.name_of(thing)), now).confidence > 0.7
    assert not guard.complete(Command("go", "green door"), now, now).passed
    assert guard.feasible(Command("odd"), now).passed, "nothing tells what it is for, so nothing was learned of it"


def test_a_verdict_takes_less_than_a_millisecond() -> None:
    guard, now = LearnedGuard(USAGES, BABYAI.affordances), observe_level()
    command = Command("go", now.elements[0].name)
    took = []
    for _ in range(200):
        began = time.process_time()
        guard.feasible(command, now)
        took.append(time.process_time() - began)
    assert sorted(took)[20] < 1e-3


@pytest.mark.parametrize("command", [Command(""), Command("fly", "x"), Command("go", "the shiny thing")])
def test_what_it_cannot_judge_is_refused(command: Command) -> None:
    guard = GuardChain(rules=[LearnedGuard(USAGES, BABYAI.affordances)])
    assert not guard.feasible(command, observe_level()).passed
    assert not guard.complete(command, observe_level(), observe_level()).passed
    assert not guard.feasible(Command("go", "red ball"), PlainObservation("a text alone")).passed


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"feasibility": 3}', "x" * 100])
def test_a_damaged_file_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    place = tmp_path / "guards.json"
    place.write_text(text)
    with pytest.raises(ValueError, match="install sdg again"):
        load(place)
    assert (
        not GuardChain(rules=[LearnedGuard(USAGES, BABYAI.affordances, place=place)])
        .feasible(Command("go", "red ball"), observe_level())
        .passed
    )


def test_features_of_many_are_weighed_against_each_other() -> None:
    network = GuardNetwork(np.zeros(1), np.ones(1), ((np.ones((1, 1)), np.zeros(1)),), rivals=1.0)
    rows = np.log(np.array([[3.0], [1.0], [2.0]]))
    assert network.chance(rows) == pytest.approx(0.5), "3 to 1 and 2"
    assert replace(network, rivals=3.0).chance(rows) == pytest.approx(0.75)
    assert network.chance(rows[[1, 0, 2]]) == pytest.approx(1 / 6)
    with pytest.raises(ValueError, match="learned on 1 features"):
        network.chance(np.zeros((3, 2)))


def test_networks_are_kept_as_plain_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    layers = ((rng.normal(size=(3, 4)), rng.normal(size=4)), (rng.normal(size=(4, 1)), rng.normal(size=1)))
    network = GuardNetwork(np.zeros(3), np.ones(3), layers, temperature=2.0)
    place = tmp_path / "guards.json"
    place.write_text(json.dumps({verb: network.to_json() for verb in (FEASIBILITY, COMPLETENESS)}))
    again = load(place)[FEASIBILITY]
    for features in rng.normal(size=(20, 3)).astype(np.float32):
        assert again.chance(features) == pytest.approx(network.chance(features), abs=1e-3)
        assert 0 <= again.chance(1e6 * features) <= 1
    with pytest.raises(ValueError, match="learned on 3 features"):
        again.chance(np.zeros(5, np.float32))
    place.write_text(place.read_text().replace("2.0", "2.0").replace('"biases": [', '"biases": [NaN, ', 1))
    with pytest.raises(ValueError, match="finite"):
        load(place)
