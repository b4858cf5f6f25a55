"""Where commands of episodes began: the engine, replaying a journal row, knows what the robot knew at that moment."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sdg.agents.agents import Task, play_task
from sdg.deduction.library_skills import options_of
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.perception.memory import Memory, begin_subgoal
from sdg.envs.babyai.world import BabyAIWorld
from sdg.experiments.play.players import PlannerRecipe, ProgramRecipe
from sdg.experiments.results.comparison import SHIPPED
from sdg.induction.skill_requests import collect_requests, skill_requests, starts_of
from sdg.skills.library.store import load_library
from sdg.skills.practice.starts import perturb_starts
from sdg.skills.subgoal import CheckFunction
from training.library import measure_skills

NEVER_TRUE = CheckFunction("reached", "def reached():\n    return False\n")
ACTIONS = (2, 1, 2, 2, 0, 2, 5, 2, 2, 1, 2, 3, 4, 0, 2, 2)
FORGOT = (4, 9)


def _row(level: str, seed: int, calls: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"unit": f"sdg/{level}/{seed}/0", "agent": "sdg", "success": True, "steps": len(ACTIONS), "max_steps": 99}
    played = {"actions": list(ACTIONS), "forgot": list(FORGOT), "trace": [{"calls": calls}]}
    return head | {"level": level, "seed": seed} | played


def _call(name: str, argument: str, began: int, *, refused: bool = False) -> dict[str, Any]:
    return {"name": name, "argument": argument, "began": began, "refused": refused}


def _memory_at(level: str, seed: int, began: int) -> Memory:
    """What a robot in minigrid knows then."""
    world = BabyAIWorld(level, lift_time_limit=True)
    world.reset(seed)
    for step, action in enumerate(ACTIONS[:began]):
        if step in FORGOT:
            world.forget()
        world.step(action)
    if began in FORGOT:
        world.forget()
    world.begin_subgoal()
    return world.memory


def test_a_start_is_what_the_robot_knew_when_the_command_began() -> None:
    times = (0, 4, 7, 9, 16)
    calls = [_call("walk", "red ball", began) for began in times]
    rows = [_row("GoTo", seed, calls) for seed in (2_000_001, 2_000_002)]
    starts = starts_of(skill_requests(rows, lambda command: NEVER_TRUE), BABYAI)
    assert starts is not None
    assert len(starts) == 10
    for number, (seed, began) in enumerate(itertools.product((2_000_001, 2_000_002), times)):
        expected = _memory_at("GoTo", seed, began)
        for name, mine, remembered in zip(Memory._fields, starts.memory, expected, strict=True):
            assert (mine[number] == remembered[0]).all(), (name, seed, began)


def test_refused_commands_and_other_skills_are_left_out() -> None:
    calls = [_call("walk", "red ball", 0), _call("walk", "red ball", 3, refused=True), _call("lift", "key", 5)]
    starts = starts_of(
        skill_requests(
            [_row("GoTo", 2_000_001, calls)], lambda command: NEVER_TRUE if command.name == "walk" else None
        ),
        BABYAI,
    )
    assert starts is not None
    assert len(starts) == 1
    assert starts_of(skill_requests([_row("GoTo", 2_000_001, calls)], lambda command: None), BABYAI) is None


def test_what_is_judged_was_not_practised() -> None:
    """Of eight layouts two judge; only what was asked of a skill, and wasn't done already, is either."""
    library = load_library(SHIPPED)
    name = next(skill.name for skill in library.skills if "go next to the key" in skill.members)
    rows = [_row("GoToLocal", 2_000_001 + i, [_call(name, "purple ball", 0)] * (1 + i % 4)) for i in range(8)]
    labels = list(range(10, 10 + len(library.skills)))
    requests = collect_requests(library, labels, rows)
    assert list(requests) == labels
    mine = requests[labels[[skill.name for skill in library.skills].index(name)]]
    assert mine.practised is not None
    assert mine.judged is not None
    assert len(mine.judged) <= 1 + 1
    assert len(mine.practised) <= 2 * (2 + 3 + 4)
    others = [request for label, request in requests.items() if request is not mine]
    assert all(request.practised is None and request.judged is None for request in others)


def test_an_episode_s_row_says_all_that_its_robot_knew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner plays; what every command knew as it began is what the engine makes of the episode's row."""
    memories: list[Memory] = []

    def remember(world: BabyAIWorld) -> None:
        begin_subgoal(world.memory, 0)
        memories.append(Memory(*(column.copy() for column in world.memory)))

    monkeypatch.setattr(BabyAIWorld, "begin_subgoal", remember)
    body = "scan_room()", "forget_visited_rooms()", "scan_room()", "turn_right()", "search_for('ball')"
    forgetful = "\n    ".join(("def program():", *body))
    agents = PlannerRecipe("sdg", SHIPPED).build(), ProgramRecipe("forgetful", SHIPPED, (forgetful,)).build()
    rows = [play_task(agent, Task("SynthSeq", 2_990_003)) for agent in agents]
    assert any(row["forgot"] for row in rows)
    starts = starts_of(skill_requests(rows, lambda command: NEVER_TRUE), BABYAI)
    assert starts is not None
    assert len(starts) == len(memories)
    for number, (call, expected) in enumerate(zip(_calls(rows), memories, strict=True)):
        if call["forgot_after"]:
            continue  # It took no step, and what came after it was forgotten at the same moment.
        for name, mine, remembered in zip(Memory._fields, starts.memory, expected, strict=True):
            assert (mine[number] == remembered[0]).all(), (name, call)


def _calls(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls = []
    for i, row in enumerate(rows):
        for step in row["trace"]:
            for call in step["calls"]:
                if not call["refused"]:
                    forgot_after = not call["steps"] and call["began"] in row["forgot"]
                    calls.append(call | {"row": i, "forgot_after": forgot_after})
    return calls


def test_figures_of_skills_do_not_depend_on_the_order_of_episodes() -> None:
    agent = PlannerRecipe("sdg", SHIPPED).build()
    rows = [play_task(agent, Task("PutNextLocal", seed)) for seed in range(2_990_000, 2_990_008)]
    options = options_of(load_library(SHIPPED))
    measured = measure_skills(options, rows, most=5, seed=1)
    assert measured == measure_skills(options, rows[::-1], most=5, seed=1)
    assert sum(row.get("commands", 0) for row in measured) > 5


def test_wandering_moves_robots_and_nothing_else() -> None:
    calls = [_call("walk", "red ball", 0)]
    starts = starts_of(
        skill_requests(
            [_row("PutNextLocal", seed, calls) for seed in range(2_000_001, 2_000_021)], lambda c: NEVER_TRUE
        ),
        BABYAI,
    )
    assert starts is not None
    near = perturb_starts(starts, most=6, seed=3)
    assert (near.rows.state.cells == starts.rows.state.cells).all()
    assert (near.memory.carried == starts.memory.carried).all()
    assert (near.memory.steps <= 6).all()
    assert (near.memory.began_at == near.memory.steps).all()
    assert (near.rows.state.spot != starts.rows.state.spot).any()
    again = perturb_starts(starts, most=6, seed=3)
    assert (again.rows.state.spot == near.rows.state.spot).all()
    assert (perturb_starts(starts, most=0, seed=3).rows.state.spot == starts.rows.state.spot).all()
