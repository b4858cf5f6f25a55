"""The film on README can be made again from a recording, without the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from examples.film_recording import main

ROOT = Path(__file__).resolve().parents[2]


def test_a_recorded_episode_is_filmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(ROOT / "recordings/models/boss-93-composed", 1867930000, tmp_path / "film.gif")
    printed = capsys.readouterr().out
    assert "solved" in printed
    assert 'open_up("door on your right")' in printed
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames > 10  # type: ignore[attr-defined]
