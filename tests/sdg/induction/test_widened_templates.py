"""A check that names two things doesn't make its skill vanish, and names in use are told to whoever translates."""

from __future__ import annotations

from sdg.envs.babyai.domain import BABYAI
from sdg.induction.library_builder import templates
from sdg.induction.translate import BATCH, translate
from sdg.llm.model import Completion
from sdg.skills.practice.fresh_starts import Member, Stage
from sdg.skills.subgoal import CheckFunction

HOLDING = CheckFunction(
    "check",
    "def check():\n"
    "    carrying = any(ball.held for ball in find_objects('the grey ball'))\n"
    "    return carrying and len(find_objects('the blue box')) > 0\n",
)
ALONE = CheckFunction("check", "def check():\n    return len(find_objects('the blue box')) > 0\n")


def member(check: CheckFunction) -> Member:
    return Member("Open", 0, "go", (), (), Stage(0, "blue box", check), (), "discover the blue box")


def test_other_things_become_any_thing_where_every_check_names_some() -> None:
    (kept,) = templates([member(HOLDING), member(HOLDING)], BABYAI.language)
    assert kept.argument == "blue box"
    assert "'object'" in kept.check.source
    assert "grey ball" not in kept.check.source


def test_a_check_about_the_argument_alone_is_asked_as_it_is() -> None:
    kept = templates([member(HOLDING), member(ALONE)], BABYAI.language)
    assert [each.check for each in kept] == [ALONE]


def test_later_batches_are_told_the_names_of_earlier_ones() -> None:
    asked: list[str] = []

    class Listening:
        name = "listening"

        def complete(self, messages, *, sampling):  # type: ignore[no-untyped-def]
            asked.append(messages[-1].content)
            lines = messages[-1].content.rpartition("Subgoals to translate")[2].splitlines()
            return Completion("\n".join(f"{line.split('.')[0]}. spot | it" for line in lines if ". " in line), "x")

    translate([f"spot thing {number}" for number in range(BATCH + 1)], domain=BABYAI, model=Listening())
    assert len(asked) == 2
    assert "in use" not in asked[0]
    assert "where the same is done: spot." in asked[1]
