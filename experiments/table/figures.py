"""The folder of a figure: what it was asked with, its journals, its rows as Markdown, CSV and JSON, its plot."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.experiments.cli.output import cell, with_interval
from sdg.experiments.cli.progress import progress
from sdg.experiments.report.panels import Panels
from sdg.experiments.run.workers import Workers
from sdg.experiments.table.formats import comma_separated, markdown
from sdg.run import RunFolder, RunSettings, atomic_write

Row = Mapping[str, Any]


def open_folder(path: Path, asked: Mapping[str, Any], *, seed: int, may_change: Collection[str] = ()) -> RunFolder:
    """The folder of a figure, begun or gone on with; held to what was `asked`, but for the keys that may change.

    Raises RunFolderError when it was begun with something else.
    """
    about = RunSettings(dict(asked), json.dumps(asked, indent=1) + "\n", seed, ("sdg", *sys.argv[1:]))
    return RunFolder.start(path, about, may_change=may_change)


def measured(
    run: RunFolder,
    name: str,
    function: Callable[[Any], dict[str, Any]],
    jobs: Sequence[Any],
    *,
    processes: int,
    writes: tuple[Path, ...] = (),
) -> dict[str, dict[str, Any]]:
    """A journal's rows by unit, one for each job; what `NAME.jsonl` has already is not measured again.

    Jobs may write below `writes`.
    """
    journal = run.journal(name)
    missing = [job for job in jobs if job.unit not in journal]
    with progress().stage(name, total=len(jobs), unit="unit", done=len(jobs) - len(missing)) as stage:
        for _, row in Workers(processes or cores(), writes=writes)(function, missing):
            journal.append(row)
            stage.advance(steps=row.get("environment_steps", 0))
    return {job.unit: journal[job.unit] for job in jobs}


def publish(folder: Path, rows: Sequence[Row], *, name: str, plot: Panels | None) -> None:
    """Write `table.md`, `table.csv`, `results.json` and the plot as `NAME.svg` and `NAME.png`, and say where."""
    shown = [with_interval(row) for row in rows]
    names = list(dict.fromkeys(key for row in shown for key in row))
    columns = {key: (lambda row, key=key: cell(row.get(key))) for key in names}
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "table.md", markdown(shown, columns))  # type: ignore[arg-type]
    atomic_write(folder / "table.csv", comma_separated(rows))
    atomic_write(folder / "results.json", json.dumps({"rows": [dict(row) for row in rows]}, indent=1) + "\n")
    for form in ("svg", "png") if plot is not None else ():
        atomic_write(folder / f"{name}.{form}", plot.drawn(form))  # type: ignore[union-attr]
    progress().note(f"table: {folder / 'table.md'}" + (f", plot: {folder / name}.png" if plot else ""))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
