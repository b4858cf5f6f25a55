"""Nothing above the worlds knows which world it is in: with BabyAI and minigrid away, everything works elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def without_babyai(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree without `envs/babyai`, the stand-in for it and the shipped library."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "babyai", "babylang", "shipped")
    for floor in ("envs", "skills", "sdg"):
        shutil.copytree(ROOT / floor, copy / floor, ignore=ignored, symlinks=True)
    shutil.copytree(ROOT / "tests" / "shared", copy / "tests" / "shared", ignore=ignored)
    (copy / "tests" / "envs").mkdir()
    shutil.copy(ROOT / "tests" / "envs" / "corridor.py", copy / "tests" / "envs")
    return copy


def test_four_stages_and_the_gate_without_babyai(without_babyai: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error::DeprecationWarning", "-m", "tests.shared.four_stages", str(tmp_path)]
    done = subprocess.run(command, cwd=without_babyai, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["babyai"] == []
    assert report["verified"] == 12, "every first hypothesis"
    assert len(report["skills"]) == 3
    assert "rules" in report["verdicts"]
    assert report["success"]["sdg"] >= 18, "of 20 unseen layouts"
    assert report["success"]["sdg"] > report["success"]["random"]
