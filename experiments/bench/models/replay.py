"""A kept draw, played again by its transcript, in the commit that it names: the same rows or an error."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import sdg
from sdg.experiments.bench.models.draw import Asked, play, recipes
from sdg.experiments.bench.models.recorded import COMPOSED, CONFIG, TRANSCRIPT, Draw, DrawnEpisode, drawn
from sdg.experiments.cli.errors import CheckFailed, UserError
from sdg.experiments.config.config import load
from sdg.experiments.table.comparison import find_library
from sdg.experiments.table.figures import open_folder
from sdg.llm.model import ModelError
from sdg.run.provenance import revision

ROOT = Path(sdg.__file__).resolve().parent.parent


def replayed(draw: Draw, rows_of: Callable[[Draw], list[Any]], *, processes: int) -> list[dict[str, Any]]:
    """The table's rows of the draw's finished episodes played again; those it didn't finish stay as they are.

    Raises CheckFailed where a row differs, UserError where its commit isn't at hand.
    """
    if revision(ROOT) not in (draw.about.commit, None):
        return _elsewhere(draw, processes=processes)
    with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
        again = _play_again(draw, Path(scratch) / "run", processes=processes)
    same = {each.unit: each for each in again}
    found = replace(draw, episodes=tuple(same.get(each.unit, each) for each in draw.episodes))
    for before, after in zip(rows_of(draw), rows_of(found), strict=True):
        if before != after:
            raise CheckFailed(f"the draw {draw.about.name} doesn't replay: it had\n{before}\nand now has\n{after}")
    return [asdict(row) for row in rows_of(found)]


def _play_again(draw: Draw, folder: Path, *, processes: int) -> list[DrawnEpisode]:
    config = load(draw.folder / CONFIG)
    model = replace(config.model, kind="replay", transcript=str(draw.folder / TRANSCRIPT), cache=False)
    finished = [each for each in draw.episodes if each.finished]
    cells = dict.fromkeys(each.cell for each in finished)
    asked = Asked(
        replace(config, model=model),
        tuple(dict.fromkeys(cell.interface for cell in cells)),
        tuple(dict.fromkeys(cell.perception for cell in cells)),
        tuple(dict.fromkeys(cell.level for cell in cells)),
        draw.about.instructions,
        draw.about.seed,
        split=draw.about.split,
        composed=draw.folder / COMPOSED,
    )
    units = {each.unit for each in finished}
    with open_folder(folder, {"replay": draw.about.name}, seed=draw.about.seed) as run:
        try:
            chosen = recipes(asked, library=find_library(), folder=None)
            found = play(asked, chosen, run=run, processes=processes, only=units)
        except ModelError as error:
            raise CheckFailed(f"the draw {draw.about.name} doesn't replay: {error}") from None
    who = {each.unit: each.answerers for each in finished}
    return [drawn(row, who[row.unit]) for row in found]


def _elsewhere(draw: Draw, *, processes: int) -> list[dict[str, Any]]:
    """The rows as the draw's own commit plays them, from a copy of its source."""
    commit = draw.about.commit
    if commit.endswith("-dirty"):
        raise UserError(f"the draw {draw.about.name} was made with source that isn't committed ({commit})")
    with tempfile.TemporaryDirectory(prefix="sdg-replay-") as scratch:
        try:
            archive = ["git", "-C", str(ROOT), "archive", "--format=tar", commit]
            source = subprocess.run(archive, capture_output=True, check=True, timeout=120).stdout
        except (OSError, subprocess.SubprocessError):
            raise UserError(f"the draw {draw.about.name} needs commit {commit}, which isn't here: fetch it") from None
        with tarfile.open(fileobj=io.BytesIO(source)) as tar:
            tar.extractall(scratch, filter="data")
        command = [sys.executable, "-m", "sdg", "bench", "models", "--replay", "--json", "--drawn"]
        command += [str(draw.folder.resolve()), "--processes", str(processes)]
        path = os.environ | {"PYTHONPATH": scratch}
        done = subprocess.run(command, cwd=scratch, env=path, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckFailed(done.stderr.strip().rpartition("\n")[2].removeprefix("sdg: "))
    return [json.loads(each) for each in done.stdout.splitlines()]
