"""A sweep: every setting with every seed, each run once, and honest intervals across seeds."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sdg.console import progress
from sdg.experiments.cli.main import main
from sdg.experiments.config.assembly import run_settings
from sdg.experiments.config.config import RunConfig, find_config, load
from sdg.experiments.run import runs, sweep as module
from sdg.experiments.run.runs import _cpu_seconds, library_costs, run
from sdg.experiments.run.sweep import summarise_seeds
from sdg.storage import RunFolder, json_values


def test_a_stage_s_time_is_told_where_the_system_lists_no_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "Path", lambda place: tmp_path / str(place).lstrip("/"))
    before = sum(os.times()[:4])
    assert before <= _cpu_seconds() <= sum(os.times()[:4])


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The runs that were made, as (T_verify, seed): a stand-in for the run itself, which takes half a minute."""
    played: list[tuple[int, int]] = []

    def run(config: RunConfig, folder: RunFolder, **rest: Any) -> list[Any]:
        played.append((config.verify.t_verify, config.seed))
        row = {"level": "GoToLocal", "agent": "sdg", "success_rate": 0.9 + config.seed / 100, "episodes": 100}
        folder.write_json("results.json", {"rows": [row, row | {"agent": "bot"}]})
        return []

    monkeypatch.setattr(module, "run", run)
    return played


def test_every_setting_is_run_with_every_seed_once(
    tmp_path: Path, ran: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sweep", "tiny", "--set", "verify.t_verify=500,600", "--seeds", "3", "--out", str(tmp_path), "--json"]
    assert main(command) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(ran) == [(budget, seed) for budget in (500, 600) for seed in (0, 1, 2)]
    assert [row["setting"] for row in rows] == ["verify.t_verify=500", "verify.t_verify=600"]
    assert rows[0]["seeds"] == 3
    assert rows[0]["success_rate"] == pytest.approx(0.91)
    assert main(command) == 0
    assert len(ran) == 6, "the second time everything is there"
    assert main([*command, "--first-seed", "2"]) == 0
    assert sorted({seed for _, seed in ran}) == [0, 1, 2, 3, 4]
    assert len(ran) == 10, "seed 2 is there"


def test_a_search_finds_the_best_setting_and_goes_on(
    tmp_path: Path, ran: list[tuple[int, int]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna = pytest.importorskip("optuna")

    def run(config: RunConfig, folder: RunFolder, **rest: Any) -> list[Any]:
        ran.append((config.verify.t_verify, config.seed))
        row = {"level": "L", "agent": "sdg", "success_rate": config.verify.t_verify / 1000, "episodes": 100}
        folder.write_json("results.json", {"rows": [row]})
        return []

    monkeypatch.setattr(module, "run", run)
    options = ["--set", "verify.t_verify=500,600,700", "--seeds", "2", "--out", str(tmp_path), "--json"]
    for search in ("3", "5"):
        assert main(["sweep", "tiny", *options, "--search", search]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["seeds"] for row in rows} == {2}
    assert len(ran) == len(set(ran)), "no run is made twice"
    storage = optuna.storages.journal.JournalFileBackend(str(tmp_path / module.STUDY))
    study = optuna.load_study(study_name="tiny", storage=optuna.storages.JournalStorage(storage))
    assert len(study.trials) == 8
    assert study.best_value == max(t for t, _ in ran) / 1000
    assert main(["sweep", "tiny", "--set", "verify.t_verifi=1,2", "--out", str(tmp_path), "--search", "2"]) == 2


def test_a_link_above_the_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep/as-it-is").symlink_to(tmp_path / "elsewhere")
    assert main(["sweep", "tiny", "--seeds", "1", "--out", str(tmp_path / "sweep")]) == 2
    assert "a link" in capsys.readouterr().err
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,", ["1", "2"]),
        ("[1,2],[3,[4,5]]", ["[1,2]", "[3,[4,5]]"]),
        ("{a: 1, b: {c: [2,3], d: 4}},{a: 5}", ["{a: 1, b: {c: [2,3], d: 4}}", "{a: 5}"]),
    ],
)
def test_commas_in_brackets_belong_to_a_value(text: str, values: list[str]) -> None:
    assert module._choices(f"k={text}") == [f"k={value}" for value in values]


def test_a_search_checks_its_settings_together(tmp_path: Path, ran: list[tuple[int, int]]) -> None:
    pytest.importorskip("optuna")
    together = ["--set", "model.kind=openai", "--set", "model.name=x,y", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["sweep", "tiny", *together, "--search", "1"]) == 0
    assert len(ran) == 1
    assert main(["sweep", "tiny", *together, "--set", "model.temperature=0,9", "--search", "1"]) == 2
    assert len(ran) == 1


def test_a_setting_that_there_is_not_is_refused_before_any_run(
    tmp_path: Path, ran: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "tiny", "--set", "verify.t_verifi=1,2", "--out", str(tmp_path)]) == 2
    assert "t_verify" in capsys.readouterr().err
    assert main(["sweep", "tiny", "--set", "verify.t_verify", "--out", str(tmp_path)]) == 2
    assert not ran


@pytest.mark.parametrize(
    ("settings", "says"),
    [(["seed=7,8"], "--seeds"), (["seed=7"], "--seeds"), (["cycles=1,2", "cycles=3,4"], "same run")],
)
def test_a_row_is_of_what_its_setting_says(
    tmp_path: Path, ran: list[tuple[int, int]], capsys: pytest.CaptureFixture[str], settings: list[str], says: str
) -> None:
    """What is set over again would give rows of one run under several names."""
    options = [word for setting in settings for word in ("--set", setting)]
    assert main(["sweep", "tiny", *options, "--seeds", "2", "--out", str(tmp_path)]) == 2
    assert says in capsys.readouterr().err
    assert not ran


def test_no_run_is_charged_the_processor_time_of_one_beside_it(tmp_path: Path) -> None:
    config = load(find_config("tiny"), seed=0)

    def times(name: str) -> tuple[set[str], Any]:
        with RunFolder.start(tmp_path / name, run_settings(config)) as folder:
            list(run(config, folder, until="hypothesize", progress=progress(quiet=True)))
            stages = (folder.read_json("results.json") or {})["stages"]
            return set(stages["hypothesize"]), json_values(library_costs(folder.path, config, stages=stages))[
                "cpu_seconds"
            ]

    assert times("alone")[0] == {"seconds", "cpu_seconds"}
    assert times("alone")[1] is not None
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(times, "beside").result() == ({"seconds"}, None)
    assert times("beside") == ({"seconds"}, None), "what isn't known stays so"


@pytest.mark.parametrize("rows", [5, [5], [{}], [{"success_rate": None}], [{"success_rate": 5}], [{"episodes": 0}]])
def test_results_that_can_not_be_read_are_refused_by_name(
    tmp_path: Path, ran: list[tuple[int, int]], capsys: pytest.CaptureFixture[str], rows: Any
) -> None:
    command = ["sweep", "tiny", "--seeds", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    place = tmp_path / "as-it-is/seed-0/results.json"
    results = json.loads(place.read_text())
    good = results["rows"][0] if rows != [{}] else {}
    if isinstance(rows, list):
        rows = [good | row if isinstance(row, dict) else row for row in rows]
    place.write_text(json.dumps(results | {"rows": rows}))
    assert main(command) == 2
    assert "results.json has a row or value that" in capsys.readouterr().err
    place.write_text(json.dumps({key: value for key, value in results.items() if key != "rows"}))
    assert main(command) == 0
    assert len(ran) == 2, "a run without rows isn't finished"


def test_an_interval_across_seeds_is_student_s_and_never_empty() -> None:
    spread = summarise_seeds([{"success_rate": rate, "episodes": 100} for rate in (0.7, 0.8, 0.9)])
    assert (spread["low"], spread["high"]) == (pytest.approx(0.5516, abs=1e-3), 1.0)
    equal = summarise_seeds([{"success_rate": 1.0, "episodes": 100} for _ in range(5)])
    assert 0.99 < equal["low"] < 1.0 == equal["high"]
    summary = summarise_seeds([{"success_rate": 0.5, "episodes": 10}])
    assert summary["low"] < 0.3 < 0.7 < summary["high"]
