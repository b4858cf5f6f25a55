"""What the elements of an observation held before a command and after it, as `sdg.Gate` compares them."""

from __future__ import annotations

import threading
from array import array
from collections import deque
from copy import deepcopy
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


@pytest.mark.parametrize(
    ("kept", "act"),
    [
        (deque([1]), lambda kept: kept.append(2)),
        (deque([[1]]), lambda kept: kept[0].append(2)),
        (bytearray(b"a"), lambda kept: kept.extend(b"b")),
        (array("d", [1.0, np.nan]), lambda kept: kept.reverse()),
        (np.array([1.0, np.nan]), lambda kept: kept.put(0, 2)),
        (np.array([[1], None], dtype=object), lambda kept: kept[0].append(2)),
        (["a", np.float32("nan"), {"b": float("nan")}], lambda kept: kept.pop()),
    ],
    ids=["deque", "deep-deque", "bytes", "array", "ndarray", "objects", "list"],
)
def test_containers_of_every_kind_are_compared_by_what_they_hold(kept: Any, act: Any) -> None:
    executor = SimpleNamespace(observe=lambda: PlainObservation("a shop", None, (deepcopy(kept),)), perform=print)
    gate = sdg.Gate(executor, confirm=lambda question: True)
    assert gate.execute("buy").reason == "buy() changed nothing that can be seen"
    executor.observe, executor.perform = lambda: PlainObservation("a shop", None, (kept,)), lambda command: act(kept)
    assert gate.execute("buy").reason == "something changed"


def test_a_picture_with_what_is_no_number_is_compared() -> None:
    executor = SimpleNamespace(
        observe=lambda: PlainObservation("a shop", np.full((1, 1, 3), np.nan)), perform=lambda command: None
    )
    gate = sdg.Gate(executor, confirm=lambda question: True)
    assert gate.execute("buy").reason == "buy() changed nothing that can be seen"


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
