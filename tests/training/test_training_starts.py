"""What makes the shipped files starts: each module is imported, the library's command gets as far as training."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import training
from sdg.envs.ui.parser.screen import ScreenElement, png_of
from sdg.experiments.bench.gate.screen_guards import Parsed
from sdg.experiments.bench.gate.screens import Page, ScreenTransition
from sdg.experiments.config.config import RunConfig
from sdg.experiments.run import runs
from training import library, screens

MODULES = [each.name for each in pkgutil.walk_packages(training.__path__, "training.")]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_is_imported(name: str) -> None:
    assert importlib.import_module(name).__doc__


def test_the_librarys_command_learns_from_its_config_and_ships_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learned: list[tuple[RunConfig, str]] = []

    def run(config: RunConfig, folder: Any, *, until: str, progress: Any) -> list[Any]:
        learned.append((config, until))
        return []

    def ship(run: Path, to: Path | None, *, instructions: int) -> list[library.Row]:
        return [{"run": run, "to": to, "instructions": instructions}]

    monkeypatch.setattr(runs, "run", run)
    monkeypatch.setattr(library, "ship", ship)
    library.main(tmp_path / "run")
    ((config, until),) = learned
    assert (config.name, config.seed, until) == ("library", 0, "induce")
    assert str({"run": tmp_path / "run", "to": None, "instructions": 200}) in capsys.readouterr().out


def test_pages_of_a_kind_without_acts_teach_nothing_and_harm_nothing() -> None:
    blank = png_of(np.full((320, 320, 3), 255, np.uint8))
    pressed = png_of(np.full((320, 320, 3), 128, np.uint8))
    button = ScreenElement(1, "button", "Ok", (40, 40, 120, 80))
    act = ScreenTransition("click", "the 'Ok' button", button.box, pressed, (button,))
    acted = Page("click-test", 0, blank, (), "ok", (act,), (button,))
    (alone,) = screens.cases_of_all([acted], Parsed())
    (beside,) = screens.cases_of_all([Page("find-word", 0, blank, (), "ok", (), (button,)), acted], Parsed())
    assert alone.weight == beside.weight > 0
    assert beside.acted.tolist() == alone.acted.tolist() == [True, False]
