"""`sdg bench flat`: policies are trained once, stored, and played under the common harness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.experiments.baselines.paper_policy import PaperPolicy
from sdg.experiments.bench import flat as bench_flat
from sdg.experiments.bench import table1 as bench_table1
from sdg.experiments.cli.errors import UserError
from sdg.grounding.records import load_policy


def test_policies_are_trained_once_and_played_beside_others(tmp_path: Path) -> None:
    shared = {"levels": ("GoToObj",), "steps": 9000, "layouts": 60, "width": 8, "words": 8, "processes": 1}
    out = tmp_path / "flat"
    agents = ("ppo-flat", "random")
    table = bench_flat.rows(instructions=3, agents=agents, out=str(out), **shared)  # type: ignore[arg-type]
    assert [row["agent"] for row in table] == list(agents)
    assert table[0]["environment_steps"] >= 9000
    assert table[1]["environment_steps"] is None
    assert isinstance(load_policy(out, "GoToObj", BABYAI, "paper-model"), PaperPolicy)
    before = (out / "flat.jsonl").read_text()
    row = json.loads(before)
    assert row["curve"]
    again = bench_flat.rows(instructions=3, agents=agents, out=str(out), **shared)  # type: ignore[arg-type]
    assert (out / "flat.jsonl").read_text() == before
    assert [each["success_rate"] for each in again] == [each["success_rate"] for each in table]
    asked = {"instructions": 2, "repeats": 1, "levels": ("GoToObj",), "agents": ("ppo-flat",), "processes": 1}
    there = bench_table1.rows(flat=out, out=str(tmp_path / "t"), **asked)  # type: ignore[arg-type]
    assert [each["agent"] for each in there] == ["ppo-flat"]
    with pytest.raises(UserError, match="no flat policy for GoToObj"):
        bench_table1.rows(flat=tmp_path / "none", out=str(tmp_path / "u"), **asked)  # type: ignore[arg-type]
