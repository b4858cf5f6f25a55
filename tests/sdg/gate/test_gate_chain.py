"""The gate stays shut unless every guard opens it, and rules are asked before learned guards before models."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from sdg.envs.world import Observation, PlainObservation
from sdg.gate.executor import Command, GuardChain, OpenGate, Verdict
from sdg.llm.model import BudgetExceeded


class Mute(Exception):
    """An error that can't even be shown."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Unspeakable:
    """An answer that can't even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no words")


COMMAND, SEEN = Command("pick", "the red ball"), PlainObservation("a room")


@dataclass
class Guard:
    """Gives one answer to both verbs, or raises it."""

    source: str
    answer: object
    asked: list[str] = field(default_factory=list)

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        self.asked.append(self.source)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        return self.feasible(command, after)


def judge(gate: object, verb: str) -> Verdict:
    if verb == "feasible":
        return gate.feasible(COMMAND, SEEN)  # type: ignore[attr-defined]
    return gate.complete(COMMAND, SEEN, SEEN)  # type: ignore[attr-defined]


def passing(source: str, confidence: float = 1.0) -> Guard:
    return Guard(source, Verdict(True, "fine", confidence, source))


@pytest.mark.parametrize("verb", ["feasible", "complete"])
def test_rules_speak_before_learned_before_llm(verb: str) -> None:
    order: list[str] = []
    guards = {name: passing(name) for name in ("llm", "rules", "learned")}
    for guard in guards.values():
        guard.asked = order
    chain = GuardChain(llm=[guards["llm"]], learned=[guards["learned"]], rules=[guards["rules"]])
    assert judge(chain, verb).passed
    assert order == ["rules", "learned", "llm"]


@pytest.mark.parametrize("verb", ["feasible", "complete"])
def test_the_first_refusal_ends_the_asking(verb: str) -> None:
    dear = passing("llm")
    refusing = Guard("learned", Verdict(False, "not there", 0.7, "learned"))
    verdict = judge(GuardChain(rules=[passing("rules")], learned=[refusing], llm=[dear]), verb)
    assert verdict == Verdict(False, "not there", 0.7, "learned")
    assert dear.asked == []


def test_the_least_sure_of_those_that_pass_speaks_for_the_chain() -> None:
    chain = GuardChain(rules=[passing("rules")], learned=[passing("learned", 0.6)], llm=[passing("llm", 0.9)])
    assert judge(chain, "feasible").source == "learned"


@pytest.mark.parametrize("verb", ["feasible", "complete"])
@pytest.mark.parametrize(
    "answer", [
        RuntimeError("no weights"), Mute(), TimeoutError(), RecursionError(), None, True, "Yes", Mute, Unspeakable(),
        Verdict(1, "truthy"), Verdict(True, "unsure", float("nan")), Verdict(True, "sure", 1.1),
        Verdict(True, "sure", "very"), Verdict(True, None),
    ],  # type: ignore[arg-type]
)  # fmt: skip
def test_a_guard_that_fails_or_gives_no_verdict_refuses_by_name(verb: str, answer: object) -> None:
    for gate in (GuardChain(rules=[Guard("screen-net", answer)]), GuardChain(learned=[Guard("screen-net", answer)])):
        verdict = judge(gate, verb)
        assert verdict.passed is False
        assert verdict.source == "screen-net"
        assert "screen-net" in verdict.reason
        assert len(verdict.reason) < 400


def test_a_guard_without_the_verb_refuses() -> None:
    class Half:
        def feasible(self, command: Command, observation: Observation) -> Verdict:
            return Verdict(True, "fine")

    assert not judge(GuardChain(rules=[Half()]), "complete").passed  # type: ignore[list-item]


def test_a_spent_budget_is_no_verdict() -> None:
    with pytest.raises(BudgetExceeded):
        judge(GuardChain(llm=[Guard("llm", BudgetExceeded("spent"))]), "feasible")


def test_no_guards_is_no_gate_and_an_open_one_must_be_asked_for() -> None:
    with pytest.raises(ValueError, match="OpenGate"):
        GuardChain()
    assert judge(OpenGate(), "feasible").passed
    assert judge(OpenGate(), "complete").source == "open"
