"""Skills about a place, not a thing: a check that is true next door is not what was asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.perception.memory import FORWARD
from sdg.envs.instructions import seeds
from sdg.induction.induce import InduceSettings, Practice, _in_its_room
from sdg.skills.practice.env import Arena
from sdg.skills.practice.fresh_starts import Member, Stage, keeps_to_its_room
from sdg.skills.practice.starts import Starts, restored, target_row
from sdg.skills.practice.train import TrainSettings, _equipped
from sdg.skills.subgoal import CheckFunction

LEVEL = "Open"
TRUE = CheckFunction("reached", "def reached():\n    return True\n")


def _member(actions: tuple[int, ...], argument: str = "") -> Member:
    seed = min(seeds("validation", count=1, seed=5))
    return Member(LEVEL, seed, "open a door", (), actions, Stage(0, argument, TRUE), (), "look around")


def _arena(*, stays: bool, check: CheckFunction = TRUE) -> Arena:
    bank = LevelBank.build(LEVEL, [min(seeds("validation", count=1, seed=5))])
    state, memory = restored(bank, [0], actions=[()])
    starts = Starts(state, memory, np.stack([target_row("")]), (check,), np.zeros(1, np.int64))
    arena = Arena(starts, 1, horizon=5, seed=0, stays=stays)
    arena.load(np.zeros(1, np.int64), np.zeros(1, np.int64))
    return arena


@pytest.mark.parametrize(("stays", "fires"), [(False, True), (True, False)])
def test_what_is_true_next_door_counts_only_where_skills_may_leave(stays: bool, fires: bool) -> None:
    arena = _arena(stays=stays)
    arena.began_in[0] = arena.memory.room[0] + 1  # as if it had begun next door
    fired, _, _ = arena.step(np.array([FORWARD]))
    assert fired.tolist() == [fires]


def test_what_is_true_here_counts() -> None:
    fired, _, _ = _arena(stays=True).step(np.array([FORWARD]))
    assert fired.all()


def _stays(argument: str) -> bool:
    members = (_member((FORWARD,), argument), _member((), argument))
    return _in_its_room(Practice(0, members, InduceSettings(), 1, 0, {}, {}, {})).stays


def test_a_skill_about_its_room_is_practised_in_it() -> None:
    assert keeps_to_its_room([_member((FORWARD,)), _member(())])
    assert _stays("")
    assert not _stays("red ball")


def test_a_skill_that_was_learned_by_leaving_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sdg.skills.practice.fresh_starts._rooms", lambda level, members: np.array([True] * len(members))
    )
    assert not keeps_to_its_room([_member((FORWARD,)), replace(_member(()), seed=_member(()).seed)])


@pytest.mark.parametrize("babyai", [None, {"width": 8, "words": 6}])
def test_both_kinds_of_policy_are_practised_under_the_same_rules(babyai: dict[str, int] | None) -> None:
    settings = TrainSettings(n_envs=64, stays=True, babyai=babyai)
    env, _ = _equipped(_arena(stays=False).starts, settings, seed=0, warm=None)
    assert env.arena.stays
    assert env.side_effect_cost == settings.side_effect_cost
