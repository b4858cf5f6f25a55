"""`sdg bench evidence`: agents under one harness, made once, and seeds that were looked at are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.errors import UserError
from sdg.experiments.baselines.paper_model import PaperPolicy
from sdg.experiments.bench import evidence, table1
from sdg.experiments.bench.evidence import UNLOCKING, unlocking_layouts
from sdg.experiments.results.ledger import markdown, seed_set, used_seeds
from sdg.pipeline.records import load_policy

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[3]


def test_rows_say_who_played_what_and_how_near_to_the_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "LAYOUTS", 40)
    options: dict[str, Any] = {"seed": 12, "instructions": 3, "levels": ("GoToObj",), "out": tmp_path, "processes": 1}
    agents = ("scripted", "random-masked", "bot", "ppo-flat")
    measured = evidence.rows(agents=agents, steps=6 * 4000, **options)
    assert [row["agent"] for row in measured] == list(agents)
    by_name = {row["agent"]: row for row in measured}
    assert by_name["bot"]["spl"] == by_name["bot"]["within_15"] == by_name["bot"]["bot_within_15"] == 1
    assert by_name["scripted"]["success_rate"] == 1
    assert 0 < by_name["scripted"]["spl"] <= 1
    assert by_name["random-masked"]["spl"] < by_name["bot"]["spl"]
    assert {row["seed_set"] for row in measured} == {"evaluation/12"}
    assert by_name["ppo-flat"]["training_steps"] >= 4000
    assert isinstance(load_policy(tmp_path / "ppo-flat", "GoToObj", BABYAI, "paper-model"), PaperPolicy)
    before = (tmp_path / "ppo-flat" / "flat.jsonl").read_text()
    assert json.loads(before)["environment_steps"] >= 4000
    again = evidence.rows(agents=agents, steps=6 * 4000, **options)
    assert again == measured
    assert (tmp_path / "ppo-flat" / "flat.jsonl").read_text() == before
    plain = {key: value for key, value in options.items() if key != "out"} | {"agents": ("ppo-flat",), "repeats": 1}
    there = table1.rows(flat=tmp_path / "ppo-flat", out=tmp_path / "t", **plain)
    assert [row["success_rate"] for row in there] == [by_name["ppo-flat"]["success_rate"]]
    with pytest.raises(UserError, match="no flat policy for GoToObj"):
        table1.rows(flat=tmp_path / "none", out=tmp_path / "u", **plain)


def test_seeds_that_were_looked_at_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="seed 777 was used in development"):
        evidence.rows(seed=777, out=tmp_path)
    [row] = evidence.rows(
        seed=777, allow_dev_seeds=True, agents=("bot",), levels=("GoToObj",), instructions=2, out=tmp_path, processes=1
    )
    assert row["seed_set"] == "evaluation/777 (development)"
    with pytest.raises(UserError, match="no agent 'sgd'"):
        evidence.rows(seed=12, agents=("sgd",), out=tmp_path)


@pytest.mark.parametrize("seed", [0, 101, 102, 777, 2101])
def test_no_seed_of_development_publishes_anything(seed: int) -> None:
    assert seed in used_seeds("development")
    with pytest.raises(UserError, match=f"seed {seed} was used in development .* name a fresh --seed"):
        seed_set(seed, allow_dev_seeds=False)


def test_the_ledger_is_one_page_with_every_seed() -> None:
    assert not used_seeds("development").keys() & used_seeds("published").keys()
    page = "\n".join(markdown())
    assert "| 101, 102 | runs from nothing of a real model, given up | development |" in page


def test_a_seed_listed_twice_is_in_both_rows_of_the_ledger() -> None:
    rows = {row.split(" | ")[1]: row.strip("| ").split(" | ")[0] for row in markdown() if row.startswith("| ")}
    assert rows["`webrules` with two detectors (published)"].split(", ") == [str(seed) for seed in range(30, 40)]
    assert rows["the parser: 31 and 32 in development, 33 published"] == "31, 32, 33"
    assert all(word in used_seeds("screens")[31] for word in ("webrules", "the parser"))


def test_missions_of_bosslevel_alone_are_those_that_synthseq_has_not(tmp_path: Path) -> None:
    drawn = unlocking_layouts(3, 12)
    boss, synth = (LevelBank.build(level, drawn) for level in ("BossLevel", "SynthSeq"))
    assert all(boss.mission(i) != synth.mission(i) for i in range(3))
    [row] = evidence.rows(seed=12, agents=("bot",), levels=(UNLOCKING,), instructions=2, out=tmp_path, processes=1)
    assert row["level"] == UNLOCKING
    assert row["episodes"] == 2
