"""A check that names two things doesn't make its skill vanish, and the translator is told the names in use."""

from __future__ import annotations

import pytest

from sdg.deduction.library_skills import learn_needs
from sdg.envs.babyai.domain import BABYAI
from sdg.induction.induce import Discovery
from sdg.induction.library_builder import templates, without_a_skill
from sdg.induction.translate import BATCH_SIZE, translate
from sdg.llm.model import Completion
from sdg.skills.practice.fresh_starts import ChainStep, Member
from sdg.skills.subgoal import CheckFunction, Experience, SkillCall, Subgoal

HOLDING = CheckFunction(
    "check",
    "def check():\n"
    "    carrying = any(ball.held for ball in find_objects('the grey ball'))\n"
    "    return carrying and len(find_objects('the blue box')) > 0\n",
)
ALONE = CheckFunction("check", "def check():\n    return len(find_objects('the blue box')) > 0\n")


WALKED = Experience("go", "GoToLocal", 3, 0, Subgoal("go there", ALONE), (), (2,))


def member(check: CheckFunction) -> Member:
    return Member(
        "go", "Open", 0, 0, Subgoal("discover the blue box", check), (), (), stage=ChainStep(0, "blue box", check)
    )


def test_other_things_become_any_thing_where_every_check_names_some() -> None:
    (template,) = templates([member(HOLDING), member(HOLDING)], BABYAI.language)
    assert template.argument == "blue box"
    assert "'object'" in template.check.source
    assert "grey ball" not in template.check.source


def test_a_check_about_the_argument_alone_is_asked_as_it_is() -> None:
    (template,) = templates([member(HOLDING), member(ALONE)], BABYAI.language)
    assert template.check == ALONE


def test_a_check_tied_to_its_layout_is_asked_where_nothing_else_is_left() -> None:
    source = "def check():\n    return any(b.position == (-4, 0) for b in find_objects('the blue box'))\n"
    tied = CheckFunction("check", source)
    for checks, expected in (([tied, tied, ALONE], ALONE), ([tied], tied)):
        (template,) = templates([member(check) for check in checks], BABYAI.language)
        assert template.check == expected


def test_every_kind_without_a_skill_has_a_reason() -> None:
    broken = CheckFunction("check", "def check(:")
    kinds = {0: ("discover", ALONE), 1: ("shut_door", ALONE), 2: ("match", broken)}
    discovery = Discovery(
        clustering=None,  # type: ignore[arg-type]
        reviewed=None,  # type: ignore[arg-type]
        members={label: (member(check),) for label, (_, check) in kinds.items()},
        calls={label: (SkillCall(name, "blue box"),) for label, (name, _) in kinds.items()},
        rejected=frozenset({"wander", "discover", "amble"}),
    )
    reasons = without_a_skill(discovery, {0, 2}, BABYAI.language)
    assert list(reasons) == ["amble", "wander", "shut_door", "match"], "in an order that every run has"
    assert "already" in reasons["shut_door"]
    assert "other things" in reasons["match"]
    assert "too few" in reasons["wander"] == reasons["amble"]


def test_later_batches_are_told_the_names_of_earlier_ones() -> None:
    prompts: list[str] = []

    class Listening:
        name = "listening"

        def complete(self, messages, *, sampling):  # type: ignore[no-untyped-def]
            prompts.append(messages[-1].content)
            lines = messages[-1].content.rpartition("Subgoals to translate")[2].splitlines()
            return Completion("\n".join(f"{line.split('.')[0]}. spot | it" for line in lines if ". " in line), "x")

    translate([f"spot thing {number}" for number in range(BATCH_SIZE + 1)], domain=BABYAI, model=Listening())
    assert len(prompts) == 2
    assert "in use" not in prompts[0]
    assert "where the same is done: spot." in prompts[1]


@pytest.mark.parametrize(
    ("said", "argument"),
    [("yellow box at (2, -7)", "yellow box"), ("the red or the blue key", "blue key"), ("corner", "")],
)
def test_an_argument_is_what_it_names(said: str, argument: str) -> None:
    class Naming:
        name = "naming"

        def complete(self, messages, *, sampling):  # type: ignore[no-untyped-def]
            return Completion(f"1. go_to | {said}", "x")

    assert translate(["go there"], domain=BABYAI, model=Naming()) == (SkillCall("go_to", argument),)
    usage = learn_needs([(WALKED, said)] * 3, domain=BABYAI, takes_argument=True)[0]
    assert not usage.grasps
