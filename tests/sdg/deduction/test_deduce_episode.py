"""One instruction is one episode: programs follow one another in the same world until it is done or over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from sdg.agents.agents import PlannerAgent, Task, play_task, rules_gate
from sdg.deduction.deduce import MAX_MENDS, DeductionSettings, Planner, ProgramLimits, Toolkit, deduce
from sdg.deduction.episode import MAX_RECORDED_CALLS, UNFINISHED, Episode, Interaction
from sdg.deduction.protocols import CalledSkill, primitive_skills
from sdg.envs.babyai.domain import BABYAI, BABYAI_PAPER
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.domain import Domain
from sdg.envs.world import StepResult
from sdg.gate.executor import GuardChain
from sdg.gate.rules import RulesGuard
from sdg.llm.model import Completion, Message, ModelError, NotRecorded, Sampling
from sdg.prompts.sources import amend_source
from tests.shared.scripted_skills import scripted_skills

SEED = 2_000_000
AWAY = SEED + 2
"""A start from which looking for what isn't there doesn't come upon the goal."""
SOLVE = "def program():\n    thing = '{}'\n    discover(thing)\n    go_next_to(thing)\n"


@dataclass
class Model:
    """Gives the replies it was given, in order; an exception is raised."""

    replies: list[str | Exception]
    asked: list[str] = field(default_factory=list)
    name: str = "scripted"

    def complete(self, messages: Sequence[Message], *, sampling: Sampling = Sampling()) -> Completion:
        self.asked.append(messages[-1].content)
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, self.name, prompt_tokens=100, completion_tokens=10)


@dataclass
class Prompts:
    """Words nothing, remembers the failures it was told of."""

    failures: list[Interaction] = field(default_factory=list)
    limits: list[ProgramLimits] = field(default_factory=list)

    def ask(
        self,
        instruction: str,
        *,
        skills: Sequence[CalledSkill],
        limits: ProgramLimits,
        failure: Interaction | None = None,
    ) -> Sequence[Message]:
        self.limits.append(limits)
        self.failures += [failure] if failure else []
        return [Message("user", failure.error if failure else instruction)]

    def mend(self, asked: Sequence[Message], *, reply: str, problem: str) -> Sequence[Message]:
        return [*asked, Message("assistant", reply), Message("user", problem)]


def fence(source: str) -> str:
    return f"Here is the program:\n```python\n{source}```\nIt does it."


def play_replies(
    *replies: str | Exception,
    level: str = "GoToLocal",
    start: int = SEED,
    restarts: bool = False,
    domain: Domain = BABYAI,
    **settings: int,
) -> tuple[Episode, Model, Prompts]:
    world = BabyAIWorld(level)
    world.reset(start)
    model, prompts = Model([*replies]), Prompts()
    skills = scripted_skills()
    # Without the world's own sense, so that a program may waste steps.
    rules = RulesGuard({name: skill.usage for name, skill in skills.items()}, resolve=BABYAI.language.resolve)
    episode = deduce(
        world,
        planner=Planner(model, prompts),
        toolkit=Toolkit(domain, skills, GuardChain(rules=[rules])),
        seed=0,
        settings=DeductionSettings(**settings),
        restart=(lambda: world.reset(start)) if restarts else None,
    )
    return episode, model, prompts


def goal(start: int = SEED) -> str:
    world = BabyAIWorld("GoToLocal")
    world.reset(start)
    return world.mission.removeprefix("go to ")


def test_done_at_the_first_interaction() -> None:
    episode, model, _ = play_replies(fence(SOLVE.format(goal())))
    assert episode.success
    assert episode.cause == ""
    assert (episode.llm_calls, len(model.asked), episode.row()["tokens"]) == (1, 1, 110)
    assert 0 < episode.steps <= episode.max_steps
    assert model.asked == [episode.instruction]


def test_the_debug_prompt_is_told_what_went_wrong_and_where() -> None:
    wrong = "def program():\n    discover('object')\n    go_next_to('grey door')\n"
    episode, _, prompts = play_replies(fence(wrong), fence(SOLVE.format(goal())))
    assert episode.success
    assert [interaction.cause for interaction in episode.interactions] == ["refused", ""]
    (failure,) = prompts.failures
    assert [limit.programs for limit in prompts.limits] == [4, 3]
    assert prompts.limits[1].steps == 64 - failure.ended
    assert failure.program == wrong
    assert "line 3: nothing that matches 'grey door'" in failure.error
    assert "go_next_to('grey door')" in failure.error
    assert "The robot is at" in failure.state
    assert str(failure.calls[0]).startswith("line 2: discover('object')")


@pytest.mark.parametrize("domain", [BABYAI, BABYAI_PAPER], ids=lambda domain: domain.name)
def test_the_first_prompt_and_repairs_describe_the_world_in_the_preset_s_view(domain: Domain) -> None:
    world = BabyAIWorld("GoToLocal")
    world.reset(SEED)
    view = domain.perceivable.code_view(world.perception()).describe()
    _, _, prompts = play_replies(fence("def program():\n    pass\n"), interactions=2, domain=domain)
    assert [limit.state for limit in prompts.limits] == [view, view]
    assert [failure.state for failure in prompts.failures] == [view]


def test_an_unfinished_program_is_told_so() -> None:
    episode, model, prompts = play_replies(fence("def program():\n    discover('object')\n"), interactions=2)
    assert (episode.success, episode.cause) == (False, "unfinished")
    assert "the instruction is not carried out" in prompts.failures[0].error
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ("", "no program"),
        ("I can't do that.", "no program"),
        (fence("x = 1\n"), "no program"),
        (fence("def program(:\n"), "no program"),
        (fence("def program():\n    fly()\n"), "no program"),
        (fence("def program():\n    [][0]\n"), "program error"),
        (fence("def program():\n    while True:\n        get_steps()\n"), "program error"),
        (fence("def program():\n    pick('the red sun')\n"), "refused"),
        ("\x00\ud800" * 10, "no program"),
    ],
)
def test_bad_replies_cost_no_step_and_what_is_no_program_no_interaction(reply: str, cause: str) -> None:
    episode, model, _ = play_replies(reply, interactions=3)
    assert episode.cause == cause
    assert episode.steps == 0
    exchanges = 1 + MAX_MENDS if cause == "no program" else 1
    assert len(model.asked) == episode.llm_calls == 3 * exchanges
    assert episode.row()["tokens"] == 110 * 3 * exchanges
    json.dumps(episode.row())


def test_a_reply_that_is_no_program_is_mended_at_once() -> None:
    episode, model, prompts = play_replies(
        "I would look first.", fence("def program():\n    fly()\n"), fence(SOLVE.format(goal()))
    )
    assert episode.success
    assert (len(episode.interactions), episode.llm_calls) == (1, 3)
    assert not prompts.failures
    assert "fly" in model.asked[2]


def test_functions_that_a_repair_leaves_out_stay_as_they_were() -> None:
    first = "def go(what):\n    discover('object')\n\n\ndef program():\n    go('object')\n"
    second = f"def go(what):\n    discover(what)\n    go_next_to('{goal()}')\n"
    episode, _, _ = play_replies(fence(first), fence(second))
    assert episode.success
    assert "go('object')" in episode.interactions[1].program


def test_a_program_hands_back_while_a_third_of_the_steps_is_left() -> None:
    wasting = "def program():\n    while True:\n        discover('red door')\n"
    episode, _, prompts = play_replies(fence(wasting), fence(SOLVE.format(goal(AWAY))), start=AWAY, attempts=1)
    first = episode.interactions[0]
    assert first.cause == "stopped"
    assert "so that another program can use the rest" in prompts.failures[0].error
    assert 2 * episode.max_steps // 3 <= first.ended < episode.max_steps


def test_interactions_share_one_episode_and_its_time() -> None:
    away = "def program():\n    for _ in range(3):\n        discover('red door')\n"
    episode, model, _ = play_replies(fence(away), start=AWAY, attempts=1)
    first, second = episode.interactions
    assert first.cause == "stopped"
    assert (first.began, second.began) == (0, first.ended)
    assert episode.cause == "out of time"
    assert episode.steps == episode.max_steps == 64
    assert len(model.asked) == len(episode.interactions), "no planning once the episode is over"


def test_restarting_is_the_other_mode() -> None:
    wasting = "def program():\n    forget_visited_rooms()\n    while True:\n        discover('red door')\n"
    episode, model, _ = play_replies(fence(wasting), fence(SOLVE.format(goal(AWAY))), start=AWAY, restarts=True)
    assert episode.success
    assert episode.forgot == (0,)
    assert [interaction.cause for interaction in episode.interactions] == ["out of time", ""]
    assert episode.interactions[1].began == 0
    assert episode.steps > 64
    assert len(model.asked) == 2


def test_a_mission_done_wrongly_is_over() -> None:
    class Strict(BabyAIWorld):
        """Ends without a reward at the third step, as strict levels do."""

        def step(self, action: int) -> StepResult:
            super().step(action)
            return StepResult(0.0, terminated=self.steps == 3, truncated=False)

    world = Strict("GoToLocal")
    world.reset(SEED)
    model, skills = Model([fence("def program():\n    discover('red door')\n")]), scripted_skills()
    toolkit = Toolkit(BABYAI, skills, rules_gate(skills, BABYAI))
    episode = deduce(world, planner=Planner(model, Prompts()), toolkit=toolkit, seed=0)
    assert (episode.success, episode.cause, episode.steps) == (False, "mission failed", 3)
    assert len(model.asked) == 1


def test_a_model_that_is_gone_leaves_the_episode_unfinished() -> None:
    with pytest.raises(ModelError):
        play_replies(ModelError("no reply after 3 tries"))


def test_a_recording_that_holds_no_repair_ends_the_episode_alone() -> None:
    """Skills that were learned otherwise than in the recorded run fail where those did not."""
    episode, model, _ = play_replies(fence("def program():\n    pass\n"), NotRecorded("has 1 replies"))
    assert (episode.success, episode.cause, len(episode.interactions), len(model.asked)) == (False, UNFINISHED, 1, 2)
    with pytest.raises(NotRecorded):
        play_replies(NotRecorded("has 0 replies"))


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        DeductionSettings(interactions=0)


def agent(reply: str, name: str = "sdg") -> PlannerAgent:
    return PlannerAgent(name, lambda seed: Planner(Model([reply]), Prompts()), scripted_skills())


def test_the_same_task_gives_the_same_row() -> None:
    task = Task("GoToLocal", SEED, repeat=2)
    first, second = (play_task(agent(fence(SOLVE.format(goal()))), task, bot_steps=5) for _ in range(2))
    assert first.pop("seconds") > 0
    second.pop("seconds")
    assert first == second
    assert first["unit"] == f"sdg/GoToLocal/{SEED}/2"
    assert (first["bot_steps"], first["llm_calls"], first["interactions"]) == (5, 1, 1)
    assert first["trace"][0]["calls"][0]["name"] == "discover"
    json.dumps(first)


def test_primitive_actions_under_the_same_harness() -> None:
    source = (
        "def program():\n    while True:\n        if not move_forward():\n            turn_left()\n        pick()\n"
    )
    planner = Planner(Model([fence(source)]), Prompts())
    agent = PlannerAgent("sdg-action", lambda seed: planner, primitive_skills(BABYAI), settings=DeductionSettings(1))
    row = play_task(agent, Task("Open", SEED))
    assert row["agent"] == "sdg-action"
    assert row["steps"] == len(row["actions"]) == row["skill_calls"]
    assert len(row["trace"][0]["calls"]) == min(row["skill_calls"], MAX_RECORDED_CALLS)
    assert {2, 3} <= set(row["actions"])
    calls = [call for call in row["trace"][0]["calls"] if call["name"] == "pick"]
    assert not calls[0]["success"], "picking up nothing changes nothing"
    assert "changed nothing" in calls[0]["message"]


def test_what_a_program_leaves_out_does_not_replace_what_is_given() -> None:
    earlier = (
        "def go():\n    pass\n\n\ndef min(x):\n    pass\n\n\ndef near():\n    pass\n\n\ndef program():\n    go()\n"
    )
    source = "def program():\n    near = min([go()])\n    return near\n"
    assert amend_source(source, "program", earlier=earlier, given=["go"]) == source


def test_imports_of_kept_functions_are_kept() -> None:
    earlier = "from collections import deque\n\n\ndef go():\n    return deque([1])\n\n\ndef program():\n    pass\n"
    assert amend_source("def program():\n    go()\n", "program", earlier=earlier).startswith(
        "from collections import deque"
    )
