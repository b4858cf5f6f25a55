"""The folder of a figure: its settings, its journals and its rows as Markdown, CSV and JSON."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.console import cell, progress, with_interval
from sdg.experiments.results.formats import comma_separated, markdown
from sdg.storage import Journal, RunFolder, RunSettings, atomic_write
from sdg.storage.journal import Rows

Row = Mapping[str, Any]


def open_folder(path: Path, asked: Mapping[str, Any], *, seed: int, may_change: Collection[str] = ()) -> RunFolder:
    """Begin or resume the folder of a figure; what is `asked` must be the same, but for the keys that may change.

    Raises RunFolderError when it was begun with something else.
    """
    about = RunSettings(dict(asked), json.dumps(asked, indent=1) + "\n", seed, ("sdg", *sys.argv[1:]))
    return RunFolder.start(path, about, may_change=may_change)


def run_missing_jobs(
    jobs: Sequence[Any],
    journal: Journal | Rows[Any],
    play: Callable[[Sequence[Any]], Iterable[Any]],
    *,
    name: str,
    unit: str = "unit",
) -> list[Any]:
    """A journal's rows, one for each job; `play` plays the jobs that the journal lacks, in any order.

    Each row is written to the journal at once, so that an interrupted command resumes where it stopped.
    """
    missing = [job for job in jobs if job.unit not in journal]
    with progress().stage(name, total=len(jobs), unit=unit, done=len(jobs) - len(missing)) as stage:
        for row in play(missing) if missing else ():
            journal.append(row)
            stage.advance()
    return [journal[job.unit] for job in jobs]


def publish(folder: Path, rows: Sequence[Row]) -> None:
    """Write `table.md`, `table.csv` and `results.json`, and say where."""
    shown = [with_interval(row) for row in rows]
    names = list(dict.fromkeys(key for row in shown for key in row))
    columns = {key: (lambda row, key=key: cell(row.get(key))) for key in names}
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "table.md", markdown(shown, columns))  # type: ignore[arg-type]
    atomic_write(folder / "table.csv", comma_separated(rows))
    atomic_write(folder / "results.json", json.dumps({"rows": [dict(row) for row in rows]}, indent=1) + "\n")
    progress().note(f"table: {folder / 'table.md'}")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
