"""Processes that play episodes, each with a browser; a lost process also loses the episodes it was playing."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from sdg.sandbox.process.confine import die_with_parent


class Unit(Protocol):
    """A job, and a row of one: `unit` is the same name in both."""

    @property
    def unit(self) -> str:
        """Its name in the journal."""
        ...


Job = TypeVar("Job", bound=Unit)
Row = TypeVar("Row", bound=Unit)

_PATIENCE_SECONDS = 900.0
"""A player that is silent for so long is given up with the episodes it was playing; one that waits for its model
reports more often (`BEAT_SECONDS`)."""


def play_in_processes(
    play: Callable[..., Iterator[Row]],
    lost: Callable[[Job, str], Row],
    jobs: Sequence[Job],
    setting: Any,
    *,
    processes: int,
    patience_seconds: float = _PATIENCE_SECONDS,
) -> Iterator[Row]:
    """Rows as they finish, from processes that run `play(jobs, setting, begun=, waiting=)`, which gives them.

    `begun` is called with each job that begins, `waiting` while only models work. A process that dies or falls silent
    loses its episodes: `lost(job, how)` gives their rows, and another process takes its place. Raises the errors of a
    player process itself.
    """
    count = min(processes, len(jobs))
    players = [_Player(play, lost, jobs[n::count], setting) for n in range(count)]
    try:
        while players:
            first = min(each.heard_at for each in players) + patience_seconds
            ready = wait([each.line for each in players], timeout=max(first - time.monotonic(), 0))
            late = time.monotonic() - patience_seconds
            for player in players:
                if player.line in ready or player.heard_at <= late:
                    yield from player.listen(silent=player.line not in ready)
            players = [each for each in players if each.left]
    finally:
        for player in players:
            player.stop()


class _Player(Generic[Job, Row]):
    def __init__(
        self, play: Callable[..., Iterator[Row]], lost: Callable[[Job, str], Row], jobs: Sequence[Job], setting: Any
    ) -> None:
        self.left = {job.unit: job for job in jobs}
        self.at: set[str] = set()
        self.play, self.lost, self.setting = play, lost, setting
        self._start()

    def _start(self) -> None:
        here = multiprocessing.get_context("spawn")
        self.line, far = here.Pipe(duplex=False)
        self.process = here.Process(
            target=_serve, args=(far, self.play, tuple(self.left.values()), self.setting), daemon=True
        )
        self.process.start()
        self.heard_at = time.monotonic()
        far.close()

    def listen(self, *, silent: bool) -> Iterator[Row]:
        self.heard_at = time.monotonic()
        try:
            if silent:
                raise EOFError
            kind, value = self.line.recv()
        except (EOFError, OSError):
            yield from self._lose("fell silent" if silent else "died")
            return
        if kind == "begun":
            self.at.add(value)
        elif kind == "error":
            raise value
        elif kind == "row":
            self.at.discard(value.unit)
            del self.left[value.unit]
            if not self.left:
                self.stop()
            yield value

    def _lose(self, how: str) -> Iterator[Row]:
        self.stop()
        for unit in sorted(self.at) or list(self.left)[:1]:
            yield self.lost(self.left.pop(unit), how)
        self.at.clear()
        if self.left:
            self._start()

    def stop(self) -> None:
        self.line.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(line: Connection, play: Callable[..., Iterator[Any]], jobs: Sequence[Any], setting: Any) -> None:
    """A player's process: it and its browser end with the parent."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    beat = lambda: line.send(("waiting", ""))  # noqa: E731
    with suppress(BrokenPipeError):  # the parent stopped listening, such as after another player's error
        try:
            for row in play(jobs, setting, begun=lambda job: line.send(("begun", job.unit)), waiting=beat):
                line.send(("row", row))
        except Exception as error:
            line.send(("error", error))
