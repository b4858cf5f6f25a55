"""The output of commands: one-line errors with an exit code, progress with time left, tables of rows.

Exit codes: 0 done, 1 failed, 2 usage error, 130 interrupted (the same command resumes). Errors and progress go to
stderr, rows alone to stdout, so that `--json` can be piped.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

from sdg.errors import SDGError

if TYPE_CHECKING:
    from sdg.pipeline.plan import Progress, Stage

DONE, FAILED, INTERRUPTED = 0, 1, 130

MAX_TRACEBACK_CHARS = 100_000


class CheckFailed(SDGError, RuntimeError):
    """A measurement differs from its promised value."""


class ReaderLeft(Exception):
    """The reader of our output (such as `head`) has closed it: no fault, and nothing more to do."""


def run_guarded(act: Callable[[], int | None]) -> int:
    """Run a command and turn its exceptions into a message on stderr and an exit code."""
    try:
        code = act() or DONE  # typer turns KeyboardInterrupt into 130.
    except KeyboardInterrupt:
        code = INTERRUPTED
    except ReaderLeft:
        return DONE
    except Exception as error:
        if os.environ.get("SDG_DEBUG"):
            print(readable(traceback.format_exc(), most=MAX_TRACEBACK_CHARS), file=sys.stderr)
        _say(message(error))
        return int(getattr(error, "exit_code", FAILED))
    if code == INTERRUPTED:
        _say("interrupted; what was finished is kept, and the same command goes on from there")
    return code


def message(error: BaseException) -> str:
    """The message for an exception: SDG's own errors as they are, others as errors of SDG."""
    from typer.exceptions import TyperException

    if isinstance(error, TyperException):
        return f"{error.format_message().rstrip('.')}. Try `sdg --help`, or --help behind a command."
    text = readable(str(error))
    if type(error).__module__.split(".")[0] == "sdg" and text:
        return text
    if isinstance(error, MemoryError):
        return "out of memory: use fewer environments (--set induce.train.n_envs=64) or a larger machine"
    if isinstance(error, ModuleNotFoundError):
        return f"{text}: install what is missing, `pip install --constraint constraints.txt --editable .` does it all"
    place = readable("".join(getattr(error, "__notes__", ())))  # the unit of a job: a user's world may fail in it
    return (
        f"unexpected {type(error).__name__}: {text or 'no message'}{place}. What was finished is kept. "
        "SDG_DEBUG=1 shows where."
    )


def readable(text: str, *, most: int = 4000) -> str:
    """Text that can't steer a terminal: control characters are shown, not sent; very long text is cut."""
    shown = text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    return "".join(
        character if character == "\n" or character.isprintable() else character.encode("unicode_escape").decode()
        for character in shown
    )


def _say(text: str) -> None:
    print(f"sdg: {text}", file=sys.stderr)


def ask_in_terminal(question: str) -> bool:
    """A person's yes, typed after the question, which has a line of its own beside bars; without a terminal it is
    no."""
    import termios

    if asks := sys.stdin is not None and sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    _say(f"{readable(question)} [y/N]")
    return asks and sys.stdin.readline().strip().lower() in ("y", "yes")


SECONDS_BETWEEN_LINES = 10.0


class Quiet:
    """Says nothing."""

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        yield self

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        """Count nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class Lines:
    """A line at the start and end of a stage and every ten seconds between: for logs and pipes."""

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        if done == total:  # An earlier run did it all: there is nothing to report.
            yield Quiet()
            return
        meter = ProgressMeter(
            name,
            lambda meter: self.note(meter.text()),
            every=SECONDS_BETWEEN_LINES,
            total=total,
            unit=unit,
            done=done,
        )
        try:
            yield meter
        finally:
            self.note(meter.text())

    def note(self, text: str) -> None:
        print(readable(text), file=sys.stderr, flush=True)


class ProgressMeter:
    """Counts units and steps; gives the rates and the time left. An advance calls `show`, at most once in `every`
    seconds."""

    def __init__(
        self,
        name: str,
        show: Callable[[ProgressMeter], None],
        *,
        every: float = 0.0,
        total: int | None,
        unit: str,
        done: int = 0,
    ) -> None:
        self._show, self._every = show, every
        self.name, self.total, self.unit = name, total, unit
        self.done = self.already = done
        self.steps = 0
        self._start = self._shown_at = time.monotonic()

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        self.done += count
        self.steps += steps
        if time.monotonic() >= self._shown_at + self._every:
            self._shown_at = time.monotonic()
            self._show(self)

    def rates(self) -> str:
        seconds = max(time.monotonic() - self._start, 1e-9)
        rate = (self.done - self.already) / seconds
        figures = [f"{rate:.3g} {self.unit}/s" if rate >= 1 or not rate else f"{1 / rate:.3g} s each"]
        if self.steps:
            figures.append(f"{self.steps / seconds:,.0f} steps/s")
        figures.append(str(timedelta(seconds=round(seconds))))
        if self.total is not None and rate and self.done < self.total:
            figures.append(f"{timedelta(seconds=round((self.total - self.done) / rate))} left")
        return ", ".join(figures)

    def text(self) -> str:
        total = f"/{self.total}" if self.total is not None else ""
        return f"{self.name}: {self.done}{total} {self.unit} ({self.rates()})"


class Bars:
    """One bar a stage."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress as RichProgress, TextColumn

        if done == total:
            yield Quiet()
            return
        columns = (
            TextColumn("{task.description:<12}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rates]}", markup=False),
        )
        with RichProgress(*columns, console=self._console, redirect_stdout=False, redirect_stderr=False) as bars:
            task = bars.add_task(name, total=total, completed=done, rates="")
            yield ProgressMeter(
                name,
                lambda meter: bars.update(task, completed=meter.done, rates=meter.rates()),
                total=total,
                unit=unit,
                done=done,
            )

    def note(self, text: str) -> None:
        self._console.print(readable(text), markup=False, highlight=False, soft_wrap=True)


def progress(*, quiet: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere, nothing when quiet."""
    if quiet:
        return Quiet()
    return Bars() if sys.stderr.isatty() else Lines()


Row = Mapping[str, Any]
MAX_CELL = 72
RATES = {"success_rate": "success %", "verified": "verified %", "area": "area %", "difference": "difference %"}
"""Rates whose interval `low` and `high` may be, and the heading of the joint column."""


class Output:
    """Prints a command's results as tables or JSON."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        self._stream = stream
        self.as_json = as_json

    def rows(self, rows: Iterable[Row]) -> int:
        """Print rows and count them; as JSON each one at once. Rows before an error are printed too."""
        if self.as_json:
            from sdg.storage import line

            return sum(self._write(line(row)) for row in rows)
        all_rows: list[Row] = []
        try:
            all_rows.extend(rows)
        finally:
            for text in table(all_rows):
                self._write(text)
        return len(all_rows)

    def details(self, rows: Iterable[Row]) -> None:
        """Print rows one under the other with all their values, texts of several lines too."""
        if self.as_json:
            self.rows(rows)
            return
        for row in rows:
            for key, value in row.items():
                text = readable(value if isinstance(value, str) else _whole(value), most=20_000)
                self._write(f"{key}:\n    " + text.replace("\n", "\n    ") if "\n" in text else f"{key}: {text}")
            self._write("")

    def text(self, text: str) -> None:
        """Print a line for people; as JSON nothing, because the rows hold everything."""
        if not self.as_json:
            self._write(readable(text))

    def _write(self, text: str) -> int:
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except BrokenPipeError:
            # Closing the stream flushes its buffer, which must go somewhere.
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, self._stream.fileno())
            os.close(devnull)
            raise ReaderLeft from None
        return 1


@contextlib.contextmanager
def output(*, as_json: bool) -> Iterator[Output]:
    """Stdout for rows alone: other output meanwhile (of libraries, worker processes) goes to stderr."""
    sys.stdout.flush()
    try:
        is_real_stdout = sys.stdout.fileno() == 1
    except (io.UnsupportedOperation, ValueError):
        is_real_stdout = False
    if not is_real_stdout:
        stream = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield Output(stream, as_json=as_json)
        return
    descriptor = os.dup(1)
    try:
        os.dup2(2, 1)
        with os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="backslashreplace") as stream:
            yield Output(stream, as_json=as_json)
    finally:
        sys.stdout.flush()
        os.dup2(descriptor, 1)
        os.close(descriptor)


def table(rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """Rows as aligned lines: numbers to the right, a rate with its interval as one column in percent.

    In a terminal (or with `width`, in characters) long texts are folded and, where that isn't enough, every row stands
    by itself, a line for each value.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    display_rows = [with_interval(row) for row in rows]
    columns = list(dict.fromkeys(key for row in display_rows for key in row))
    if not columns:
        return []
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in display_rows)
        grid.add_column(Text(column), justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in display_rows:
        grid.add_row(*(Text(cell(row.get(column))) for column in columns))
    full_width = Console(width=10_000, color_system=None, force_terminal=False).measure(grid).maximum
    space = width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else full_width)
    if full_width > space and len(columns) > space // 12:
        return [line for row in display_rows for line in (*(f"{key}: {cell(row.get(key))}" for key in columns), "")]
    console = Console(width=min(space, full_width), color_system=None, force_terminal=False, file=io.StringIO())
    with console.capture() as capture:
        console.print(grid)
    return [line.rstrip() for line in capture.get().rstrip("\n").split("\n")]


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
    """A value with all its items, nested ones indented and texts of several lines unchanged."""
    if isinstance(value, Mapping):
        items = [(f"{key}:", item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        items = [("-", item) for item in value]
    elif isinstance(value, str):
        return f"\n{value}".replace("\n", f"\n{indent}") if "\n" in value else value
    else:
        return cell(value) if not isinstance(value, list | tuple) else ", ".join(map(str, value))
    inner = f"{indent}    "
    return "".join(f"\n{indent}{head} {_whole(item, inner)}" for head, item in items)


def with_interval(row: Row) -> dict[str, Any]:
    """The row with its rate (the first of RATES that it has), `low` and `high` joined in one column, in percent."""
    rate = next((key for key in RATES if isinstance(row.get(key), int | float)), None)
    if rate is None or not {"low", "high"} <= row.keys():
        return dict(row)
    low, high = row["low"], row["high"]
    ends = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None and high is not None else ""
    columns = {RATES[rate] if key == rate else key: value for key, value in row.items() if key not in ("low", "high")}
    return columns | {RATES[rate]: f"{100 * row[rate]:5.1f}{ends}"}
