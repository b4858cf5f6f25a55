"""A check function of one's own becomes a skill: what is read out of it, what is refused, what is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdg
from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.domains import domain
from sdg.errors import UserError
from sdg.skills.checks.check import with_argument
from sdg.skills.checks.from_function import CheckError, template_of
from sdg.skills.learning.train import Point


def facing(thing):  # type: ignore[no-untyped-def]
    """Whether the robot stands before it."""
    return get_facing() in find_objects(thing)  # noqa: F821


def holding() -> bool:
    return get_carried() is not None  # type: ignore[name-defined]  # noqa: F821


def misspelt() -> bool:
    return len(find_objects("red bal")) > 0  # type: ignore[name-defined]  # noqa: F821


def no_such_colour() -> bool:
    return get_facing().color == "gren"  # type: ignore[name-defined]  # noqa: F821


def closure() -> Callable[[], bool]:
    what = "red ball"

    def seen() -> bool:
        return len(find_objects(what)) > 0  # type: ignore[name-defined]  # noqa: F821

    return seen


def test_a_parameter_becomes_the_argument() -> None:
    template = template_of(facing, BABYAI)
    assert template.argument == BABYAI.language.example
    assert f"find_objects({template.argument!r})" in template.check.source
    assert template_of(holding, BABYAI).argument == ""
    assert template_of("def held(): return get_carried() is not None", BABYAI).check.name == "held"


@pytest.mark.parametrize(
    ("world", "answer"),
    [
        ("babyai", "any((o.type == 'key' for o in get_observed_objects())) and len(find_objects(ABOUT)) > 0"),
        ("babyai", "len(find_objects('the red key')) > 0 and len(find_objects(ABOUT)) > 0"),
        ("babyai", "any((find_objects(f'the {c} key') for c in ('grey', 'red'))) and len(find_objects(ABOUT)) > 0"),
        ("table", "distance('red block', ABOUT) < 0.1"),
    ],
)
def test_what_a_check_names_itself_is_not_taken_for_its_argument(world: str, answer: str) -> None:
    language = domain(world).language
    template = template_of(f"def f(about):\n    return {answer.replace('ABOUT', 'about')}", domain(world))
    for about in ("blue ball", "green box") if world == "babyai" else ("green block", "blue spot"):
        asked = with_argument(template.check, template.argument, about, language=language)
        assert asked.source.strip() == f"def f():\n    return {answer.replace('ABOUT', repr(about))}"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda thing: True, "^a lambda can't be a check"),
        (closure(), "seen is a closure over what"),
        (str.upper, "is no function"),
        ("".join, "is no function"),
        (Path().exists, "^a method can't be a check"),
        (misspelt, "'red bal' describes nothing"),
        (no_such_colour, "nothing has the color 'gren'; did you mean 'green'"),
        ("def f(a, b): return True", "at most one argument"),
        ("def f(thing):\n    thing = 1\n    return True", "assigns to its parameter 'thing'"),
        (
            "def f(thing):\n    return any(map(lambda thing: thing.open, find_objects(thing)))",
            "calls something else so",
        ),
        ("def f(thing):\n    def g(thing):\n        return thing\n    return g(thing)", "parameter 'thing', or calls"),
        (
            "def f(thing):\n    try:\n        return 1 / 0\n    except ValueError as thing:\n        return thing",
            "or calls",
        ),
        (f"def f(a):\n    return [{COLOURS}, {TYPES}] == find_objects(a)", "names something of every kind beside its"),
        ("def f():\n    return open('x')", "there is no open: there are no files"),
        ("def f(", "doesn't parse"),
        ("x = 1", "a check is one function"),
        *((f"def f(): return {'not ' * depth}True", "nested too deeply") for depth in (2_000, 10_000, 100_000)),
        (f"def f(): return {'1 + ' * 200_000}1 > 0", "nested too deeply"),
    ],
)
def test_what_can_not_be_a_check_is_said_in_one_line(check: Any, message: str) -> None:
    with pytest.raises(CheckError, match=message) as caught:
        template_of(check, BABYAI)
    assert "\n" not in str(caught.value)


def test_nothing_to_learn_and_no_such_level() -> None:
    with pytest.raises(ValueError, match="there is nothing to learn"):
        sdg.train("GoToLocal", "def f(): return True", layouts=20)
    with pytest.raises(ValueError, match="f is true after any one action: there is nothing to learn"):
        sdg.train("GoToLocal", "def f(): return get_steps() > get_start_steps()", layouts=20, timesteps=1)
    with pytest.raises(ValueError, match="g is true after any 5 actions: there is nothing to learn"):
        sdg.train("GoToLocal", "def g(): return get_steps() > 4", layouts=20, timesteps=1)
    with pytest.raises(ValueError, match="did you mean GoToLocal"):
        sdg.train("GoToLocl", facing)
    with pytest.raises(ValueError, match="can't be a skill's name"):
        sdg.train("GoToLocal", facing, name="program")


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("def seen(thing):\n    return find_objects(thing)", "seen failed in every visited state: .*True or False"),
        ("def first():\n    return get_carried()[0]", "first failed in every visited state: "),
        ("def slow():\n    while True:\n        pass", "slow failed in every visited state: .* a loop that never ends"),
    ],
)
def test_a_check_that_always_fails_is_refused_before_anything_learns(check: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sdg.train("PickupLoc", check, layouts=20, on_evaluation=lambda point: pytest.fail("it learned"))


def test_a_check_that_fails_in_some_states_is_learned_from() -> None:
    skill = sdg.train("GoToLocal", "def beside(): return get_facing().type == 'ball'", layouts=20, timesteps=1)
    assert skill.skill.environment_steps > 0


@pytest.mark.parametrize(
    "senseless",
    [{"horizon": 0}, {"horizon": 10**7}, {"timesteps": 0}, {"timesteps": -5}, {"layouts": 0}, {"target": float("nan")}],
    ids=str,
)
def test_senseless_settings_are_refused_before_anything_learns(senseless: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="not"):
        sdg.train("GoToLocal", facing, on_evaluation=lambda point: pytest.fail("it learned"), **senseless)


def test_a_check_becomes_a_skill_that_a_library_stores(tmp_path: Path) -> None:
    points: list[Point] = []
    skill = sdg.train(
        "GoToLocal", facing, name="go_to", layouts=200, timesteps=40_960, seed=888, quiet=False,
        on_evaluation=points.append,
    )  # fmt: skip
    assert [point.environment_steps for point in points] == [20_480, 40_960]
    assert repr(skill).startswith("LearnedSkill(go_to('red key'): ")
    assert skill.skill.success_rate > 0.5, "random weights reach 0.3"
    assert [steps for steps, _ in skill.curve] == [20_480, 40_960]
    library = sdg.load(sdg.load().add(skill).save(tmp_path / "library"))
    assert library["go_to"] == skill.skill
    assert len(library.add(skill)) == len(library), "of one name there is one"
    np.testing.assert_array_equal(library.weights["go_to"]["w1"], skill.weights["w1"])
    assert sdg.World("GoToLocal", seed=3, skills=skill).do(skill, "object").steps >= 0
