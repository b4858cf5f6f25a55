"""What leaves this machine is read back by others' own loaders, equal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdg
from sdg.agents.agents import ReplayAgent, Task, play_task
from sdg.deduction.episode import EpisodeResult
from sdg.envs.babyai.bot import bot_actions
from sdg.errors import UserError
from sdg.experiments.cli.main import main
from sdg.experiments.share.datasets import read_dataset, write_dataset
from sdg.experiments.share.hub import model_card
from sdg.experiments.share.tracking import log_run
from sdg.storage import Journal, RunFolder, RunFolderError, RunSettings

EPISODE = {"unit": "e", "agent": "sdg", "level": "L", "seed": 1, "success": True, "steps": 4, "max_steps": 9}


def play_with_bot(seed: int) -> EpisodeResult:
    return EpisodeResult.from_json(play_task(ReplayAgent("bot", bot_actions), Task("GoToLocal", seed)))


def test_a_hub_folder_is_read_by_the_hub_s_loader_and_by_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    assert main(["skills", "export", "--hub", str(tmp_path / "lib")]) == 0, capsys.readouterr().err
    now, then = sdg.load(tmp_path / "lib"), sdg.load()
    assert now.skills == then.skills
    assert all(np.array_equal(now.weights[s][k], a) for s, arrays in then.weights.items() for k, a in arrays.items())
    card = hub.ModelCard.load(tmp_path / "lib" / "README.md")
    assert (card.data.license, card.data.library_name) == ("apache-2.0", "sdg")
    assert len(card.data.eval_results) == len(then.skills)
    assert then.skills[0].checks[0].check.source.strip().split("\n")[0] in card.text
    assert "## Composed programs" in card.text
    assert (tmp_path / "lib" / "replay.gif").read_bytes()[:3] == b"GIF"
    programs = (tmp_path / "lib" / "composed.json").read_bytes()
    assert main(["skills", "export", str(tmp_path / "lib"), "--hub", str(tmp_path / "lib")]) == 0
    assert (tmp_path / "lib" / "composed.json").read_bytes() == programs, "a folder may be exported to itself"
    (tmp_path / "lib" / "library.json").unlink()
    assert main(["skills", "export", "--hub", str(tmp_path / "lib")]) == 1
    assert "it holds README.md; choose another place" in capsys.readouterr().err


def test_a_name_in_a_library_can_not_forge_metadata() -> None:
    pytest.importorskip("huggingface_hub")
    library = sdg.load()
    card = model_card(library, None, name="x\n---\nlicense: mit", licence="apache-2.0")
    assert card.split("\n---\n")[0].count("license: apache-2.0") == 1
    assert "\nlicense: mit" not in card


def test_levels_that_are_none_end_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A library's provenance is plain JSON by its author."""
    pytest.importorskip("huggingface_hub")
    for number, levels in enumerate((5, ["Nope"], {})):
        place, library = tmp_path / f"library-{number}", sdg.load()
        replace(library, provenance={**library.provenance, "levels": levels}).save(place)
        assert main(["skills", "export", str(place), "--hub", str(tmp_path / f"hub-{number}")]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("change", [{"level": "Nope"}, {"actions": [99]}, {"actions": ["x"]}, {"actions": [[1]]}])
def test_an_episode_that_can_not_be_played_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    pytest.importorskip("minari")
    with pytest.raises(UserError, match=r"the episode .* can't be played again"):
        write_dataset("sdg/never-v0", [replace(play_with_bot(3), **change)], root=tmp_path)


def test_a_bad_or_a_taken_name_is_said_before_anything_is_played(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    (tmp_path / "root/sdg/taken-v0").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for name in (
        "x",
        "x-v",
        "a/b-v0",
        "X Y-v0",
        "../../x-v0",
        "/x-v0",
        "sdg/../x-v0",
        "x" * 300 + "-v0",
        "sdg/taken-v0",
    ):
        with pytest.raises(UserError, match=r"such as sdg/mine-v0, that no data set has yet"):
            write_dataset(name, [replace(play_with_bot(3), actions=[99])], root=tmp_path / "root")  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_of_no_kind_end_an_export_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for row, says in (
        ({"unit": "a"}, "has no episodes of sdg"),
        ({"unit": "a", "agent": "sdg"}, "episodes.jsonl has a row"),
        ({"unit": "a", "task": "click-test"}, "has no episodes of sdg"),
    ):
        (tmp_path / "episodes.jsonl").write_text(json.dumps(row) + "\n")
        assert main(["skills", "export", str(tmp_path), "--minari", "sdg/never-v0"]) == 2
        assert says in capsys.readouterr().err


def test_episodes_are_read_by_minari_s_loader(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    rows = [play_with_bot(seed) for seed in (3, 4)]
    assert write_dataset("sdg/test-v0", rows, root=tmp_path) == 2
    episodes = list(read_dataset("sdg/test-v0", root=tmp_path))
    assert [tuple(map(int, episode.actions)) for episode in episodes] == [tuple(row.actions) for row in rows]
    assert all(episode.terminations[-1] and episode.rewards[-1] > 0 for episode in episodes)
    assert [episode.observations["mission"][0] for episode in episodes] == [row.instruction for row in rows]
    assert [len(episode.observations["image"]) for episode in episodes] == [row.steps + 1 for row in rows]


def test_an_episode_that_was_cut_off_is_truncated(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    whole = play_with_bot(3)
    short = EpisodeResult.from_json(vars_of(whole) | {"actions": list(whole.actions[:1]), "success": False, "steps": 1})
    write_dataset("sdg/short-v0", [short], root=tmp_path)
    (episode,) = read_dataset("sdg/short-v0", root=tmp_path)
    assert (bool(episode.terminations[-1]), bool(episode.truncations[-1])) == (False, True)


def vars_of(row: EpisodeResult) -> dict[str, Any]:
    from sdg.storage import json_values

    return dict(json_values(row))


def test_export_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skills", "export"]) == 2
    assert "--hub DIR" in capsys.readouterr().err
    assert main(["skills", "--hub", str(tmp_path / "x")]) == 2
    assert "belongs to `sdg skills export`" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert main(["skills", "export", "--hub", str(tmp_path / "mine")]) == 1
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_a_tracker_s_callback_hears_of_curves_and_episodes(tmp_path: Path) -> None:
    with RunFolder.start(tmp_path, RunSettings({}, "", 0)) as folder:
        folder.metrics.begin("skill/1/0")
        folder.metrics.write({"environment_steps": 10, "skill": "go", "validation_success": 0.5})
        folder.journal("episodes").append(EPISODE)
    heard: list[tuple[dict[str, float], int]] = []
    assert log_run(tmp_path, lambda values, step: heard.append((values, step))) == 2
    assert heard == [
        ({"skill/1/0/environment_steps": 10.0, "skill/1/0/validation_success": 0.5}, 0),
        ({"episodes/sdg/L/success": 1.0, "episodes/sdg/L/steps": 4.0}, 1),
    ]


def test_episodes_of_another_kind_are_refused_with_a_reason(run: Path) -> None:
    with Journal(run / "episodes.jsonl") as journal:
        journal.append({"unit": "skills@map/L/1/0", "interface": "skills", "level": "L", "success": True, "steps": 4})
    with pytest.raises(RunFolderError, match=r"episodes.jsonl has a row .*agent"):
        log_run(run, lambda values, step: None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunFolder.start(tmp_path / "run", RunSettings({}, "", 0)) as folder:
        for number in (0, 1):
            folder.metrics.begin(f"skill/1/{number}")
            for steps in (10, 20):
                folder.metrics.write({"environment_steps": steps, "skill": "go", "validation_success": steps / 40})
        folder.journal("episodes").append(EPISODE)
    return tmp_path / "run"


def test_mlflow_keeps_the_curves(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as tracked:
        assert log_run(run, mlflow.log_metrics) == 5
    client = mlflow.MlflowClient()
    curve = client.get_metric_history(tracked.info.run_id, "skill/1/1/validation_success")
    assert [(point.step, point.value) for point in curve] == [(2, 0.25), (3, 0.5)]
    assert client.get_run(tracked.info.run_id).data.metrics["episodes/sdg/L/success"] == 1.0


def test_wandb_keeps_the_curves_offline(run: Path, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb")
    settings = wandb.Settings(console="off", disable_git=True, silent=True)
    with wandb.init(project="sdg", dir=tmp_path, mode="offline", settings=settings) as tracked:
        assert log_run(run, tracked.log) == 5
        assert tracked.summary["skill/1/1/validation_success"] == 0.5
    assert list(tmp_path.rglob("*.wandb"))
