"""Skills about a place, not a thing: a check that is true next door is not what was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.bot import bot_actions
from sdg.envs.babyai.cells import FORWARD
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.instructions import seeds
from sdg.induction.induce import InduceSettings
from sdg.induction.practice import PracticeJob, _settings_with_place
from sdg.skills.learners import LEARNERS
from sdg.skills.learning.train import TrainSettings
from sdg.skills.practice.env import PracticeEnv
from sdg.skills.practice.fresh_starts import ChainStep, Member, keeps_to_its_place
from sdg.skills.practice.starts import Starts, restore
from sdg.skills.subgoal import CheckFunction, Subgoal

LEVEL = "Open"
TRUE = CheckFunction("reached", "def reached():\n    return True\n")


def _member(actions: tuple[int, ...], argument: str = "") -> Member:
    seed = min(seeds("validation", count=1, seed=5))
    return Member(
        "open a door", LEVEL, seed, 0, Subgoal("look around", TRUE), (), actions, stage=ChainStep(0, argument, TRUE)
    )


def _practice(*, require_same_place: bool, check: CheckFunction = TRUE) -> PracticeEnv:
    layouts = BABYAI.layouts(LEVEL, [min(seeds("validation", count=1, seed=5))])
    rows = BABYAI.begin(layouts, np.zeros(1, np.int64))
    starts = Starts(rows, BABYAI.language.row("")[None], (check,), np.zeros(1, np.int64))
    practice = PracticeEnv(starts, 1, horizon=5, seed=0, require_same_place=require_same_place)
    practice.restore(np.zeros(1, np.int64), np.zeros(1, np.int64))
    return practice


@pytest.mark.parametrize(("require_same_place", "fires"), [(False, True), (True, False)])
def test_what_is_true_next_door_counts_only_where_skills_may_leave(require_same_place: bool, fires: bool) -> None:
    practice = _practice(require_same_place=require_same_place)
    practice.began_in[0] = practice.rows.places()[0] + 1  # as if it had begun next door
    fired, _, _ = practice.step(np.array([FORWARD]))
    assert fired.tolist() == [fires]


def test_what_is_true_here_counts() -> None:
    fired, _, _ = _practice(require_same_place=True).step(np.array([FORWARD]))
    assert fired.all()


def _stays(argument: str) -> bool:
    members = (_member((FORWARD,), argument), _member((), argument))
    return _settings_with_place(PracticeJob(0, members, InduceSettings(), 1, {}, BABYAI, {}, {})).require_same_place


def test_a_skill_about_its_place_is_practised_in_it() -> None:
    assert keeps_to_its_place([_member((FORWARD,)), _member(())], BABYAI)
    assert _stays("")
    assert not _stays("red ball")


def test_a_skill_that_was_learned_by_leaving_may_leave() -> None:
    leaves = _leaving()
    assert not keeps_to_its_place([leaves, leaves, _member(())], BABYAI)
    assert keeps_to_its_place([leaves, _member(()), _member(())], BABYAI)


def _leaving() -> Member:
    """A member whose own actions lead into another room: what the bot does from the start, up to there."""
    level, seed = "Open", 1
    played = tuple(bot_actions(level, seed) or ())
    rows = restore(
        BABYAI,
        BABYAI.layouts(level, [seed]),
        [0],
        actions=[played],
        moments=[(0, step) for step in range(len(played) + 1)],
    )
    there = int(np.argmax(rows.places() != rows.places()[0]))
    assert there > 0
    return Member(
        "open a door", level, seed, 0, Subgoal("leave", TRUE), (), played[:there], stage=ChainStep(0, "", TRUE)
    )


@pytest.mark.parametrize(
    ("learner", "network"), [("ppo", {}), ("paper-model", {"width": 8, "words": 6})], ids=["ppo", "paper-model"]
)
def test_both_kinds_of_policy_are_practised_under_the_same_rules(learner: str, network: dict[str, int]) -> None:
    settings = TrainSettings(n_envs=64, require_same_place=True, learner=learner, network=network)
    starts = _practice(require_same_place=False).starts
    practised = LEARNERS.get(learner).practise(starts, settings, seed=0, init_policy=None)
    assert practised.env.env.require_same_place
    assert practised.env.env.horizon == settings.horizon
    assert practised.env.side_effect_cost == settings.side_effect_cost
