"""Learning curves while they are learned: `metrics.jsonl` for the report, event files for TensorBoard."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from importlib import util
from io import FileIO
from pathlib import Path
from typing import IO, Any

from sdg.envs.files import open_regular, read_file
from sdg.run.files import atomic_write, explain, line, plain

STEP = "environment_steps"
"""The field that counts time along a curve."""


class Metrics:
    """Rows of a unit's learning curve. They are lost with their unit: a unit begun anew begins its curve anew."""

    def __init__(self, folder: Path, *, tensorboard: bool = True) -> None:
        self.path = folder / "metrics.jsonl"
        # TensorBoard is an extra: without it the curves are in metrics.jsonl alone.
        wanted = tensorboard and util.find_spec("tensorboard") is not None
        self._events_folder = folder / "tensorboard" if wanted else None
        self._file: FileIO | None = None
        self._events: EventFile | None = None
        self._unit = ""

    def begin(self, unit: str) -> None:
        """Rows that follow belong to this unit; what an interrupted attempt at it left is dropped."""
        self.close()
        self._unit = unit
        rows = read_metrics(self.path)
        kept = [row for row in rows if row.get("unit") != unit]
        if len(kept) < len(rows):
            atomic_write(self.path, "".join(line(row) + "\n" for row in kept))
        if self._events_folder is not None:
            folder = self._events_folder / file_name(unit)
            shutil.rmtree(folder, ignore_errors=True)
            self._events = EventFile(folder)

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a point: `environment_steps` and numbers or labels beside it. Raises `RunError` when the disk is full."""
        values = plain(row)
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = _at_new_line(self.path)
            data = (line({"unit": self._unit, **values}) + "\n").encode()
            while data:
                data = data[self._file.write(data) :]
            if self._events is not None:
                self._events.write(int(values.get(STEP) or 0), values)
        except OSError as error:
            self.close()
            raise explain(error, self.path) from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._events is not None:
            self._events.close()
            self._events = None


class EventFile:
    """One TensorBoard event file of scalars, written record by record (no thread that a fork could lose)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._records: Any = None

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Write the numbers among `values` as scalars at `step`."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = (self._folder / f"events.out.tfevents.{int(time.time())}.sdg").open("wb")
            self._records = RecordWriter(self._file)
            self._records.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        scalars = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in values.items()
            if isinstance(value, int | float) and name != STEP
        ]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=scalars))
        self._records.write(event.SerializeToString())
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Rows of a metrics file; lines that a kill or a full disk tore are left out."""
    try:
        lines = read_file(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise explain(error, path) from error
    rows = []
    for text in lines:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def file_name(text: str) -> str:
    """A safe name for a file or folder; different texts get different names."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", text)[:60].strip("_")
    return (
        safe if safe == text else f"{safe or 'unit'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )


def _at_new_line(path: Path) -> FileIO:
    """The file, open to append. Where a kill left it within a line, that line is ended: the next has its own."""
    file = FileIO(open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+")
    if file.seek(0, os.SEEK_END) and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
        file.write(b"\n")
    return file
