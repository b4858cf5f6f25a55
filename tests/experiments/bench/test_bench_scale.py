"""`sdg bench scale`: the learner's updates on each device, and which device a flat learner takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sdg.experiments.baselines import world_env
from sdg.experiments.bench.scale import accelerator
from sdg.skills.learning.sb3 import devices


def test_a_core_repeats_its_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "WIDTHS", (8,))
    rows = list(accelerator.rows())
    assert [row["engine"] for row in rows] == devices()
    assert rows[0]["equal"]
    assert "8 wide" in rows[0]["note"]


def test_parameters_are_apart_by_a_share_of_their_length() -> None:
    expected = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([4.0])}
    assert accelerator.distance({"a": expected["a"], "b": torch.tensor([4.5])}, expected) == pytest.approx(0.1)


@pytest.mark.parametrize(("slow", "expected"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_a_flat_learner_takes_the_faster_device(slow: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    class Learner:
        def __init__(self, device: str) -> None:
            self.device = device

        def learn(self, steps: int) -> None:
            clock[0] += steps * (2 if self.device == slow else 1)

    monkeypatch.setattr(world_env, "devices", lambda: ["cpu", "cuda"])
    monkeypatch.setattr(world_env.time, "monotonic", lambda: clock[0])
    make: Any = Learner
    assert world_env.faster_device(make) == expected
