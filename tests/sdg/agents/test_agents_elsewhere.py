"""Agents, prompts and gate in a world that nobody had in mind when they were written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from sdg.agents.agents import ChatAgent, PlannerAgent, RandomAgent, Task, open_world, play_task
from sdg.deduction.deduce import DeductionSettings, Planner, ProgramLimits
from sdg.deduction.episode import Interaction, UnjudgedWorld
from sdg.deduction.planner import Prompts
from sdg.deduction.protocols import primitive_skills
from sdg.envs.domains import domain
from sdg.hypothesis.hypothesize import prompt
from sdg.induction.translate import prompt as translate_prompt
from sdg.llm.model import Completion, Message, Sampling

CORRIDOR = domain("tests.envs.corridor:CORRIDOR")
TASK = Task("Visit", 2_000_000, domain_name="tests.envs.corridor:CORRIDOR")
LATER = """```python
def program():
    for n in range(9):
        go_right()
    for n in range(18):
        go_left()
```"""


@dataclass
class Model:
    """Always the same reply, and what it was asked."""

    reply: str
    asked: list[str] = field(default_factory=list)
    name: str = "scripted"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked += [message.content for message in messages]
        return Completion(self.reply, self.name, 1, 1)


def test_programs_over_its_actions_are_played_and_mended() -> None:
    model = Model(LATER)
    planner = Planner(model, Prompts(CORRIDOR))
    settings = DeductionSettings(interactions=2)
    agent = PlannerAgent("sdg-action", lambda seed: planner, primitive_skills(CORRIDOR), settings=settings)
    row = play_task(agent, TASK)
    assert row["skill_calls"] == row["steps"] > 0
    assert all(call["verdicts"] for call in row["trace"][0]["calls"])
    assert "go_right(): Go one cell to the right." in model.asked[0]
    assert "lamp" in model.asked[0]


def test_moves_are_named_and_drawn_from_its_actions() -> None:
    model = Model("go right")
    row = play_task(ChatAgent(model), TASK)
    assert set(row["actions"]) == {next(action.number for action in CORRIDOR.actions if action.name == "go_right")}
    assert "- go left: " in model.asked[0]
    drawn = play_task(RandomAgent(), TASK)["actions"]
    assert set(drawn) <= {action.number for action in CORRIDOR.actions}


def test_words_that_it_can_not_judge_are_played_unjudged() -> None:
    level, world = open_world(replace(TASK, instruction="sing a song"))
    assert (level, world.mission) == ("Visit", "sing a song")
    assert isinstance(world, UnjudgedWorld)
    with pytest.raises(ValueError, match="can't be given"):
        world.set_instruction("visit the red lamp")


def test_its_prompts_speak_of_no_other_world() -> None:
    messages = [
        *prompt("visit the red lamp", domain=CORRIDOR),
        *translate_prompt(["find the lamp"], domain=CORRIDOR),
        *Prompts(CORRIDOR).ask("visit the red lamp", skills=(), limits=ProgramLimits(20, 4, 400_000, 5)),
    ]
    words = "\n".join(message.content for message in messages)
    assert not re.findall(r"\b(?:maze|rooms?|doors?|box(?:es)?|balls?|keys?|grid)\b", words)
    assert "lamp" in words


def test_a_planner_is_shown_what_was_perceived_only_when_it_replans() -> None:
    world = CORRIDOR.open("Visit")
    world.reset(3)
    state, prompts, limits = world.perception().describe(), Prompts(CORRIDOR), ProgramLimits(20, 4, 400_000, 5)
    first = prompts.ask(world.mission, skills=(), limits=limits)
    again = prompts.ask(
        world.mission, skills=(), limits=limits, failure=Interaction("", "", "it failed", state, (), 0, 0)
    )
    assert state not in "".join(message.content for message in first)
    assert state in again[-1].content
