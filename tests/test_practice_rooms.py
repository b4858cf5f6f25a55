"""Skills about a place, not a thing: a check that is true next door is not what was asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from envs.babyai.bank import LevelBank
from envs.babyai.levels import seeds
from envs.babyai.memory import FORWARD
from sdg.induce import InduceSettings, Practice, _in_its_room
from skills.arena import Arena
from skills.fresh import Member, Stage, keeps_to_its_room
from skills.ppo_env import ArenaVecEnv
from skills.starts import Starts, restored, target_row
from skills.subgoal import CheckFunction
from skills.training import TrainSettings, _equipped

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


def _practice(argument: str, *, leaving_costs: bool) -> TrainSettings:
    members = (_member((FORWARD,), argument), _member((), argument))
    settings = InduceSettings(train=TrainSettings(leaving_costs=leaving_costs))
    return _in_its_room(Practice(0, members, settings, 1, 0, {}, {}, {}))


def test_what_keeps_to_its_room_is_practised_so() -> None:
    assert keeps_to_its_room([_member((FORWARD,)), _member(())])
    about_place, about_thing = (_practice(text, leaving_costs=False) for text in ("", "red ball"))
    assert (about_place.stays, about_place.leaving_costs) == (True, False)
    assert (about_thing.stays, about_thing.leaving_costs) == (False, False)
    about_place, about_thing = (_practice(text, leaving_costs=True) for text in ("", "red ball"))
    assert (about_place.stays, about_place.leaving_costs) == (True, True)
    assert (about_thing.stays, about_thing.leaving_costs) == (False, True)


@pytest.mark.parametrize(("leaving_costs", "paid"), [(False, 0.0), (True, -0.5)])
def test_leaving_costs_once(leaving_costs: bool, paid: float) -> None:
    arena = _arena(stays=False, check=CheckFunction("reached", "def reached():\n    return False\n"))
    env = ArenaVecEnv(arena, side_effect_cost=0.5, leaving_costs=leaving_costs)
    rewards = []
    for room in (0, 1, 1):  # as if each step ended there
        arena.step = lambda actions, room=room: _move_to(arena, room)  # type: ignore[method-assign, misc]
        env.step_async(np.array([FORWARD]))
        rewards.append(float(env.step_wait()[1][0]))
    assert rewards == [0.0, paid, 0.0]


def _move_to(arena: Arena, room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arena.memory.room[0] = arena.began_in[0] + room
    no = np.zeros(1, bool)
    return no, no, no


def test_a_skill_that_was_learned_by_leaving_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills.fresh._rooms", lambda level, members: np.array([True] * len(members)))
    assert not keeps_to_its_room([_member((FORWARD,)), replace(_member(()), seed=_member(()).seed)])


@pytest.mark.parametrize("babyai", [None, {"width": 8, "words": 6}])
def test_both_kinds_of_policy_are_practised_under_the_same_rules(babyai: dict[str, int] | None) -> None:
    settings = TrainSettings(n_envs=64, stays=True, leaving_costs=True, babyai=babyai)
    env, _ = _equipped(_arena(stays=False).starts, settings, seed=0, warm=None)
    assert env.arena.stays
    assert env.leaving_costs
    assert env.side_effect_cost == settings.side_effect_cost
