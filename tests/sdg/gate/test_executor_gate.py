"""Nobody acts without a verdict: refused does nothing, incomplete is no success, errors keep the gate shut."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from sdg.agents.agents import rules_gate
from sdg.deduction.robot import Robot
from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.world import BabyAIWorld
from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import Command, GatedExecutor, IllegalCommand, OpenGate, Outcome, SkillResult, Verdict
from sdg.llm.model import BudgetExceeded
from tests.shared.scripted_skills import scripted_skills

COMMAND = Command("pick", "the red ball")


@dataclass
class Body:
    """A body that records what happens, in order."""

    performed: SkillResult | Exception = field(default_factory=lambda: SkillResult(True, 3, 1))
    log: list[str] = field(default_factory=list)

    def observe(self) -> Observation:
        self.log.append("observe")
        return PlainObservation(f"view {len(self.log)}")

    def perform(self, command: Command) -> SkillResult:
        self.log.append("perform")
        if isinstance(self.performed, Exception):
            raise self.performed
        return self.performed


@dataclass
class Gate:
    """A gate with one answer to each verb; an exception is raised."""

    log: list[str]
    feasible_answer: object = Verdict(True, "fine")
    complete_answer: object = Verdict(True, "done")
    source: str = "test-gate"

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        self.log.append(f"feasible {observation.text}")
        return self._answer(self.feasible_answer)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        self.log.append(f"complete {before.text} {after.text}")
        return self._answer(self.complete_answer)

    def _answer(self, answer: object) -> Verdict:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]


def execute(body: Body, **answers: object) -> Outcome:
    return GatedExecutor(body, Gate(body.log, **answers)).execute(COMMAND)  # type: ignore[arg-type]


def test_the_gate_is_asked_before_and_after() -> None:
    body = Body()
    outcome = execute(body)
    assert body.log == ["observe", "feasible view 1", "perform", "observe", "complete view 1 view 4"]
    assert outcome.success
    assert outcome.steps == 3
    assert [verdict.reason for verdict in outcome.verdicts] == ["fine", "done"]


@pytest.mark.parametrize("answer", [Verdict(False, "not there", source="rules"), RuntimeError("broken"), None, True])
def test_what_is_not_allowed_is_not_done(answer: object) -> None:
    body = Body()
    outcome = execute(body, feasible_answer=answer)
    assert "perform" not in body.log
    assert not outcome.success
    assert outcome.error == outcome.verdicts[0].reason
    assert isinstance(answer, Verdict) or "test-gate" in outcome.error


@pytest.mark.parametrize("answer", [Verdict(False, "the hand is empty"), RuntimeError("broken"), None])
def test_what_is_incomplete_is_no_success_and_no_error(answer: object) -> None:
    outcome = execute(Body(), complete_answer=answer)
    assert not outcome.success
    assert outcome.error == ""
    assert outcome.steps == 3
    assert outcome.reason == outcome.verdicts[1].reason


def test_what_was_not_reached_is_no_success_whatever_a_guard_says() -> None:
    body = Body(SkillResult(False, 30, 2))
    outcome = execute(body)
    assert not outcome.success
    assert len(outcome.verdicts) == 2
    assert "30 steps and 2 attempts" in outcome.reason


def test_what_needed_no_step_is_judged_on_one_moment_by_a_guard() -> None:
    body = Body(SkillResult(True, 0, 0))
    assert execute(body).success
    assert body.log[-1] == "complete view 1 view 1"
    assert not execute(Body(SkillResult(True, 0, 0)), complete_answer=Verdict(False, "it is not so")).success


def test_an_illegal_command_is_a_value_and_other_errors_are_ours() -> None:
    outcome = execute(Body(IllegalCommand("there is no such skill")))
    assert (outcome.success, outcome.error) == (False, "there is no such skill")
    with pytest.raises(ZeroDivisionError):
        execute(Body(ZeroDivisionError()))


def test_a_spent_budget_ends_the_run() -> None:
    with pytest.raises(BudgetExceeded):
        execute(Body(), feasible_answer=BudgetExceeded("spent"))


def robot(seed: int = 2_000_000, level: str = "PickupLoc") -> Robot:
    world = BabyAIWorld(level)
    world.reset(seed)
    return Robot(world, scripted_skills(), domain=BABYAI, rng=np.random.default_rng(0))


def test_a_robot_behind_the_rules() -> None:
    body = robot()
    executor = GatedExecutor(body, rules_gate(body.skills, BABYAI))
    thing = next(element for element in body.observe().elements if element.type != "door")
    assert "grey door" not in [element.name for element in body.observe().elements]
    refused = executor.execute(Command("go_next_to", "the grey door"))
    assert "'the grey door' has been seen" in refused.error
    assert body.actions == []
    reached = executor.execute(Command("go_next_to", f"{thing.name} #{thing.id}"))
    assert reached.success
    assert reached.steps == len(body.actions)
    again = executor.execute(Command("go_next_to", f"{thing.name} #{thing.id}"))
    assert (again.success, again.steps) == (True, 0)


def test_an_open_gate_leaves_it_to_the_robot() -> None:
    body = robot()
    executor = GatedExecutor(body, OpenGate())
    assert executor.execute(Command("fly", "the red ball")).error.startswith("there is no skill")
    outcome = executor.execute(Command("go_next_to", "the grey door"))
    assert outcome.error == ""
    assert outcome.steps > 0


def test_what_controls_a_terminal_is_shown_in_a_command() -> None:
    assert str(Command("look\x1b[2J\nsend", "x")) == r"look\x1b[2J\nsend('x')"
    assert str(Command("Täp")) == "Täp()"
