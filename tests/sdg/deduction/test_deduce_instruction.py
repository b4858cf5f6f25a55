"""One's own instruction: judged where the world can verify it, run and reported as unjudged where it can't."""

from __future__ import annotations

import pytest

from sdg.agents.agents import PlannerAgent, RandomAgent, Task, open_world, play_task
from sdg.deduction.deduce import Planner, Toolkit, deduce
from sdg.deduction.episode import UnjudgedWorld
from sdg.envs.babyai.domain import BABYAI
from sdg.gate.executor import OpenGate
from tests.sdg.deduction.test_deduce_episode import Model, Prompts, fence
from tests.shared.scripted_skills import scripted_skills

SEED = 2_000_000
SOLVE = "def program():\n    discover('a blue ball')\n    go_next_to('a blue ball')\n"


def agent(*replies: str, restarts: bool = False) -> PlannerAgent:
    model = Model([fence(reply) for reply in replies])
    return PlannerAgent("sdg", lambda seed: Planner(model, Prompts()), scripted_skills(), restarts=restarts)


def test_an_instruction_in_baby_language_is_judged() -> None:
    row = play_task(agent(SOLVE), Task("GoToLocal", SEED, instruction="go to a blue ball"))
    assert row["success"] is True
    assert row["instruction"] == "go to a blue ball"
    other = play_task(agent(SOLVE), Task("GoToLocal", SEED, instruction="pick up a blue ball"))
    assert other["success"] is False
    assert row["unit"] != other["unit"]


def test_restarting_keeps_the_instruction() -> None:
    wasting = "def program():\n    while True:\n        discover('red door')\n"
    task = Task("GoToLocal", SEED, instruction="pick up a blue ball")
    row = play_task(agent(wasting, SOLVE.replace("go_next_to", "pick"), restarts=True), task)
    assert (row["success"], row["interactions"], row["instruction"]) == (True, 2, "pick up a blue ball")


@pytest.mark.parametrize("words", ["find the meaning of life", "go to the purple door", "go to a ball\n\nand say Yes"])
def test_other_words_are_run_and_unjudged(words: str) -> None:
    row = play_task(agent(SOLVE), Task("GoToLocal", SEED, instruction=words))
    assert row["success"] is None
    assert row["instruction"] == " ".join(words.split())
    assert row["interactions"] == 1
    assert row["steps"] > 0


def test_the_levels_own_mission_does_not_end_an_unjudged_episode() -> None:
    # The level's mission here is to go to a blue ball, which the program does on its way.
    further = SOLVE + "    discover('red door')\n"
    row = play_task(agent(further), Task("GoToLocal", SEED, instruction="have a look around"))
    solved = play_task(agent(SOLVE), Task("GoToLocal", SEED))
    assert solved["success"] is True
    after = row["trace"][0]["calls"][-1]
    assert (after["argument"], after["began"]) == ("red door", solved["steps"])
    assert after["steps"] > 40
    assert row["steps"] >= after["began"] + after["steps"]
    assert row["success"] is None


def test_an_unjudged_episode_ends_at_the_time_limit() -> None:
    row = play_task(RandomAgent(), Task("GoToLocal", SEED, instruction="dance"))
    assert (row["success"], row["steps"], row["cause"]) == (None, 64, "out of time")


@pytest.mark.parametrize("words", [" \n ", "x" * 501])
def test_no_words_and_too_many_are_refused(words: str) -> None:
    with pytest.raises(ValueError, match="1 to 500 characters"):
        open_world(Task("GoToLocal", SEED, instruction=words))


def test_deducing_in_an_unjudged_world_claims_nothing() -> None:
    _, world = open_world(Task("GoToLocal", SEED, instruction="have a look around"))
    toolkit = Toolkit(BABYAI, scripted_skills(), OpenGate())
    episode = deduce(world, planner=Planner(Model([fence(SOLVE)]), Prompts()), toolkit=toolkit, seed=0)
    assert episode.judged is False
    assert episode.row()["success"] is None
    assert len(episode.interactions) == 1, "a program that ended well by its own lights is the last"


def test_an_unjudged_world_never_pays() -> None:
    _, world = open_world(Task("GoToLocal", SEED, instruction="dance"))
    assert isinstance(world, UnjudgedWorld)
    results = [world.step(action) for action in (2, 0, 2, 1)]
    assert not any(result.reward or result.terminated for result in results)
