"""Tools as smolagents and LangGraph have them, behind the gate, as their agents would call them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import sdg
from examples.gate_a_tool import GatedTool, Tools
from sdg.gate.executor import Verdict


class Mailbox:
    """Mails, and a framework's tools that work on them."""

    def __init__(self, call: str) -> None:
        self.mails = {"invoice": "Pay 20 EUR", "lunch": "Friday?"}
        functions = {"read": self.read, "delete": self.delete, "send": self.send}
        self.tools: list[Any] = [
            SimpleNamespace(name=name, description=name, **{call: act}) for name, act in functions.items()
        ]

    def read(self, name: str) -> str:
        return self.mails[name]

    def delete(self, name: str) -> str:
        return f"deleted {self.mails.pop(name, 'nothing')!r}"

    def send(self, text: str) -> str:
        self.mails[f"sent {len(self.mails)}"] = text
        return f"sent {text}"

    def look(self) -> str:
        return f"mails: {self.mails}"


@pytest.mark.parametrize("call", ["forward", "invoke"])
def test_an_agent_s_tools_are_gated(call: str) -> None:
    box, questions = Mailbox(call), []

    def confirm(question: str) -> bool:
        questions.append(question)
        return "lunch" in question or "dinner" in question

    gate = sdg.Gate(Tools(box.tools, box.look), commands=("read", "delete", "shout"), reads=("read",), confirm=confirm)
    read, delete, send = (GatedTool(tool, gate) for tool in box.tools)
    assert read("lunch") == "Friday?"
    assert delete("invoice") == "not done: 'delete' can't be undone and wasn't confirmed"
    assert delete.invoke("lunch") == "deleted 'Friday?'"
    assert delete("dinner") == (
        "done, but delete('dinner') changed nothing that can be seen; it said: deleted 'nothing'"
    )
    assert send("x") == "not done: send('x') is none of read, delete, shout"
    assert gate.execute("shout").error == "there is no tool 'shout'; there are read, delete, send"
    assert (list(box.mails), len(questions)) == (["invoice"], 3)


def test_what_was_done_is_never_told_as_not_done() -> None:
    tool, looks = SimpleNamespace(name="note", description="", forward=lambda text: "number 7"), iter(("x", "x", "y"))

    def look() -> str:
        text = next(looks, "")
        if not text:
            raise TimeoutError("no answer")
        return text

    note = GatedTool(tool, sdg.Gate(Tools([tool], look)))
    assert note("a") == "done, but note('a') changed nothing that can be seen; it said: number 7"
    outcome = note("b")
    assert not outcome.startswith("not done")
    assert "look before you repeat it" in outcome
    assert outcome.endswith("it said: number 7")
    assert note("c").startswith("not done: note wasn't carried out: ")


class Sends:
    """A tool with named inputs, as smolagents' tools have them, and LangGraph's in `args`."""

    name = description = "post"
    inputs: ClassVar = {
        "to": {"type": "string"},
        "body": {"type": "string"},
        "copies": {"type": "integer", "nullable": True},
    }

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def forward(self, to: str, body: str, copies: int = 1) -> str:
        self.sent.append((to, body, copies))
        return f"sent to {to}"


class Invoked(Sends):
    def __init__(self) -> None:
        super().__init__()
        self.args, self.inputs = self.inputs, None  # type: ignore[assignment]
        self.invoke = lambda named: Sends.forward(self, **named)

    forward = None  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Sends, Invoked])
def test_named_inputs_reach_the_tool_by_name(kind: type[Sends]) -> None:
    tool, questions = kind(), list[str]()
    gate = sdg.Gate(Tools([tool], lambda: str(tool.sent)), confirm=lambda question: not questions.append(question))
    post = GatedTool(tool, gate)
    assert gate.admit("tell {code=47 11}") == "tell {code}"
    assert post(to="Änn", body='a "b"\n[c]', copies=2) == "sent to Änn"
    assert post("Ann", body="code {code}") == "sent to Ann"
    assert post.invoke({"to": "Ann", "body": "c"}) == "sent to Ann"
    assert tool.sent == [("Änn", 'a "b"\n[c]', 2), ("Ann", "code 47 11", 1), ("Ann", "c", 1)]
    assert "Änn" in questions[0]
    assert "47 11" not in str(questions)
    assert "takes to, body, copies" in post(who="Ann")
    assert "takes to, body, copies" in post("Ann", "b", 1, 2)
    assert "takes to, body, copies" in gate.execute("post", "Ann").error
    assert len(tool.sent) == 3


def test_values_reach_the_tool_alone() -> None:
    box = Mailbox("forward")
    gate = sdg.Gate(Tools(box.tools, box.look), confirm=lambda question: "4111" not in question)
    assert gate.admit("send {card=4111 1111 1111 1111} to the team") == "send {card} to the team"
    outcome = gate.execute("send", "{card} to the team")
    assert outcome.success
    assert "4111 1111 1111 1111 to the team" in box.mails.values()
    assert outcome.result == "sent {card} to the team"


def test_models_and_guards_of_ones_own_judge_too_and_an_error_refuses() -> None:
    class Judge:
        def complete(self, messages: Any) -> str:
            return '{"Thought": "no", "Feasible": "No"}'

    class Careful:
        def feasible(self, *_: Any) -> Verdict:
            raise TimeoutError("no answer")

        complete = feasible

    tools = Tools(Mailbox("forward").tools, lambda: "")
    assert sdg.Gate(tools, model=Judge()).execute("read", "lunch").error == "no"
    assert "no answer" in sdg.Gate(tools, guards=[Careful()]).execute("read", "lunch").error
    assert "screenshot" in sdg.Gate(tools, guards=["screens"]).execute("read", "lunch").error


@pytest.mark.parametrize("value", [r"ab\tcd!9x", r"C:\new\users", 'quo"te-longer'])
def test_a_tool_gets_the_value_that_is_meant(value: str) -> None:
    got: list[str] = []
    tool = SimpleNamespace(name="login", description="", inputs={"text": {}}, forward=lambda text: got.append(text))
    gate = sdg.Gate(Tools([tool], lambda: str(len(got))))
    assert gate.admit(f"log in with {{pw={value}}}") == "log in with {pw}"
    GatedTool(tool, gate)("{pw}")
    assert got == [value]
