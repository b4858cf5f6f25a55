"""What is practised and what judges: open starts, those that planners asked for, and enough of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.envs.instructions import seeds
from sdg.induction.induce import InduceSettings
from sdg.induction.practice import (
    MAX_JUDGES,
    PracticeJob,
    _add_requests,
    _choose_judges,
    _first_policy,
    _split_judges,
    practise,
)
from sdg.skills.learning.train import HELD_OUT, PRACTICE, Point, TrainSettings, join_open
from sdg.skills.practice.fresh_starts import ChainStep, Member
from sdg.skills.practice.starts import Starts, perturb_starts
from sdg.skills.subgoal import CheckFunction, Subgoal
from tests.shared.library_samples import random_bits

FACING = CheckFunction("facing", "def facing():\n    return any([t.facing for t in find_objects('object')])\n")
NEVER_TRUE = CheckFunction("never", "def never():\n    return False\n")
ALWAYS_TRUE = CheckFunction("always", "def always():\n    return True\n")
BALL = BABYAI.language.row("ball")


def _starts(count: int, *, check: CheckFunction = NEVER_TRUE, seed: int = 4) -> Starts:
    layouts = BABYAI.layouts("GoToLocal", sorted(seeds("validation", count=count, seed=seed)))
    rows = BABYAI.begin(layouts, np.arange(count))
    return Starts(rows, np.tile(BABYAI.language.row("object"), (count, 1)), (check,), np.zeros(count, np.int64))


def _about_balls(starts: Starts) -> Starts:
    return replace(starts, targets=np.tile(BALL, (len(starts), 1)))


def _asked(starts: Starts) -> np.ndarray:
    return (starts.targets == BALL).all(axis=1)


def _practice(asked_held_out: Starts | None) -> PracticeJob:
    return PracticeJob(0, (), InduceSettings(), 1, {}, BABYAI, {}, {}, asked_held_out=asked_held_out)


def test_where_the_check_is_true_already_nothing_is_practised() -> None:
    some = perturb_starts(_starts(60, check=FACING), most=12, seed=1)
    joined = join_open([some, _starts(5, check=ALWAYS_TRUE)])
    assert joined is not None
    facing = np.array([some.rows.perception(row).get_facing() is not None for row in range(60)])
    assert 0 < facing.sum() < 60
    assert len(joined) == (~facing).sum()
    assert np.array_equal(joined.memory.pose, some.memory.pose[~facing])
    assert join_open([_starts(5, check=ALWAYS_TRUE)]) is None
    assert join_open([]) is None


def test_what_planners_asked_for_judges_and_others_fill_up() -> None:
    few, others = _about_balls(_starts(20)), _starts(MAX_JUDGES, seed=9)
    judged = _choose_judges(others, _practice(few))
    assert judged is not None
    assert len(judged) == MAX_JUDGES
    assert _asked(judged).sum() == 20
    alone = _choose_judges(None, _practice(few))
    assert alone is not None
    assert len(alone) == 20
    many = _about_balls(_starts(MAX_JUDGES + 1))
    judged = _choose_judges(others, _practice(many))
    assert judged is not None
    assert _asked(judged).all(), "the others are no longer needed"
    assert len(judged) == len(many)


def test_without_what_planners_asked_for_all_others_judge() -> None:
    others = _starts(7, seed=9)
    judged = _choose_judges(others, _practice(None))
    assert judged is not None
    assert np.array_equal(judged.memory.pose, others.memory.pose)
    assert _choose_judges(None, _practice(None)) is None


def test_what_planners_asked_for_is_half_of_what_is_practised() -> None:
    starts, rehearsed = _starts(100), _about_balls(_starts(12, seed=8))
    mixed = _add_requests(starts, rehearsed, seed=2)
    assert mixed is not None
    assert (~_asked(mixed)).sum() == 100
    assert 100 - 12 < _asked(mixed).sum() <= 100
    poses = mixed.memory.pose[_asked(mixed)].reshape(-1, 12, 3)
    assert np.array_equal(poses[0], rehearsed.memory.pose), "the very moments, and others near them"
    assert all((poses[n] != poses[0]).any() for n in range(1, len(poses)))


def test_where_nothing_else_is_left_what_planners_asked_for_is_practised() -> None:
    rehearsed = _starts(12)
    alone = _add_requests(None, rehearsed, seed=2)
    assert alone is not None
    assert np.array_equal(alone.memory.pose, rehearsed.memory.pose)
    starts = _starts(5)
    assert _add_requests(starts, None, seed=2) is starts


def test_few_starts_judge_several_times_and_count_once() -> None:
    train = TrainSettings(64, n_envs=8, horizon=5, validation_starts=100, ppo={"n_steps": 8, "hidden": (8, 8)})
    stage = ChainStep(0, "object", NEVER_TRUE)
    members = tuple(
        Member("go to a ball", "GoToLocal", seed, 0, Subgoal("go", NEVER_TRUE), (), (), stage=stage)
        for seed in range(4)
    )
    earlier = {9: random_bits(MAP_INPUTS, np.random.default_rng(0))}
    points: list[Point] = []
    job = PracticeJob(0, members, InduceSettings(train=train), 1, earlier, BABYAI, {}, {}, asked_held_out=_starts(30))
    trained = practise(job, on_evaluation=points.append)
    assert trained is not None
    assert trained.measured is not None
    total = trained.best.episodes + trained.measured.episodes
    assert total in (30, 31), "one of four members may be held out, too"
    assert trained.measured.episodes in (15, 16), "half of them choose the policy, the others measure it"
    assert {point.episodes for point in points} == {6 * trained.best.episodes}
    assert trained.judged_on == HELD_OUT


def test_what_chooses_a_policy_does_not_measure_it() -> None:
    judged = _starts(40)
    judged.targets[:, 3] = np.arange(40)
    chosen_by, others = _split_judges(judged, HELD_OUT, _practice(None))
    assert others is not None
    numbers = [set(starts.targets[:, 3]) for starts in (chosen_by, others)]
    assert not numbers[0] & numbers[1]
    assert numbers[0] | numbers[1] == set(range(40))


@pytest.mark.parametrize(("count", "judged_on", "measured"), [(7, PRACTICE, 0), (15, HELD_OUT, 0), (16, HELD_OUT, 8)])
def test_too_few_held_out_starts_are_said(count: int, judged_on: str, measured: int) -> None:
    train = TrainSettings(64, n_envs=8, horizon=5, validation_starts=100, ppo={"n_steps": 8, "hidden": (8, 8)})
    member = Member(
        "go to a ball", "GoToLocal", 0, 0, Subgoal("go", NEVER_TRUE), (), (), stage=ChainStep(0, "object", NEVER_TRUE)
    )
    earlier = {9: random_bits(MAP_INPUTS, np.random.default_rng(0))}
    job = PracticeJob(
        0, (member,), InduceSettings(train=train), 1, earlier, BABYAI, {}, {}, asked_held_out=_starts(count)
    )
    trained = practise(job)
    assert trained is not None
    assert trained.judged_on == judged_on
    assert (trained.measured.episodes if trained.measured else 0) == measured


@pytest.mark.parametrize(("stuck", "first"), [((), 0), ((0,), 2), ((0, 2), 1), ((0, 1, 2), None)])
def test_a_stuck_skill_begins_with_the_skill_before_it(stuck: tuple[int, ...], first: int | None) -> None:
    stages = [ChainStep(number, "object", NEVER_TRUE) for number in (1, 2)]
    goal = Subgoal("go", NEVER_TRUE)
    member = Member("go", "GoToLocal", 0, 0, goal, (), (), stage=ChainStep(0, "", NEVER_TRUE), before=tuple(stages))
    earlier = {number: random_bits(MAP_INPUTS, np.random.default_rng(number)) for number in range(3)}
    job = PracticeJob(0, (member,), InduceSettings(), 1, earlier, BABYAI, {}, {}, stuck=frozenset(stuck))
    assert _first_policy(job) is (None if first is None else earlier[first])
