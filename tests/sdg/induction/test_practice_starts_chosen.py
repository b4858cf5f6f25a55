"""What is practised and what judges: what planners asked for, and held-out starts that count once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.instructions import seeds
from sdg.induction.induce import MOST_TRUSTED, InduceSettings, Practice, _judges, _with_asked, practise
from sdg.skills.learning.train import TrainSettings
from sdg.skills.practice.fresh_starts import Member, Stage
from sdg.skills.practice.starts import Starts, restored
from sdg.skills.subgoal import CheckFunction

FACING = CheckFunction("facing", "def facing():\n    return any([t.facing for t in find_objects('object')])\n")
ROW = BABYAI.language.row


def _starts(count: int, *, seed: int = 4) -> Starts:
    layouts = BABYAI.layouts("GoToLocal", sorted(seeds("validation", count=count, seed=seed)))
    rows = restored(BABYAI, layouts, list(range(count)), actions=[()] * count)
    return Starts(rows, np.tile(ROW("object"), (count, 1)), (FACING,), np.zeros(count, np.int64))


def _practice(asked_held_out: Starts | None) -> Practice:
    return Practice(0, (), InduceSettings(), 1, {}, BABYAI, {}, {}, asked_held_out=asked_held_out)


def test_few_held_out_starts_are_helped_out_by_others() -> None:
    asked, others = _starts(20), _starts(80, seed=9)
    alone, both = _judges(None, _practice(asked)), _judges(others, _practice(asked))
    assert alone is not None
    assert both is not None
    assert (len(alone), len(both)) == (20, MOST_TRUSTED)
    assert _judges(None, _practice(None)) is None
    unasked = _judges(others, _practice(None))
    assert unasked is not None
    assert len(unasked) == 80


def test_a_start_counts_once_however_often_it_is_played() -> None:
    def member(seed: int) -> Member:
        return Member("GoToLocal", seed, "go to a ball", (), (2,), Stage(0, "object", FACING), (), "face something")

    settings = InduceSettings(train=TrainSettings(n_envs=8, validation_starts=100, evaluate_every=200))
    job = Practice(0, tuple(map(member, range(60))), settings.of_round(1), 1, {}, BABYAI, {}, {})
    short = replace(job.settings, train=replace(job.settings.train, total_timesteps=400))
    trained = practise(replace(job, settings=short))
    assert trained is not None
    assert trained.curve[0].episodes > 60, "each is played several times"
    assert 8 <= trained.best.episodes <= 12, "of 60 layouts a fifth judges"


def test_what_planners_asked_for_is_half_of_what_is_practised() -> None:
    starts, asked = _starts(100), replace(_starts(12, seed=8), targets=np.tile(ROW("ball"), (12, 1)))
    mixed = _with_asked(starts, asked, seed=2)
    assert mixed is not None
    of_asked = int((mixed.targets == ROW("ball")).all(axis=1).sum())
    assert 60 <= of_asked <= 110


def test_where_nothing_else_is_left_what_planners_asked_for_is_practised() -> None:
    asked = _starts(12)
    alone = _with_asked(None, asked, seed=2)
    assert alone is not None
    assert len(alone) == 12
    starts = _starts(5)
    assert _with_asked(starts, None, seed=2) is starts
