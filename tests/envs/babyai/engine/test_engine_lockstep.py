"""The engine against minigrid on every registered level: equal to the bit, or it isn't the same world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.levels import all_levels
from sdg.experiments.bench.engine.lockstep import Comparison, compare


@pytest.fixture(autouse=True)
def banks_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))


def test_all_96_ids_are_compared() -> None:
    assert len(all_levels()) == 96


@pytest.mark.parametrize("level", all_levels())
def test_engine_equals_minigrid(level: str) -> None:
    plain = compare(level, steps=360, seed=1)
    hurried = compare(level, steps=240, endings=12, max_steps=20, seed=2)
    assert not plain.mismatches, f"{plain.first}: {dict(plain.mismatches)}"
    assert not hurried.mismatches, f"{hurried.first}: {dict(hurried.mismatches)}"
    assert plain.steps >= 360
    assert hurried.endings >= 12


def test_strict_levels_fail_where_minigrid_fails() -> None:
    comparison = compare("OpenDoorsOrderN4Debug", steps=1000)
    assert comparison.failures > 10
    assert not comparison.mismatches


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("carried", 1, "carried"),
        ("direction", 0, "direction"),
        ("steps", 63, "truncated"),
        ("targets", 0, "terminated"),
    ],
)
def test_the_comparison_sees_a_wrong_engine(
    field: str, value: int, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison that cannot fail proves nothing: spoil one field of the state and it must say so."""
    step = BabyAIEngine.step

    def spoiled(engine: BabyAIEngine, actions: np.ndarray) -> object:
        engine.state[field] = value
        return step(engine, actions)

    monkeypatch.setattr(BabyAIEngine, "step", spoiled)
    assert named in compare("GoToLocal", steps=600).mismatches


def test_reset_shows_what_minigrid_shows_before_the_object_is_taken_up() -> None:
    """PutNext*Carrying: the first observation is stale, the second shows the object in the hand."""
    bank = LevelBank.build("PutNextS5N2Carrying", range(4))
    engine = BabyAIEngine(bank, 4)
    views, _ = engine.reset()
    assert (views[:, 3, 6] == 1).all()
    assert (engine.state.carried > 0).all()
    views = engine.step(np.full(4, 6)).views
    assert (views[:, 3, 6] > 1).all()


def test_comparison_counts_what_it_saw() -> None:
    comparison = Comparison()
    comparison.check("here", image=True, mission=True)
    comparison.check("there", image=False, mission=True)
    assert comparison.mismatches == {"image": 1}
    assert comparison.first == "image there"
