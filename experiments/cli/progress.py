"""How far a run is, on stderr: bars with rates and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sdg.experiments.cli.errors import readable

if TYPE_CHECKING:
    from sdg.pipeline import Progress, Stage

SECONDS_BETWEEN_LINES = 10.0


class Quiet:
    """Says nothing."""

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        yield self

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class Lines:
    """A line at the start and end of a stage and every ten seconds between: for logs and pipes."""

    def __init__(self, seconds: float = SECONDS_BETWEEN_LINES) -> None:
        self._seconds = seconds

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        if done == total:  # An earlier run did it all: there is nothing to tell.
            yield Quiet()
            return
        due = time.monotonic() + self._seconds

        def now_and_then(meter: Meter) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + self._seconds
                self.note(meter.text())

        meter = Meter(name, now_and_then, total=total, unit=unit, done=done)
        try:
            yield meter
        finally:
            self.note(meter.text())

    def note(self, text: str) -> None:
        print(readable(text), file=sys.stderr, flush=True)


class Meter:
    """Counts units and steps, and says how quick they are and how long the rest takes; `shown` is called each time."""

    def __init__(
        self, name: str, shown: Callable[[Meter], None], *, total: int | None, unit: str, done: int = 0
    ) -> None:
        self._shown = shown
        self.name, self.total, self.unit = name, total, unit
        self.done = self.already = done
        self.steps = 0
        self._begun = time.monotonic()

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        self.done += count
        self.steps += steps
        self._shown(self)

    def rates(self) -> str:
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rate = (self.done - self.already) / seconds
        parts = [f"{rate:.3g} {self.unit}/s" if rate >= 1 or not rate else f"{1 / rate:.3g} s each"]
        if self.steps:
            parts.append(f"{self.steps / seconds:,.0f} steps/s")
        parts.append(clock(seconds))
        if self.total is not None and rate and self.done < self.total:
            parts.append(f"{clock((self.total - self.done) / rate)} left")
        return ", ".join(parts)

    def text(self) -> str:
        of = f"/{self.total}" if self.total is not None else ""
        return f"{self.name}: {self.done}{of} {self.unit} ({self.rates()})"


def clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Bars:
    """One bar a stage."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    @contextlib.contextmanager
    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> Iterator[Stage]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

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
            yield Meter(
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
