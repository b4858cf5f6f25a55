"""A stored skill becomes an option, and what it needs is learned from where its members began and how they ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdg.deduction.library_skills import FLAGS, USAGES, learn_needs, options_of, random_options_of
from sdg.deduction.robot import Robot
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.gate.executor import Command
from sdg.gate.rules import Usage
from sdg.skills.library.library import CheckTemplate, Skill, SkillLibrary
from sdg.skills.subgoal import CheckFunction, Experience, Subgoal
from tests.shared.library_samples import random_bits
from tests.shared.scripted_skills import scripted_skills

CHECK = CheckFunction("check", "def check():\n    return any(o.held for o in find_objects('the red ball'))\n")
LITERAL = CheckFunction("check", "def check():\n    o = get_carried()\n    return o is not None and o.color == 'red'\n")


def library(**changes: Any) -> SkillLibrary:
    skill = Skill(
        name="pick",
        description="picks up",
        takes_argument=True,
        argument_examples=("red ball",),
        members=("pick up the red ball",),
        checks=(CheckTemplate(CHECK, "the red ball"),),
        horizon=30,
        success_rate=0.9,
        success_interval=(0.8, 1.0),
        episodes=100,
        environment_steps=1000,
    )
    weights = random_bits(BABYAI.inputs, np.random.default_rng(0)).weights
    base = SkillLibrary((skill,), {"pick": weights}, provenance={USAGES: {"pick": {"grasps": True}}})
    return replace(base, **changes)


def members(verb: str, seeds: range, *, first: str = "") -> list[tuple[Experience, str]]:
    """What scripted skills do with something of each world, as grounded experience."""
    experiences = []
    for seed in seeds:
        world = BabyAIWorld("PickupLoc")
        world.reset(seed)
        robot = Robot(world, scripted_skills(), domain=BABYAI, rng=np.random.default_rng(0))
        things = robot.observe().elements
        if not things:
            continue
        thing = things[0]
        if first:
            robot.perform(Command(first, thing.name))
        restore = tuple(robot.actions)
        robot.perform(Command(verb, thing.name))
        subgoal = Subgoal(f"{verb} {thing.name}", CHECK)
        actions = tuple(robot.actions[len(restore) :])
        experiences.append((Experience("x", "PickupLoc", seed, 0, subgoal, restore, actions), thing.name))
    return experiences


SEEDS = range(2_000_000, 2_000_012)


def test_picking_up_is_learned_to_grasp_what_was_seen() -> None:
    assert learn_needs(members("pick", SEEDS), domain=BABYAI, takes_argument=True)[0] == Usage(
        needs_seen_target=True, grasps=True
    )


def test_going_there_claims_nothing_of_the_hand() -> None:
    mixed = members("go_next_to", SEEDS) + members("go_next_to", SEEDS, first="pick")
    usage = learn_needs([member for member in mixed if member[0].actions], domain=BABYAI, takes_argument=True)[0]
    assert usage == Usage(needs_seen_target=True)


def test_one_member_that_began_unseen_is_enough_not_to_ask_for_it() -> None:
    blind = [(experience, "the purple door") for experience, _ in members("pick", SEEDS)[:1]]
    assert not learn_needs(members("pick", SEEDS) + blind, domain=BABYAI, takes_argument=True)[0].needs_seen_target


def test_few_members_and_members_without_actions_are_no_witnesses() -> None:
    some = members("pick", SEEDS)
    assert learn_needs(some[:2], domain=BABYAI, takes_argument=True)[0] == Usage()
    idle = [(replace(experience, actions=()), argument) for experience, argument in some]
    assert learn_needs(idle, domain=BABYAI, takes_argument=True)[0] == Usage()


ASKS = frozenset({"any()", "'ARGUMENT'", "find_objects()", ".held"})


def test_an_option_asks_its_check_about_its_argument() -> None:
    option = options_of(library())["pick"]
    assert "grey key #3" in option.check("grey key #3").source
    assert "red ball" not in option.check("a green box").source
    assert (option.usage, option.horizon, option.success_rate) == (Usage(grasps=True, asks=ASKS), 30, 0.9)


def test_a_check_that_cannot_be_asked_gives_way_to_the_next() -> None:
    stored = library().skills[0]
    both = replace(stored, checks=(CheckTemplate(LITERAL, "red ball"), stored.checks[0]))
    option = options_of(library(skills=(both,)))["pick"]
    assert "find_objects" in option.check("object").source
    alone = replace(stored, checks=(CheckTemplate(LITERAL, "red ball"),))
    with pytest.raises(ValueError, match="counterpart"):
        options_of(library(skills=(alone,)))["pick"].check("object")


@pytest.mark.parametrize("stored", [{}, {"pick": 3}, {"pick": {"grasps": "yes"}}, [1], "x"])
def test_nothing_is_held_against_a_skill_of_unknown_usage(stored: object) -> None:
    assert options_of(library(provenance={USAGES: stored}))["pick"].usage == Usage(asks=ASKS)


def test_usage_survives_being_stored() -> None:
    usage = Usage(needs_seen_target=True, grasps=True, asks=ASKS)
    stored = {key: getattr(usage, key) for key in ("takes_argument", *FLAGS)}
    assert options_of(library(provenance={USAGES: {"pick": stored}}))["pick"].usage == usage


def test_random_weights_keep_everything_but_the_weights() -> None:
    learned, random = options_of(library())["pick"], random_options_of(library(), seed=1)["pick"]
    assert (random.name, random.usage, random.check("a key")) == (learned.name, learned.usage, learned.check("a key"))
    assert not np.array_equal(random.policy.weights["w1"], learned.policy.weights["w1"])
    again = random_options_of(library(), seed=1)["pick"]
    assert np.array_equal(random.policy.weights["w1"], again.policy.weights["w1"])


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [(0.0, "A try takes at most 30 steps."), (13.6, "A try that succeeds takes about 12 steps, one that fails 30.")],
)
def test_a_prompt_tells_what_a_call_costs_where_it_was_counted(steps: float, sentence: str) -> None:
    loaded = library()
    skill = replace(loaded.skills[0], mean_steps=steps)
    assert sentence in options_of(replace(loaded, skills=(skill,)))["pick"].description


def test_a_call_does_not_cost_more_than_a_try_may() -> None:
    with pytest.raises(ValueError, match="mean steps"):
        replace(library().skills[0], mean_steps=31.0)
