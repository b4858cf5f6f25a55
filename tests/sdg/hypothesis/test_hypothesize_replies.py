"""What is read out of replies to the hypothesis and translation prompts, good, bad and hostile."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from sdg.envs.babyai.domain import BABYAI
from sdg.hypothesis.hypothesis import Feedback, Hypothesis
from sdg.hypothesis.hypothesize import HypothesisError, hypothesize, parse, prompt
from sdg.induction.translate import parse as parse_lines, prompt as translate_prompt, snake, translate
from sdg.llm.model import Completion, Message, Sampling
from sdg.prompts.fill import conversation, fence, one_line
from sdg.prompts.replies import code_blocks, functions_in, tidy
from sdg.skills.checks.check import compile_check
from sdg.skills.subgoal import SkillCall

CHECK = "```python\ndef check_{n}():\n    return True\n```"


def goal(number: int, text: str = "find the red ball") -> str:
    return f"Goal {number}: {text}\n{CHECK.format(n=number)}\n"


def read_hypothesis(reply: str) -> Hypothesis:
    return parse(reply, instruction="go to the red ball")


class Scripted:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []
        self.tokens = 0

    @property
    def name(self) -> str:
        return "scripted"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked.append(tuple(messages))
        return Completion(self.replies.pop(0), self.name, completion_tokens=self.tokens)


@pytest.mark.parametrize(
    "reply",
    [
        goal(1) + goal(2, "go to it"),
        "Sure!\n\n" + goal(1) + "\nThen:\n\n" + goal(2, "go to it") + "\nHope this helps: `check_1` is simple.",
        goal(1).replace("python", "py") + goal(2, "go to it").replace("```python", "~~~").replace("```", "~~~"),
        goal(1).replace("Goal 1:", "**Goal 1:**") + goal(2, "go to it").replace("Goal 2:", "### Goal 2 -"),
        goal(1).replace("Goal 1", "Goal") + goal(2, "go to it").replace("Goal 2", "Goal"),
        goal(1).replace("Goal 1:", "1.") + goal(2, "go to it").replace("Goal 2:", "2)"),
        (goal(1) + goal(2, "go to it")).replace("\n", "\r\n"),
        goal(1).replace("```python", "Check:\n```python\nx = 1\n```\nbetter:\n```python") + goal(2, "go to it"),
        goal(1) + goal(2, "go to it").removesuffix("```\n"),
        goal(1).replace("```python\n", "").replace("```\n", "") + goal(2, "go to it"),
        goal(1).replace("```python\ndef", "   ```python\n   def").replace("\n    return", "\n       return")
        .replace("\n```", "\n   ```") + goal(2, "go to it"),
        goal(1).replace("def check_1", "def helper():\n    return 1\n\ndef check_1") + goal(2, "go to it"),
        goal(1) + goal(2, "go to it").replace("def check_2", "def check_2b"),
        f"<think>\nGoal 1: look\n{goal(1, 'no')}\n</think>\n" + goal(1) + goal(2, "go to it"),
        "Goal 1: find the red ball\nGoal 2: go to it\n\nIn detail:\n\n" + goal(1) + goal(2, "go to it"),
        goal(1) + goal(2, "go to it") + "\nStep 1: the check looks for it.\nStep 2: so does this.",
        "Goal 1: find the red ball\nGoal 2: go to it\n" + CHECK.format(n=1) + "\n" + CHECK.format(n=2),
        "Goal 1: find the red ball\nGoal 2: go to it\n```python\ndef check_1():\n    return True\n\n"
        "def check_2():\n    return True\n```",
        "```python\n# Goal 1: find the red ball\ndef check_1():\n    return True\n\n# Goal 2: go to it\n"
        "def check_2():\n    return True\n```",
        "```markdown\n" + goal(1) + goal(2, "go to it") + "```",
        (goal(1) + goal(2, "go to it")).replace("Goal 1: ", "### Goal 1\n").replace("Goal 2: ", "### Goal 2\n"),
        goal(1).replace("Goal 1:", "**Goal 1 \u2014**") + goal(2, "go to it").replace("Goal 2:", "**Goal 2** \u2014"),
    ],
)  # fmt: skip
def test_sloppy_replies_are_read(reply: str) -> None:
    hypothesis = read_hypothesis(reply)
    assert [subgoal.description for subgoal in hypothesis.subgoals] == ["find the red ball", "go to it"]
    assert all(
        f"def {subgoal.check.name}()" in subgoal.check.source and "return True" in subgoal.check.source
        for subgoal in hypothesis.subgoals
    )


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        ("  \n\t\x00 ", "empty"),
        ("I'm sorry, I can't do that.", "no line"),
        ("```python\ndef check_1():\n    return True\n```", "no line"),
        (goal(1) + "Goal 2: go to it\n", "Goal 2 .* has no check"),
        ("Goal 1: find\n```python\nreturn True\n```", "Goal 1 .* has no check"),
        ("".join(goal(n) for n in range(1, 60)), "at most"),
        ("Goal 1:\n" + CHECK.format(n=1), "no line"),
    ],
)
def test_replies_without_a_hypothesis_say_what_is_missing(reply: str, problem: str) -> None:
    with pytest.raises(HypothesisError, match=problem):
        read_hypothesis(reply)


def test_goal_lines_inside_code_are_code() -> None:
    reply = goal(1).replace("    return", "    # Goal 7: nonsense\n    return")
    assert len(read_hypothesis(reply).subgoals) == 1


def test_a_bad_reply_gets_turns_to_be_put_right() -> None:
    model = Scripted("no idea", goal(1))
    hypothesis = hypothesize("go to the red ball", model=model, domain=BABYAI)
    assert len(hypothesis.subgoals) == 1
    repair = model.asked[1]
    assert repair[:-2] == model.asked[0]
    assert repair[-2] == Message("assistant", "no idea")
    assert 'no line "Goal 1' in repair[-1].content
    with pytest.raises(HypothesisError, match="empty"):
        hypothesize("go to the red ball", model=Scripted("", "", ""), domain=BABYAI)


def test_checks_stand_alone_with_the_helpers_of_other_goals_and_no_others() -> None:
    first = "```python\nRED = 'red ball'\n\ndef seen(x):\n    return len(find_objects(x)) > 0\n\n"
    first += "def check_1():\n    return seen(RED)\n```\n"
    second = "```python\ndef check_2():\n    return check_1() and get_facing() is not None\n```\n"
    first_goal, second_goal = read_hypothesis(f"Goal 1: find the red ball\n{first}Goal 2: go to it\n{second}").subgoals
    assert functions_in(first_goal.check.source) == ("seen", "check_1")
    assert functions_in(second_goal.check.source) == ("seen", "check_1", "check_2")
    assert all(compile_check(subgoal.check, BABYAI) for subgoal in (first_goal, second_goal))


def test_checks_that_the_guard_refuses_are_told_all_at_once() -> None:
    bad = goal(1).replace("True", "math.pi > 3") + goal(2, "go to it").replace("True", "is_facing('box')")
    model = Scripted(bad, goal(1) + goal(2, "go to it"))
    hypothesis = hypothesize("go to the red ball", model=model, domain=BABYAI)
    assert "return True" in hypothesis.subgoals[0].check.source
    message = model.asked[1][-1].content
    assert "check of goal 1 was refused: line 2: math has to be imported" in message
    assert "check of goal 2 was refused: line 2: the name 'is_facing' is not known" in message
    still = hypothesize("go to the red ball", model=Scripted(bad, bad, bad), domain=BABYAI)
    assert len(still.subgoals) == 2, "verification says the same of it, and what was asked is kept"


def test_a_reply_that_was_cut_off_is_told_so() -> None:
    model = Scripted("Goal 1: find", goal(1))
    model.tokens = 50
    hypothesize("go to the red ball", model=model, domain=BABYAI, sampling=Sampling(max_tokens=50))
    assert "cut off at the limit of 50 tokens" in model.asked[1][-1].content
    with pytest.raises(HypothesisError, match="no check function") as caught:
        hypothesize("go", model=Scripted("Goal 1: find"), domain=BABYAI, repairs=0)
    assert "cut off" not in str(caught.value)


def test_feedback_tells_the_goals_and_where_it_stopped() -> None:
    message = prompt("open the door", domain=BABYAI, feedback=Feedback(("find it", "open it"), 1, "not reached"))[-1]
    assert "could not get past goal 2" in message.content
    assert "1. find it\n2. open it" in message.content
    assert "Its check:" not in message.content, "what isn't known isn't told"
    feedback = Feedback(("find it",), 0, "not reached", "def check():\n    return False", "A wall ahead. ```\n## Task")
    message = prompt("open the door", domain=BABYAI, feedback=feedback)[-1]
    assert "```python\ndef check():\n    return False\n```" in message.content
    assert "````text\nA wall ahead. ```\n## Task\n````" in message.content, "what was seen is data"
    assert "What was tried" not in prompt("open the door", domain=BABYAI)[-1].content


@given(st.text(max_size=400))
def test_any_reply_is_a_hypothesis_or_an_error(reply: str) -> None:
    with contextlib.suppress(HypothesisError):
        assert read_hypothesis(reply).subgoals


@given(
    st.lists(
        st.sampled_from(["Goal 1: a b", "2. x", "```python", "```", "~~~", "def check():", "    return 1", "", "`"])
    )
)
def test_any_mixture_of_the_format_is_a_hypothesis_or_an_error(lines: list[str]) -> None:
    reply = "\n".join(lines)
    for block in code_blocks(tidy(reply)):
        assert 0 <= block.start <= block.end <= len(reply)
    try:
        for subgoal in read_hypothesis(reply).subgoals:
            assert f"def {subgoal.check.name}(" in subgoal.check.source
    except HypothesisError:
        pass


@given(st.text(max_size=300))
def test_fenced_text_cant_close_its_block(text: str) -> None:
    block = fence(text)
    ticks = block.split("text\n", 1)[0]
    inside = block.split("\n")[1:-1]
    assert set(ticks) == {"`"}
    assert block.endswith("\n" + ticks)
    assert all(ticks not in line for line in inside)


@given(st.text(max_size=300))
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text, 50)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 50


def test_prompts_fill_every_placeholder() -> None:
    turns = conversation(
        "hypothesis", role="ROLE", unfolding="- so", perception_api="API", instruction="I $x", feedback="", most="40"
    )
    assert [turn.role for turn in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert "I $x" in turns[-1].content
    with pytest.raises(KeyError):
        conversation("hypothesis")


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("1. discover | green box", SkillCall("discover", "green box")),
        ("1) `discover` | `the green box`", SkillCall("discover", "green box")),
        ("  1. Go Next To | a red ball on your left", SkillCall("go_next_to", "red ball on your left")),
        ("1. goNextTo | red ball", SkillCall("go_next_to", "red ball")),
        ("1. enter_room |", SkillCall("enter_room", "")),
        ("1. enter_room", SkillCall("enter_room", "")),
        ("1. enter_room | none", SkillCall("enter_room", "")),
        ("- 1. **open_door** | \"red door\" |", SkillCall("open_door", "red door")),
        ("Here you go:\n1. open | red door\n1. shut | red door", SkillCall("open", "red door")),
        ("<think>1. shut | box</think>\n1. open | red door", SkillCall("open", "red door")),
        ("| N | api | argument |\n|---|---|---|\n| 1 | open | red door |", SkillCall("open", "red door")),
        ('1. open("red door")', SkillCall("open", "red door")),
        ("1. `enter_room()`", SkillCall("enter_room", "")),
        ("- open | red door", SkillCall("open", "red door")),
        ("1. enter_room | (none)", SkillCall("enter_room", "")),
    ],
)  # fmt: skip
def test_translation_lines_are_read(line: str, call: SkillCall) -> None:
    assert parse_lines(line, count=1) == {1: call}


@pytest.mark.parametrize(
    "line", ["", "discover | box\ngo | box", "7. discover | box", "1. | box", "1. 42 | box", "1. a | b | c | d"]
)
def test_other_lines_are_not(line: str) -> None:
    assert parse_lines(line, count=3) == {}


@given(st.text(max_size=200))
def test_any_translation_reply_gives_identifiers(reply: str) -> None:
    for call in parse_lines(reply, count=3).values():
        assert call.api.isidentifier()
        assert "\n" not in call.argument
    assert snake(reply) == "" or snake(reply).isidentifier()


def test_missing_lines_are_asked_again_and_then_made_up() -> None:
    model = Scripted("2. go_to | key", "1. find | ball", "nonsense")
    calls = translate(["find the ball", "go to the key", "find the ball"], domain=BABYAI, model=model)
    assert calls == (SkillCall("find", "ball"), SkillCall("go_to", "key"), SkillCall("find", "ball"))
    assert (
        "1. find the ball\n2. go to the key"
        in translate_prompt(["find the ball", "go to the key"], domain=BABYAI)[0].content
    )
    assert translate(["jump high"], domain=BABYAI, model=Scripted("nonsense", "still nonsense")) == (
        SkillCall("jump_high", ""),
    )
    assert translate([], domain=BABYAI, model=Scripted()) == ()
