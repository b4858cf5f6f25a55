"""Programs act only through the executor; what they do wrong comes back in words, with its line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdg.agents.agents import rules_gate
from sdg.deduction.program import (
    MAX_FRUITLESS_CALLS,
    MAX_FRUITLESS_STEPS,
    NO_PROGRAM,
    PROGRAM_ERROR,
    REFUSED,
    STOPPED,
    ProgramResult,
    Scope,
    run_program,
)
from sdg.deduction.robot import Robot
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.gate.executor import Command, GatedExecutor, GateGuard, OpenGate, Verdict
from sdg.llm.model import BudgetExceeded
from sdg.skills.library.composed import ComposedSkill
from tests.shared.scripted_skills import Constant, ScriptedSkill, scripted_skills

SEED = 2_000_000


def run_code(
    source: str, *, level: str = "GoToLocal", gate: GateGuard | None = None, seed: int = SEED
) -> tuple[ProgramResult, Robot]:
    world = BabyAIWorld(level)
    world.reset(seed)
    robot = Robot(world, scripted_skills(), domain=BABYAI, rng=np.random.default_rng(0))
    scope = Scope(robot, GatedExecutor(robot, gate or rules_gate(robot.skills, BABYAI)))
    return run_program(source, scope, budget=20_000), robot


def test_a_program_that_solves_its_mission() -> None:
    ran, robot = run_code("""
def program():
    for thing in find_objects("object"):
        if discover(thing.name):
            go_next_to(thing)
""")
    assert (ran.error, ran.cause) == ("", "")
    assert len(ran.calls) >= 2
    assert ran.calls[1].command.argument.endswith(f"#{ran.calls[1].command.argument[-1]}")
    assert sum(call.steps for call in ran.calls) == len(robot.actions)


def test_calls_are_logged_with_their_lines() -> None:
    ran, _ = run_code("def program():\n    discover('object')\n    for _ in range(2):\n        go_next_to('object')\n")
    assert [call.line for call in ran.calls] == [2, 4, 4]
    assert [call.command.name for call in ran.calls] == ["discover", "go_next_to", "go_next_to"]
    assert ran.calls[1].verdicts
    assert str(ran.calls[0]).startswith("line 2: discover('object') -> True after 0 steps")


def test_perception_is_live() -> None:
    ran, robot = run_code("""
def program():
    before = get_steps()
    go_next_to("object")
    if get_steps() == before or get_facing() is None:
        raise ValueError("stale")
""")
    assert ran.error == ""
    assert robot.actions


@pytest.mark.parametrize(
    ("source", "cause", "line", "says"),
    [
        ("def program(:\n    pass\n", NO_PROGRAM, 1, "valid Python"),
        ("def plan():\n    pass\n", NO_PROGRAM, 0, "program"),
        ("import os\ndef program():\n    pass\n", NO_PROGRAM, 1, ""),
        ("def program():\n    teleport('red ball')\n", NO_PROGRAM, 2, "teleport"),
        ("def program():\n    x = 1\n    return x.__class__\n", NO_PROGRAM, 3, "__class__"),
        (
            "def program():\n    go_next_to('the grey door')\n",
            REFUSED,
            2,
            "nothing that matches 'the grey door' has been seen so far",
        ),
        ("def program():\n    x = 1\n    go_next_to('the happy dog')\n", REFUSED, 3, "door|key|ball|box"),
        ("def program():\n    go_next_to(None)\n", REFUSED, 2, "was the list empty"),
        ("def program():\n    go_next_to((1, 2))\n", REFUSED, 2, "tuple"),
        ("def program():\n    x = [][0]\n    return x\n", PROGRAM_ERROR, 2, "IndexError"),
        ("def program():\n    while True:\n        get_steps()\n", PROGRAM_ERROR, 0, "20000 steps"),
        (
            "def program():\n    while 1:\n        try:\n            pick('x')\n        except Exception: 1\n",
            PROGRAM_ERROR,
            4,
            "1000 skill calls took no step",
        ),
    ],
)
def test_errors_speak_to_whoever_wrote_it(source: str, cause: str, line: int, says: str) -> None:
    ran, robot = run_code(source)
    assert ran.cause == cause
    assert says in ran.error
    assert robot.actions == []
    if line:
        assert f"line {line}:" in ran.error
        assert source.split("\n")[line - 1].strip() in ran.error


def test_wrong_arity_is_told_before_or_when_it_runs() -> None:
    for call in ("go_next_to()", "go_next_to('red ball', 'blue key')"):
        ran, robot = run_code(f"def program():\n    {call}\n")
        assert ran.cause in (NO_PROGRAM, PROGRAM_ERROR)
        assert "argument" in ran.error
        assert robot.actions == []


def test_the_argument_may_be_named() -> None:
    ran, _ = run_code("def program():\n    go_next_to(object='object')\n")
    assert ran.error == ""
    assert ran.calls[0].command == Command("go_next_to", "object")


def test_a_program_may_be_twice_the_worked_example_and_no_longer() -> None:
    body = "def program():\n    return len(get_observed_objects())\n"
    ran, _ = run_code(body + "#" * 15_000)
    assert ran.cause != NO_PROGRAM
    ran, _ = run_code(body + "#" * 17_000)
    assert ran.cause == NO_PROGRAM
    assert "leave out comments" in ran.error


def test_a_refusal_can_be_caught_by_name_and_answered() -> None:
    ran, robot = run_code("""
def program():
    try:
        go_next_to("the grey door")
    except CommandError:
        go_next_to("object")
""")
    assert ran.error == ""
    assert [call.refused for call in ran.calls] == [True, False]
    assert robot.actions


def test_no_program_outlives_its_episode() -> None:
    # Behind an open gate: the rules refuse to look on for what can't be found, and what is refused takes no step.
    ran, robot = run_code(
        """
def program():
    while True:
        try:
            discover("grey door")
        except Exception:
            pass
        finally:
            get_steps()
""",
        gate=OpenGate(),
        seed=SEED + 2,
    )
    assert robot.ending.out_of_time
    assert len(robot.actions) == 64
    assert ran.error == ""


class Breaking:
    """A gate with a budget that is spent."""

    source = "breaking"

    def feasible(self, command: Command, observation: object) -> Verdict:
        raise BudgetExceeded("the token budget is spent")

    complete = feasible  # type: ignore[assignment]


def test_a_program_cannot_swallow_what_ends_the_run() -> None:
    source = "def program():\n    try:\n        discover('object')\n    except Exception:\n        pass\n"
    with pytest.raises(BudgetExceeded, match="token budget"):
        run_code(source, gate=Breaking())  # type: ignore[arg-type]


def test_rooms_can_be_forgotten() -> None:
    ran, _ = run_code("def program():\n    forget_visited_rooms()\n    if get_visited_rooms() != [0]:\n        [][0]\n")
    assert ran.error == ""


def test_a_program_that_leaves_no_room_on_the_stack_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much room there is depends on the interpreter, so the stack is said to be full instead of being filled."""

    def overflows(self: GatedExecutor, command: Command) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(GatedExecutor, "execute", overflows)
    source = """
def program():
    try:
        discover("object")
    except RecursionError:
        return True
"""
    ran, _ = run_code(source)
    assert ran.cause == PROGRAM_ERROR
    assert "called from too deep" in ran.error


def test_a_helper_with_the_name_of_a_skill_wins() -> None:
    ran, _ = run_code("""
def discover(what, times):
    return [what] * times


def program():
    if discover("object", 2) != ["object", "object"]:
        raise ValueError("the skill was called")
    go_next_to("object")
""")
    assert (ran.error, ran.cause) == ("", "")
    assert [call.command.name for call in ran.calls] == ["go_next_to"], "the helper is no command"


def test_a_wrapper_with_the_name_of_a_skill_is_told_that_it_calls_itself() -> None:
    wrapper = "def go_next_to(x):\n    return go_next_to(x)\n\n\n"
    ran, robot = run_code(wrapper + "def program():\n    go_next_to('object')\n")
    assert ran.cause == NO_PROGRAM
    assert "line 1: go_next_to is given, and in a function of that name it means itself" in ran.error
    assert robot.actions == []


def scope_with(composed: dict[str, ComposedSkill]) -> Scope:
    """What a program may call in a new world: scripted skills and these composed ones."""
    world = BabyAIWorld("GoToLocal")
    world.reset(SEED)
    robot = Robot(world, scripted_skills(), domain=BABYAI, rng=np.random.default_rng(0))
    return Scope(robot, GatedExecutor(robot, rules_gate(robot.skills, BABYAI)), composed=composed)


@pytest.mark.parametrize(
    ("kind", "argument", "is_fault"),
    [("position", "(0, 1)", False), ("position", "()", True), ("position", "(1,)", True),
     ("position", "(1, 2, 3)", True), ("number", "2", False), ("number", "True", True)],
)  # fmt: skip
def test_a_composed_skills_argument_is_of_its_kind(kind: str, argument: str, is_fault: bool) -> None:
    linked = (
        "def idle(where):\n    require_argument(where, 'where', 'KIND')\n    skill_begins('idle', False)\n"
        "    return skill_result('idle', True, True)\n"
    ).replace("KIND", kind)
    idle = ComposedSkill("idle", (), "Waits.", "nothing", "nothing", linked, calls=())
    scope = scope_with({"idle": idle})
    ran = run_program(f"def program():\n    idle({argument})\n", scope, budget=20_000)
    assert ("its argument is a" in ran.error) == is_fault, ran.error


@pytest.mark.parametrize("meddling", ["skill_result('idle', True, True)", "skill_begins('idle', False)"])
def test_what_came_of_composed_skills_cannot_be_forged(meddling: str) -> None:
    """These are functions of the host's that linked source alone may call."""
    linked = "def idle():\n    skill_begins('idle', False)\n    return skill_result('idle', True, any([False]))\n"
    idle = ComposedSkill("idle", (), "Waits.", "nothing", "nothing", linked, calls=())
    scope = scope_with({"idle": idle})
    forged = f"def program():\n    {meddling}\n    idle()\n"
    assert run_program(forged, scope, budget=20_000).cause == NO_PROGRAM
    assert scope.composed.log == ()
    honest = "def program():\n    idle()\n"
    assert run_program(honest, scope, budget=20_000).cause == ""
    assert [(call.before, call.said, call.after) for call in scope.composed.log] == [(False, True, False)]


def test_composed_skills_whose_check_fails_end_the_program_alone() -> None:
    """Their calls within one another end without a result, and a stranger's may end without having begun."""
    wrapped = (
        "def {0}():\n    skill_begins('{0}', False)\n    try:\n        said = {1}\n    except Exception:\n"
        "        skill_result('{0}', None, False)\n        raise\n    return skill_result('{0}', said, {2})\n"
    )
    sources = {
        "inner": wrapped.format("inner", "True", "[][0]"),
        "outer": wrapped.format("outer", "inner()", "True"),
        "idle": "def idle():\n    return skill_result('idle', True, True)\n",
    }
    skills = {name: ComposedSkill(name, (), "Waits.", "", "", text, calls=()) for name, text in sources.items()}
    skills["outer"] = replace(skills["outer"], uses=("inner",) * 300)
    scope = scope_with(skills)
    failed = run_program("def program():\n    outer()\n", scope, budget=20_000)
    assert "IndexError" in failed.error
    assert [(call.name, call.said, call.after) for call in scope.composed.log] == [
        ("inner", None, False), ("outer", None, False),
    ]  # fmt: skip
    assert "idle ends, but never began" in run_program("def program():\n    idle()\n", scope, budget=20_000).error


def test_more_composed_code_than_loads_in_seconds_is_refused_before_it_is_loaded() -> None:
    long = "def idle():\n    return skill_result('idle', True, True)\n" + "def more(x):\n    return x\n" * 2_600
    idle = ComposedSkill("idle", (), "Waits.", "", "", long, calls=())
    scope = scope_with({"idle": idle})
    ran = run_program("def program():\n    idle()\n", scope, budget=20_000)
    assert ran.cause == NO_PROGRAM
    assert "have more than 65536 bytes of code" in ran.error


@pytest.mark.parametrize("name", ["find_objects", "get_facing", "get_carried"])
def test_perception_cannot_be_rebound(name: str) -> None:
    ran, robot = run_code(f"def program():\n    {name} = []\n    go_next_to('object')\n")
    assert ran.cause == NO_PROGRAM
    assert name in ran.error
    assert (ran.calls, robot.actions) == ((), [])


def test_a_program_whose_calls_come_to_nothing_is_stopped() -> None:
    world = BabyAIWorld("BossLevel")
    world.reset(SEED)
    spinning = {"go_next_to": ScriptedSkill("go_next_to", Constant(0), horizon=4)}
    robot = Robot(world, spinning, domain=BABYAI, rng=np.random.default_rng(0), attempts=1)
    loop = "def program():\n    for _ in range(99):\n        go_next_to(get_observed_objects()[0])\n"
    ran = run_program(loop, Scope(robot, GatedExecutor(robot, OpenGate())), budget=20_000)
    vain = [call for call in ran.calls if call.steps and not call.success]
    assert ran.cause == STOPPED
    assert len(vain) >= MAX_FRUITLESS_CALLS
    assert (
        MAX_FRUITLESS_STEPS <= sum(call.steps for call in vain[-MAX_FRUITLESS_STEPS // 4 :]) < MAX_FRUITLESS_STEPS + 4
    )
    assert "calls came to nothing since anything new was seen" in ran.error
    assert not robot.ending.over


def test_a_call_is_told_by_the_innermost_line() -> None:
    ran, _ = run_code("def helper():\n    go_next_to('object')\n\n\ndef program():\n    helper()\n")
    assert [call.line for call in ran.calls] == [2]
