"""Files of a run folder: values as JSON, and disk errors in plain words.

A journal is append-only JSONL keyed by unit of work: a unit is in it whole or not at all, so a killed run can go on.
"""

import contextlib
import errno
import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sdg.envs.files import (
    MAX_LINE_BYTES,
    MAX_VALUES,
    atomic_write as replace_file,
    count_values,
    open_regular,
    read_values,
    sync_folder,
)
from sdg.errors import SDGError
from sdg.skills.strict_json import decode, require_shallow

MAX_JSON_BYTES = 1 << 26
"""Largest JSON file: objects built from it may take 26 times its size."""
_ADVICE = (
    (
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        "The disk (or a quota or size limit) is full. Free some space and give the same command again",
    ),
    (
        (errno.EROFS, errno.EACCES, errno.EPERM),
        "This place can't be written to. Choose another folder or mend its permissions, then try again",
    ),
    ((), "Mend that and give the same command again"),
)


class RunError(SDGError, RuntimeError):
    """A run can't go on. The message says what happened, to which file, and what to do; finished units are kept."""


class RunFolderError(RunError):
    """A run folder can't be used as asked (other schema, other config, in use, no run at all); nothing was changed."""

    exit_code = 2


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn an operating-system error while writing a file into a RunError with advice for the user."""
    try:
        yield
    except OSError as error:
        advice = next(text for codes, text in _ADVICE if error.errno in codes or not codes)
        text = f"can't write {path}: {error.strerror or error}. {advice}: what was finished is kept."
        raise RunError(text) from error


def atomic_write(path: Path, data: bytes | str) -> None:
    """`sdg.envs.files.atomic_write` for runs: raises `RunError`, which says what to do; the old file still stands."""
    with explaining(path):
        replace_file(path, data)


def json_values(value: Any) -> Any:
    """A value as JSON knows it: numpy to numbers and lists, dataclasses to objects, NaN and infinities to null."""
    if value is None or isinstance(value, str | bool | Path):
        return str(value) if isinstance(value, Path) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_values(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_values(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "tolist"):
        return json_values(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [json_values(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    raise TypeError(f"a run can't record {type(value).__name__}: {value!r:.80}")


def line(value: Any) -> str:
    """A value as one line of ASCII JSON, whatever text is in it."""
    return json.dumps(json_values(value), allow_nan=False, separators=(",", ":"))


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises `RunFolderError` when it is missing or isn't JSON."""
    try:
        return require_shallow(json.loads(read_values(path, most=MAX_JSON_BYTES)))
    except FileNotFoundError:
        raise RunFolderError(
            f"{path} doesn't exist: is {path.parent} a run folder, and did its run get that far?"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(
            f"can't read {path}: {error}. Restore it from a copy, or start a new run folder."
        ) from error


Row = dict[str, Any]

KEY = "unit"
"""The field that names the unit of work a row is the result of."""

CHECKSUM = "crc32"
"""The extra field of a row in a file; with a flipped bit it isn't a row."""


def _parse(text: bytes) -> Row | None:
    """A row, or None for anything else."""
    with contextlib.suppress(ValueError, RecursionError, TypeError, AttributeError, KeyError):
        row: Row = json.loads(text)
        if isinstance(row[KEY], str) and row.pop(CHECKSUM, None) in (None, _checksum(row)):
            return row
    return None


def _checksum(row: Row) -> int:
    return zlib.crc32(line(row).encode())


def _read(path: Path) -> tuple[dict[str, Row], int, str | None, int]:
    """The rows by unit, how many bytes they take, the notice of a torn last line (None without one), and how many
    values there are."""
    data = b""
    try:
        data = read_values(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RunFolderError(f"can't read {path}: {error.strerror or error}.") from error
    lines, values = data.split(b"\n"), count_values(data)
    rows: dict[str, Row] = {}
    end = 0
    line_count = len(lines) if lines[-1] else len(lines) - 1
    for number, text in enumerate(lines, 1):
        if len(text) > MAX_LINE_BYTES:
            raise RunFolderError(f"{path} line {number} has {len(text)} bytes, at most {MAX_LINE_BYTES} are read.")
        row = _parse(text) if number < len(lines) else None
        if row and row[KEY] in rows:
            raise RunFolderError(
                f"{path} line {number}: unit {row[KEY]!r} is there twice. Delete one of the two lines."
            )
        if row:
            rows[row[KEY]] = row
        elif text.strip() and number < line_count:
            raise RunFolderError(
                f"{path} line {number} isn't a row of a journal, or is damaged: {text[:60]!r}. More lines follow it, "
                "so this was no interrupted run: restore the file from a copy, or delete that line to have its unit "
                "done again."
            )
        elif text.strip() or (text and number == len(lines)):  # blanks too: a row would be appended to them
            notice = f"{path.name} line {number} was torn ({len(text)} bytes: {text[:40]!r}); its unit is done again"
            return rows, end, notice, values
        end += len(text) + 1
    return rows, end - 1, None, values


def read_journal(path: Path) -> list[Row]:
    """The rows of a journal that someone may still be writing; a torn last line is skipped, not removed.

    Raises `RunFolderError` when a line before the last isn't a row.
    """
    return list(_read(path)[0].values())


def torn_line(path: Path) -> str | None:
    """The notice of a journal's torn last line, None without one. Raises as `read_journal` does."""
    return _read(path)[2]


class Journal(contextlib.AbstractContextManager["Journal"]):
    """The finished units of one kind. `dropped` says which torn last line was cut off on opening, if any."""

    def __init__(self, path: Path) -> None:
        """Open (or begin) the journal at `path`.

        Raises `RunFolderError` when it is corrupt, `RunError` when it can't be written.
        """
        self.path = path
        self._rows, self._end, self.dropped, self._values = _read(path)
        with explaining(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT)
            os.ftruncate(self._descriptor, self._end)
            sync_folder(path.parent)

    def append(self, row: Mapping[str, Any]) -> Row:
        """Record a finished unit, durably before this returns; returns the row as a reader will see it.

        Raises `ValueError` when the row names no unit or one that is recorded, `RunError` when it can't be written or
        is longer than a line may be.
        """
        record: Row = json.loads(line(row))
        if not isinstance(record.get(KEY), str):
            raise ValueError(f"a row of {self.path.name} needs a text field {KEY!r}: {line(row)[:80]}")
        if record[KEY] in self._rows:
            raise ValueError(f"unit {record[KEY]!r} is already in {self.path.name}")
        data = line({**record, CHECKSUM: _checksum(record)}).encode() + b"\n"
        if len(data) > MAX_LINE_BYTES:
            raise RunError(f"a row of {len(data)} bytes isn't recorded in {self.path}: at most {MAX_LINE_BYTES} are.")
        if self._values + count_values(data) > MAX_VALUES:
            raise RunError(f"{self.path} is full, a longer one couldn't be read: go on in another folder.")
        self._write(data)
        self._values += count_values(data)
        self._rows[record[KEY]] = record
        return record

    def _write(self, data: bytes) -> None:
        count = 0
        try:
            with explaining(self.path):
                while count < len(data):
                    count += os.pwrite(self._descriptor, data[count:], self._end + count)
                os.fsync(self._descriptor)
        except RunError:
            with contextlib.suppress(OSError):  # The next opening drops the torn line anyway.
                os.ftruncate(self._descriptor, self._end)
            raise
        self._end += count

    def __contains__(self, unit: object) -> bool:
        return unit in self._rows

    def __getitem__(self, unit: str) -> Row:
        return self._rows[unit]

    def __iter__(self) -> Iterator[Row]:
        return iter(list(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __exit__(self, *exception: object) -> None:
        self.close()


T = TypeVar("T")


def to_json(row: Any) -> dict[str, Any]:
    """The row as plain values, without the fields that have their default."""
    defaults = {field.name: field.default for field in fields(row)}
    return {name: value for name, value in asdict(row).items() if defaults[name] is MISSING or value != defaults[name]}


class Rows(Generic[T]):
    """A journal whose rows are all of one kind."""

    def __init__(self, journal: Journal, kind: type[T]) -> None:
        self.journal, self.kind = journal, kind

    def append(self, row: T) -> T:
        """Record a finished unit durably. Raises what `Journal.append` raises, and ValueError for what isn't `kind`."""
        decode(self.kind, json_values(to_json(row)), place="row")  # so that whoever reads the journal can
        self.journal.append(to_json(row))
        return row

    def get(self, unit: str) -> T | None:
        """The row of a unit, None where it isn't done. Raises RunFolderError for a row of another version."""
        return self[unit] if unit in self else None  # noqa: SIM401

    def __getitem__(self, unit: str) -> T:
        return of_file(self.kind, self.journal[unit], path=self.journal.path)

    def __contains__(self, unit: object) -> bool:
        return unit in self.journal

    def __iter__(self) -> Iterator[T]:
        return (self[row[KEY]] for row in self.journal)


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """The rows of a journal that someone may still be writing. Raises RunFolderError for a row of another kind."""
    return [of_file(kind, row, path=path) for row in read_journal(path)]


def of_file(kind: type[T], row: Mapping[str, Any], *, path: Path) -> T:
    """A row or another object of a file as a value of this kind. Raises RunFolderError if it is of another."""
    try:
        return decode(kind, row, place=f"unit {row[KEY]!r:.80}: row" if KEY in row else path.stem, extra="ignore")
    except ValueError as error:
        raise RunFolderError(
            f"{path} has a row or value that this version of the program can't read ({error}). "
            "Begin this run anew in another folder."
        ) from None
