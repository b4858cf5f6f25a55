"""Clocks that jump change no result, free no lock that is held and make nobody wait for a year."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sdg.llm.openai import client as openai
from sdg.storage import Journal, Metrics, RunFolderError, read_metrics
from sdg.storage.lock import claim, ourselves

YEAR = 365 * 86_400.0
JUMPS = (0.0, -30 * YEAR, 40 * YEAR, -YEAR, 3_600.0, -3_600.0)


@pytest.fixture(params=JUMPS[1:], ids=lambda seconds: f"{seconds / 3600:+.0f} h")
def jumping(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """Every look at the wall clock after the first is this far off."""
    right, looks = time.time, [0]

    def wrong() -> float:
        looks[0] += 1
        return right() + (request.param if looks[0] > 1 else 0.0)

    monkeypatch.setattr(time, "time", wrong)
    return float(request.param)


def test_journals_and_curves_do_not_ask_the_clock_for_their_order(tmp_path: Path, jumping: float) -> None:
    with Journal(tmp_path / "units.jsonl") as journal:
        for number in range(5):
            journal.append({"unit": f"u{number}"})
    metrics = Metrics(tmp_path)
    metrics.begin("skill/1")
    for step in range(5):
        metrics.write({"environment_steps": step, "value": step})
    assert [row["unit"] for row in Journal(tmp_path / "units.jsonl")] == [f"u{number}" for number in range(5)]
    assert [row["value"] for row in read_metrics(tmp_path / "metrics.jsonl")] == list(range(5))


@pytest.mark.parametrize("since", ["1970-01-01 00:00:00+0000", "2399-12-31 23:59:59+0000", "not a time"])
def test_who_holds_a_lock_is_no_question_of_time(tmp_path: Path, since: str) -> None:
    me = ourselves()
    holder = {"pid": me.pid, "host": me.host, "since": since, "birth": me.birth}
    (tmp_path / "run.lock").write_text(json.dumps(holder))
    with pytest.raises(RunFolderError, match="in use"), claim(tmp_path / "run.lock"):
        pass
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    (tmp_path / "run.lock").write_text(json.dumps({**holder, "pid": process.pid, "birth": "earlier/1"}))
    with claim(tmp_path / "run.lock"):
        pass


def test_a_date_years_away_is_no_time_to_wait(jumping: float) -> None:
    now = time.gmtime(1_900_000_000)
    seconds = openai._retry_after({"retry-after": time.strftime("%a, %d %b %Y %H:%M:%S GMT", now)})
    assert seconds is None or 0.0 <= seconds <= 3600.0


def test_a_run_under_a_clock_that_jumps_ends_as_ever(tmp_path: Path) -> None:
    """Every process of the run sees its wall clock leap forth and back; deadlines go by the clock that can't."""
    (tmp_path / "sitecustomize.py").write_text(
        "import itertools, time\n"
        f"right, jumps = time.time, itertools.cycle({JUMPS!r})\n"
        "time.time = lambda: right() + next(jumps)\n"
    )
    rows = []
    for name, path in (("right", ""), ("wrong", str(tmp_path))):
        command = [
            sys.executable,
            "-m",
            "sdg.experiments.cli.main",
            "hypothesize",
            "--config",
            "tiny",
            "--out",
            str(tmp_path / name),
        ]
        done = subprocess.run(
            [*command, "--json"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=True
        )
        rows.append([json.loads(line) for line in done.stdout.splitlines()])
    assert rows[0] == rows[1] != []
