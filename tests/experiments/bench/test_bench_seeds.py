"""Libraries over training seeds: all count, and a library that changes plays anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.experiments.bench import seeds as bench_seeds
from sdg.experiments.bench.seeds import Cost, summarise
from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.main import main
from sdg.experiments.config.config import dump, load
from sdg.experiments.play.episodes import Played
from sdg.experiments.table.rows import summarise as summarise_episodes
from sdg.skills.library.store import save_library
from sdg.skills.policy.network import random_policy
from sdg.skills.statistics import interquartile_mean
from tests.shared.library_samples import a_library


def store(folder: Path, seed: int) -> str:
    """A library of random weights."""
    rng = np.random.default_rng(seed)
    whole = a_library(provenance={"seed": seed, "searched_steps": 10})
    weights = {skill.name: dict(random_policy(MAP_INPUTS, rng).weights) for skill in whole.skills}
    save_library(replace(whole, weights=weights), folder / "library")
    return str(folder)


def rows_of(out: Path, *runs: str) -> list[Mapping[str, Any]]:
    return bench_seeds.rows(runs=runs, levels=("GoToLocal",), instructions=2, out=str(out), processes=1)


def test_every_library_plays_the_same_instructions(tmp_path: Path) -> None:
    runs = [store(tmp_path / f"r{seed}", seed) for seed in range(3)]
    table = rows_of(tmp_path / "out", *runs)
    assert [row["level"] for row in table] == ["GoToLocal", "all"]
    assert table[0]["libraries"] == len(table[0]["rates"]) == 3
    assert table[0]["success_rate"] == pytest.approx(interquartile_mean(table[0]["rates"]), abs=1e-3)
    assert table[0]["episodes"] == 3 * 2
    episodes = (tmp_path / "out/evaluation/episodes.jsonl").read_text()
    assert (tmp_path / "out/seeds.png").read_bytes().startswith(b"\x89PNG")
    store(tmp_path / "r2", 7)
    rows_of(tmp_path / "out", *runs)
    after = (tmp_path / "out/evaluation/episodes.jsonl").read_text()
    assert after.startswith(episodes)
    assert len(after.splitlines()) == len(episodes.splitlines()) + 2, "the changed library alone plays again"


def test_over_all_levels_a_level_weighs_what_the_others_weigh() -> None:
    episode = {"unit": "u", "agent": "sdg", "seed": 1, "steps": 1, "max_steps": 9}
    rows = [
        [row for row in summarise_episodes(played) if row.level != "all"]
        for rates in ((1.0, 0.2), (0.8, 0.4))
        for played in [
            [
                Played.from_json(episode | {"level": level, "success": number < 10 * rate})
                for level, rate in zip("AB", rates, strict=True)
                for number in range(10)
            ]
        ]
    ]
    table = summarise(rows, cost=Cost(2000, 100, 8.0))
    assert [row["worst"] for row in table] == pytest.approx([0.8, 0.2, 0.6])
    assert [row["best"] for row in table] == pytest.approx([1.0, 0.4, 0.6])
    assert table[-1]["success_rate"] == pytest.approx(0.6)
    assert {row["skill_steps"] for row in table} == {1000}
    assert all(row["low"] <= row["success_rate"] <= row["high"] for row in table)


def test_a_library_of_another_config_is_not_taken_for_this_one(tmp_path: Path) -> None:
    place = tmp_path / "out/seed-0"
    store(place, 0)
    tiny = load(Path("configs/tiny.yaml"), seed=0)
    (place / "config.yaml").write_text(dump(replace(tiny, instructions_per_level=4)))
    with pytest.raises(UserError, match="another config"):
        bench_seeds.rows(config="tiny", seeds=1, levels=("GoToLocal",), instructions=1, out=str(tmp_path / "out"))
    (place / "config.yaml").write_text(dump(tiny))
    asked = {"config": "tiny", "seeds": 1, "levels": ("GoToLocal",), "instructions": 1, "processes": 1}
    assert bench_seeds.rows(out=str(tmp_path / "out"), **asked)[0]["libraries"] == 1  # type: ignore[arg-type]


def test_what_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no skill library"):
        rows_of(tmp_path / "out", str(tmp_path / "nowhere"))
    assert main(["bench", "seeds", "--seeds", "0"]) == 2
