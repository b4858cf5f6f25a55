"""The house's counts count what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.house.measure import ROOT, is_participle, statements


def test_statements_are_counted_without_docstrings(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""A."""\nx = 1\n\ndef f():\n    """F."""\n    return x\n', encoding="utf-8")
    assert statements(tmp_path) == statements(tmp_path / "a.py") == 3


def test_participles_are_single_words() -> None:
    assert all(map(is_participle, ("told", "drawn", "masked")))
    assert not any(map(is_participle, ("_told", "is_drawn", "masked_rows", "embed", "read", "run", "seed", "ed")))


def test_it_prints_numbers_for_a_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.measure", "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    figures = json.loads(done.stdout)
    assert all(isinstance(value, int) for value in figures.values())
    assert figures["statements"] > figures["statements of skills"] > figures["statements of skills/checks"] > 100
