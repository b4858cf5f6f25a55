"""`sdg bench models`: episodes recorded of a model, kept small, counted, and played again without it."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sdg.console import CheckFailed
from sdg.errors import UserError
from sdg.experiments.bench.models import replay
from sdg.experiments.bench.models.command import rows, rows_of
from sdg.experiments.bench.models.recording import About, RecordedEpisode, RecordedRun
from sdg.experiments.config.config import RunConfig
from sdg.storage import RunFolderError, hold

MODEL = """
class Turns:
    network = False

    def complete(self, messages):
        assert messages[-1].content.strip()
        if "Latest actions" in messages[-1].content:
            return "go forward"
        first = "Program that failed" not in messages[-1].content
        return f"```python\\ndef program():\\n    # go\\n    {'turn_left()' if first else 'move_forward()'}\\n```"
"""
NEEDED = {
    *("model", "interface", "perception", "level", "success_rate", "success_at_one", "episodes"),
    *("tokens_per_episode", "completion_tokens_per_episode"),
}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "turns_and_goes.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield "turns_and_goes:Turns"
    sys.modules.pop("turns_and_goes", None)


def test_a_recorded_run_is_kept_counted_and_played_again(model: str, tmp_path: Path) -> None:
    recorded = list(
        rows(
            llm=model,
            interfaces=("primitive", "skills"),
            levels=("GoToLocal",),
            instructions=2,
            seed=777,
            out=tmp_path / "run",
            processes=1,
        )
    )
    assert [row["interface"] for row in recorded] == ["primitive", "skills"]
    assert all(row.keys() >= NEEDED and row["episodes"] == 2 and row["unfinished"] == 0 for row in recorded)
    assert recorded[0]["program_lines"] == 2, "comments aren't lines of a program"
    assert recorded[1]["ahead_of_primitive"] == recorded[1]["success_rate"] - recorded[0]["success_rate"]
    recordings = tmp_path / "run/kept"
    assert list(rows(recordings=recordings)) == recorded
    again = tmp_path / "run/kept/episodes.jsonl"
    assert list(rows(recordings=recordings, replay=True, processes=1)) == recorded

    true = again.read_text()
    true_rows = [json.loads(line) for line in true.splitlines()]
    for lie in (
        true_rows[1:],
        true_rows * 2,
        [true_rows[0]] * 4,
        [true_rows[0] | {"unit": "primitive@map/GoToLocal/5000/0", "seed": 5000, "success": True}, *true_rows[1:]],
        [row | {"level": "BossLevel", "unit": row["unit"].replace("GoToLocal", "BossLevel")} for row in true_rows],
        [row | {"level": "GoToMars"} for row in true_rows],
        [row | {"finished": False, "success": True} for row in true_rows],
        [row | {"finished": False, "success": False, "steps": 1, "programs": []} for row in true_rows],
    ):
        again.write_text("".join(json.dumps(row) + "\n" for row in lie))
        with pytest.raises(CheckFailed, match="doesn't replay"):
            list(rows(recordings=recordings, replay=True, processes=1))
    again.write_text(true)

    about = recordings / "draw.json"
    elsewhere = json.loads(about.read_text()) | {"commit": "gone"}
    about.write_text(json.dumps(elsewhere))
    transcript = recordings / "transcript.jsonl.xz"
    transcript.write_bytes(lzma.compress(lzma.decompress(transcript.read_bytes()).replace(b"robot", b"machine")))
    config = recordings / "config.yaml"
    settings = config.read_text()
    assert f"kind: {model}" in settings
    config.write_text(settings.replace(f"kind: {model}", "kind: stranger:MODEL"))
    gone = [row | {"commit": "gone"} for row in recorded]
    replayed = list(rows(recordings=recordings, replay=True, processes=1))
    assert replayed == gone, "a commit that isn't there, other prompts, a model that isn't needed"

    (tmp_path / "stranger.py").write_text("raise SystemExit('imported')\n")
    for ours, strange in (
        ("domain: babyai", "domain: stranger:WORLD"),
        ("privacy: 'off'", "privacy: stranger:FIND"),
        ("guards:\n  - rules", "guards:\n  - stranger:GUARD"),
        ("learner: ppo", "learner: stranger:LEARNER"),
    ):
        assert settings.count(ours) == 1, ours
        config.write_text(settings.replace(ours, strange))
        with pytest.raises(CheckFailed, match=r"doesn't replay: .* name it yourself first"):
            list(rows(recordings=recordings, replay=True, processes=1))
    config.write_text(settings)
    assert "stranger" not in sys.modules

    true_rows[0] |= {"success": not true_rows[0].get("success", False)}
    again.write_text("".join(json.dumps(row) + "\n" for row in true_rows))
    with pytest.raises(CheckFailed, match="doesn't replay"):
        list(rows(recordings=recordings, replay=True, processes=1))


def test_only_a_recording_of_this_checkout_chooses_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's would choose the guard that runs its programs."""
    monkeypatch.setattr(replay, "_source", lambda commit: b"archive")
    monkeypatch.setattr(
        replay, "_replay_with", lambda recording, source, processes: [{"commit": recording.about.commit}]
    )
    monkeypatch.setattr(replay, "_play_again", lambda recording, request, folder, **_: [])
    monkeypatch.setattr(replay, "load", lambda path, **_: RunConfig("models"))
    about = About("d", "m", "a" * 40, 0, 4, "evaluation")
    recordings = replay.ROOT / "recordings"
    ours = recordings / "models/d"
    for folder in (ours, tmp_path, recordings / "../d"):
        versions = [{"commit": "a" * 40}] if folder == ours else []
        assert replay.replay_rows(RecordedRun(folder, about, ()), lambda recording: [], processes=1) == versions


def test_what_a_budget_ends_counts_as_not_solved_and_goes_on(model: str, tmp_path: Path) -> None:
    options = {"llm": model, "interfaces": ("primitive",), "levels": ("GoToLocal",), "seed": 777, "processes": 1}
    few = list(rows(**options, instructions=2, out=tmp_path / "d", assignments=["budget.tokens=1"]))  # type: ignore[arg-type]
    assert few[0]["episodes"] - few[0]["unfinished"] < 2
    whole = list(rows(**options, instructions=2, out=tmp_path / "d"))  # type: ignore[arg-type]
    assert whole[0]["episodes"] == 2
    assert whole[0]["unfinished"] == 0


def test_a_recorded_run_is_only_written_over_itself(model: str, tmp_path: Path) -> None:
    options = {"llm": model, "interfaces": ("primitive",), "levels": ("GoToLocal",), "instructions": 1, "processes": 1}

    def record(out: Path, keep: Path, **changes: Any) -> None:
        list(rows(**options | changes, out=out, keep=keep))

    mine, run, recordings = tmp_path / "mine", tmp_path / "run", tmp_path / "kept"
    mine.mkdir()
    for name in ("transcript.jsonl", "config.yaml"):
        (mine / name).write_text("mine")
    with pytest.raises(RunFolderError, match="Name another folder"):
        record(run, mine)
    assert [(mine / name).read_text() for name in ("transcript.jsonl", "config.yaml")] == ["mine", "mine"]
    with pytest.raises(UserError, match="another folder"):
        record(run, tmp_path / "mine/../run")
    with pytest.raises(UserError, match="another folder"):
        record(tmp_path / "new", tmp_path / "new")
    record(run, recordings)
    (recordings / "link").symlink_to(mine)
    with pytest.raises(RunFolderError, match="link"):
        record(run, recordings)
    (recordings / "link").unlink()
    with hold(recordings / "run.lock"), pytest.raises(RunFolderError, match="in use"):
        record(run, recordings)
    record(run, recordings, instructions=2)
    two = (recordings / "episodes.jsonl").read_text()
    assert two.count("\n") == 2
    with pytest.raises(UserError, match="another recorded run"):
        record(tmp_path / "other", recordings, seed=1)
    assert (recordings / "episodes.jsonl").read_text() == two


def test_intervals_know_who_answered(tmp_path: Path) -> None:
    about = About("d", "m", "c", 0, 4, "evaluation")
    cell = {"interface": "skills", "perception": "map", "level": "GoToLocal"}
    episodes = [RecordedEpisode(unit=str(n), **cell, seed=n, success=n < 2) for n in range(4)]
    answered = [replace(episode, answerers=("one",) if episode.success else ("other",)) for episode in episodes]
    unknown = rows_of(RecordedRun(tmp_path, about, tuple(episodes)))[0]
    known = rows_of(RecordedRun(tmp_path, about, tuple(answered)))[0]
    assert (unknown["answerers"], known["answerers"]) == (0, 2)
    assert known["low"] < unknown["low"]
    assert known["high"] > unknown["high"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"interfaces": ("telepathy",)}, "there is no 'telepathy'"),
        ({"perceptions": ("x-ray",)}, "there is no 'x-ray'"),
        ({"levels": ("GoToMars",)}, "GoToMars"),
        ({"llm": "", "recordings": Path("nowhere")}, "there are no recorded runs"),
    ],
)
def test_what_there_is_not_is_said(model: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        list(rows(**({"llm": model} | options)))  # type: ignore[arg-type]
