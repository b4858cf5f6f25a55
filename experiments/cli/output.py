"""Rows on stdout: a table for people, or one JSON object a row and nothing else for machines."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
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
        """Print rows and count them; as JSON each one as soon as it is there. What came before an error is printed."""
        if self.as_json:
            from sdg.run.files import line

            return sum(self._write(line(row)) for row in rows)
        found: list[Row] = []
        try:
            for row in rows:
                found.append(row)
        finally:
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
                text = readable(value if isinstance(value, str) else _whole(value), most=20_000)
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


def table(rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """Rows as aligned lines: numbers to the right, a rate with its interval as one column in percent.

    In a terminal (or with `width`, in characters) long texts are folded and, where that isn't enough, every row stands
    by itself, a line for each value.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [with_interval(row) for row in rows]
    columns = list(dict.fromkeys(key for row in shown for key in row))
    if not columns:
        return []
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in shown)
        drawn.add_column(Text(column), justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in shown:
        drawn.add_row(*(Text(cell(row.get(column))) for column in columns))
    wide = Console(width=10_000, color_system=None, force_terminal=False)
    needed = wide.measure(drawn).maximum
    room = width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else needed)
    if needed > room and len(columns) > room // 12:
        return [line for row in shown for line in (*(f"{key}: {cell(row.get(key))}" for key in columns), "")]
    console = Console(width=min(room, needed), color_system=None, force_terminal=False, file=io.StringIO())
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().rstrip("\n").split("\n")]


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


def _whole(value: Any, indent: str = "") -> str:
    """A value with all that is in it, nested ones indented and texts of several lines as they are."""
    if isinstance(value, Mapping):
        parts = [(f"{key}:", item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        parts = [("-", item) for item in value]
    elif isinstance(value, str):
        return f"\n{value}".replace("\n", f"\n{indent}") if "\n" in value else value
    else:
        return cell(value) if not isinstance(value, list | tuple) else ", ".join(map(str, value))
    inner = f"{indent}    "
    return "".join(f"\n{indent}{head} {_whole(item, inner)}" for head, item in parts)


def with_interval(row: Row) -> dict[str, Any]:
    """A row in which its rate (the first of RATES that it has) and `low` and `high` are one column, in percent."""
    rate = next((key for key in RATES if isinstance(row.get(key), int | float)), None)
    if rate is None or not {"low", "high"} <= row.keys():
        return dict(row)
    low, high = row["low"], row["high"]
    ends = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None and high is not None else ""
    shown = {RATES[rate] if key == rate else key: value for key, value in row.items() if key not in ("low", "high")}
    return shown | {RATES[rate]: f"{100 * row[rate]:5.1f}{ends}"}
