"""Learning curves while they are learned: `metrics.jsonl` for the report, event files for TensorBoard."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from importlib import util
from pathlib import Path
from typing import Any

from sdg.envs.files import lock_to_append, open_regular, read_values
from sdg.storage.files import RunFolderError, atomic_write, explaining, json_values, line

STEP = "environment_steps"
"""The field that counts time along a curve."""
_MAX_NUMBER = 1 << 53
"""Numbers of a point are smaller, so that event files can hold them."""


class Metrics:
    """Rows of a unit's learning curve. An interrupted unit loses them and begins its curve again."""

    def __init__(self, folder: Path) -> None:
        self.path, self._unit = folder / "metrics.jsonl", ""
        # TensorBoard is an extra: without it the curves are in metrics.jsonl alone.
        self._events_folder = folder / "tensorboard" if util.find_spec("tensorboard") else None

    def begin(self, unit: str) -> None:
        """Begin the rows of this unit; those of an interrupted attempt at it are dropped."""
        self._unit, rows = unit, read_metrics(self.path)
        others = [row for row in rows if row.get("unit") != unit]
        if len(others) < len(rows):
            atomic_write(self.path, "".join(line(row) + "\n" for row in others))
        if self._events_folder is not None:
            shutil.rmtree(self._events_folder / file_name(unit), ignore_errors=True)

    def write(self, row: Mapping[str, Any]) -> None:
        """Add a point: `environment_steps` and numbers or labels beside it. Raises `RunError` when the disk is full."""
        values = json_values(row)
        data = (line({"unit": self._unit, **values}) + "\n").encode()
        with explaining(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with lock_to_append(self.path) as file:
                while data:
                    data = data[file.write(data) :]
            if self._events_folder is not None:
                _write_events(self._events_folder / file_name(self._unit), values)


def _write_events(folder: Path, values: Mapping[str, Any]) -> None:
    """The numbers as scalars at the end of a unit's event file (no thread that a fork could lose)."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    scalars = [
        Summary.Value(tag=name, simple_value=float(value))
        for name, value in values.items()
        if isinstance(value, int | float) and name != STEP
    ]
    event = Event(wall_time=time.time(), step=int(values.get(STEP) or 0), summary=Summary(value=scalars))
    folder.mkdir(parents=True, exist_ok=True)
    events_file = next(folder.glob("events.out.tfevents.*"), folder / f"events.out.tfevents.{int(time.time())}.sdg")
    with open(open_regular(events_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
        if not file.tell():
            RecordWriter(file).write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        RecordWriter(file).write(event.SerializeToString())


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Points of a metrics file. Lines that a kill or a full disk tore, and others that are no point, are left out."""
    rows = []
    try:
        for text in read_values(path).split(b"\n"):
            with contextlib.suppress(ValueError, RecursionError):
                rows.append(json.loads(text))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunFolderError(f"can't read {path}: {error.strerror or error}.") from error
    return [row for row in rows if _is_point(row)]


def _is_point(row: Any) -> bool:
    """Whether a row holds a unit and numbers or labels beside it, all of them such as `Metrics.write` takes."""
    is_row = isinstance(row, dict) and isinstance(row.get("unit"), str) and isinstance(row.get(STEP, 0), int)
    return is_row and all(
        isinstance(value, str | None) or (isinstance(value, int | float) and abs(value) < _MAX_NUMBER)
        for value in row.values()
    )


def file_name(text: str) -> str:
    """A safe name for a file or folder; different texts get different names."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", text)[:60].strip("_")
    return (
        safe if safe == text else f"{safe or 'unit'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )
