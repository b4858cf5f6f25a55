"""A run folder from anybody: every file torn, linked, piped, swapped; nothing outside is touched or waited for."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sdg.llm.budget import BudgetedModel, BudgetSettings
from sdg.llm.model import Completion, Message, ModelError, Sampling
from sdg.llm.transcript import RecordingModel
from sdg.skills.library.library import LibraryError
from sdg.skills.library.store import load_library, save_library
from sdg.storage import Journal, Metrics, RunError, RunFolder, RunFolderError, RunSettings, atomic_write, set_aside
from sdg.storage.lock import read_holder
from tests.shared.library_samples import a_library

NAMES = (
    *("run.json", "run.lock", "config.yaml", "results.json", "induction.json", "banned.json", "spent.json"),
    *("hypotheses.jsonl", "verifications.jsonl", "skills.jsonl", "episodes.jsonl", "metrics.jsonl", "transcript.jsonl"),
    *("skills", "tensorboard", "library", "skills/1-0.safetensors", "library/library.json"),
)
SETTINGS = RunSettings({"name": "t"}, "name: t\n", 1, ("sdg", "run"))


class Echo:
    """A model that says one thing."""

    name = "echo"

    def complete(self, messages: object, *, sampling: Sampling = Sampling()) -> Completion:
        return Completion("said", "echo", 1, 1)


def ask(model: object) -> str:
    return model.complete([Message("user", "x")]).text  # type: ignore[attr-defined]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder that was used."""
    path = tmp_path / "run"
    with RunFolder.start(path, SETTINGS) as folder:
        folder.journal("episodes").append({"unit": "a"})
        folder.write_json("results.json", {"rows": []})
        folder.metrics.begin("unit")
        folder.metrics.write({"environment_steps": 1, "loss": 0.5})
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder and a file of somebody's, which must stay as they are."""
    place = tmp_path / "victim"
    place.mkdir()
    (place / "diary").write_text("a line\nand one without an end")
    (place / "unit").mkdir()
    (place / "unit" / "kept").write_text("x")
    yield place
    assert (place / "diary").read_text() == "a line\nand one without an end"
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*")) == ["diary", "unit", "unit/kept"]


def swap_for(run: Path, name: str, make: Callable[[Path], None]) -> Path:
    place = run / name
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        place.rename(run.parent / "away")
    else:
        place.unlink(missing_ok=True)
    make(place)
    return place


@pytest.mark.parametrize("name", NAMES)
def test_a_link_in_a_run_folder_is_refused_by_name(run: Path, victim: Path, name: str) -> None:
    folder = "." not in name
    place = swap_for(run, name, lambda place: place.symlink_to(victim if folder else victim / "diary"))
    for work in (lambda: RunFolder.start(run, SETTINGS), lambda: set_aside(run)):
        with pytest.raises(RunFolderError, match=rf"{place.name} can't be used: it is a link"):
            work()


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_in_a_run_folder_is_refused_and_not_waited_for(run: Path, name: str) -> None:
    place = swap_for(run, name, os.mkfifo)
    with pytest.raises(RunFolderError, match=rf"{place.name} can't be used: it is no regular file"):
        RunFolder.start(run, SETTINGS)


def test_a_folder_in_place_of_a_leftover_is_named_and_stays(run: Path) -> None:
    (run / ".x.part").mkdir()
    with pytest.raises(RunError, match=r"\.x\.part: Is a directory\. Mend that"):
        RunFolder.start(run, SETTINGS)
    assert (run / ".x.part").is_dir()


@pytest.mark.parametrize("how", ["link", "pipe"])
def test_each_writer_refuses_by_itself(tmp_path: Path, victim: Path, how: str) -> None:
    """What opens files of a run doesn't rely on who opened the folder."""
    place = tmp_path / "metrics.jsonl"
    place.symlink_to(victim / "diary") if how == "link" else os.mkfifo(place)
    with pytest.raises(RunError, match=r"link|regular"):
        Metrics(tmp_path).write({"environment_steps": 1})
    with pytest.raises(RunError, match=r"link|regular"):
        Journal(place)
    with pytest.raises(ModelError, match=r"link|regular"):
        ask(RecordingModel(Echo(), place))
    assert read_holder(place) is None


@pytest.mark.parametrize("content", [b"", b"[" * 200_000, b"\xff\xfe", b"{}", b'{"pid": 1e999}', b'{"pid": "x"}'])
def test_a_lock_that_says_nothing_holds_nothing(run: Path, content: bytes) -> None:
    (run / "run.lock").write_bytes(content)
    RunFolder.start(run, SETTINGS).close()


def test_what_is_torn_behind_a_finished_stage_is_told(run: Path) -> None:
    (run / "skills.jsonl").write_text('{"unit": "1/0"}\n{"unit": "2/')
    (run / "rehearsals.jsonl").write_text('{"unit": "a"}\nnothing\n{"unit": "b"}\n')
    (run / "induction.json").write_text('{"schema": 1, "clus')
    with RunFolder.start(run, SETTINGS) as folder:
        notices = "\n".join(folder.notices)
        assert "skills.jsonl line 2 was torn" in notices
        assert "rehearsals.jsonl line 2 isn't a row" in notices
        assert "induction.json" in notices
        folder.journal("skills")
        assert "\n".join(folder.notices).count("skills.jsonl line 2 was torn") == 1


def test_a_ledger_of_nonsense_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "spent.json").write_bytes(b"[" * 100_000 + b'\n{"tokens": 1e999, "money": 0}\n')
    model = BudgetedModel(Echo(), BudgetSettings(tokens=10), ledger=tmp_path / "spent.json")
    assert ask(model) == "said"


@pytest.mark.parametrize("mask", [0o077, 0o022])
def test_the_umask_decides_who_reads(tmp_path: Path, mask: int) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        f"os.umask({mask})\n"
        "from tests.sdg.storage.test_fault_strange_folder import make_all\n"
        "make_all(Path(sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=Path(__file__).parents[3])
    for path in (tmp_path / "made", *(tmp_path / "made").rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o777 if path.is_dir() else 0o666) & ~mask, path


def make_all(place: Path) -> None:
    """What runs write, in a process with its own umask."""
    with RunFolder.start(place / "made", SETTINGS) as folder:
        folder.journal("episodes").append({"unit": "a"})
        folder.metrics.begin("unit")
        folder.metrics.write({"environment_steps": 1})
    atomic_write(place / "made" / "report.html", "x")
    save_library(a_library(), place / "made" / "library")
    ask(RecordingModel(Echo(), place / "made" / "transcript.jsonl"))
    Path(place / "made" / "run.lock").unlink(missing_ok=True)


def test_a_library_without_its_index_mends_itself(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    (tmp_path / "library" / "library.json").unlink()
    save_library(a_library(), tmp_path / "library")
    load_library(tmp_path / "library")
    (tmp_path / "library" / "library.json").unlink()
    (tmp_path / "library" / "thesis.tex").write_text("mine")
    with pytest.raises(LibraryError, match="isn't a skill library"):
        save_library(a_library(), tmp_path / "library")
