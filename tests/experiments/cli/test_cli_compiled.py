"""Kernels are compiled by a process that runs no generated code; workers read what it kept and keep nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from numba.core.registry import cpu_target

import sdg
from sdg.envs import kernels
from sdg.experiments.workers import compiled
from sdg.sandbox.process.pool import Pool
from tests.shared.kernel_target import step_level, steps_of


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compiled.ensure()


def test_a_worker_finds_every_kernel_compiled_and_keeps_none() -> None:
    assert compiled.are_there()
    with Pool(1) as pool:
        ((_, report),) = pool.run(step_level, ["GoToLocal"])
    assert report == {"steps": steps_of("GoToLocal"), "unsaved": [], "read_only": True}


def test_a_worker_that_finds_none_compiles_for_itself_alone() -> None:
    with Pool(1, environment={"NUMBA_CPU_NAME": "generic"}) as pool:  # a processor that nobody compiled for
        ((_, report),) = pool.run(step_level, ["GoToLocal"])
    assert report["steps"] == steps_of("GoToLocal")
    assert report["unsaved"]
    assert _kept_for(cpu_target.target_context.codegen().magic_tuple()[1]), "the index names the processor"
    assert not _kept_for("generic")


def _kept_for(processor: str) -> list[Path]:
    """The indices of kept kernels that name the processor; their number grows whenever another test compiles one."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or next(iter(sdg.__path__)))
    return [path for path in folder.rglob("*.nbi") if processor.encode() in path.read_bytes()]


def test_a_kernel_that_was_deleted_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_marker", lambda: tmp_path / "marker")
    assert not compiled.are_there()
    for content, there in ((b"3", True), (b"4", False), (b"", False), (b"9" * 30, False), (b"x", False)):
        monkeypatch.setattr(compiled, "count_files", lambda: 3)
        (tmp_path / "marker").write_bytes(content)
        assert compiled.are_there() is there, content


def test_other_source_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    first = kernels.fingerprint()
    assert kernels.fingerprint() == first
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert kernels.fingerprint() != first
