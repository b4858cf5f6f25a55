"""The benchmark of the engine, run for real with tiny totals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench.engine import command as bench_engine, speed as engine_speed
from sdg.experiments.bench.engine.lockstep import Comparison
from sdg.experiments.cli.main import main
from tests.envs.babyai.engine.first_call import first_calls


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(engine_speed, "BANK", 16)
    monkeypatch.setattr(engine_speed, "ROUNDS", 1)
    monkeypatch.setattr(bench_engine, "SIZES", (1, 4))


def printed_rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_of_a_level_can_be_read_by_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "engine", "--json", "--levels", "GoToObjS4", "--steps", "60", "--endings", "1"]) == 0
    rows = printed_rows(capsys)
    (level,) = (row for row in rows if row["table"] == "level")
    wanted = {
        "level",
        "n_envs",
        "steps_per_second",
        "minigrid_steps_per_second",
        "ratio",
        "mismatches",
        "compared_steps",
    }
    assert wanted <= level.keys()
    assert level["mismatches"] == 0
    assert level["compared_steps"] >= 60
    assert level["ratio"] > 50, "even on a busy machine"
    assert level["with_generation_per_second"] < level["steps_per_second"]
    assert [row["n_envs"] for row in rows if row["table"] == "curve"] == [1, 4, 1, 4]


@pytest.mark.slow
def test_the_second_process_finds_the_kernels_compiled() -> None:
    first = first_calls()
    assert first["warm_seconds"] < 1 < first["cold_seconds"] < 40, "15 on a core of one's own"


def test_exactness_without_speed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--levels", "GoToObjS4,BabyAI-OpenRedDoor-v0", "--steps", "90", "--endings", "5", "--no-speed")
    assert main(["bench", "engine", "--json", *arguments]) == 0
    rows = printed_rows(capsys)
    assert [row["level"] for row in rows] == ["GoToObjS4", "OpenRedDoor"]
    assert all(row["compared_steps"] >= 90 and row["compared_endings"] >= 5 for row in rows)
    assert not any(row["mismatches"] for row in rows)


def test_a_mismatch_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = Comparison(steps=1, mismatches=Counter(image=1), first="image after action 2")
    monkeypatch.setattr(bench_engine, "compare", lambda *_, **__: wrong)
    assert main(["bench", "engine", "--levels", "Open", "--no-speed"]) == 1
    captured = capsys.readouterr()
    assert "image after action 2" in captured.out
    assert "differ" in captured.err
