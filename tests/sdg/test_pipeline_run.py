"""All four stages as a user runs them: whole, killed in each stage, over HTTP, and replayed from the transcript."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sdg.llm.transcript import entries
from tests.adversarial.kills import differences, kill, start_run, units
from tests.shared.pipeline_server import openai_server

pytestmark = pytest.mark.long
STAGES = ("hypotheses", "verifications", "skills", "episodes")


def sdg(*arguments: str | Path) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "sdg.experiments.cli.main", "run", "--config", "tiny", "--quiet", "--json"]
    environment = os.environ | {"OPENAI_API_KEY": ""}
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    folder = tmp_path_factory.mktemp("run") / "whole"
    return folder, sdg("--out", folder)


def test_a_run_ends_with_a_table_and_all_its_artefacts(whole: tuple[Path, list[dict[str, object]]]) -> None:
    folder, rows = whole
    assert [(row["level"], row["agent"]) for row in rows][:2] == [("GoToLocal", "sdg"), ("GoToLocal", "random")]
    assert all(0 <= row["low"] <= row["success_rate"] <= row["high"] <= 1 for row in rows)  # type: ignore[operator]
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "config.yaml",
        "run.json",
        "results.json",
        "induction.json",
        "library",
        "transcript.jsonl",
        "skills",
    }
    results = json.loads((folder / "results.json").read_text())
    assert results["verification"][0]["random_search"] is not None
    assert set(results["stages"]) == {"hypothesize", "verify", "random search", "induce", "solve"}


def test_a_finished_run_has_nothing_left_to_do(whole: tuple[Path, list[dict[str, object]]]) -> None:
    folder, rows = whole
    before = units(folder)
    assert sdg("--out", folder) == rows
    assert units(folder) == before


def test_a_run_killed_in_each_stage_ends_like_one_left_alone(
    whole: tuple[Path, list[dict[str, object]]], tmp_path: Path
) -> None:
    folder, log = tmp_path / "broken", tmp_path / "log"
    for stage in STAGES:
        process = start_run("tiny", folder, log)
        journal, deadline = folder / f"{stage}.jsonl", time.monotonic() + 240
        while not (journal.exists() and journal.read_bytes().count(b"\n")):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"no {stage} in time"
            time.sleep(0.05)
        kill(process)
    before = units(folder)
    assert start_run("tiny", folder, log).wait() == 0, log.read_text()
    assert units(folder).items() >= before.items()
    assert differences(whole[0], folder) == []


def test_a_server_s_model_grounds_and_its_transcript_replays_the_run(tmp_path: Path) -> None:
    served, replayed = tmp_path / "served", tmp_path / "replayed"
    with openai_server() as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        address = f"model.base_url={url}"
        rows = sdg("--llm", "openai:stand-in", "--set", address, "--set", "processes=2", "--out", served)
        assert server.requests > 3  # type: ignore[attr-defined]
    assert rows[0]["llm_calls"]
    lines = list(entries(served / "transcript.jsonl"))
    assert {line["stage"] for line in lines} == {"hypothesize", "induce", "solve"}
    assert sum(line["stage"] == "solve" for line in lines) == rows[0]["llm_calls"], "two workers wrote, and all of it"
    again = sdg("--llm", f"replay:{served / 'transcript.jsonl'}", "--out", replayed)
    assert [row["success_rate"] for row in again] == [row["success_rate"] for row in rows]
    theirs, ours = units(served), units(replayed)
    assert {key for key in theirs if not key.startswith("episodes")} == {
        k for k in ours if not k.startswith("episodes")
    }
    assert all(theirs[key] == ours[key] for key in theirs if key.startswith(("hypotheses", "verifications", "skills")))
