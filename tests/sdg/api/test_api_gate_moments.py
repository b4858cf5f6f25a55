"""Calls of a gate beside, within and after one another: each is judged by what is there when it acts."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import sdg
from sdg.api import gate as module
from sdg.envs.ui.presses import Press
from sdg.gate.executor import Command
from sdg.llm.model import Message
from tests.sdg.api.test_api_gate import Shop


def test_calls_side_by_side_get_their_own_results_and_are_judged_by_their_own_changes() -> None:
    class Slow:
        def __init__(self) -> None:
            self.notes: list[str] = []

        def observe(self) -> str:
            time.sleep(0.005)
            return str(self.notes)

        def perform(self, command: Command) -> str:
            self.notes += [command.argument] if command.name == "write" else []
            time.sleep(0.005)
            return f"{command.name} {command.argument}"

    gate, calls = sdg.Gate(Slow()), [("write", str(n)) if n % 2 else ("idle", str(n)) for n in range(12)]
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda call: gate.execute(*call), calls))
    assert [outcome.result for outcome in outcomes] == [" ".join(call) for call in calls]
    assert [outcome.success for outcome in outcomes] == [name == "write" for name, _ in calls]


def test_a_call_within_a_call_takes_nothing_from_it() -> None:
    class Nested(Shop):
        def perform(self, command: Command) -> str:
            if command.name == "outer":
                assert gate.execute("look").result == "done"
                assert gate.execute("buy").result == ""
                raise ValueError("after the inner one")
            return super().perform(command)

    gate = sdg.Gate(Nested())
    outcome = gate.execute("outer")
    assert (outcome.steps, outcome.result) == (1, "")
    assert "may have been carried out" in outcome.error
    assert "after the inner one" in outcome.error


class Page:
    """An executor whose observations ask it what a command presses, as those of a browser do."""

    def __init__(self) -> None:
        self.label, self.pressed = "Next", list[str]()

    def observe(self) -> Any:
        return SimpleNamespace(
            perception=None, image=None, elements=(), text=f"{self.label} {len(self.pressed)}",
            press_of=lambda command: Press("button", f"{self.label} {command.argument}"),
        )  # fmt: skip

    def perform(self, command: Command) -> None:
        self.pressed.append(self.label)

    def complete(self, messages: Sequence[Message], **_: object) -> str:
        """A model's verdict, while the page changes."""
        self.label = "Delete account"
        verdict = "Completeness" if "Observed after" in messages[-1].content else "Feasible"
        return json.dumps({"Thought": "ok", verdict: "Yes"})


def test_what_changed_while_guards_thought_is_not_pressed() -> None:
    page = Page()
    gate = sdg.Gate(page, model=page, confirm=lambda _: True)
    gate.admit("go to {page=secret7}")
    outcome = gate.execute("click", "{page}")
    assert (page.pressed, "look again" in outcome.error) == ([], True)
    assert not gate.execute("click", "{page}").error, "what was judged as it is now is pressed"
    assert page.pressed == ["Delete account"]


class Later:
    """An executor whose methods give what will only run later."""

    def __init__(self, later: Any, *, observes: bool) -> None:
        self._later, self._observes = later, observes

    def observe(self) -> Any:
        return self._later() if self._observes else "a diary"

    def perform(self, command: Command) -> Any:
        return self._later()


async def _waits() -> str:
    return "lunch"


def _yields() -> Any:
    yield "lunch"


async def _streams() -> Any:
    yield "lunch"


@pytest.mark.parametrize("observes", [False, True])
@pytest.mark.parametrize("later", [_waits, _yields, _streams])
def test_what_will_only_run_later_isn_t_taken_for_a_result(later: Any, observes: bool) -> None:
    outcome = sdg.Gate(Later(later, observes=observes), reads=("look",)).execute("look")
    assert (outcome.success, outcome.result) == (False, "")
    assert "has only begun" in outcome.error


def test_an_executor_that_waits_for_a_thread_which_calls_its_own_gate_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Joins(Shop):
        def perform(self, command: Command) -> str:
            if command.name == "outer":
                with ThreadPoolExecutor(1) as threads:
                    return threads.submit(gate.execute, "buy").result().error
            return super().perform(command)

    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.05)
    shop = Joins()
    gate = sdg.Gate(shop)
    assert "buy wasn't carried out: another command is still under way" in gate.execute("outer").result
    assert shop.done == 0
