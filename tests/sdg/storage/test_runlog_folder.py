"""Run folders: begun, gone on with, refused, and held by one process at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sdg.llm.transcript import entries
from sdg.storage import SCHEMA, RunError, RunFolder, RunFolderError, RunSettings, read_description, set_aside
from sdg.storage.lock import Holder, claim, is_alive, ourselves, read_holder
from sdg.storage.provenance import revision, versions

HOLD = """
import sys, time
from pathlib import Path
from sdg.storage.lock import claim
with claim(Path(sys.argv[1]) / "run.lock"):
    print("held", flush=True)
    time.sleep(60)
"""


def settings(seed: int = 1, **config: Any) -> RunSettings:
    return RunSettings({"name": "t", **config}, "name: t\n", seed, ("sdg", "run"))


def test_a_run_says_where_it_comes_from(tmp_path: Path) -> None:
    with RunFolder.start(tmp_path / "a" / "b", settings(levels=["Open"])) as folder:
        folder.write_json("results.json", {"rows": [(1, 2)]})
        assert folder.read_json("results.json") == {"schema": SCHEMA, "rows": [[1, 2]]}
        assert folder.read_json("induction.json") is None
    run = json.loads((tmp_path / "a" / "b" / "run.json").read_text())
    assert run["schema"] == SCHEMA
    assert run["seed"] == 1
    assert run["command"] == ["sdg", "run"]
    assert run["config"]["levels"] == ["Open"]
    assert run["versions"]["python"] == versions()["python"]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["config.yaml", "results.json", "run.json"]


def test_the_source_revision_is_recorded(tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t")
    assert revision(tmp_path) is None
    (tmp_path / "a").write_text("1")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    clean = revision(tmp_path)
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "a").write_text("2")
    assert revision(tmp_path) == f"{clean}-dirty"


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        folder.journal("episodes").append({"unit": "a"})
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        assert "a" in folder.journal("episodes")
        assert folder.journal("episodes") is folder.journal("episodes")
    assert len(json.loads((tmp_path / "r" / "run.json").read_text())["resumed"]) == 1


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (settings(2), "begun with seed 1, not 2. Give --seed 1"),
        (settings(levels=["Open"]), "another config: levels was None, is ..Open"),
        (settings(verify={"t_verify": 3}), "verify was None, is"),
    ],
)
def test_a_run_with_other_settings_is_refused_unchanged(tmp_path: Path, second: RunSettings, message: str) -> None:
    RunFolder.start(tmp_path / "r", settings()).close()
    before = (tmp_path / "r" / "run.json").read_bytes()
    with pytest.raises(RunFolderError, match=message):
        RunFolder.start(tmp_path / "r", second)
    assert (tmp_path / "r" / "run.json").read_bytes() == before
    assert not (tmp_path / "r" / "run.lock").exists()


def test_a_larger_budget_may_go_on(tmp_path: Path) -> None:
    RunFolder.start(tmp_path / "r", settings(budget={"tokens": 10})).close()
    RunFolder.start(tmp_path / "r", settings(budget={"tokens": 20})).close()
    assert json.loads((tmp_path / "r" / "run.json").read_text())["config"]["budget"] == {"tokens": 20}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 99}', "schema 99, this version reads schema 1"),
        ("{}", "schema None"),
        ("[]", "no JSON object"),
        ('{"schema": 1', "can't read"),
        ('{"schema": 1}', "lacks its config"),
        ('{"schema": 1, "config": {}, "seed": 1, "versions": [], "command": [], "resumed": []}', "lacks its versions"),
        ('{"schema": 1, "config": {}, "seed": 1, "versions": {}, "command": 5, "resumed": []}', "lacks its command"),
        ('{"schema": 1, "config": {}, "seed": 1, "versions": {}, "command": [], "resumed": 5}', "lacks its resumed"),
        ("\x00" * 10, "can't read"),
        ("[" * 100_000, "can't read"),
        ("[" * 900 + "]" * 900, "nested too deeply"),
    ],
)
def test_a_folder_of_another_schema_or_a_broken_one_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=message):
        RunFolder.start(tmp_path, settings())
    assert (tmp_path / "run.json").read_text() == content


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunFolderError, match=r"thesis.tex"):
        RunFolder.start(tmp_path, settings())
    with pytest.raises(RunFolderError, match="is a file"):
        RunFolder.start(tmp_path / "thesis.tex", settings())
    with pytest.raises(RunFolderError, match="holds no run"):
        read_description(tmp_path)
    with pytest.raises(RunFolderError, match="sdg run --out"):
        read_description(tmp_path / "nowhere")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_other_versions_are_noticed_and_recorded(tmp_path: Path) -> None:
    RunFolder.start(tmp_path / "r", settings()).close()
    path = tmp_path / "r" / "run.json"
    run = json.loads(path.read_text())
    run["versions"]["torch"] = "0.1"
    path.write_text(json.dumps(run))
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        assert any("torch 0.1 -> " in notice for notice in folder.notices)


def test_torn_journals_and_half_written_files_are_noticed(tmp_path: Path) -> None:
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        folder.journal("episodes").append({"unit": "a"})
    (tmp_path / "r" / "library").mkdir()
    (tmp_path / "r" / "library" / ".w.part").write_text("half")
    with (tmp_path / "r" / "episodes.jsonl").open("a") as file:
        file.write('{"unit": "b", ')
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        assert [row["unit"] for row in folder.journal("episodes")] == ["a"]
        assert "torn" in folder.notices[0]
    assert not (tmp_path / "r" / "library" / ".w.part").exists()


def test_one_process_at_a_time_and_a_dead_one_does_not_count(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    in_use = f"in use by process {process.pid} on .*since"
    with pytest.raises(RunFolderError, match=in_use), claim(tmp_path / "run.lock"):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with claim(tmp_path / "run.lock") as dead:
        assert dead is not None
        assert dead.pid == process.pid
    assert not (tmp_path / "run.lock").exists()


def test_a_run_that_is_set_aside_takes_no_other_ones_place(tmp_path: Path) -> None:
    """The second to be set aside would be an empty one where a model can't be reached, and one may still be in use."""
    RunFolder.start(tmp_path / "r", settings(0)).close()
    (tmp_path / "r.old1").write_text("mine")
    with RunFolder.start(tmp_path / "r.old", settings(1)) as folder:
        folder.journal("episodes").append({"unit": "a"})
        assert set_aside(tmp_path / "r") == tmp_path / "r.old2"
        folder.journal("episodes").append({"unit": "b"})
    RunFolder.start(tmp_path / "r", settings(2)).close()
    assert set_aside(tmp_path / "r") == tmp_path / "r.old3"
    assert set_aside(tmp_path / "r") is None
    assert [read_description(tmp_path / name)["seed"] for name in ("r.old", "r.old2", "r.old3")] == [1, 0, 2]
    assert len((tmp_path / "r.old" / "episodes.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "r.old1").read_text() == "mine"


def test_a_run_in_use_and_the_working_folder_are_not_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder.start(tmp_path / "r", settings()), pytest.raises(RunFolderError, match="in use by process"):
        set_aside(tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    with pytest.raises(RunError, match=r"busy. Mend that"):
        set_aside(Path())
    assert (tmp_path / "r" / "run.json").exists()


def test_who_lives_in_another_container_is_no_question_of_its_number(tmp_path: Path) -> None:
    """There its number is another's or nobody's here, and the host's name may be the same."""
    path = tmp_path / "run.lock"
    with claim(path):
        path.write_text(json.dumps({"pid": 2**22 + 7, "host": ourselves().host, "since": "now"}))
        with pytest.raises(RunFolderError, match="in use by process 4194311"), claim(path):
            pass
    with claim(path):
        pass


def test_a_later_process_with_the_same_number_is_another() -> None:
    me = ourselves()
    assert is_alive(me)
    assert not me.birth or not is_alive(Holder(me.pid, me.host, me.since, "another boot/123"))
    assert is_alive(Holder(2**22 + 7, "elsewhere", me.since))
    assert not is_alive(Holder(2**22 + 7, me.host, me.since))


def test_a_lock_that_was_taken_from_us_is_not_released(tmp_path: Path) -> None:
    other = json.dumps({"pid": 1, "host": "elsewhere", "since": "now", "birth": ""})
    with claim(tmp_path / "run.lock"):
        (tmp_path / "run.lock").write_text(other)
    assert (tmp_path / "run.lock").read_text() == other


@pytest.mark.parametrize("content", ["", "null", "[]", '{"pid": "x"}', '{"pid": 1'])
def test_a_lock_without_a_holder_is_free(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.lock").write_text(content)
    assert read_holder(tmp_path / "run.lock") is None
    with claim(tmp_path / "run.lock"):
        assert read_holder(tmp_path / "run.lock") == ourselves()


def test_an_interrupt_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    def interrupted() -> None:
        with RunFolder.start(tmp_path / "r", settings()) as folder:
            folder.journal("episodes").append({"unit": "a"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with RunFolder.start(tmp_path / "r", settings()) as folder:
        assert "a" in folder.journal("episodes")
        assert folder.notices == []


def test_a_large_transcript_is_compressed_when_its_run_ends(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "x"}]
    row = json.dumps(
        {"schema": 3, "key": "k", "stage": "", "sampling": {}, "messages": messages, "reply": {"text": "x" * 1000}}
    )
    transcript = tmp_path / "run" / "transcript.jsonl"
    with contextlib.suppress(KeyboardInterrupt), RunFolder.start(tmp_path / "run", settings()):
        transcript.write_text(f"{row}\n" * 1100)
        raise KeyboardInterrupt
    assert transcript.exists()
    with RunFolder.start(tmp_path / "run", settings()):
        pass
    assert not transcript.exists()
    assert (tmp_path / "run" / "transcript.jsonl.xz").stat().st_size < 10_000
    assert len(list(entries(transcript))) == 1100
