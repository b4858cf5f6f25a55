"""Rows of journals are values: what is written is read back, and what another version wrote is refused in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sdg.api.results import results
from sdg.deduction.episode import EpisodeResult
from sdg.pipeline.records import SkillRow, Verification
from sdg.skills.learning.train import Point
from sdg.skills.practice.agreement import Agreement
from sdg.skills.strict_json import decode
from sdg.storage import Journal, RunFolder, RunFolderError, RunSettings
from sdg.storage.files import Rows, read_rows, to_json

read = partial(decode, extra="ignore")

GOAL = {"description": "go", "name": "check", "check": "def check(): ...", "reached": True, "restore_actions": [1],
        "actions": [2, 2], "searched_steps": 7, "inconsistent": 0}  # fmt: skip
ROW = {"unit": "Open/3/0", "level": "Open", "seed": 3, "instruction": "open it", "verified": True,
       "searched_steps": 7, "replayed_steps": 0, "cause": "",
       "agreement": {"both": 2, "only_check": 0, "only_world": 1},
       "subgoals": [GOAL, GOAL | {"reached": False}]}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Small:
    unit: str
    share: float
    note: str | None = None


def test_a_stored_row_is_the_value_that_was_written() -> None:
    row = read(Verification, ROW)
    assert row.agreement == Agreement(2, 0, 1)
    assert row.subgoals[0].actions == (2, 2)
    assert row.reached_count == 1
    assert [experience.actions for experience in row.experiences()] == [(2, 2)]
    assert read(Verification, to_json(row)) == row
    assert set(to_json(row)) == set(ROW)


def test_what_has_its_default_is_not_written() -> None:
    skipped = SkillRow(unit="1/0", name="go", skipped="no start", environment_steps=0)
    assert set(to_json(skipped)) == {"unit", "name", "skipped", "environment_steps"}
    best = Point(0, 1.0, 1.0, 2.0, 3.0, 4, 0.0)
    learned = SkillRow(unit="1/0", name="go", skipped="", environment_steps=5, best=best)
    assert read(SkillRow, to_json(learned)) == learned


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"share": "much"}, "share"),
        ({"share": None}, "share"),
        ({"note": 3}, "note"),
        ({"unit": None}, "unit"),
    ],
)
def test_fields_of_another_type_are_named(change: dict[str, Any], says: str) -> None:
    good = {"unit": "a", "share": 1, "more": "of a later version"}
    assert read(Small, good) == Small("a", 1.0)
    with pytest.raises(ValueError, match=says):
        read(Small, good | change)


def test_rows_of_another_version_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with Journal(tmp_path / "small.jsonl") as journal:
        rows = Rows(journal, Small)
        rows.append(Small("a", 0.5))
        journal.append({"unit": "b", "rate": 0.5})
        assert rows["a"] == Small("a", 0.5)
        assert rows.get("c") is None
        assert "b" in rows
        with pytest.raises(RunFolderError, match=r"unit 'b': row.share: Field required.*another folder"):
            list(rows)


@pytest.mark.parametrize("rows", [5, "rows", {"level": "L"}, [5], ["row"], None])
def test_results_whose_rows_are_none_are_refused_in_words(tmp_path: Path, rows: Any) -> None:
    with RunFolder.start(tmp_path / "r", RunSettings({}, "", 0)) as folder:
        folder.write_json("results.json", {"rows": [{"level": "L", "success_rate": None, "more": [1]}]})
        assert results(folder.path).summary.level.tolist() == ["L"]
        folder.write_json("results.json", {"rows": rows})
        with pytest.raises(RunFolderError, match=r"results.json has a row .*another folder"):
            results(folder.path)


CALL = {"name": "go", "argument": "red ball", "began": 0, "refused": False}


def without(name: str) -> dict[str, Any]:
    """The call without one of its fields."""
    return {key: value for key, value in CALL.items() if key != name}


@pytest.mark.parametrize(
    "trace",
    [
        [{}],
        [{"calls": 5}],
        [{"calls": ["go"]}],
        [{"calls": [CALL, CALL | {"name": 5}]}],
        *([{"calls": [without(name)]}] for name in CALL),
    ],
)
def test_calls_in_an_episode_are_read_as_carefully_as_its_row(tmp_path: Path, trace: list[Any]) -> None:
    row = {"agent": "sdg", "level": "L", "seed": 1, "success": True, "steps": 4, "max_steps": 9}
    with Journal(tmp_path / "good.jsonl") as good, Journal(tmp_path / "bad.jsonl") as bad:
        good.append(row | {"unit": "e", "trace": [{"calls": [CALL]}, {"calls": []}]})
        bad.append(row | {"unit": "e", "trace": trace})
    assert [list(row.calls()) for row in read_rows(tmp_path / "good.jsonl", EpisodeResult)] == [[CALL]]
    with pytest.raises(RunFolderError, match=r"bad.jsonl has a row .*unit 'e'.* call .*another folder"):
        read_rows(tmp_path / "bad.jsonl", EpisodeResult)
