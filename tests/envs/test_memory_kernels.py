"""Compiled caches: a change in what a kernel's file imports makes its machine code stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sdg.envs import kernels

INNER = """
from __future__ import annotations
from sdg.envs.kernels import {decorator}
@{decorator}
def answer(x):
    return x + {number}
"""
OUTER = """
from __future__ import annotations
from sdg.envs.kernels import kernel
from sdg.envs.inner import answer
@kernel
def twice(x):
    return 2 * answer(x)
"""
SHOW = "from sdg.envs.outer import twice; print(twice(0), sum(twice.stats.cache_hits.values()))"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A tree of its own: the module `outer` compiles in what `inner` says."""
    package = tmp_path / "sdg" / "envs"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "kernels.py").write_text(Path(kernels.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (package / "outer.py").write_text(OUTER, encoding="utf-8")
    return tmp_path


def call_outer(copy: Path, number: int, decorator: str) -> list[int]:
    """What the outer kernel says, and how often it came from the cache, in a fresh process."""
    (copy / "sdg" / "envs" / "inner.py").write_text(INNER.format(number=number, decorator=decorator), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=copy, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("inner", ["kernel", "inner_kernel"])
def test_an_edit_in_an_imported_file_is_noticed(copy: Path, inner: str) -> None:
    assert call_outer(copy, 1, inner) == [2, 0]
    assert call_outer(copy, 1, inner) == [2, 1], "nothing changed: the second process starts warm"
    assert call_outer(copy, 5, inner) == [10, 0], "the inner file changed: the outer machine code is stale"


def test_python_may_call_what_only_kernels_compile() -> None:
    @kernels.inner_kernel
    def double(x: object) -> str:
        return f"{x}{x}"  # numba compiles no such thing

    assert double("ab") == "abab"


def test_closure_follows_imports() -> None:
    table = Path(kernels.__file__).parent / "babyai" / "perception" / "columns.py"
    closure = {path.name for path in kernels._closure(table)}
    assert {"columns.py", "description.py", "memory.py", "tracking.py", "cells.py", "kernels.py"} <= closure
    assert "snapshot.py" not in closure
