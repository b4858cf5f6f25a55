"""What the elements of an observation held before a command and after it, as `sdg.Gate` compares them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sdg
from sdg.envs.world import PlainObservation


class Lamp:
    """Something that an executor keeps and changes in place."""

    def __init__(self) -> None:
        self.held, self.tags, self.shelf = False, {"price": [3]}, SimpleNamespace(lamps=[self], light=np.zeros(2))


@dataclass(slots=True)
class Slotted:
    """The same as a record."""

    held: bool = False
    tags: dict[str, list[int]] = field(default_factory=lambda: {"price": [3]})
    shelf: Any = field(default_factory=lambda: SimpleNamespace(lamps=[], light=np.zeros(2)))


def change_light(lamp: Any) -> None:
    lamp.shelf.light[1] = 1.0


@pytest.mark.parametrize("kind", [Lamp, Slotted])
@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda lamp: setattr(lamp, "held", True), "something changed"),
        (lambda lamp: lamp.tags["price"].append(4), "something changed"),
        (lambda lamp: lamp.shelf.lamps.clear() or lamp.shelf.lamps.append(5), "something changed"),
        (change_light, "something changed"),
        (lambda lamp: None, "buy() changed nothing that can be seen"),
    ],
)
def test_elements_that_change_in_place_are_seen_to(kind: Any, act: Any, reason: str) -> None:
    lamp = kind()

    def look() -> PlainObservation:
        return PlainObservation("a shop", None, (lamp,))

    executor = SimpleNamespace(observe=look, perform=lambda command: act(lamp))
    assert sdg.Gate(executor, confirm=lambda question: True).execute("buy").reason == reason


def deep_list() -> list[Any]:
    deepest: list[Any] = []
    for _ in range(5000):
        deepest = [deepest]
    return deepest


def own_list() -> list[Any]:
    looped: list[Any] = []
    looped.append(looped)
    return looped


STABLE = {"deep": deep_list(), "looped": own_list()}


@pytest.mark.parametrize("kept", [*STABLE.values(), threading], ids=[*STABLE, "module"])
def test_elements_may_keep_anything(kept: Any) -> None:
    lamp = SimpleNamespace(kept=kept, held=False)
    executor = SimpleNamespace(observe=lambda: PlainObservation("a shop", None, (lamp,)), perform=lambda command: None)
    gate = sdg.Gate(executor, confirm=lambda question: True)
    outcome = gate.execute("buy")
    assert not outcome.error
    assert outcome.reason == "buy() changed nothing that can be seen" or kept is threading
    executor.perform = lambda command: setattr(lamp, "held", True)
    assert gate.execute("buy").reason == "something changed"
