"""A run folder: what is in it, who works in it, and whether it may go on."""

import contextlib
import fcntl
import itertools
import json
import os
import platform
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sdg.envs.files import TEMPORARY_SUFFIX, compress_lines, read_file, strangers_below
from sdg.skills.strict_json import decode, loads
from sdg.storage.files import (
    Journal,
    RunError,
    RunFolderError,
    atomic_write,
    explaining,
    line,
    plain,
    read_json,
    torn_line,
)
from sdg.storage.metrics import Metrics
from sdg.storage.provenance import revision, versions

SCHEMA = 1
"""Version of a run folder's files; one with another number is refused rather than misread."""

OTHERS = ("banned.json", "metrics.jsonl", "spent.json", "transcript.jsonl")
"""Files of a run folder that are neither artefacts nor journals."""

LARGE_BYTES = 1 << 20
"""A transcript that has grown larger is compressed when its run ends."""

KINDS = {"config": dict, "seed": int, "versions": dict, "command": list, "resumed": list}
"""What `run.json` holds, beside what is only shown."""

MAY_CHANGE = ("budget",)
"""Top-level config keys that may differ in a resumed run: one that stopped at its budget needs a larger one."""


MAX_LOCK_BYTES = 1 << 16
"""Largest lock file that is trusted."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process on a machine. `birth` tells it from a later process with the same number."""

    pid: int
    host: str
    since: str
    birth: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


def birth(pid: int) -> str:
    """Boot and clock tick at which a process started; "" where the system doesn't tell, or there is no such process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name, field 2, is in brackets and may hold spaces and brackets itself; the start time is field 22.
        return f"{boot}/{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:
        return ""


def ourselves() -> Holder:
    """This process as a holder."""
    return Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S%z"), birth(os.getpid()))


def is_alive(holder: Holder) -> bool:
    """Whether the holder may still be working; processes on other machines always may."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # Someone else's process: it lives.
        pass
    return not holder.birth or holder.birth == birth(holder.pid)


@contextlib.contextmanager
def hold(path: Path) -> Iterator[Holder | None]:
    """Hold the kernel's lock on the folder of the lock file `path` meanwhile; gives the dead holder that it names.

    The kernel drops its lock with its process, and knows who lives in other containers. Network file systems that don't
    lock have the file alone. Raises `RunFolderError` where a live process holds the folder.
    """
    with explaining(path.parent):
        folder, is_held = os.open(path.parent, os.O_RDONLY), False
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            is_held = isinstance(error, BlockingIOError)
        holder = read_holder(path)
        if is_held or (holder is not None and is_alive(holder)):
            raise RunFolderError(
                f"{path.parent} is in use by {holder or 'another process'}. Wait until that run ends or stop it; "
                f"if that machine is gone for good, delete {path}."
            )
        yield holder
    finally:
        os.close(folder)


class Lock:
    """`run.lock`, which says who holds a folder. It is taken over from a dead holder, whom `taken_from` names."""

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises `RunFolderError` when a live process holds it, `RunError` when it can't be written."""
        self.path, self._me = path, ourselves()
        with contextlib.ExitStack() as stack:
            self.taken_from = stack.enter_context(hold(path))
            atomic_write(path, line(self._me) + "\n")
            self._held = stack.pop_all()

    def release(self) -> None:
        """Release the folder, if it is still ours."""
        if read_holder(self.path) == self._me:
            self.path.unlink(missing_ok=True)
        self._held.close()


def read_holder(path: Path) -> Holder | None:
    """The holder that a lock file names; None without one, and for an unreadable one (its writer was cut off)."""
    try:
        return decode(Holder, loads(read_file(path, most=MAX_LOCK_BYTES)))
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What decides a run: its resolved config (as plain values, and as YAML text to keep), its seed and its command."""

    config: Mapping[str, Any]
    config_text: str
    seed: int
    command: Sequence[str] = field(default_factory=tuple)


class RunFolder(contextlib.AbstractContextManager["RunFolder"]):
    """A run folder that this process holds. Use as a context manager, or call `close`.

    `notices` says what was repaired on opening (a torn line, a dead holder, other versions); the caller shows it to the
    user.
    """

    def __init__(self, path: Path, lock: Lock, notices: Sequence[str] = ()) -> None:
        self.path, self.notices, self._lock = path, list(notices), lock
        self._journals: dict[str, Journal] = {}

    @classmethod
    def start(cls, path: Path, settings: RunSettings, *, may_change: Collection[str] = MAY_CHANGE) -> Self:
        """Begin a run in `path`, or go on with the one that is there if its config and seed are the same.

        Raises `RunFolderError` when the folder is in use, holds something else, is of another schema or has other
        settings, `RunError` when it can't be written.
        """
        existing = path / "run.json"
        refuse_links(path)
        if path.exists() and not existing.exists():
            _refuse_strangers(path)
        with explaining(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = Lock(path / "run.lock")
        try:
            notices = [f"took over from {lock.taken_from}, which is gone"] if lock.taken_from else []
            for leftover in path.rglob(f".*{TEMPORARY_SUFFIX}"):  # only the holder of the lock may do so
                with explaining(leftover):
                    leftover.unlink(missing_ok=True)
            if existing.exists():
                notices += [*_resume(path, settings, may_change), *_damage_notices(path)]
            else:
                _begin(path, settings)
            atomic_write(path / "config.yaml", settings.config_text)
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, notices)

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

    def write_json(self, name: str, value: Mapping[str, Any]) -> Path:
        """Write an artefact in one step, with the schema version in it."""
        path = self.path / name
        atomic_write(path, json.dumps({"schema": SCHEMA, **plain(value)}, indent=1, allow_nan=False) + "\n")
        return path

    def read_json(self, name: str) -> dict[str, Any] | None:
        """An artefact, or None when the run hasn't got that far. Raises `RunFolderError` for another schema."""
        return read_artefact(self.path / name) if (self.path / name).exists() else None

    def close(self) -> None:
        """Close what is open and release the folder."""
        files: list[Journal | Metrics] = [
            *self._journals.values(),
            *([self.metrics] if "metrics" in vars(self) else []),
        ]
        for each in files:
            each.close()
        self._journals.clear()
        self._lock.release()

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
    refuse_links(path)
    if not (path / "run.json").exists():
        _refuse_strangers(path)
    with hold(path / "run.lock"), explaining(path):
        places = (path.parent / f"{path.name}.old{number or ''}" for number in itertools.count())
        return path.rename(next(place for place in places if not os.path.lexists(place)))


def read_artefact(path: Path) -> dict[str, Any]:
    """A JSON object with our schema version. Raises `RunFolderError` when it is missing, broken or of another."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise RunFolderError(f"{path} holds no JSON object. Restore it from a copy, or start a new run folder.")
    if value.get("schema") != SCHEMA:
        raise RunFolderError(
            f"{path} has schema {value.get('schema')!r:.40}, this version reads schema {SCHEMA}. "
            "Use the version of sdg that wrote it (run.json names it), or start a new run folder."
        )
    return value


def read_description(path: Path) -> dict[str, Any]:
    """`run.json` of the run in `path`. Raises `RunFolderError` when there is no run or it is of another schema."""
    if not path.is_dir():
        raise RunFolderError(f"{path} is no folder. `sdg run --out {path}` begins a run there.")
    if not (path / "run.json").exists():
        raise RunFolderError(f"{path} holds no run (no run.json in it). Name the folder that a run was written to.")
    description = read_artefact(path / "run.json")
    for name, kind in KINDS.items():
        if not isinstance(description.get(name), kind):
            raise RunFolderError(f"{path / 'run.json'} lacks its {name}. Restore it from a copy, or start a new run.")
    return description


def refuse_links(path: Path) -> None:
    """Refuse entries of a folder, where it is one, that lead out of it or block a reader: it may come from anybody."""
    with explaining(path):
        stranger = next(strangers_below(path), None) if path.is_dir() else None
    if stranger is not None:
        raise RunFolderError(f"{stranger[0]} can't be used: {stranger[1]}, or name another folder.")


def _refuse_strangers(path: Path) -> None:
    """Refuse a folder with files that no run wrote: they are somebody else's."""
    if not path.is_dir():
        raise RunFolderError(f"{path} is a file. Name a folder for the run.")
    names = {entry.name for entry in path.iterdir()} - {"run.lock"}
    if strangers := [name for name in names if not name.endswith(TEMPORARY_SUFFIX)]:
        raise RunFolderError(f"{path} holds no run but other things ({min(strangers)!r}). Name another folder.")


def _damage_notices(path: Path) -> list[str]:
    """Notices of damaged files that a finished stage left and that this command might not read otherwise."""
    notices = []
    for reader, names in ((read_artefact, "*.json"), (torn_line, "*.jsonl")):
        for entry in sorted(each for each in path.glob(names) if each.name not in OTHERS):
            try:
                notice = reader(entry)
            except RunFolderError as error:
                notice = str(error)
            notices += [notice] if isinstance(notice, str) else []
    return notices


def _begin(path: Path, settings: RunSettings) -> None:
    description = {
        "seed": settings.seed,
        "command": list(settings.command),
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "git": revision(Path(__file__).parent),
        "versions": versions(),
        "machine": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count() or 0},
        "config": settings.config,
        "resumed": [],
    }
    atomic_write(path / "run.json", json.dumps({"schema": SCHEMA, **plain(description)}, indent=1) + "\n")


def _resume(path: Path, settings: RunSettings, may_change: Collection[str]) -> list[str]:
    description = read_description(path)
    if description["seed"] != settings.seed:
        raise RunFolderError(
            f"{path} was begun with seed {description['seed']}, not {settings.seed}. "
            f"Give --seed {description['seed']} to go on with it, or name another folder."
        )
    now = plain(settings.config)
    changed = differences(description["config"], now)
    if forbidden := [text for key, text in changed if key.split(".")[0] not in may_change]:
        more = f" and {len(forbidden) - 4} more" if len(forbidden) > 4 else ""
        raise RunFolderError(
            f"{path} was begun with another config: {'; '.join(forbidden[:4])}{more}. "
            "Name another folder, or give the config it was begun with (its config.yaml) to go on."
        )
    then, here = description["versions"], versions()
    changes = [f"{name} {then.get(name)} -> {here[name]}" for name in here if then.get(name) != here[name]]
    record = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": list(settings.command),
        "git": revision(Path(__file__).parent),
        "changed_versions": changes,
    }
    description["config"] = now
    description["resumed"] = [*description.get("resumed", []), record]
    atomic_write(path / "run.json", json.dumps(description, indent=1) + "\n")
    return [f"goes on with other versions than it began with: {', '.join(changes)}"] if changes else []


def differences(then: Any, now: Any, *, key: str = "") -> list[tuple[str, str]]:
    """Dotted keys at which two plain values differ, each with a text that shows both."""
    if isinstance(then, dict) and isinstance(now, dict):
        return [
            difference
            for name in sorted(then.keys() | now.keys())
            for difference in differences(then.get(name), now.get(name), key=f"{key}.{name}" if key else name)
        ]
    return [] if then == now else [(key, f"{key} was {then!r:.60}, is {now!r:.60}")]
