"""Banks: made once, the same everywhere, and refused when a file is torn, strange or of another version."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.envs.babyai.engine import bank as banks
from sdg.envs.babyai.engine.bank import BankError, LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
from sdg.envs.babyai.engine.layouts import LayoutError, make_minigrid
from sdg.envs.babyai.engine.state import MAX_SIZE, PAD, SIDE

SEEDS = range(2_000_000, 2_000_006)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))


@pytest.fixture
def bank(own_cache: None) -> LevelBank:
    return LevelBank.build("PutNextLocal", SEEDS)


def the_file(folder: Path) -> Path:
    (path,) = folder.rglob("*.npz")
    return path


def test_layouts_are_minigrids_under_the_same_seeds(bank: LevelBank) -> None:
    env = make_minigrid("PutNextLocal")
    for i, seed in enumerate(SEEDS):
        observation, _ = env.reset(seed=seed)
        assert bank.mission(i) == observation["mission"]
        walls = bank.layouts.cells[i].reshape(MAX_SIZE, SIDE)[:, PAD : PAD + MAX_SIZE] & 15 == 2
        for x, y in itertools.product(range(8), range(8)):
            cell = env.grid.get(x, y)
            assert walls[x, y] == (cell is not None and cell.type == "wall")
        assert walls[8:].all()
        assert walls[:, 8:].all()


def test_a_bank_is_made_once(bank: LevelBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banks, "generate", lambda *_: pytest.fail("made again"))
    again = LevelBank.build("BabyAI-PutNextLocal-v0", SEEDS)
    assert (again.layouts == bank.layouts).all()
    assert again.missions == bank.missions
    assert not list(tmp_path.rglob("*.part"))


def test_several_processes_make_the_same_bank(bank: LevelBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path / "other"))
    second_bank = LevelBank.build("PutNextLocal", SEEDS, workers=2)
    assert (second_bank.layouts == bank.layouts).all()
    assert second_bank.missions == bank.missions


def test_making_a_bank_prints_nothing() -> None:
    """UnblockPickup rejects samples on most seeds, and minigrid prints each rejection."""
    code = "from sdg.envs.babyai.engine.bank import LevelBank; LevelBank.build('UnblockPickup', range(8))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("length", [0, 10, 0.5, 0.99])
def test_a_torn_file_is_refused(bank: LevelBank, tmp_path: Path, length: float) -> None:
    path = the_file(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * length) if length < 1 else int(length)])
    with pytest.raises(BankError, match="torn"):
        LevelBank.build("PutNextLocal", SEEDS)


def test_flipped_bytes_are_refused_or_harmless(bank: LevelBank, tmp_path: Path) -> None:
    path, rng = the_file(tmp_path), np.random.default_rng(0)
    whole = path.read_bytes()
    refused = 0
    for _ in range(150):
        spoiled = bytearray(whole)
        spoiled[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(spoiled)
        try:
            same = LevelBank.load(path)
        except BankError:
            refused += 1
        else:
            assert (same.layouts == bank.layouts).all()
    assert refused > 75


def test_layouts_that_pass_the_checks_keep_a_kernel_within_its_arrays(bank: LevelBank) -> None:
    """Random bytes in layouts: refused, or played without leaving the arrays (the debug build runs this too)."""
    rng, played = np.random.default_rng(1), 0
    for _ in range(400):
        layouts = np.array(bank.layouts)
        raw = layouts.view(np.uint8)
        raw[rng.integers(len(raw))] = rng.integers(256)
        try:
            strange = replace(bank, layouts=layouts.view(np.recarray))
        except ValueError:
            continue
        engine = BabyAIEngine(strange, 6)
        engine.reset()
        for actions in rng.integers(0, 7, (60, 6)):
            engine.step(actions)
        played += 1
    assert 20 < played < 380


def test_a_folder_that_cannot_be_written_costs_only_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "banks").write_text("not a folder")
    with pytest.warns(UserWarning, match="cannot be kept"):
        bank = LevelBank.build("GoToObj", range(2))
    assert len(bank) == 2


def rewritten(path: Path, **changes: Any) -> Path:
    with np.load(path) as file:
        arrays = {**file, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_another_version_is_refused(bank: LevelBank, tmp_path: Path) -> None:
    with pytest.raises(BankError, match="version 99"):
        LevelBank.load(rewritten(the_file(tmp_path), schema=np.int64(99)))


@pytest.mark.parametrize("name", ["schema", "layouts", "missions", "seeds"])
def test_a_missing_part_is_refused(bank: LevelBank, tmp_path: Path, name: str) -> None:
    with pytest.raises(BankError):
        LevelBank.load(rewritten(the_file(tmp_path), **{name: None}))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bank.npz")
    with pytest.raises(BankError, match="no regular file"):
        LevelBank.load(tmp_path / "bank.npz")


def test_a_pickle_is_not_opened(bank: LevelBank, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("unpickled",))

    with pytest.raises(BankError):
        LevelBank.load(rewritten(the_file(tmp_path), missions=np.array([Trap()], dtype=object)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spot", 0),
        ("spot", 1023),
        ("where", 5),
        ("direction", 4),
        ("carried", 41),
        ("inside", 200),
        ("mission", -1),
        ("mission", 10_000),
        ("max_steps", 0),
        ("program", 7),
        ("targets", 1 << 40),
        ("width", 23),
        ("cells", 255),
    ],
)
def test_layouts_that_would_lead_a_kernel_astray_are_refused(
    bank: LevelBank, tmp_path: Path, field: str, value: int
) -> None:
    layouts = np.array(bank.layouts)
    layouts[field] = value
    with pytest.raises(BankError):
        LevelBank.load(rewritten(the_file(tmp_path), layouts=layouts))


def test_another_banks_file_under_this_name_is_refused(bank: LevelBank, tmp_path: Path) -> None:
    rewritten(the_file(tmp_path), seeds=np.arange(6))
    with pytest.raises(BankError, match="delete it"):
        LevelBank.build("PutNextLocal", SEEDS)


def test_unknown_levels_and_bad_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="NoSuchLevel"):
        LevelBank.build("NoSuchLevel", SEEDS)
    for seeds in ([], [-1], [0.5], [[1]]):
        with pytest.raises(ValueError, match="seeds"):
            LevelBank.build("GoToLocal", seeds)  # type: ignore[arg-type]


def test_missions_that_wait_for_done_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minigrid.envs.babyai.core.verifier.use_done_actions", "1")
    with pytest.raises(LayoutError, match="BABYAI_DONE_ACTIONS"):
        LevelBank.build("GoToLocal", SEEDS)


def test_a_failing_generation_names_level_and_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid too large for the engine, asked for by way of a registered level with other arguments."""
    from minigrid.envs.babyai import GoToLocal

    monkeypatch.setattr("sdg.envs.babyai.engine.layouts.make_minigrid", lambda _: GoToLocal(room_size=30))
    with pytest.raises(LayoutError, match=r"GoToLocal, seed 2000000: a grid of 30 x 30"):
        LevelBank.build("GoToLocal", SEEDS)
    assert not list(tmp_path.rglob("*.npz"))
