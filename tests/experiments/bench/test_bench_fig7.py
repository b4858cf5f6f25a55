"""Figure 7: a curve over T_verify is read off one run, and says what separate runs would have said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.experiments.bench import fig7 as bench_fig7
from sdg.experiments.bench.clusterings.recorded import RECORDED
from sdg.experiments.cli.errors import UserError
from sdg.hypothesis.hypothesize import hypothesize
from sdg.llm.model import ModelError
from sdg.skills.checks.check import compiled


def rows_of(out: Path, **options: Any) -> list[Mapping[str, Any]]:
    shared = {"instructions": 3, "levels": ("PickupLoc",), "processes": 1}
    return bench_fig7.rows(out=str(out), **(shared | options))


def shares(table: list[Mapping[str, Any]], count: int) -> dict[str, float]:
    return {row["search"]: row["verified"] for row in table if row["t_verify"] == count}


def test_a_count_below_says_what_a_run_under_that_count_says(tmp_path: Path) -> None:
    whole = rows_of(tmp_path / "whole", t_verify=400, curve=(64,))
    alone = rows_of(tmp_path / "alone", t_verify=64, curve=())
    for search in ("count", "random"):
        assert shares(whole, 64)[search] == shares(alone, 64)[search]
    assert shares(whole, 64)["random"] < shares(whole, 400)["random"], "the count must matter for this to tell"
    assert all(row["low"] <= row["verified"] <= row["high"] for row in whole)


def test_the_folder_goes_on_and_holds_table_and_plot(tmp_path: Path) -> None:
    out = tmp_path / "f"
    first = rows_of(out, t_verify=200, curve=(300,), levels=("GoToLocal",), instructions=2)
    before = (out / "count_300.jsonl").read_text()
    again = rows_of(out, t_verify=200, curve=(300,), levels=("GoToLocal",), instructions=3)
    assert (out / "count_300.jsonl").read_text().startswith(before)
    assert {row["instructions"] for row in first} == {2}
    assert {row["instructions"] for row in again} == {3}
    assert json.loads((out / "results.json").read_text())["rows"][0]["search"] == "count"
    assert "| GoToLocal | ppo | 300" in (out / "table.md").read_text()
    assert (out / "fig7.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "fig7.svg").read_bytes().startswith(b"<?xml")


def test_counts_that_are_none_are_refused(tmp_path: Path) -> None:
    for wrong in ({"curve": (0,)}, {"t_verify": 0}, {"levels": ("GoToMars",)}, {"instructions": 0}):
        with pytest.raises(UserError):
            rows_of(tmp_path / "none", **wrong)  # type: ignore[arg-type]


def test_hypotheses_that_a_real_model_wrote_are_played_and_no_others(tmp_path: Path) -> None:
    named = "sdg.experiments.bench.clusterings.recorded:RECORDED"
    table = rows_of(tmp_path / "r", llm=named, seed=31, levels=("GoToLocal",), instructions=5, t_verify=300, curve=())
    assert shares(table, 300)["count"] >= 0.8
    with pytest.raises(ModelError, match="no recorded hypothesis"):
        rows_of(tmp_path / "o", llm=named, seed=777, levels=("GoToLocal",), instructions=5, t_verify=300, curve=())


def test_every_recorded_hypothesis_is_read_and_its_checks_compile() -> None:
    for mission in RECORDED.replies:
        found = hypothesize(mission, model=RECORDED, domain=BABYAI)
        assert all(compiled(goal.check, BABYAI) for goal in found.subgoals)
