"""Figure 7: a curve over T_verify is read off one run, and says what separate runs would have said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sdg.experiments.bench import fig7 as bench_fig7
from sdg.experiments.cli.errors import UserError


def rows_of(out: Path, **options: Any) -> list[Mapping[str, Any]]:
    shared = {"instructions": 3, "levels": ("PickupLoc",), "processes": 1}
    return bench_fig7.rows(out=str(out), **(shared | options))


def shares(table: list[Mapping[str, Any]], count: int) -> dict[str, float]:
    return {row["search"]: row["verified"] for row in table if row["t_verify"] == count}


def test_a_count_below_says_what_a_run_under_that_count_says(tmp_path: Path) -> None:
    whole = rows_of(tmp_path / "whole", t_verify=400, curve=(64,))
    alone = rows_of(tmp_path / "alone", t_verify=64, curve=())
    assert shares(whole, 64)["ppo"] == shares(alone, 64)["ppo"]
    assert shares(whole, 64)["random"] == shares(alone, 64)["random"]
    assert shares(whole, 64)["random"] < shares(whole, 400)["random"], "the count must matter for this to tell"
    assert all(row["low"] <= row["verified"] <= row["high"] for row in whole)


def test_the_folder_goes_on_and_holds_table_and_plot(tmp_path: Path) -> None:
    out = tmp_path / "f"
    first = rows_of(out, t_verify=200, curve=(300,), levels=("GoToLocal",), instructions=2)
    before = (out / "verifications.jsonl").read_text()
    again = rows_of(out, t_verify=200, curve=(300,), levels=("GoToLocal",), instructions=3)
    assert (out / "verifications.jsonl").read_text().startswith(before)
    assert {row["instructions"] for row in first} == {2}
    assert {row["instructions"] for row in again} == {3}
    assert json.loads((out / "results.json").read_text())["rows"][0]["search"] == "ppo"
    assert "| GoToLocal | ppo |" in (out / "table.md").read_text()
    assert (out / "fig7.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "fig7.svg").read_bytes().startswith(b"<?xml")


def test_counts_that_are_none_are_refused(tmp_path: Path) -> None:
    for wrong in ({"curve": (0,)}, {"t_verify": 0}, {"levels": ("GoToMars",)}, {"instructions": 0}):
        with pytest.raises(UserError):
            rows_of(tmp_path / "none", **wrong)  # type: ignore[arg-type]
