"""What a search claims holds in minigrid, budgets are kept, what can't be trusted is refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.hypothesis.hypothesize import hypothesize
from sdg.llm.babylang.model import BabyLang
from sdg.llm.model import Sampling
from sdg.skills.checks.check import compile_check
from sdg.skills.practice.starts import Starts, restore
from sdg.skills.search.trial import RandomSearch, Search
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.verification.verify import Verification, VerifySettings, verify


def start_of(level: str, seed: int) -> Starts:
    rows = restore(BABYAI, BABYAI.layouts(level, [seed]), [0], actions=[()])
    return Starts(rows, BABYAI.language.row("")[None], (), np.zeros(1, np.int64))


def verify_layout(
    hypothesis: Hypothesis, level: str, seed: int, *, search: Search | None = None, **settings: int
) -> Verification:
    chosen = VerifySettings(**settings)
    search = search or RandomSearch()
    return verify(
        hypothesis, start_of(level, seed), level=level, seed=seed, settings=chosen, search=search, random_seed=1
    )


def guess_hypothesis(level: str, seed: int) -> Hypothesis:
    mission = BABYAI.layouts(level, [seed]).mission(0)
    return hypothesize(mission, model=BabyLang(), domain=BABYAI, sampling=Sampling(seed=seed))


def subgoal(source: str, name: str = "check") -> Subgoal:
    return Subgoal("do it", CheckFunction(name, source))


@pytest.mark.parametrize(("level", "seed"), [("GoToLocal", 1), ("PickupLoc", 2), ("PutNextLocal", 4)])
def test_what_is_verified_holds_in_minigrid(level: str, seed: int) -> None:
    result = verify_layout(guess_hypothesis(level, seed), level, seed)
    assert result.verified, result.cause
    world = BabyAIWorld(level, lift_time_limit=True)
    world.reset(seed)
    done = False
    for goal in result.subgoals:
        world.begin_subgoal()
        check = compile_check(goal.subgoal().check, BABYAI)
        for action in goal.actions:
            assert not check(world.perception())
            done = world.step(action).success
        assert check(world.perception())
    assert done
    assert result.searched_steps <= 3000
    assert [experience.index for experience in result.experiences()] == list(range(len(result.subgoals)))
    assert all(experience.confirmed for experience in result.experiences())


def test_ppo_finds_it_too_and_counts_its_steps() -> None:
    from sdg.skills.search.ppo_search import PPOSearch

    result = verify_layout(guess_hypothesis("GoToLocal", 1), "GoToLocal", 1, search=PPOSearch())
    assert result.verified, result.cause
    assert sum(goal.searched_steps for goal in result.subgoals) <= result.searched_steps <= 3000


def test_a_budget_is_never_overdrawn() -> None:
    never = Hypothesis("go", (subgoal("def check():\n    return get_steps() < 0\n"),))
    result = verify_layout(never, "GoToLocal", 1, t_verify=333, most_per_subgoal=500)
    assert not result.verified
    assert 300 < result.searched_steps <= 333
    assert "was not reached" in result.cause
    assert result.failed_goal == len(result.subgoals) - 1
    assert "Step " in result.seen, "what the walk knew that went furthest"


def test_a_check_that_fires_while_the_task_isn_t_done_is_an_inconsistency() -> None:
    wrong = Hypothesis("go", (subgoal("def check():\n    return get_steps() > 0\n"),))
    result = verify_layout(wrong, "PutNextLocal", 4, t_verify=400)
    assert not result.verified
    assert result.subgoals[0].inconsistent > 0
    assert "did not call the task done" in result.cause


def test_a_check_that_any_one_action_makes_true_is_no_goal() -> None:
    idle = subgoal("def check():\n    return get_steps() > get_start_steps()\n")
    for goals in ((idle,), (idle, *guess_hypothesis("GoToLocal", 1).subgoals)):
        result = verify_layout(Hypothesis("go", goals), "GoToLocal", 1)
        assert not result.verified
        assert "is true after any one action" in result.cause
        assert (result.failed_goal, result.experiences()) == (0, [])
        assert result.searched_steps == 48 + result.subgoals[0].searched_steps
    late = Hypothesis("go", (subgoal("def check():\n    return get_steps() > get_start_steps() + 4\n"),))
    assert "is true after any 5 actions" in verify_layout(late, "GoToLocal", 1).cause
    before = start_of("GoToLocal", 1).rows.perception(0).functions()["get_front_position"]()
    turned = subgoal(f"def check():\n    return get_front_position() != {before}\n")
    assert verify_layout(
        Hypothesis("go", (turned, *guess_hypothesis("GoToLocal", 1).subgoals)), "GoToLocal", 1
    ).verified


def test_already_true_is_a_subgoal_of_no_actions() -> None:
    both = (subgoal("def check():\n    return True\n"), *guess_hypothesis("GoToLocal", 1).subgoals)
    result = verify_layout(Hypothesis("go", both), "GoToLocal", 1)
    assert result.verified
    assert (result.subgoals[0].actions, result.subgoals[0].searched_steps) == ((), 0)


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import os\ndef check():\n    return True\n", "refused"),
        ("def check():\n    return find_objects('castle') == []\n", "can't be trusted"),
        ("def check():\n    while True:\n        pass\n", "can't be trusted"),
        ("def check():\n    if get_steps() > 2:\n        return 1 / 0 > 1\n    return False\n", "can't be trusted"),
    ],
)
def test_what_can_t_be_trusted_is_refused_before_anything_is_trained(source: str, cause: str) -> None:
    result = verify_layout(Hypothesis("go", (subgoal(source),)), "GoToLocal", 1)
    assert not result.verified
    assert cause in result.cause
    assert "goal 1" in result.cause
    assert result.failed_goal == 0
    assert result.subgoals == ()


def test_what_was_reached_before_a_failure_is_an_unconfirmed_prefix() -> None:
    first = guess_hypothesis("GoToLocal", 1).subgoals[0]
    never = subgoal("def check():\n    return get_steps() < 0\n")
    result = verify_layout(Hypothesis("go", (first, never)), "GoToLocal", 1, t_verify=300)
    assert [experience.confirmed for experience in result.experiences()] == [False]


def test_the_last_check_is_judged_against_the_world() -> None:
    result = verify_layout(guess_hypothesis("PickupLoc", 2), "PickupLoc", 2)
    assert result.agreement is not None
    assert result.agreement.both > 0
    assert not result.agreement.only_check


def test_equal_seeds_search_alike() -> None:
    first, second = (verify_layout(guess_hypothesis("PutNextLocal", 4), "PutNextLocal", 4) for _ in range(2))
    assert [goal.actions for goal in first.subgoals] == [goal.actions for goal in second.subgoals]
