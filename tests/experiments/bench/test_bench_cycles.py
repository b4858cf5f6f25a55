"""`sdg bench cycles` reads run folders: what each cycle verified, learned and cost, without training anything twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench import cycles as bench_cycles
from sdg.experiments.cli.errors import UserError
from sdg.experiments.config.config import RunConfig, dump
from sdg.experiments.table.comparison import SHIPPED
from sdg.grounding.records import SearchedRow, VerificationRow
from sdg.run import read_journal
from sdg.run.rows import to_json

LEVELS = ("GoToLocal", "Open")


def verification(unit: str, *, verified: bool, steps: int, reached: int = 0) -> dict[str, Any]:
    level, seed, _ = unit.split("/")
    goals = tuple(SearchedRow("go", "check", "", n < reached, (), (), 0, "lowered", 0) for n in range(3))
    return to_json(VerificationRow(unit, level, int(seed), "go", verified, steps, 0, "", None, goals))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as two cycles leave it: two instructions a level, one of Open verified in the second cycle."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(dump(RunConfig(name="x", levels=LEVELS, instructions_per_level=2, cycles=2)))
    rows = [
        verification("GoToLocal/0/0", verified=True, steps=10),
        verification("GoToLocal/1/0", verified=True, steps=20),
        verification("Open/0/0", verified=False, steps=300),
        verification("Open/0/1", verified=False, steps=400),
        verification("Open/0/2", verified=True, steps=50),
        verification("Open/1/0", verified=False, steps=500, reached=2),
        verification("Open/1/2", verified=False, steps=7, reached=1),
    ]
    skills = [{"unit": unit, "environment_steps": 100} for unit in ("1/0", "2/0", "c2-1/0", "c2-2/3")]
    for name, journal in (("verifications", rows), ("skills", skills)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in journal))
    for library in ("library", "library-1"):
        (folder / library).symlink_to(SHIPPED)
    return folder


def test_a_row_for_each_cycle_and_level(run: Path, tmp_path: Path) -> None:
    table = bench_cycles.rows(runs=(str(run),), instructions=0, levels=LEVELS, out=str(tmp_path / "out"))
    shown = [
        (row["grounding"], row["level"], row["verified"], row["searched_steps"], row["skill_steps"]) for row in table
    ]
    assert shown == [
        ("curriculum of 2 levels, 1 cycle", "GoToLocal", 1.0, 30, 200),
        ("curriculum of 2 levels, 1 cycle", "Open", 0.0, 1200, 200),
        ("curriculum of 2 levels, 2 cycles", "GoToLocal", 1.0, 30, 400),
        ("curriculum of 2 levels, 2 cycles", "Open", 0.5, 1257, 400),
    ]
    assert all(row["solved"] is None for row in table)
    assert (tmp_path / "out" / "cycles.png").read_bytes().startswith(b"\x89PNG")
    assert "curriculum of 2 levels, 2 cycles | Open" in (tmp_path / "out" / "table.md").read_text()


def test_levels_that_were_not_grounded_are_only_played(run: Path, tmp_path: Path) -> None:
    levels = ("GoToLocal", "PickupLoc")
    table = bench_cycles.rows(runs=(str(run),), instructions=2, levels=levels, processes=1, out=str(tmp_path / "out"))
    rows = {(row["grounding"][-8:].strip(), row["level"]): row for row in table}
    assert rows["1 cycle", "PickupLoc"]["verified"] is None
    assert rows["1 cycle", "PickupLoc"]["episodes"] == 2
    assert rows["1 cycle", "Open"]["solved"] is None
    episodes = read_journal(tmp_path / "out/evaluation/episodes.jsonl")
    for level in levels:
        played = [
            each["success"] for each in episodes if (each["agent"][:13], each["level"]) == ("sdg-library-1", level)
        ]
        assert rows["2 cycles", level]["solved"] == sum(played) / len(played)
    last = rows["2 cycles", "GoToLocal"]
    assert last["solved_low"] < last["solved"] <= last["solved_high"], "an interval around what so few episodes say"


def test_a_cycle_that_is_still_learning_is_shown_with_what_it_verified(run: Path, tmp_path: Path) -> None:
    (run / "library").unlink()
    options: dict[str, Any] = {"runs": (str(run),), "instructions": 0, "levels": LEVELS}
    assert len(bench_cycles.rows(**options, out=str(tmp_path / "one"))) == 2, "nobody knows whether all was verified"
    (run / "induction.json").write_text("{}")
    row = bench_cycles.rows(**options, out=str(tmp_path / "two"))[-1]
    assert (row["verified"], row["skills"], row["skill_steps"]) == (0.5, None, None)


def test_what_is_no_run_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        bench_cycles.rows(runs=(str(tmp_path),), instructions=0, out=str(tmp_path / "out"))
    with pytest.raises(UserError):
        bench_cycles.rows(runs=(str(run),), levels=("GoToMars",), out=str(tmp_path / "out"))
    for library in ("library", "library-1"):
        (run / library).unlink()
    with pytest.raises(UserError, match="has not got through its first cycle"):
        bench_cycles.rows(runs=(str(run),), instructions=0, out=str(tmp_path / "out"))
