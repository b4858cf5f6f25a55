"""What a check asks is read from its source; style, argument and protective clauses don't count, nor hostility."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from sdg.skills.checks.shape import (
    ARGUMENT,
    OTHER,
    canonical_source,
    core,
    is_tied_to_its_layout,
    signature,
    similarity,
)

LOOP = """
def check_3():
    '''Is the red ball in view?'''
    for thing in get_observed_objects():
        if thing.name == 'red ball':
            return True
    return False
"""
GENERATOR = "def seen():\n    return any(o.name == 'the green key' for o in get_observed_objects())\n"
CARRYING = """
def check_4():
    held = get_carried()
    if held is None or held.picked_up_at > get_start_steps():
        return False
    return len(find_objects("blue box")) > 0
"""


def shape_of(source: str, argument: str, **context: str) -> frozenset[str]:
    return signature(canonical_source(source, argument=argument, **context))


def test_two_styles_of_one_question_ask_the_same() -> None:
    first = shape_of(LOOP, "red ball")
    second = shape_of(GENERATOR, "green key")
    assert similarity(first, second) >= 2 / 3
    assert repr(ARGUMENT) in first
    assert ".name" in first
    assert "get_observed_objects()" in first
    assert "check_3()" not in first


def test_the_argument_is_a_slot_but_meaning_stays() -> None:
    source = "def f():\n    return any(d.status == 'open' and d.color == 'red' for d in find_objects('red door'))\n"
    text = canonical_source(source, argument="red door", description="open the red door", api="open_door")
    assert text.count(ARGUMENT) == 2
    assert "'open'" in text
    assert "red" not in text


def test_other_things_of_the_subgoal_are_slots_too() -> None:
    source = "def f():\n    return bool(find_objects('blue key')) and bool(find_objects('red box'))\n"
    text = canonical_source(source, argument="red box", description="put the blue key next to the red box", api="put")
    assert OTHER in text
    assert ARGUMENT in text


def test_names_of_locals_do_not_matter() -> None:
    one = "def f():\n    a = get_carried()\n    return a is not None\n"
    other = "def is_held():\n    thing = get_carried()\n    return thing is not None\n"
    assert canonical_source(one, argument="x") == canonical_source(other, argument="y")


def test_protective_clauses_are_not_the_core() -> None:
    plain = "def f():\n    return len(find_objects('red ball')) > 0\n"
    protected = canonical_source(CARRYING, argument="blue box")
    assert similarity(signature(protected), shape_of(plain, "red ball")) < 2 / 3
    assert signature(core(protected)) == shape_of(plain, "red ball")


def test_what_the_core_needs_is_kept() -> None:
    source = "def f():\n    t = get_carried()\n    if not t:\n        return False\n    return t.name == 'red key'\n"
    assert "get_carried()" in signature(core(canonical_source(source, argument="red key")))


def test_a_check_without_argument_is_its_own_core() -> None:
    source = canonical_source("def f():\n    return get_current_room() not in get_visited_rooms()\n", argument="")
    assert core(source) == source
    assert "not in" in signature(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def f(:",
        "\x00",
        "-" * 7000 + "1",
        "a" + ".b" * 3900,
        "(" * 3000,
        "1" + "+1" * 3900,
        "x" * 100_000,
        "f" + "(0)" * 2000,
        "[" * 199 + "]" * 199,
    ],
)
def test_hostile_source_has_a_shape_of_its_own(source: str) -> None:
    text = canonical_source(source, argument="red ball")
    assert similarity(signature(core(text)), signature(core(text))) == 1.0


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_no_text_makes_it_fail(source: str, argument: str, description: str) -> None:
    text = canonical_source(source, argument=argument, description=description, api=argument)
    assert isinstance(text, str)
    assert signature(core(text)) is not None


@pytest.mark.parametrize(
    ("answer", "tied"),
    [
        ("get_position() == (-4, 0)", True),
        ("get_current_room() == 3", True),
        ("get_position()[0] >= 2", True),
        ("get_facing().distance == 1 and count_unseen_cells() == 0", False),
        ("find_objects('red key')[0].held is True", False),
        ("(", False),
    ],
)
def test_numbers_tie_a_check_to_its_layout(answer: str, tied: bool) -> None:
    assert is_tied_to_its_layout(f"def check():\n    return {answer}") is tied
