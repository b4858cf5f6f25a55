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
"""A player that is silent for longer is given up with the episodes it was playing; one that waits for its model
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
            first_deadline = min(player.heard_at for player in players) + patience_seconds
            ready = wait([player.line for player in players], timeout=max(first_deadline - time.monotonic(), 0))
            latest_report = time.monotonic() - patience_seconds
            for player in players:
                if player.line in ready or player.heard_at <= latest_report:
                    yield from player.listen(silent=player.line not in ready)
            players = [player for player in players if player.jobs_left]
    finally:
        for player in players:
            player.stop()


class _Player(Generic[Job, Row]):
    def __init__(
        self, play: Callable[..., Iterator[Row]], lost: Callable[[Job, str], Row], jobs: Sequence[Job], setting: Any
    ) -> None:
        self.jobs_left = {job.unit: job for job in jobs}
        self.playing: set[str] = set()
        self.play, self.lost, self.setting = play, lost, setting
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, far_end = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_serve, args=(far_end, self.play, tuple(self.jobs_left.values()), self.setting), daemon=True
        )
        self.process.start()
        self.heard_at = time.monotonic()
        far_end.close()

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
            self.playing.add(value)
        elif kind == "error":
            raise value
        elif kind == "row":
            self.playing.discard(value.unit)
            del self.jobs_left[value.unit]
            if not self.jobs_left:
                self.stop()
            yield value

    def _lose(self, how: str) -> Iterator[Row]:
        self.stop()
        for unit in sorted(self.playing) or list(self.jobs_left)[:1]:
            yield self.lost(self.jobs_left.pop(unit), how)
        self.playing.clear()
        if self.jobs_left:
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
    with suppress(BrokenPipeError):  # the parent stopped listening, such as after another player's error
        try:
            for row in play(
                jobs,
                setting,
                begun=lambda job: line.send(("begun", job.unit)),
                waiting=lambda: line.send(("waiting", "")),
            ):
                line.send(("row", row))
        except Exception as error:
            line.send(("error", error))
