"""What the command of a figure leaves in its folder: its rows as Markdown, CSV and JSON, its plot as SVG and PNG."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.experiments.cli.output import cell, with_interval
from sdg.experiments.report.panels import Panels
from sdg.experiments.table.formats import comma_separated, markdown
from sdg.run import RunFolder, RunSettings, atomic_write

Row = Mapping[str, Any]


def open_folder(path: Path, asked: Mapping[str, Any], *, seed: int, may_change: Collection[str] = ()) -> RunFolder:
    """The folder of a figure, begun or gone on with; held to what was `asked`, but for the keys that may change.

    Raises RunFolderError when it was begun with something else.
    """
    about = RunSettings(dict(asked), json.dumps(asked, indent=1) + "\n", seed, ("sdg", *sys.argv[1:]))
    return RunFolder.start(path, about, may_change=may_change)


def publish(run: RunFolder, rows: Sequence[Row], *, name: str, plot: Panels | None) -> Path:
    """Write `table.md`, `table.csv`, `results.json` and the plot as `NAME.svg` and `NAME.png`; the table's path."""
    atomic_write(run.path / "table.md", markdown_table(rows))
    atomic_write(run.path / "table.csv", comma_separated(rows))
    run.write_json("results.json", {"rows": [dict(row) for row in rows]})
    if plot is not None:
        write_plot(run.path, name, plot)
    return run.path / "table.md"


def write_plot(folder: Path, name: str, plot: Panels) -> None:
    """The plot in both forms."""
    for form in ("svg", "png"):
        atomic_write(folder / f"{name}.{form}", plot.drawn(form))


def markdown_table(rows: Sequence[Row]) -> str:
    """All columns of the rows, as they are printed."""
    shown = [with_interval(row) for row in rows]
    names = list(dict.fromkeys(name for row in shown for name in row))
    return markdown(shown, {name: lambda row, name=name: cell(row.get(name)) for name in names})  # type: ignore[misc]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
