"""Tools as smolagents and LangGraph have them, behind the gate, as their agents would call them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import sdg
from examples.gate_a_tool import GatedTool, Tools
from sdg.gate.executor import Verdict


class Mailbox:
    """Mails, and the tools of a framework's making over them."""

    def __init__(self, call: str) -> None:
        self.mails = {"invoice": "Pay 20 EUR", "lunch": "Friday?"}
        made = {"read": self.read, "delete": self.delete, "send": self.send}
        self.tools: list[Any] = [
            SimpleNamespace(name=name, description=name, **{call: act}) for name, act in made.items()
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
    assert delete("dinner") == "not done: delete('dinner') changed nothing that can be seen"
    assert send("x") == "not done: send('x') is none of read, delete, shout"
    assert gate.execute("shout").error == "there is no tool 'shout'; there are read, delete, send"
    assert (list(box.mails), len(questions)) == (["invoice"], 3)


def test_values_reach_the_tool_alone() -> None:
    box = Mailbox("forward")
    gate = sdg.Gate(Tools(box.tools, box.look), confirm=lambda question: "4111" not in question)
    assert gate.admit("send {card=4111 1111 1111 1111} to the team") == "send {card} to the team"
    assert gate.execute("send", "{card} to the team").success
    assert "4111 1111 1111 1111 to the team" in box.mails.values()
    assert gate.result == "sent {card} to the team"


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
