"""A library that was damaged, half-written or made by a stranger is refused, never believed."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sdg.experiments.workers.workers import Workers, use_workers
from sdg.skills.learners import LEARNERS
from sdg.skills.library import store as library_io
from sdg.skills.library.composed import load_composed
from sdg.skills.library.library import LibraryError
from sdg.skills.library.store import load_library, save_library, seal
from tests.shared.library_samples import a_library, a_skill, assert_equal_libraries


def test_a_byte_changed_anywhere_is_found_or_harmless(tmp_path: Path) -> None:
    library, rng = a_library(), np.random.default_rng(1)
    save_library(library, tmp_path / "library")
    believed = []
    for file in sorted((tmp_path / "library").iterdir()):
        whole = file.read_bytes()
        places = set(range(min(24, len(whole)))) | set(rng.integers(len(whole), size=60).tolist())
        for place in sorted(places | set(range(len(whole) - 8, len(whole)))):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(rng.integers(8))
            file.write_bytes(bytes(damaged))
            try:
                load_library(tmp_path / "library")
                believed.append(file.name)
            except LibraryError:
                pass
        file.write_bytes(whole)
    assert set(believed) <= {"README.md"}, "only the card may change unnoticed: nothing reads it"
    assert_equal_libraries(library, load_library(tmp_path / "library"))


@pytest.mark.parametrize("name", ["library.json", "discover.safetensors"])
@pytest.mark.parametrize("keep", [0, 1, 0.5, -1])
def test_a_file_cut_short_is_found(tmp_path: Path, name: str, keep: float) -> None:
    save_library(a_library(), tmp_path / "library")
    file = tmp_path / "library" / name
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole)) if keep == 0.5 else int(keep)])
    with pytest.raises(LibraryError):
        load_library(tmp_path / "library")


@pytest.mark.parametrize("name", ["library.json", "discover.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    save_library(a_library(), tmp_path / "library")
    (tmp_path / "library" / name).unlink()
    with pytest.raises(LibraryError, match=rf"incomplete: {name}"):
        load_library(tmp_path / "library")


def test_no_library_at_all(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="there is no skill library"):
        load_library(tmp_path / "nowhere")


def test_a_strangers_learner_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library with a learner of the user's own is read where the user names that learner."""
    (tmp_path / "stranger.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(LEARNERS, "named", set())
    skills = (a_skill(), a_skill("pick_up", learner="stranger:LEARNER"))
    save_library(a_library(skills=skills), tmp_path / "library")
    with pytest.raises(LibraryError, match=r"names the learner 'stranger:LEARNER'.* name it yourself first"):
        load_library(tmp_path / "library")
    assert "stranger" not in sys.modules
    LEARNERS.allow("stranger:LEARNER")
    assert load_library(tmp_path / "library").skills == skills


def test_what_the_user_named_here_files_may_name_in_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def run(self, function: Any, jobs: Sequence[Any], **_: Any) -> Iterator[tuple[int, Any]]:
            sent = pickle.dumps(function)
            monkeypatch.setattr(LEARNERS, "named", set())
            yield 0, pickle.loads(sent)(jobs[0])

    save_library(a_library(skills=(a_skill(learner="own:LEARNER"), a_skill("pick_up"))), tmp_path / "library")
    monkeypatch.setattr(LEARNERS, "named", {"own:LEARNER"})
    with use_workers(engine=Elsewhere()):
        [(_, library)] = Workers(1)(load_library, [tmp_path / "library"])
    assert library["discover"].learner == "own:LEARNER"


def reseal(folder: Path, **changes: object) -> None:
    """A stranger's library: its index says what it likes, with a checksum that agrees."""
    index = json.loads((folder / "library.json").read_bytes())
    (folder / "library.json").write_bytes(seal({**index, **changes}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "schema version 99"),
        ({"schema": True}, "no schema version"),
        ({"skills": "all of them"}, "skills: Input should be a valid array"),
        ({"extra": 1}, "extra"),
        ({"files": {}}, "doesn't list"),
        ({"files": {"../../etc/passwd": {"size": 1, "sha256": "0" * 64}}}, "isn't the name of a weights file"),
        ({"files": {"discover.safetensors": {"size": 2**40, "sha256": "0" * 64}}}, "at most"),
        ({"files": {"discover.safetensors": {"size": -1, "sha256": "0" * 64}}}, "impossible"),
        ({"provenance": {"notes": "x" * 2**20}}, "too long"),
        ({"provenance": [1]}, "provenance: Input should be an object"),
    ],
)
def test_a_strangers_index_is_checked(tmp_path: Path, change: dict[str, object], message: str) -> None:
    save_library(a_library(), tmp_path / "library")
    reseal(tmp_path / "library", **change)
    with pytest.raises(LibraryError, match=message):
        load_library(tmp_path / "library")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"schema": ' + b"9" * 5000 + b"}",
        b'{"schema": NaN}',
        b'{"schema": 1e999}',
        b'{"schema": 1}',
        b'{"schema": 1, "schema": 1}',
        b'{"schema": 1, "provenance": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"schema": 1, "provenance": 1e999}',
    ],
    ids=lambda data: data[:20].decode("latin-1"),
)
def test_an_index_that_is_none(tmp_path: Path, data: bytes) -> None:
    save_library(a_library(), tmp_path / "library")
    (tmp_path / "library" / "library.json").write_bytes(data)
    with pytest.raises(LibraryError):
        load_library(tmp_path / "library")


@pytest.mark.parametrize(
    "field",
    [
        {"name": "../up"},
        {"name": "import"},
        {"name": "Discover"},
        {"name": 7},
        {"horizon": 0},
        {"horizon": 10.0},
        {"horizon": True},
        {"success_rate": 1.5},
        {"success_interval": [0.1]},
        {"members": ["x" * 100_000]},
        {"members": "abc"},
        {"checks": []},
        {"takes_argument": 1},
        {"bonus": 1},
    ],
)
def test_a_strangers_skill_is_checked(tmp_path: Path, field: dict[str, object]) -> None:
    save_library(a_library(), tmp_path / "library")
    skills = json.loads((tmp_path / "library" / "library.json").read_bytes())["skills"]
    reseal(tmp_path / "library", skills=[{**skills[0], **field}, skills[1]])
    with pytest.raises(LibraryError):
        load_library(tmp_path / "library")


def plant_weights(folder: Path, data: bytes, *, name: str = "discover.safetensors") -> None:
    """Weights from a stranger, properly listed."""
    (folder / name).write_bytes(data)
    files = json.loads((folder / "library.json").read_bytes())["files"]
    reseal(folder, files={**files, name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}})


def weights_of(header: object, body: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps({"w1": [1.0]}), "a pickle"),
        (b"PK\x03\x04" + bytes(40), "zip archive"),
        (b"", "isn't a safetensors file"),
        (bytes(7), "isn't a safetensors file"),
        ((2**63).to_bytes(8, "little") + bytes(100), "isn't a safetensors file"),
        (weights_of("text"), "float32"),
        (weights_of({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)), "float32"),
        (
            weights_of({"a": {"dtype": "F32", "shape": [2**62, 8], "data_offsets": [0, 4]}}, bytes(4)),
            "isn't a safetensors",
        ),
        (
            weights_of({"a": {"dtype": "F32", "shape": [0, 2**63], "data_offsets": [0, 0]}}),
            "safetensors|fit|discover",
        ),
        (
            weights_of({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
            "isn't a safetensors",
        ),
        (weights_of({"a": {"dtype": "F32", "shape": [1] * 40, "data_offsets": [0, 4]}}, bytes(4)), "axes"),
        (weights_of({"a/b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)), "array name"),
        (
            weights_of({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, np.float32(np.nan).tobytes()),
            "aren't finite",
        ),
        (
            weights_of({f"a{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(300)}),
            "300 arrays",
        ),
        ((10_000).to_bytes(8, "little") + b"[" * 10_000, "header"),
    ],
)
def test_a_strangers_weights_are_checked(tmp_path: Path, data: bytes, message: str) -> None:
    save_library(a_library(), tmp_path / "library")
    plant_weights(tmp_path / "library", data)
    with pytest.raises(LibraryError, match=message):
        load_library(tmp_path / "library")


def test_depth_is_refused_before_it_is_written_with_indents(tmp_path: Path) -> None:
    """Else 40 kB of brackets took half a minute and 400 MB, and the largest index hours and all memory."""
    text = json.dumps({"schema": 4, "provenance": {}, "sha256": ""}).replace("{}", "[" * 900 + "]" * 900)
    for name, load in (("library.json", lambda file: load_library(file.parent)), ("composed.json", load_composed)):
        (tmp_path / name).write_text(text)
        with pytest.raises(LibraryError, match="nested too deeply"):
            load(tmp_path / name)


def test_links_lead_nowhere(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    file = tmp_path / "library" / "discover.safetensors"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LibraryError):
        load_library(tmp_path / "library")


def test_a_pipe_is_no_library(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    file = tmp_path / "library" / "discover.safetensors"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(LibraryError, match=r"no regular file: .*discover.safetensors"):
        load_library(tmp_path / "library")


def test_a_big_file_is_refused_by_its_size(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    os.truncate(tmp_path / "library" / "library.json", 2**40)
    with pytest.raises(LibraryError, match="at most"):
        load_library(tmp_path / "library")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths_in(value: object, path: tuple = ()) -> list[tuple]:
    """Paths to every value inside a JSON value."""
    paths = [path]
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            paths += paths_in(inner, (*path, key))
    return paths


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_in_the_index_loads_or_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "library", ignore_errors=True)  # the example before left an index that names other files
    save_library(a_library(), tmp_path / "library")
    index = json.loads((tmp_path / "library" / "library.json").read_bytes())
    *path, last = data.draw(st.sampled_from(paths_in(index)[1:]))
    place = index
    for key in path:
        place = place[key]
    place[last] = data.draw(json_values)
    (tmp_path / "library" / "library.json").write_bytes(seal(index))
    try:
        loaded = load_library(tmp_path / "library")
    except LibraryError:
        return
    shutil.rmtree(tmp_path / "again", ignore_errors=True)
    save_library(loaded, tmp_path / "again")
    assert_equal_libraries(loaded, load_library(tmp_path / "again"))


@pytest.mark.parametrize("name", ["get_position", "find_objects", "forget_visited_rooms"])
def test_a_skill_named_like_a_function_of_its_world_is_neither_saved_nor_loaded(name: str, tmp_path: Path) -> None:
    library = a_library(skills=(a_skill(name),), weights={name: {"w": np.zeros(1, np.float32)}})
    with pytest.raises(LibraryError, match=f"skill {name} has the name of a function of babyai"):
        save_library(library, tmp_path / "new")
    with pytest.MonkeyPatch.context() as careless:
        careless.setattr(library_io, "_refuse_names_of_the_world", lambda library: None)
        save_library(library, tmp_path / "library")
    with pytest.raises(LibraryError, match=f"skill {name} has the name of a function of babyai") as caught:
        load_library(tmp_path / "library")
    assert "\n" not in str(caught.value)
