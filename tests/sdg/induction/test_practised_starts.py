"""What is practised and what judges: starts that can be solved, many of them, and those that planners asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.instructions import seeds
from sdg.induction.induce import InduceSettings, Practice, _judges, _solvable, _with_asked
from sdg.skills.practice.reachable import shortest
from sdg.skills.practice.starts import Starts, join, restored, target_row
from sdg.skills.subgoal import CheckFunction

HORIZON = 40
FACING = CheckFunction("facing", "def facing():\n    return any([t.facing for t in find_objects('object')])\n")
NEVER_TRUE = CheckFunction("never", "def never():\n    return False\n")


def _starts(count: int, *, check: CheckFunction = FACING, seed: int = 4) -> Starts:
    bank = LevelBank.build("GoToLocal", sorted(seeds("validation", count=count, seed=seed)))
    state, memory = restored(bank, list(range(count)), actions=[()] * count)
    return Starts(state, memory, np.tile(target_row("object"), (count, 1)), (check,), np.zeros(count, np.int64))


def _practice(asked_held_out: Starts | None) -> Practice:
    return Practice(0, (), InduceSettings(), 1, {}, {}, {}, asked_held_out=asked_held_out)


def test_what_nobody_reaches_is_not_practised() -> None:
    good, hopeless = _starts(30), _starts(20, check=NEVER_TRUE)
    kept = _solvable(join([good, hopeless]), horizon=HORIZON)
    assert kept is not None
    assert (shortest(kept, limit=HORIZON) > 0).all()
    assert len(kept) == (shortest(good, limit=HORIZON) > 0).sum()


def test_a_skill_that_must_open_doors_first_keeps_all_its_starts() -> None:
    both = join([_starts(10), _starts(30, check=NEVER_TRUE)])
    kept = _solvable(both, horizon=HORIZON)
    assert kept is not None
    assert len(kept) == 40
    assert _solvable(None, horizon=HORIZON) is None


def test_few_held_out_starts_judge_several_times() -> None:
    judged = _judges(None, _practice(_starts(20)))
    assert judged is not None
    assert len(judged) > 300
    assert (shortest(judged, limit=HORIZON) > 0).all()
    others = _judges(_starts(50, seed=9), _practice(_starts(20)))
    assert others is not None
    assert len(others) > len(judged)
    assert _judges(None, _practice(None)) is None


def test_what_planners_asked_for_is_half_of_what_is_practised() -> None:
    starts, asked = _starts(100), replace(_starts(12, seed=8), targets=np.tile(target_row("ball"), (12, 1)))
    mixed = _with_asked(starts, asked, seed=2)
    assert mixed is not None
    of_asked = int((mixed.targets == target_row("ball")).all(axis=1).sum())
    assert 60 <= of_asked <= 110


def test_where_nothing_else_is_left_what_planners_asked_for_is_practised() -> None:
    asked = _starts(12)
    alone = _with_asked(None, asked, seed=2)
    assert alone is not None
    assert len(alone) == 12
    starts = _starts(5)
    assert _with_asked(starts, None, seed=2) is starts
