"""What a model is told when its reply is no good program: the debug turn names the fault and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from sdg.agents.agents import rules_gate
from sdg.deduction.deduce import DeductionSettings, Planner, Toolkit, deduce
from sdg.deduction.episode import Episode
from sdg.deduction.planner import Prompts
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.llm.model import Completion, Message, Sampling
from tests.shared.scripted_skills import scripted_skills

HELPER = "```python\ndef helper():\n    return 1\n```"
MAIN = "```python\ndef program():\n    discover('{}')\n```"


@dataclass
class Model:
    """Answers with one reply after the other and remembers what it was asked."""

    replies: list[str]
    asked: list[str] = field(default_factory=list)
    name: str = "scripted"
    tokens: int = 0

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked.append(messages[-1].content)
        return Completion(
            self.replies[min(len(self.asked), len(self.replies)) - 1], self.name, completion_tokens=self.tokens
        )


def debug_reply(reply: str, then: str = "", *, tokens: int = 0) -> tuple[Episode, str]:
    """The episode of a reply and the next, and the debug turn between them, from the failed program on."""
    world, skills = BabyAIWorld("PutNextLocal"), scripted_skills()
    world.reset(5)
    model = Model([reply, then or MAIN.format("a ball")], tokens=tokens)
    episode = deduce(
        world,
        planner=Planner(model, Prompts(BABYAI)),
        toolkit=Toolkit(BABYAI, skills, rules_gate(skills, BABYAI)),
        seed=0,
        settings=DeductionSettings(interactions=2, attempts=1, budget=20_000),
    )
    return episode, re.split("## Program that failed|## Your answer could not be used", model.asked[1])[1]


@pytest.mark.parametrize(
    "reply",
    [
        f"Sure! First I look for it.\n\n{MAIN.format('a ball')}\n\nThis should do it.",
        f"<think>\nmaybe discover?\n</think>\n{MAIN.format('a ball')}",
        MAIN.format("a ball").replace("```python", "```").replace("'", '"'),
        "def program():\n    discover('a ball')\n",
        f"{MAIN.format('a ball')}\n\nThe output is:\n\n```text\nTrue\n```",
        MAIN.format("a ball").replace("\n```", "\n\nprogram()\n```"),
        MAIN.format("a ball").replace("\n```", "\n\nif __name__ == '__main__':\n    program()\n```"),
        f"<thinking>\n{HELPER}\n</thinking>\n{MAIN.format('a ball')}",
        MAIN.format("a ball").replace("def program():", "from typing import Any\n\n\ndef program() -> Any:"),
        MAIN.format("a ball").replace("def", "def unused():\n    return get_steps()\n\n\ndef", 1),
    ],
)
def test_prose_around_the_code_is_dropped(reply: str) -> None:
    episode, _ = debug_reply(reply)
    assert [str(call.command) for call in episode.interactions[0].calls] == ["discover('a ball')"]


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (f"{HELPER}\nand\n{MAIN.format('a ball')}", "2 code blocks that define functions; give exactly one code block"),
        (f"{MAIN.format('a ball')}\nor\n{MAIN.format('a box')}", "2 code blocks that define functions"),
        (HELPER, "define a function named program; there are: helper"),
        (MAIN.format("a ball").replace("\n```", "\n\nget_steps()\n```"), "leave this line out, or put it"),
        ("```python\ndiscover('a ball')\n```", "defines no function; give one code block"),
        ("", "put the code into def program():"),
        (MAIN.format("a ball").replace("discover", "find_it"), "the name 'find_it' is not known; the functions are: "),
        (MAIN.format("a ball").replace("discover", "robot.discover"), "call it without `robot.`"),
        (MAIN.format("the shiny thing"), "describes nothing: say [a|the] [red|"),
        (MAIN.format("a ball', 'now"), "discover() takes 1 argument, 2 given"),
        (MAIN.format("a ball").replace("'a ball'", "get_carried()"), "not None (was the list empty?)"),
        (MAIN.format("a ball").replace("()", "(robot)", 1), "program() must take no arguments"),
        ("```python\nimport time\ndef program():\n    time.sleep(1)\n```", "Imports are not available"),
        ("```python\ndef program():\n    while True:\n        get_position()\n```", "is there a loop that never ends?"),
    ],
)
def test_what_is_wrong_is_told_and_what_to_write_instead(reply: str, says: str) -> None:
    episode, turn = debug_reply(reply)
    assert says in turn.split("## Calls")[0]
    mended = "one ```python block with `def program():`" in turn.strip().splitlines()[-1]
    first = episode.interactions[0]
    assert first.cause in (("skill failed", "unfinished") if mended else ("program error", "refused"))
    assert first.llm_calls == 1 + mended, "a reply that is no program costs neither an interaction nor a step"


def test_a_wrong_name_is_answered_with_the_skills_there_are() -> None:
    _, error = debug_reply(MAIN.format("a ball").replace("discover", "goto"))
    assert all(name in error for name in scripted_skills())
    assert "goto('a ball')" in error, "with the line it stands on"


def test_a_reply_that_was_cut_off_is_told_so() -> None:
    unfinished = "```python\ndef program():\n    pick("
    assert "cut off at the limit of 16000 tokens" in debug_reply(unfinished, tokens=16000)[1]
    assert "cut off" not in debug_reply(unfinished, tokens=15999)[1]
    assert "cut off" not in debug_reply(MAIN.format("a ball"), tokens=16000)[1]


def test_thoughts_are_not_told_back() -> None:
    assert "secret" not in debug_reply("<think>secret</think>I would discover a ball.")[1]
