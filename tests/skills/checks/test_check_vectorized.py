"""Checks over arrays agree with interpreted ones in every state, faults included; like checks share one form."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception import memory as memories
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.practice.batch_world import COLUMN_READER
from sdg.sandbox.guard import Refused
from sdg.skills.checks.check import compile_check, with_argument
from sdg.skills.checks.reward import MIN_ROWS, BatchReward, Unsupported, vectorize
from sdg.skills.subgoal import CheckFunction
from tests.adversarial.mutants import splice
from tests.shared.walks import copy_rows, walk

CHECKS = json.loads((Path(__file__).parents[2] / "data" / "checks.json").read_text(encoding="utf-8"))


def check_of(body: str) -> CheckFunction:
    """A body as the function `check`; lines before it that assign constants in capitals stay outside."""
    lines = body.split("\n")
    outside = [line for line in lines if line.split(" ")[0].isupper()]
    inside = ["    " + line for line in lines if line not in outside]
    return CheckFunction("check", "\n".join([*outside, "def check():", *inside]) + "\n")


VECTORIZED = [check_of(body) for body in CHECKS["vectorized"]]
INTERPRETED = [check_of(body) for body in CHECKS["interpreted"]]


@pytest.fixture(scope="module")
def states() -> Memory:
    """240 states of busy walks on the paper's levels, with subgoals that begin and rooms that are forgotten."""
    rng = random.Random(3)
    memory, row = memories.create(240), 0
    for level in PAPER_LEVELS * 100:
        for world, _ in walk(level, seed=rng.randrange(10**6), steps=80):
            if rng.random() < 0.08:
                world.begin_subgoal()
            if rng.random() < 0.02:
                memories.forget_visited_rooms(world.memory, 0)
            if rng.random() < 0.2 and row < 240:
                copy_rows(world.memory, [0], memory, [row])
                row += 1
        if row == 240:
            return memory
    raise AssertionError("walks end")


def evaluate_check(check: CheckFunction, memory: Memory) -> tuple[np.ndarray, np.ndarray]:
    """Answers and which of them are certain. Raises Unsupported."""
    _, texts, form = vectorize(check, COLUMN_READER)
    form.texts.append(texts)
    rows = np.arange(len(memory.steps))
    answers, certain = form.evaluate(memory, COLUMN_READER.read(memory), rows, np.zeros(len(rows), np.int64))
    return answers, certain


def interpret_check(check: CheckFunction, memory: Memory) -> np.ndarray:
    return np.array(
        [compile_check(check, BABYAI).fires(BABYAI.snapshot(memory, row)) for row in range(len(memory.steps))]
    )


@pytest.mark.parametrize("check", VECTORIZED, ids=range(len(VECTORIZED)))
def test_it_agrees_with_the_interpreted_check(check: CheckFunction, states: Memory) -> None:
    answers, certain = evaluate_check(check, states)
    assert (answers == interpret_check(check, states))[certain].all()
    assert certain.mean() > 0.9


def test_the_states_tell_checks_apart(states: Memory) -> None:
    """Most checks of the corpus are true somewhere and false somewhere: agreement is not about constants."""
    shares = np.array([evaluate_check(check, states)[0].mean() for check in VECTORIZED])
    assert ((shares > 0) & (shares < 1)).mean() > 0.7


@pytest.mark.parametrize("check", INTERPRETED, ids=range(len(INTERPRETED)))
def test_other_checks_are_left_to_the_guard(check: CheckFunction, states: Memory) -> None:
    with pytest.raises(Unsupported):
        evaluate_check(check, states)
    rewards = BatchReward([check], BABYAI)(states, np.zeros(len(states.steps), np.int64))
    assert (rewards == interpret_check(check, states)).all()


@pytest.mark.parametrize(
    "body",
    [
        "bool = get_steps()\nreturn bool(get_observed_objects())",
        "len = get_steps()\nreturn len(get_observed_objects()) >= 0",
        "for any in get_observed_objects():\n    if any(o.distance >= 0 for o in get_observed_objects()):\n"
        "        return True\nreturn False",
        "if bool(get_steps() >= 0):\n    return True\nbool = 3\nreturn False",
        "return all(abs(abs.distance) >= 0 for abs in get_observed_objects())",
        "if get_steps() < 0:\n    bool = 3\nreturn bool(get_steps() >= 0)",
    ],
)
def test_a_check_that_binds_what_it_calls_is_left_to_the_guard(body: str, states: Memory) -> None:
    with pytest.raises(Unsupported, match="binds itself"):
        vectorize(check_of(body), COLUMN_READER)
    rows = np.zeros(len(states.steps), np.int64)
    assert (BatchReward([check_of(body)], BABYAI)(states, rows) == interpret_check(check_of(body), states)).all()


def test_spliced_checks_agree_too(states: Memory) -> None:
    """Random mixtures of the corpus: whatever is evaluated at all agrees."""
    rng = random.Random(11)
    few = memories.create(16)
    copy_rows(states, np.arange(0, 240, 15), few, np.arange(16))
    agreed = 0
    for _ in range(400):
        check = CheckFunction("check", splice(rng.choice(VECTORIZED).source, rng.choice(VECTORIZED).source, rng))
        try:
            compile_check(check, BABYAI)
            answers, certain = evaluate_check(check, few)
        except (Refused, Unsupported):
            continue
        assert (answers == interpret_check(check, few))[certain].all(), check.source
        agreed += 1
    assert agreed > 100


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        ('return get_carried().name == "red ball"', True),  # straight on: it raises, and is false
        ('return any(get_carried().name == o.name or o.held for o in find_objects("object"))', False),
    ],
)
def test_what_raises_is_false_where_that_is_certain(body: str, certain: bool, states: Memory) -> None:
    answers, sure = evaluate_check(check_of(body), states)
    assert sure.all() == certain
    assert (answers == interpret_check(check_of(body), states))[sure].all()


def test_like_checks_share_one_form(states: Memory) -> None:
    """With all colours, kinds and places, some of which nothing is, mixed over the rows."""
    body = (
        'for a in find_objects("{0}"):\n    if a.visible and a.color == "{1}" and a.name != "{1} {2}":\n'
        "        return True\nreturn False"
    )
    words = [("red ball", "red", "key"), ("the blue key on your left", "blue", "key"), ("object", "grey", "sun")]
    checks = [
        check_of(body.format(*three)) for three in [*words, ("the moon", "red", "ball"), ("object", "red", "box")]
    ]
    assert len({vectorize(check, COLUMN_READER)[0] for check in checks}) == 1
    check_of_row = np.random.default_rng(0).integers(len(checks), size=len(states.steps))
    rewards = BatchReward(checks, BABYAI)(states, check_of_row)
    expected = [
        compile_check(checks[k], BABYAI).fires(BABYAI.snapshot(states, row)) for row, k in enumerate(check_of_row)
    ]
    assert rewards.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_a_new_argument_needs_no_new_form() -> None:
    check = check_of('return any(o.facing and o.type == "ball" for o in find_objects("a red ball"))')
    other = with_argument(check, "the red ball", "blue key", language=BABYAI.language)
    (first, texts, _), (second, others, _) = (vectorize(source, COLUMN_READER) for source in (check, other))
    assert first == second
    assert texts != others


def test_few_rows_are_asked_one_by_one(states: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    reward = BatchReward([VECTORIZED[0]], BABYAI)
    monkeypatch.setattr("sdg.skills.checks.reward.VectorizedCheck.evaluate", None)
    assert len(reward(states, np.zeros(MIN_ROWS - 1, np.int64))) == MIN_ROWS - 1
    with pytest.raises(TypeError):
        reward(states, np.zeros(MIN_ROWS, np.int64))


@pytest.mark.parametrize(
    "source", ["", "x = 1", "def check(:", "class A: pass", "def a():\n    return True\n", "x = 1\n" * 9]
)
def test_nothing_else_makes_it_fail(source: str) -> None:
    with pytest.raises(Unsupported):
        vectorize(CheckFunction("check", source), COLUMN_READER)


@pytest.mark.parametrize(
    "body",
    [
        "return not is_free((None, 0))",
        "t = get_facing()\nreturn is_free((t, t))",
        'return is_free(("front", 1))',
        "return is_free((get_position(), 1))",
        "return not is_free((get_visited_rooms(), 1))",
    ],
)
def test_places_of_no_numbers_are_answered_as_alone(body: str, states: Memory) -> None:
    check = check_of(body)
    batch = BatchReward([check], BABYAI)(states, np.zeros(240, int))
    assert batch.tolist() == [compile_check(check, BABYAI).fires(BABYAI.snapshot(states, row)) for row in range(240)]


def test_items_by_name_are_no_items_by_number(states: Memory) -> None:
    for body in ('return get_position()["x"] == 0', 'return find_objects("door")["key"].distance >= 0'):
        with pytest.raises(Unsupported, match="Subscript"):
            evaluate_check(check_of(body), states)


def test_memberships_in_a_loop_over_pairs_are_left_to_the_guard(states: Memory) -> None:
    """Each goes through all that is known, which exceeds the guard's budget though the loop is short."""
    shown = ["x = get_observed_objects()\nreturn all({} for a in x for b in x)".format(
        " and ".join(['a in find_objects("object")'] * count)) for count in (1, 4, 20)]  # fmt: skip
    for body in shown[:2]:
        answers, certain = evaluate_check(check_of(body), states)
        assert (answers == interpret_check(check_of(body), states))[certain].all()
    with pytest.raises(Unsupported, match="too many steps"):
        evaluate_check(check_of(shown[2]), states)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("a.position == (99, b.distance)", 42),
        ("rooms != rooms", 60),
        (f"a.color in {[f'{number:0>60}' for number in range(99)]}", 1),
    ],
)
def test_what_the_guard_weighs_in_loops_is_left_to_it(question: str, count: int) -> None:
    """Comparing pairs, rooms and long lists costs the guard more than their nodes do, so that it stops."""
    *_, (world, _) = walk("BossLevel", seed=28, steps=300)
    memory = memories.create(MIN_ROWS)
    for row in range(MIN_ROWS):
        copy_rows(world.memory, [0], memory, [row])
    loops = "rooms = get_visited_rooms()\nfor a in get_observed_objects():\n    for b in get_observed_objects():\n"
    check = check_of(f"{loops}        if {' or '.join([question] * count)}:\n            return False\nreturn True")
    assert not interpret_check(check, memory).any(), "the budget ends first"
    assert not BatchReward([check], BABYAI)(memory, np.zeros(MIN_ROWS, np.int64)).any()


def test_many_short_loops_over_pairs_are_left_to_the_guard(states: Memory) -> None:
    """Together they could exceed the budget that the guard gives a check."""
    nested = f"any(any({' or '.join(['a.id + b.id < 0'] * 30)} for b in x) for a in x)"
    one, many = (f"x = get_observed_objects()\nreturn {' or '.join([nested] * count)}" for count in (1, 80))
    assert not evaluate_check(check_of(one), states)[0].any()
    with pytest.raises(Unsupported):
        evaluate_check(check_of(many), states)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('any(t.type == "key" for t in get_observed_objects())', "any(t.type == 0 for t in get_observed_objects())"),
        ("any(t.id == 0 for t in get_observed_objects())", 'any(t.id == "0" for t in get_observed_objects())'),
    ],
)
def test_a_text_is_no_number_in_the_same_place(one: str, other: str, states: Memory) -> None:
    checks = [check_of(f"return {expression}") for expression in (one, other)]
    for turn in (checks, checks[::-1]):
        which = np.arange(240) % 2
        batch = BatchReward(turn, BABYAI)(states, which)
        assert batch.tolist() == [
            compile_check(turn[k], BABYAI).fires(BABYAI.snapshot(states, row)) for row, k in enumerate(which.tolist())
        ]
