"""The gate in front of anybody's executor: which guards it takes, what it needs, and that a refusal has a reason."""

from __future__ import annotations

from typing import Any

import pytest

import sdg
from sdg.api import gate as module
from sdg.envs.registry import RegistryError
from sdg.gate.executor import Command, Verdict
from sdg.privacy.recognisers import PrivacyError


class Shop:
    """An executor that counts what it did."""

    done = 0

    def observe(self) -> str:
        return f"{self.done} lamps bought"

    def perform(self, command: Command) -> str:
        self.done += 1
        return "done"


class Refuses:
    """A guard that refuses without a word."""

    kind = "rules"

    def feasible(self, command: Command, observation: object) -> Verdict:
        return Verdict(False, "")

    def complete(self, command: Command, before: object, after: object) -> Verdict:
        return Verdict(True, "")


class Odd(Refuses):
    """A guard whose kind there isn't."""

    kind = "rule"


@pytest.mark.parametrize("guard", [Odd(), object(), "rules", "learned", "nobody"])
def test_what_is_no_guard_here_is_refused(guard: Any) -> None:
    with pytest.raises(RegistryError):
        sdg.Gate(Shop(), guards=(guard,))


@pytest.mark.parametrize("name", ["open", "phone", "confirm"])
def test_guards_are_made_by_name(name: str) -> None:
    assert sdg.Gate(Shop(), guards=(name,)).execute("look", "lamp").success


def test_a_refusal_has_a_reason() -> None:
    shop = Shop()
    outcome = sdg.Gate(shop, guards=(Refuses(),)).execute("look", "lamp")
    assert (outcome.success, shop.done) == (False, 0)
    assert outcome.error


def test_what_the_planner_calls_final_is_asked_about() -> None:
    assert sdg.Gate(Shop()).execute("look", "lamp").success
    assert not sdg.Gate(Shop()).execute("look", "lamp", final=True).success


def test_only_tasks_need_what_recognises_private_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(own: str) -> None:
        raise PrivacyError("it isn't installed")

    monkeypatch.setattr(module, "recognisers_of", lacks)
    gate = sdg.Gate(Shop())
    assert gate.execute("look", "lamp").success
    with pytest.raises(PrivacyError, match="isn't installed"):
        gate.admit("send it to Ann")
