"""Journals and files survive kills, torn lines and full disks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from sdg.envs import files
from sdg.storage import (
    Journal,
    Metrics,
    RunError,
    RunFolderError,
    atomic_write,
    files as journal_module,
    json_values,
    read_journal,
    read_json,
    read_metrics,
)

WRITER = """
import sys
from importlib import util
from pathlib import Path
from sdg.storage import Journal, atomic_write
folder = Path(sys.argv[1])
journal = Journal(folder / "units.jsonl")
print(journal.dropped or "", flush=True)
n = len(journal)
while True:
    journal.append({"unit": f"u{n}", "value": n * n, "text": "x" * (n * 37 % 3000)})
    atomic_write(folder / "state.json", str(n) * 500)
    n += 1
"""

LIMITED = """
import resource, sys
from importlib import util
from pathlib import Path
from sdg.storage import Journal, RunError, atomic_write
folder, limit = Path(sys.argv[1]), 5000
journal = Journal(folder / "units.jsonl")
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    for n in range(1000):
        journal.append({"unit": f"u{n}", "text": "y" * 300})
except RunError as error:
    print(error)
try:
    atomic_write(folder / "state.json", "z" * 9000)
except RunError as error:
    print(error)
"""


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.append({"unit": "b", "value": 1})
        journal.append({"unit": "a", "value": np.float32(0.5), "actions": np.array([1, 2]), "bad": float("nan")})
    again = Journal(tmp_path / "a.jsonl")
    assert [row["unit"] for row in again] == ["b", "a"]
    assert again["a"] == {"unit": "a", "value": 0.5, "actions": [1, 2], "bad": None}
    assert "a" in again
    assert "c" not in again
    assert again.dropped is None


def test_what_append_returns_is_what_a_reader_sees(tmp_path: Path) -> None:
    row = Journal(tmp_path / "a.jsonl").append({"unit": "a", "pair": (1, np.int64(2)), 3: "three"})
    assert row == {"unit": "a", "pair": [1, 2], "3": "three"} == read_journal(tmp_path / "a.jsonl")[0]


@pytest.mark.parametrize("text", ["line\nbreak", "\u2028\u2029\x85", "\x00\x1b[2J", "\ud800", "}{", '"unit"'])
def test_hostile_text_stays_in_its_line(tmp_path: Path, text: str) -> None:
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.append({"unit": "a", "text": text})
        journal.append({"unit": text, "text": "after"})
    assert [row["text"] for row in read_journal(tmp_path / "a.jsonl")] == [text, "after"]


def test_a_kill_in_the_middle_of_a_row_loses_that_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    with Journal(path) as journal:
        journal.append({"unit": "a", "program": "go(1)\n" * 60})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with Journal(path) as journal:
            assert len(journal) == 0
            journal.append({"unit": "a", "program": "go(1)\n" * 60})
        assert path.read_bytes() == whole, length


def test_lines_have_a_maximal_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.append({"unit": "a", "text": "x" * 500})
        monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 400)
        before = path.read_bytes()
        with pytest.raises(RunError, match="at most 400"):
            journal.append({"unit": "b", "text": "x" * 500})
    with pytest.raises(RunFolderError, match=r"line 1 has .* bytes, at most 400"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_line_is_measured_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"unit":"a","x":[' + b"[]," * 400 + b"0]}\n")
    monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 400)
    monkeypatch.setattr(journal_module, "_parse", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(RunFolderError, match="at most 400"):
        Journal(path)


def test_values_are_counted_before_a_file_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"unit":"a","x":[' + b"[]," * (1 << 24) + b"0]}\n")
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("it was parsed"))
    for read in (Journal, read_json, read_metrics):
        with pytest.raises(RunError, match="holds too much"):
            read(path)


def test_what_is_appended_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    monkeypatch.setattr(journal_module, "MAX_VALUES", 40)
    monkeypatch.setattr(files, "MAX_VALUES", 40)
    rows = [{"unit": str(number), "actions": [0.5] * 9} for number in range(5)]
    with Journal(path) as journal:
        for row in rows[:4]:
            journal.append(row)
        with pytest.raises(RunError, match="is full, a longer one couldn't be read"):
            journal.append(rows[4])
    with Journal(path) as journal, pytest.raises(RunError, match="is full, a longer one couldn't be read"):
        journal.append(rows[4])
    assert len(read_journal(path)) == 4


def test_line_ends_alone_are_counted_first(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" * 3_000_000)
    with pytest.raises(RunFolderError, match="too many lines"):
        Journal(path)


@pytest.mark.parametrize("cut", range(1, 24, 3))
def test_a_torn_last_line_is_dropped_and_its_unit_done_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.append({"unit": "a"})
        journal.append({"unit": "b", "value": 3})
    path.write_bytes(path.read_bytes()[:-cut])
    assert [row["unit"] for row in read_journal(path)] == ["a"]
    journal = Journal(path)
    assert journal.dropped is not None
    assert "line 2" in journal.dropped
    journal.append({"unit": "b", "value": 4})
    assert read_journal(path) == [{"unit": "a"}, {"unit": "b", "value": 4}]


@pytest.mark.parametrize("junk", [b"\x00\x00\x00\n", b"[1, 2]\n", b'{"value": 1}\n', b'{"unit": 3}\n', b"[" * 100_000])
def test_a_last_line_that_is_no_row_is_dropped(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"unit":"a"}\n' + junk)
    assert list(Journal(path)) == [{"unit": "a"}]
    assert path.read_bytes() == b'{"unit":"a"}\n'


def test_a_corrupt_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    content = b'{"unit":"a"}\n{"unit":"b", \n{"unit":"c"}\n'
    path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"line 2 .*delete that line"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_unit_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.append({"unit": "a"})
        with pytest.raises(ValueError, match="already"):
            journal.append({"unit": "a"})
        with pytest.raises(ValueError, match="text field 'unit'"):
            journal.append({"value": 1})
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(RunFolderError, match="twice"):
        read_journal(path)


def run_and_kill(folder: Path, seconds: float) -> None:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_sigkill_loses_no_finished_unit(tmp_path: Path) -> None:
    before = 0
    for attempt in range(8):
        run_and_kill(tmp_path, 0.03 + 0.013 * attempt)
        rows = read_journal(tmp_path / "units.jsonl")
        assert [row["unit"] for row in rows] == [f"u{n}" for n in range(len(rows))]
        assert all(row["value"] == n * n and len(row["text"]) == n * 37 % 3000 for n, row in enumerate(rows))
        assert len(rows) > before
        before = len(rows)
        state = (tmp_path / "state.json").read_text()
        assert state == state[: len(state) // 500] * 500
        assert int(state[: len(state) // 500]) in (before - 1, before - 2)


def test_a_full_disk_is_said_plainly_and_keeps_what_was_finished(tmp_path: Path) -> None:
    atomic_write(tmp_path / "state.json", "old")
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    messages = done.stdout.splitlines()
    assert len(messages) == 2, done.stderr
    assert all("full" in message and "what was finished is kept" in message for message in messages)
    rows = read_journal(tmp_path / "units.jsonl")
    assert len(rows) > 5
    assert (tmp_path / "units.jsonl").read_bytes().endswith(b"\n")
    assert (tmp_path / "state.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json", "units.jsonl"]
    with Journal(tmp_path / "units.jsonl") as journal:
        assert journal.dropped is None
        journal.append({"unit": f"u{len(rows)}"})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_that_is_full_says_so(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    metrics = Metrics(tmp_path)
    with pytest.raises(RunError, match="full"):
        metrics.write({"environment_steps": 1})


def test_a_folder_that_forbids_writing_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom sdg.storage import RunError, Journal, atomic_write\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "for act in (lambda p: atomic_write(p, 'x'), Journal):\n"
        "    try: act(Path(sys.argv[1]) / 'a')\n"
        "    except RunError as error: print(error)\n"
    )
    for folder in (tmp_path, *tmp_path.parents):  # Root's temporary folders are closed to others.
        if folder.stat().st_uid == os.getuid() and folder != Path("/") and os.getuid() == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    tmp_path.chmod(0o755)
    assert done.stdout.count("can't be written to. Choose another folder") == 2, done.stdout


def test_an_interrupted_atomic_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    atomic_write(path, "old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_plain_values_are_strict_json() -> None:
    value = json_values(
        {"a": (1, float("inf")), "b": {2, 1}, "c": Path("x"), "d": np.bool_(True), "e": np.float64("nan")}
    )
    assert json.dumps(value, allow_nan=False) == '{"a": [1, null], "b": [1, 2], "c": "x", "d": true, "e": null}'
    with pytest.raises(TypeError, match="can't record object"):
        json_values(object())


def test_a_curve_begun_anew_forgets_its_first_attempt(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    for unit in ("go to", "pick"):
        metrics.begin(unit)
        metrics.write({"skill": unit, "environment_steps": 10, "loss": 0.5})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"unit": "pick", "environment_steps": 20, "lo')
    again = Metrics(tmp_path)
    again.begin("pick")
    again.write({"skill": "pick", "environment_steps": 11, "loss": np.float32(0.25)})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [(row["unit"], row["environment_steps"]) for row in rows] == [("go to", 10), ("pick", 11)]
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2


@pytest.mark.parametrize(
    "line", ['{"unit":[]}', '{"unit":5}', '{"n":1}', '{"unit":"x","environment_steps":"q"}', "[1]",
             '{"unit":"x","n":%s}' % ("9" * 400), '{"unit":"x","n":NaN}', '{"unit":"x","n":[1]}']
)  # fmt: skip
def test_what_is_no_point_of_a_curve_is_left_out(tmp_path: Path, line: str) -> None:
    point = {"unit": "x", "environment_steps": 5, "loss": 0.5, "note": "a", "best": None}
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n{json.dumps(point)}\n")
    assert read_metrics(tmp_path / "metrics.jsonl") == [point]


def test_without_tensorboard_the_curves_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    metrics = Metrics(tmp_path)
    metrics.begin("a")
    metrics.write({"environment_steps": 1})
    assert [row["unit"] for row in read_metrics(tmp_path / "metrics.jsonl")] == ["a"]
    assert not (tmp_path / "tensorboard").exists()


def test_tensorboard_reads_the_events(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    metrics = Metrics(tmp_path)
    metrics.begin("../../etc/skill")
    for step in (5, 10):
        metrics.write({"environment_steps": step, "train_success": step / 10, "note": "text is left out"})
    (path,) = (tmp_path / "tensorboard").rglob("events.*")
    events = [event for event in EventFileLoader(str(path)).Load() if event.HasField("summary")]
    assert [event.step for event in events] == [5, 10]
    assert [value.tag for value in events[0].summary.value] == ["train_success"]
    assert path.resolve().is_relative_to((tmp_path / "tensorboard").resolve())


def test_a_flipped_bit_is_found_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.append({"unit": "a", "value": 0.25, "success": True})
        journal.append({"unit": "b", "value": 2})
    whole, length = path.read_bytes(), path.read_bytes().index(b"\n")
    whole_rows = list(Journal(path))
    for place in range(8 * length):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with contextlib.suppress(RunFolderError):
            rows = list(Journal(path))  # a flip inside the checksum's own name, which is no more there
            assert {**rows[0], **whole_rows[0]} == rows[0], flipped
