"""A run folder that this process works in: its journals, metrics and artefacts."""

import contextlib
import itertools
import json
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sdg.envs.files import TEMPORARY_SUFFIX, compress_lines
from sdg.storage.files import Journal, RunError, atomic_write, explaining, json_values
from sdg.storage.lock import claim, hold
from sdg.storage.metrics import Metrics
from sdg.storage.resume import (
    MAY_CHANGE,
    SCHEMA,
    RunSettings,
    begin,
    damage_notices,
    read_artefact,
    refuse_strangers,
    resume,
)

LARGE_BYTES = 1 << 20
"""A transcript that has grown larger is compressed when its run ends."""


class RunFolder(contextlib.AbstractContextManager["RunFolder"]):
    """A run folder that this process holds. Use as a context manager, or call `close`.

    `notices` says what was repaired on opening (a torn line, a dead holder, other versions); the caller shows it to the
    user.
    """

    def __init__(self, path: Path, held: contextlib.ExitStack, notices: Sequence[str] = ()) -> None:
        self.path, self.notices, self._held = path, list(notices), held
        self._journals: dict[str, Journal] = {}

    @classmethod
    def start(cls, path: Path, settings: RunSettings, *, may_change: Collection[str] = MAY_CHANGE) -> Self:
        """Begin a run in `path`, or go on with the one that is there if its config and seed are the same.

        Raises `RunFolderError` when the folder is in use, holds something else, is of another schema or has other
        settings, `RunError` when it can't be written.
        """
        refuse_strangers(path)
        with contextlib.ExitStack() as stack:
            dead = stack.enter_context(claim(path / "run.lock"))
            notices = [f"took over from {dead}, which is gone"] if dead else []
            for leftover in path.rglob(f".*{TEMPORARY_SUFFIX}"):  # only the holder of the lock may do so
                with explaining(leftover):
                    leftover.unlink(missing_ok=True)
            if (path / "run.json").exists():
                notices += [*resume(path, settings, may_change), *damage_notices(path)]
            else:
                begin(path, settings)
            atomic_write(path / "config.yaml", settings.config_text)
            return cls(path, stack.pop_all(), notices)

    def journal(self, name: str) -> Journal:
        """The journal `NAME.jsonl`; the same object each time."""
        if name not in self._journals:
            journal = Journal(self.path / f"{name}.jsonl")
            if journal.dropped and journal.dropped not in self.notices:
                self.notices.append(journal.dropped)
            self._journals[name] = journal
        return self._journals[name]

    @cached_property
    def metrics(self) -> Metrics:
        """Learning curves, as `metrics.jsonl` and for TensorBoard."""
        return Metrics(self.path)

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write an artefact in one step, with the schema version in it."""
        text = json.dumps({"schema": SCHEMA, **json_values(value)}, indent=1, allow_nan=False) + "\n"
        atomic_write(self.path / name, text)

    def read_json(self, name: str) -> dict[str, Any] | None:
        """An artefact, or None when the run hasn't got that far. Raises `RunFolderError` for another schema."""
        return read_artefact(self.path / name) if (self.path / name).exists() else None

    def close(self) -> None:
        """Close the journals and release the folder."""
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()
        self._held.close()

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        transcript = self.path / "transcript.jsonl"
        if kind is None and transcript.is_file() and transcript.stat().st_size > LARGE_BYTES:
            try:
                with explaining(transcript):
                    compress_lines(transcript)
            except RunError as error:
                self.notices.append(str(error))
        self.close()


def set_aside(path: Path) -> Path | None:
    """Make way for a new run: an earlier one in `path` becomes `path` with ".old", or with the first number that is
    free behind it, because runs that were set aside before may be worth more.

    Returns where it is now, None when there was none. Raises `RunFolderError` when it is in use or no run.
    """
    if not path.exists():
        return None
    refuse_strangers(path)
    with hold(path / "run.lock"), explaining(path):
        places = (path.parent / f"{path.name}.old{number or ''}" for number in itertools.count())
        return path.rename(next(place for place in places if not os.path.lexists(place)))
