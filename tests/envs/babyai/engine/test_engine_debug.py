"""The debug build: the same kernels compiled with bounds checks, in a process of its own.

numba's cache on disk does not tell the two builds apart, so this one has a cache folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]

PLAY = """
import sys
from sdg.experiments.bench.engine.lockstep import compare
for level in ("GoToLocal", "BossLevel", "KeyInBox", "OneRoomS20", "PutNextS5N2Carrying"):
    comparison = compare(level, steps=400)
    assert not comparison.mismatches, (level, comparison.first)
"""

STRAY = """
import numpy as np
from sdg.envs.babyai.engine.bank import LevelBank
from sdg.envs.babyai.engine.engine import BabyAIEngine
engine = BabyAIEngine(LevelBank.build("GoToLocal", range(2)), 2)
engine.reset()
engine.state.spot[0], engine.state.direction[0] = 1020, 0
engine.step(np.array([2, 2]))
"""


BANK_TESTS = """
import sys
import pytest
tests = "tests/envs/babyai/engine/test_engine_bank.py"
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", tests, "-k", "within_its_arrays"]))
"""


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder), "SDG_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=280, cwd=ROOT
    )


def test_the_engine_stays_within_its_arrays(tmp_path: Path) -> None:
    done = run_python(PLAY, tmp_path)
    assert done.returncode == 0, done.stderr
    strange = run_python(BANK_TESTS, tmp_path)
    assert strange.returncode == 0, strange.stdout
    strayed = run_python(STRAY, tmp_path)
    assert strayed.returncode != 0, "the debug build would not have noticed"
    assert "IndexError" in strayed.stderr
