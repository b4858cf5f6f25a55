"""The benchmark of the engine, run for real with tiny totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench.engine import exactness as engine_exactness
from sdg.experiments.bench.engine import first_call as engine_first
from sdg.experiments.bench.engine import speed as engine_speed
from sdg.experiments.bench.engine import table as bench_engine
from sdg.experiments.bench.engine.lockstep import Comparison
from sdg.experiments.cli.main import main


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(engine_speed, "BANK", 16)
    monkeypatch.setattr(engine_speed, "ROUNDS", 1)
    monkeypatch.setattr(bench_engine, "SIZES", (1, 4))
    monkeypatch.setattr(bench_engine, "SHORT_STEPS", 60)
    monkeypatch.setattr(bench_engine, "SHORT_ENDINGS", 1)


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_of_a_level_can_be_read_by_a_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_engine, "first_calls", lambda: {"cold_seconds": 1.0, "warm_seconds": 0.1})
    assert main(["bench", "engine", "--json", "--levels", "GoToObjS4"]) == 0
    rows = printed(capsys)
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
    checks = [row for row in rows if row["table"] == "check"]
    assert checks
    assert all(row["path"] == "lowered" and row["mismatches"] == 0 for row in checks)


@pytest.mark.slow
def test_the_second_process_finds_the_kernels_compiled() -> None:
    first = engine_first.first_calls()
    assert first["warm_seconds"] < 1 < first["cold_seconds"] < 40, "15 on a core of one's own"


def test_exactness_by_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "bench",
        "exactness",
        "--json",
        "--levels",
        "GoToObjS4,BabyAI-OpenRedDoor-v0",
        "--steps",
        "90",
        "--endings",
        "5",
    ]
    assert main(arguments) == 0
    *rows, everything = printed(capsys)
    assert [row["level"] for row in rows] == ["GoToObjS4", "OpenRedDoor"]
    assert everything["levels"] == 2
    assert everything["compared_steps"] == sum(row["compared_steps"] for row in rows)
    for row in rows:
        assert row["compared_steps"] >= 90
        assert row["successes"] + row["failures"] + row["timeouts"] >= 5


def test_a_long_comparison_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def watched(level: str, **options: Any) -> Comparison:
        compared.append(level)
        return compare(level, **options)

    compare = engine_exactness.compare
    monkeypatch.setattr(engine_exactness, "compare", watched)
    few: dict[str, Any] = {"steps": 12, "endings": 0, "journal": tmp_path / "journal.jsonl"}
    first, _ = engine_exactness.rows(levels=["GoToObjS4"], **few)
    again, other, _ = engine_exactness.rows(levels=["GoToObjS4", "OpenRedDoor"], **few)
    assert again == first
    assert set(compared) == {"GoToObjS4", "OpenRedDoor"}
    assert compared.count("GoToObjS4") == 2, "two halves, once"
    assert other["level"] == "OpenRedDoor"
    assert len(list(engine_exactness.rows(levels=["GoToObjS4"], **{**few, "seed": 5}))) == 2
    assert compared.count("GoToObjS4") == 4, "another seed is another comparison"


def test_a_mismatch_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"level": "Open", "successes": 0, "failures": 0, "timeouts": 0, "compared_steps": 1, "mismatches": 1}
    monkeypatch.setattr(engine_exactness, "_each", lambda *_: iter([wrong]))
    assert main(["bench", "exactness", "--levels", "Open"]) == 1
    captured = capsys.readouterr()
    assert "mismatches" in captured.out
    assert "differ" in captured.err
