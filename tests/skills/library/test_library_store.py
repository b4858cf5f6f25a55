"""What is saved is what is loaded; saving replaces a library whole and leaves folders of other people alone."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sdg.skills.library import store as library_io
from sdg.skills.library.library import CheckTemplate, LibraryError, Skill, SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.subgoal import CheckFunction
from tests.shared.library_samples import a_library, a_skill, assert_equal_libraries

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
weights_of_a_skill = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_.\-]{1,20}", fullmatch=True),
    arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), elements=float32s),
    max_size=3,
)
skills_of_any_kind = st.builds(
    Skill,
    name=st.from_regex(r"z[a-z0-9_]{0,20}", fullmatch=True),
    description=texts,
    takes_argument=st.booleans(),
    argument_examples=st.lists(texts, max_size=2).map(tuple),
    members=st.lists(texts, max_size=3).map(tuple),
    checks=st.lists(
        st.builds(CheckTemplate, st.builds(CheckFunction, texts, texts), texts), min_size=1, max_size=2
    ).map(tuple),
    horizon=st.integers(1, 1000),
    success_rate=st.floats(0, 1),
    success_interval=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda ends: (min(ends), max(ends))),
    episodes=st.integers(0, 10**9),
    environment_steps=st.integers(0, 10**12),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_library_comes_back_as_it_was(data: st.DataObject, tmp_path: Path) -> None:
    skills = tuple(data.draw(st.lists(skills_of_any_kind, max_size=3, unique_by=lambda skill: skill.name)))
    weights = {skill.name: data.draw(weights_of_a_skill) for skill in skills}
    provenance = data.draw(
        st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=2)), max_size=3)
    )
    library = SkillLibrary(skills, weights, provenance)
    save_library(library, tmp_path / "library")
    assert_equal_libraries(library, load_library(tmp_path / "library"))


def test_equal_libraries_have_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_library(a_library(), tmp_path / name)
    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_saving_again_replaces_the_whole(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    smaller = SkillLibrary((a_skill("drop"),), {"drop": {"w": np.ones(1, np.float32)}})
    save_library(smaller, tmp_path / "library")
    assert_equal_libraries(smaller, load_library(tmp_path / "library"))
    assert [path.name for path in tmp_path.iterdir()] == ["library"]
    assert not (tmp_path / "library" / "discover.safetensors").exists()


def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(LibraryError, match="isn't a skill library"):
        save_library(a_library(), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    "names",
    [["README.md"], ["README.md", "model.safetensors"], ["config.json"], ["library.json", "README.md"]],
    ids=str,
)
def test_what_never_was_a_library_is_left_alone(tmp_path: Path, names: list[str]) -> None:
    """Such as what save_pretrained leaves, and the library.json of other programs."""
    for name in names:
        (tmp_path / name).write_text('{"years": "of work"}')
    with pytest.raises(LibraryError, match=f"it holds {min(names)}; choose another place or move that away"):
        save_library(a_library(), tmp_path, beside=["config.json"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(names, '{"years": "of work"}')


@pytest.mark.parametrize("name", [".git/config", "notes.txt", "composed.json", "backup.safetensors"])
def test_what_is_kept_in_a_library_s_folder_is_not_deleted(tmp_path: Path, name: str) -> None:
    save_library(a_library(), tmp_path / "library")
    mine = tmp_path / "library" / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("years of work")
    with pytest.raises(LibraryError, match=f"it holds {name.partition('/')[0]}; choose another place"):
        save_library(a_library(), tmp_path / "library")
    assert mine.read_text() == "years of work"


def test_what_the_caller_writes_beside_a_library_each_time_is_replaced(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    (tmp_path / "library" / "config.json").write_text("{}")
    save_library(a_library(), tmp_path / "library", beside=["config.json"])
    assert not (tmp_path / "library" / "config.json").exists()


@pytest.mark.parametrize("fails_at", range(6))
def test_a_disk_that_refuses_leaves_the_old_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    old = a_library(provenance={"which": "old"})
    save_library(old, tmp_path / "library")
    calls, os_fsync = {"n": 0}, os.fsync

    def refuse(real):  # type: ignore[no-untyped-def]
        def call(*arguments):  # type: ignore[no-untyped-def]
            is_folder = real is os_fsync and stat.S_ISDIR(os.fstat(*arguments).st_mode)  # some refuse it always
            calls["n"] += not is_folder
            if calls["n"] == fails_at + 1 and not is_folder:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(library_io.os, "fsync", refuse(os.fsync))
        patched.setattr(library_io.os, "rename", refuse(os.rename))
        with pytest.raises(LibraryError, match="No space left"):
            save_library(a_library(provenance={"which": "new"}), tmp_path / "library")
    assert_equal_libraries(old, load_library(tmp_path / "library"))


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    (tmp_path / "library").rename(tmp_path / ".library.previous")
    assert_equal_libraries(a_library(), load_library(tmp_path / "library"))
    save_library(a_library(provenance={}), tmp_path / "library")
    assert load_library(tmp_path / "library").provenance == {}


def test_a_kill_while_writing_leaves_the_old_library(tmp_path: Path) -> None:
    save_library(a_library(), tmp_path / "library")
    shutil.copytree(tmp_path / "library", tmp_path / ".library.abc.tmp")
    (tmp_path / ".library.abc.tmp" / "library.json").unlink()
    assert_equal_libraries(a_library(), load_library(tmp_path / "library"))


def test_what_json_cannot_say_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="can't be stored"):
        save_library(a_library(provenance={"when": object()}), tmp_path / "library")
    assert not list(tmp_path.iterdir())
