"""Lowered checks agree with interpreted ones in every visited state, faults included; like checks share one program."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.levels import PAPER_LEVELS
from sdg.envs.babyai.perception import memory as memories
from sdg.envs.babyai.perception.description import Target
from sdg.envs.babyai.perception.memory import Memory
from sdg.envs.babyai.perception.snapshot import BabyAIPerception
from sdg.envs.check_machine import FALSE, FAULT, TRUE
from sdg.experiments.adversarial.fuzz_guard import splice
from sdg.skills.checks.check import GuardedCheck, compiled, with_argument
from sdg.skills.checks.lowering import Batch, Lowered, NotLowerable, lower, slots_of
from sdg.skills.sandbox.guard import GuardError, Refused
from sdg.skills.subgoal import CheckFunction
from tests.shared.walks import copy_rows, walk

MACHINE = BABYAI.machine
CHECKS = json.loads((Path(__file__).parents[2] / "data" / "checks.json").read_text(encoding="utf-8"))


def check_of(body: str) -> CheckFunction:
    """A body as the function `check`; lines before it that assign constants in capitals stay outside."""
    lines = body.split("\n")
    outside = [line for line in lines if line.split(" ")[0].isupper()]
    inside = ["    " + line for line in lines if line not in outside]
    return CheckFunction("check", "\n".join([*outside, "def check():", *inside]) + "\n")


LOWERED = [check_of(body) for body in CHECKS["lowered"]]
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


def interpreted(check: GuardedCheck, memory: Memory) -> list[int]:
    answers = []
    for row in range(len(memory.steps)):
        try:
            answers.append(int(check(BabyAIPerception(memory, row))))
        except GuardError:
            answers.append(FAULT)
    return answers


def outcomes(program: Lowered, memory: Memory) -> list[int]:
    n = len(memory.steps)
    batch = Batch(MACHINE)
    batch.add(program)
    return batch.outcomes(memory, np.zeros(n, np.int64), np.repeat(slots_of(program.targets)[None], n, 0)).tolist()


@pytest.mark.parametrize("check", LOWERED, ids=range(len(LOWERED)))
def test_it_agrees_with_the_interpreted_check(check: CheckFunction, states: Memory) -> None:
    program = lower(check, MACHINE)
    assert isinstance(program, Lowered), program
    assert outcomes(program, states) == interpreted(compiled(check, BABYAI), states)


def test_the_states_tell_checks_apart(states: Memory) -> None:
    """Most checks of the corpus are true somewhere and false somewhere: agreement is not about constants."""
    found = [
        set(outcomes(program, states)) for check in LOWERED if isinstance(program := lower(check, MACHINE), Lowered)
    ]
    assert sum({TRUE, FALSE} <= each for each in found) > 0.7 * len(found)
    assert any(FAULT in each for each in found)


@pytest.mark.parametrize("check", INTERPRETED, ids=range(len(INTERPRETED)))
def test_other_checks_have_a_reason_and_no_program(check: CheckFunction) -> None:
    program = lower(check, MACHINE)
    assert isinstance(program, NotLowerable)
    assert len(program.reason) > 10


def test_spliced_checks_agree_too(states: Memory) -> None:
    """Random mixtures of the corpus: whatever is lowered at all agrees."""
    rng = random.Random(11)
    few = memories.create(16)
    copy_rows(states, np.arange(0, 240, 15), few, np.arange(16))
    agreed = 0
    for _ in range(400):
        check = CheckFunction("check", splice(rng.choice(LOWERED).source, rng.choice(LOWERED).source, rng))
        try:
            guarded = compiled(check, BABYAI)
        except Refused:
            continue
        program = lower(check, MACHINE)
        if isinstance(program, Lowered):
            assert outcomes(program, few) == interpreted(guarded, few), check.source
            agreed += 1
    assert agreed > 150


def test_like_checks_share_one_program() -> None:
    body = (
        'for a in find_objects("{0}"):\n    if a.facing and a.color == "{1}" and a.name != "{1} {2}":\n'
        "        return True\nreturn False"
    )
    words = (("red ball", "red", "ball"), ("the blue key on your left", "blue", "key"), ("door", "grey", "box"))
    bodies = [body.format(*three) for three in words]
    programs = [lower(check_of(body), MACHINE) for body in bodies]
    assert all(isinstance(program, Lowered) for program in programs)
    assert len({program.code for program in programs if isinstance(program, Lowered)}) == 1
    first = programs[1]
    assert isinstance(first, Lowered)
    assert first.targets == (Target(1, 2, 1), Target(color=2), Target(1, 2))


def test_a_new_argument_needs_no_new_program(states: Memory) -> None:
    check = check_of('return any(o.facing and o.type == "ball" for o in find_objects("a red ball"))')
    other = with_argument(check, "the red ball", "blue key", language=BABYAI.language)
    first, second = lower(check, MACHINE), lower(other, MACHINE)
    assert isinstance(first, Lowered)
    assert isinstance(second, Lowered)
    assert first.code == second.code
    assert first.targets != second.targets
    assert outcomes(second, states) == interpreted(compiled(other, BABYAI), states)


def test_many_programs_in_one_call(states: Memory) -> None:
    programs = [program for check in LOWERED if isinstance(program := lower(check, MACHINE), Lowered)]
    batch = Batch(MACHINE)
    assert len({batch.add(program) for program in programs}) == len(batch.starts) <= len(programs)
    n = len(states.steps)
    rng = np.random.default_rng(0)
    chosen = rng.integers(-1, len(programs), n)
    numbers = np.array([batch.add(programs[k]) if k >= 0 else -1 for k in chosen])
    targets = np.stack([slots_of(programs[k].targets if k >= 0 else ()) for k in chosen])
    alone = [outcomes(programs[k], states)[row] == TRUE if k >= 0 else False for row, k in enumerate(chosen)]
    assert (batch.outcomes(states, numbers, targets) == TRUE).tolist() == alone


def test_wrong_shapes_and_numbers_are_errors(states: Memory) -> None:
    program = lower(LOWERED[0], MACHINE)
    assert isinstance(program, Lowered)
    batch = Batch(MACHINE)
    batch.add(program)
    targets = np.repeat(slots_of(program.targets)[None], 2, 0)
    with pytest.raises(ValueError, match="programs are numbered"):
        batch.outcomes(states, np.array([0, 7]), targets)
    with pytest.raises(ValueError, match="targets must be"):
        batch.outcomes(states, np.array([0]), targets)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        "def check(:",
        "class A: pass",
        "def check():\n    return x",
        "def a():\n    return True\ndef b():\n    return a()",
    ],
)
def test_nothing_makes_lowering_fail(source: str) -> None:
    assert isinstance(lower(CheckFunction("check", source), MACHINE), NotLowerable)
