"""The result of a task on a page, and the trace that it leaves in a folder: film.gif, trace.txt and trace.json."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sdg.console import readable
from sdg.envs.files import read_file
from sdg.errors import UserError
from sdg.storage import atomic_write, explaining

MAX_TRACE = 10_000_000
"""Letters of trace.txt."""
_TRACE_FILES: Mapping[str, tuple[str, bytes]] = {
    "trace.txt": ("trace.txt", b"Task: "),
    "trace.json": ("trace.json", b'{\n "task": '),
    "film.gif": ("trace.json", b'{\n "task": '),
}
"""For each file of a trace: the file, and the beginning of it, that show that `sdg do` wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTaskResult:
    """The result of a task: `done` if the model says so, `end` in a word, `said` the model's last words, `answers` how
    many it gave, `steps` the commands with their outcomes, `address` where the page is now."""

    task: str
    done: bool
    end: str
    said: str
    answers: int
    steps: tuple[Mapping[str, Any], ...]
    tokens: int
    address: str = ""
    detail: str = ""
    asked: tuple[str, ...] = ()
    folder: str = ""

    def __bool__(self) -> bool:
        return self.done

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        return asdict(self)


def empty_trace(folder: Path) -> None:
    """Take an earlier task's trace out of a folder, before anything is done that can't be undone."""
    for name, (mark, beginning) in _TRACE_FILES.items():
        with explaining(folder / name):
            if (folder / name).exists() and not _begins_with(folder / mark, beginning):
                raise UserError(f"{folder / name} wasn't written by sdg: name another folder")
    for name in ("film.gif", "trace.json"):
        with explaining(folder / name):
            (folder / name).unlink(missing_ok=True)
    atomic_write(folder / "trace.txt", "Task: \n")


def _begins_with(path: Path, beginning: bytes) -> bool:
    with suppress(OSError):  # there is none, or it is no regular file
        return read_file(path).startswith(beginning)
    return False


def keep_trace(
    result: PageTaskResult, frames: Sequence[bytes], folder: Path | None, started_at: float
) -> PageTaskResult:
    """Write the trace. If the folder can't be written, the result says so, but still reports what was done; it doesn't
    suggest to repeat the task."""
    if folder is None:
        return result
    try:
        return _write_trace(result, frames, folder, seconds=time.monotonic() - started_at)
    except Exception as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        return replace(result, detail=f"{result.detail} {folder} doesn't keep what was done: {cause}".strip())


def _write_trace(result: PageTaskResult, frames: Sequence[bytes], folder: Path, *, seconds: float) -> PageTaskResult:
    """Write film.gif, trace.txt and trace.json to the folder."""
    from sdg.experiments.play.film import animate_pictures

    result = replace(result, folder=str(folder))
    lines = [f"Task: {result.task}", *(f"Asked: {question}" for question in result.asked), ""]
    for number, step in enumerate(result.steps, 1):
        lines += [f"{number:3}. {step['command']}: {step['outcome']}", *(f"       {why}" for why in step["verdicts"])]
    end = f"End: {result.end} after {result.answers} answers and {seconds:.0f} s. {result.said} {result.detail}".strip()
    atomic_write(folder / "trace.txt", readable("\n".join([*lines, "", end]), most=MAX_TRACE) + "\n")
    atomic_write(folder / "trace.json", json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n")
    if frames:
        atomic_write(folder / "film.gif", animate_pictures(frames, [1200] * (len(frames) - 1) + [3000]))
    return result
