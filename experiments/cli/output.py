"""Rows on stdout: a table for people, or one JSON object a row and nothing else for machines."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from sdg.experiments.cli.errors import ReaderLeft, readable

Row = Mapping[str, Any]
MAX_CELL = 72
RATES = {"success_rate": "success %", "verified": "verified %", "area": "area %", "difference": "difference %"}
"""What `low` and `high` may be the interval of, and the heading of both together."""


class Output:
    """Where a command's results go."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self.as_json = as_json

    def rows(self, rows: Iterable[Row]) -> int:
        """Print rows and count them; as JSON each one as soon as it is there."""
        if self.as_json:
            from sdg.run.files import line

            return sum(self._write(line(row)) for row in rows)
        found = list(rows)
        for text in table(found):
            self._write(text)
        return len(found)

    def details(self, rows: Iterable[Row]) -> None:
        """Print rows one under the other with all they hold, texts of several lines too."""
        if self.as_json:
            self.rows(rows)
            return
        for row in rows:
            for key, value in row.items():
                text = readable(value if isinstance(value, str) else cell(value), most=20_000)
                self._write(f"{key}:\n    " + text.replace("\n", "\n    ") if "\n" in text else f"{key}: {text}")
            self._write("")

    def text(self, text: str) -> None:
        """Print a line for people; as JSON nothing, because rows say it all."""
        if not self.as_json:
            self._write(readable(text))

    def _write(self, text: str) -> int:
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except BrokenPipeError:
            # What is still buffered must go somewhere when the stream is closed.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            raise ReaderLeft from None
        return 1


@contextlib.contextmanager
def output(*, as_json: bool) -> Iterator[Output]:
    """Stdout for rows alone: whatever else prints meanwhile (libraries, worker processes) goes to stderr."""
    sys.stdout.flush()
    try:
        real = sys.stdout.fileno() == 1
    except (io.UnsupportedOperation, ValueError):
        real = False
    if not real:
        stream = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield Output(stream, as_json=as_json)
        return
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with os.fdopen(os.dup(saved), "w", encoding="utf-8", errors="backslashreplace") as stream:
            yield Output(stream, as_json=as_json)
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def table(rows: Sequence[Row]) -> list[str]:
    """Rows as aligned lines: numbers to the right, a rate with its interval as one column in percent."""
    shown = [with_interval(row) for row in rows]
    columns = list(dict.fromkeys(key for row in shown for key in row))
    if not columns:
        return []
    cells = [[cell(row.get(column)) for column in columns] for row in shown]
    numeric = [all(isinstance(row.get(c), int | float | None) for row in shown) for c in columns]
    widths = [max(len(column), *(len(line[i]) for line in cells)) for i, column in enumerate(columns)]

    def aligned(values: Sequence[str]) -> str:
        parts = (v.rjust(w) if right else v.ljust(w) for v, w, right in zip(values, widths, numeric, strict=True))
        return "  ".join(parts).rstrip()

    return [aligned(columns), aligned(["-" * width for width in widths]), *map(aligned, cells)]


def cell(value: Any) -> str:
    """A value in few characters, on one line and harmless to a terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        value = ", ".join(f"{key}: {cell(item)}" for key, item in value.items())
    text = readable(value if isinstance(value, str) else str(value)).replace("\n", "\\n")
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 3]}..."


def with_interval(row: Row) -> dict[str, Any]:
    """A row in which its rate (the first of RATES that it has) and `low` and `high` are one column, in percent."""
    rate = next((key for key in RATES if isinstance(row.get(key), int | float)), None)
    if rate is None or not {"low", "high"} <= row.keys():
        return dict(row)
    low, high = row["low"], row["high"]
    ends = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None and high is not None else ""
    shown = {RATES[rate] if key == rate else key: value for key, value in row.items() if key not in ("low", "high")}
    return shown | {RATES[rate]: f"{100 * row[rate]:5.1f}{ends}"}
