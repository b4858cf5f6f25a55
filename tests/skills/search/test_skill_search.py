"""A search that chains learned skills gets where a straight search can't, and what it finds holds in minigrid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.snapshot import FUNCTIONS, RECORD_TEXT
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.world import api_text
from sdg.experiments.results.comparison import SHIPPED
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.hypothesis.hypothesize import parse
from sdg.llm.babylang.hypothesis import check, plan
from sdg.llm.babylang.reading import PERCEPTION, assign_parts, functions
from sdg.skills.checks.check import compile_check
from sdg.skills.library.library import FOLLOWS, USAGES
from sdg.skills.library.store import load_library
from sdg.skills.practice.starts import Starts
from sdg.skills.search.skill_search import SkillCalls, SkillSearch
from sdg.skills.search.trial import RandomSearch, Search, SearchSettings
from sdg.skills.subgoal import CheckFunction
from sdg.verification.verify import Verification, VerifySettings, verify

NAMES = assign_parts(functions(api_text(RECORD_TEXT, FUNCTIONS)), PERCEPTION)
PLAIN = RandomSearch(SearchSettings(horizon=30))
SKILLED = SkillSearch(SHIPPED, PLAIN)


def straight(mission: str) -> Hypothesis:
    """The mission's goals and no others: nothing explores, fetches a key or clears a way."""
    lines = []
    for number, goal in enumerate(plan(mission), 1):
        carrying = bool(goal.carried and goal.kind != "put")
        source = check(number, goal.kind, NAMES, argument=goal.argument, carrying=carrying)
        lines.append(f"Goal {number}: {goal.kind}\n```python\n{source}\n```")
    return parse("\n".join(lines), instruction=mission)


def start_of(level: str, seed: int) -> Starts:
    rows = BABYAI.begin(BABYAI.layouts(level, [seed]), np.zeros(1, np.int64))
    return Starts(rows, BABYAI.language.row("")[None], (), np.zeros(1, np.int64))


def verify_layout(level: str, layout: int, search: Search, *, seed: int = 0) -> Verification:
    hypothesis = straight(BABYAI.layouts(level, [layout]).mission(0))
    start, settings = start_of(level, layout), VerifySettings(t_verify=3000)
    return verify(hypothesis, start, level=level, seed=layout, settings=settings, search=search, random_seed=seed)


def tries(level: str, layout: int, search: Search) -> list[Verification]:
    """Up to three verifications under seeds of their own; the last one is the first that succeeded, if one did."""
    verifications = [verify_layout(level, layout, search)]
    while not verifications[-1].verified and len(verifications) < 3:
        verifications.append(verify_layout(level, layout, search, seed=len(verifications)))
    return verifications


@pytest.mark.parametrize(
    ("level", "seeds"),
    [("UnlockLocal", (0, 1, 2, 3)), ("UnblockPickup", (31, 34, 46, 55)), ("Open", (1, 2, 5))],
    ids=["locked", "blocked", "elsewhere"],
)
def test_what_a_straight_search_hardly_reaches_is_reached_with_skills(level: str, seeds: tuple[int, ...]) -> None:
    """The bot has to fetch a key, to carry something aside, or to enter other rooms in every one of these.

    A search is luck, and other weights have other luck: three tries each, for both, and one stroke of luck for chance.
    """
    assert sum(tries(level, seed, PLAIN)[-1].verified for seed in seeds) <= 1
    rows = [tries(level, seed, SKILLED) for seed in seeds]
    assert sum(results[-1].verified for results in rows) >= len(seeds) - 1, [results[-1].cause for results in rows]
    for result in (result for results in rows for result in results):
        assert result.searched_steps <= 3000
        if result.verified:
            holds_in_minigrid(result)


def holds_in_minigrid(result: Verification) -> None:
    """Played as a flat list of actions, every check fires where it should and the task is done."""
    world, done = BabyAIWorld(result.level, lift_time_limit=True), False
    world.reset(result.seed)
    for goal in result.subgoals:
        world.begin_subgoal()
        for action in goal.actions:
            done = world.step(action).success
        assert compile_check(goal.subgoal().check, BABYAI)(world.perception())
    assert done


def test_equal_seeds_search_alike_and_other_seeds_differently() -> None:
    first, second = (verify_layout("UnlockLocal", 1, SKILLED) for _ in range(2))
    assert [goal.actions for goal in first.subgoals] == [goal.actions for goal in second.subgoals]
    assert first.subgoals[-1].actions != verify_layout("UnlockLocal", 1, SKILLED, seed=9).subgoals[-1].actions


@pytest.mark.parametrize("t_verify", [3, 50, 333])
def test_a_budget_is_never_overdrawn_and_the_cause_counts_all_of_it(t_verify: int) -> None:
    never = CheckFunction("check", "def check():\n    return get_steps() < 0\n")
    result = SKILLED(start_of("Open", 0), never, must_succeed=False, budget=t_verify, seed=0)
    assert not result.reached
    assert result.steps <= t_verify
    assert f"in {result.steps} searched steps" in result.cause


def test_what_a_library_says_of_its_skills_is_put_up_with_whatever_it_is() -> None:
    library = load_library(SHIPPED)
    name = library.skills[0].name
    for odd in (3, {name: 1}, {name: {name: "x", "no such skill": 5}}, {name: {name: -2}}):
        tools = SkillCalls(replace(library, provenance={FOLLOWS: odd, USAGES: odd}))
        assert np.allclose(tools.next_weights(name), 1 / len(library.skills))
        assert tools.is_apt(library.skills[0], holding=True)


def test_what_followed_what_is_likelier_to_come_next() -> None:
    library = load_library(SHIPPED)
    first, second = library.skills[0].name, library.skills[1].name
    tools = SkillCalls(replace(library, provenance={FOLLOWS: {first: {second: 4}}}))
    weights = tools.next_weights(first)
    assert int(np.argmax(weights)) == 1
    assert np.isclose(weights.sum(), 1)
    assert weights.min() > 0
