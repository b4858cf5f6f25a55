"""What a strange folder or an unlucky run says in a terminal: plain words, and nothing that steers it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from sdg.storage import read_journal


def sdg(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).parents[3]
    line = [sys.executable, "-m", "sdg.experiments.cli.main", *arguments]
    return subprocess.run(line, capture_output=True, cwd=cwd, env={**os.environ, "PYTHONPATH": str(root)})


TINY = ("--config", "tiny", "--set", "instructions_per_level=1")


def test_an_escape_in_a_folder_s_name_is_shown_and_not_sent(tmp_path: Path) -> None:
    name = "a\x1b[2Jb"
    first = sdg("hypothesize", *TINY, "--out", name, cwd=tmp_path)
    second = sdg("report", name, cwd=tmp_path)
    third = sdg("skills", name, cwd=tmp_path)
    assert (tmp_path / name / "report.html").is_file(), second.stderr
    assert b"\\x1b[2J" in second.stdout
    for done in (first, second, third):
        assert b"\x1b[2J" not in done.stdout + done.stderr


def test_a_run_that_verifies_nothing_ends_with_what_to_do(tmp_path: Path) -> None:
    options = (*TINY, "--set", "hypothesize.retries=0", "--out", "run")
    sdg("hypothesize", *options, cwd=tmp_path)
    journal = tmp_path / "run" / "hypotheses.jsonl"
    (row,) = read_journal(journal)
    journal.write_text(json.dumps(row | {"subgoals": [], "error": "the model said nothing of use"}) + "\n")
    done = sdg("induce", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert b"no subgoal was ever reached" in done.stderr
    assert b"unexpected" not in done.stderr


def test_a_list_of_bans_from_anybody_ends_a_command_by_name(tmp_path: Path) -> None:
    sdg("hypothesize", *TINY, "--out", "run", cwd=tmp_path)
    (tmp_path / "run" / "banned.json").write_bytes(b"[" * 100_000)
    done = sdg("verify", *TINY, "--out", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert b"banned.json" in done.stderr
    assert b"unexpected" not in done.stderr


def test_times_of_stages_from_anybody_end_a_command_by_name(tmp_path: Path) -> None:
    sdg("hypothesize", *TINY, "--out", "run", cwd=tmp_path)
    place = tmp_path / "run" / "results.json"
    results = json.loads(place.read_text())
    for stages in (5, {"hypothesize": [None]}, {"hypothesize": {"cpu_seconds": "x"}}):
        place.write_text(json.dumps(results | {"stages": stages}))
        done = sdg("hypothesize", *TINY, "--out", "run", cwd=tmp_path)
        assert done.returncode == 2
        assert b"results.json has a row or value that" in done.stderr
    place.write_text(json.dumps(results | {"stages": {"induce": {"cpu_seconds": 1}}}))
    done = sdg("hypothesize", *TINY, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
