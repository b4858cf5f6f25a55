"""Append-only JSONL keyed by unit of work: a unit is in the file whole or not at all, so a killed run can go on.

Programs are long and nearly alike. A long text is a line of its own, written once and before the first row that names
it by its digest, and so is each of its functions that is long itself:

    {"part": "9f86d081884c7d65", "text": ["def walk_to(thing):\\n    ..."]}
    {"part": "60303ae22b998861", "text": [{"$text": "9f86d081884c7d65"}, "def program():\\n    ..."]}
    {"unit": "sdg/Open/7/0", "program": {"$text": "60303ae22b998861"}, ...}

`read_journal` gives texts whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdg.envs.files import open_regular, read_file, sync_folder
from sdg.run.files import RunFolderError, explain, line

Row = dict[str, Any]

KEY = "unit"
"""The field that names the unit of work a row is the result of."""


CHECKSUM = "crc32"
"""The field that a row in a file has more: a flipped bit makes it no row. A text is told by its digest."""
PART, TEXT = "part", "$text"
PART_CHARS = 80
"""Shortest text that is kept on a line of its own."""

MAX_TEXT_CHARS = 1 << 24
"""Longest text of a row; a part is read before its digest can be known to be wrong."""
_BORDER = re.compile(r"(?m)^(?=def )")


@dataclass(frozen=True, slots=True)
class _Content:
    rows: dict[str, Row]
    good_bytes: int
    dropped: str | None
    parts: dict[str, str]


def _parse(text: bytes, parts: dict[str, str]) -> Row | None:
    """A row, an empty one for a part (which is remembered), or None for whatever is neither."""
    try:
        row = json.loads(text)
        if isinstance(row, dict) and row.keys() == {PART, "text"}:
            pieces = _whole(row["text"], parts)
            if sum(map(len, pieces)) > MAX_TEXT_CHARS or _digest(piece := "".join(pieces)) != row[PART]:
                return None  # parts of parts multiply
            parts[row[PART]] = piece
            return {}
        told = row.pop(CHECKSUM, None) if isinstance(row, dict) else None
        whole = None if told is not None and told != _checksum(row) else _whole(row, parts)
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return whole if isinstance(whole, dict) and isinstance(whole.get(KEY), str) else None


def _checksum(row: Row) -> int:
    return zlib.crc32(line(row).encode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _whole(value: Any, parts: Mapping[str, str]) -> Any:
    """A value as it was before `_cut`. Raises KeyError for a part that there isn't."""
    if isinstance(value, dict):
        return parts[value[TEXT]] if value.keys() == {TEXT} else {k: _whole(each, parts) for k, each in value.items()}
    return [_whole(each, parts) for each in value] if isinstance(value, list) else value


def _cut(value: Any, lines: dict[str, Any]) -> Any:
    """A value with long texts by their digests; `lines` gets the pieces of each, in the order to write them in."""
    if isinstance(value, dict):
        return {key: _cut(each, lines) for key, each in value.items()}
    if isinstance(value, list):
        return [_cut(each, lines) for each in value]
    if not isinstance(value, str) or len(value) < PART_CHARS:
        return value
    pieces = [piece for piece in _BORDER.split(value) if piece]
    digest = _digest(value)
    lines.setdefault(digest, pieces if len(pieces) == 1 else _cut(pieces, lines))
    return {TEXT: digest}


def _read(path: Path) -> _Content:
    try:
        content = read_file(path)
    except FileNotFoundError:
        return _Content({}, 0, None, {})
    except OSError as error:
        raise RunFolderError(f"can't read {path}: {error.strerror or error}.") from error
    *lines, tail = content.split(b"\n")
    rows: dict[str, Row] = {}
    parts: dict[str, str] = {}
    end = 0
    for number, text in enumerate(lines, 1):
        row = _parse(text, parts)
        if row and row[KEY] in rows:
            raise RunFolderError(
                f"{path} line {number}: unit {row[KEY]!r} is there twice. Delete one of the two lines."
            )
        if row:
            rows[row[KEY]] = row
        elif row is None and text.strip() and number == len(lines) and not tail:
            return _Content(rows, end, _torn(path, number, text), parts)
        elif row is None and text.strip():
            raise RunFolderError(
                f"{path} line {number} isn't a row of a journal, or is damaged: {text[:60]!r}. More lines follow it, "
                "so this was no interrupted run: restore the file from a copy, or delete that line to have its unit "
                "done again."
            )
        end += len(text) + 1
    return _Content(rows, end, _torn(path, len(lines) + 1, tail) if tail else None, parts)


def _torn(path: Path, number: int, text: bytes) -> str:
    return f"{path.name} line {number} was torn ({len(text)} bytes: {text[:40]!r}); its unit is done again"


def read_journal(path: Path) -> list[Row]:
    """The rows of a journal that someone may still be writing; a torn last line is left out, and left alone.

    Raises `RunFolderError` when a line before the last isn't a row.
    """
    return list(_read(path).rows.values())


def torn_line(path: Path) -> str | None:
    """What is said of a journal's torn last line, None where there is none. Raises as `read_journal` does."""
    return _read(path).dropped


class Journal:
    """The finished units of one kind. `dropped` says which torn last line was cut off on opening, if any."""

    def __init__(self, path: Path) -> None:
        """Open (or begin) the journal at `path`.

        Raises `RunFolderError` when it is corrupt, `RunError` when it can't be written.
        """
        self.path = path
        content = _read(path)
        self._rows, self._parts = content.rows, set(content.parts)
        self.dropped = content.dropped
        self._end = content.good_bytes
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT)
            os.ftruncate(self._descriptor, self._end)
            sync_folder(path.parent)
        except OSError as error:
            raise explain(error, path) from error

    def append(self, row: Mapping[str, Any]) -> Row:
        """Record a finished unit, durably before this returns; gives back the row as a reader will see it.

        Raises `ValueError` when the row names no unit or one that is recorded, `RunError` when it can't be written.
        """
        recorded: Row = json.loads(line(row))
        if not isinstance(recorded.get(KEY), str):
            raise ValueError(f"a row of {self.path.name} needs a text field {KEY!r}: {line(row)[:80]}")
        if recorded[KEY] in self._rows:
            raise ValueError(f"unit {recorded[KEY]!r} is already in {self.path.name}")
        parts: dict[str, Any] = {}
        cut = _cut(recorded, parts)
        lines = [{PART: digest, "text": pieces} for digest, pieces in parts.items() if digest not in self._parts]
        self._write("".join(line(each) + "\n" for each in (*lines, {**cut, CHECKSUM: _checksum(cut)})).encode())
        self._parts |= parts.keys()
        self._rows[recorded[KEY]] = recorded
        return recorded

    def _write(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], self._end + written)
            os.fsync(self._descriptor)
        except OSError as error:
            self._cut_back()
            raise explain(error, self.path) from error
        self._end += written

    def _cut_back(self) -> None:
        with contextlib.suppress(OSError):  # The next opening drops the torn line anyway.
            os.ftruncate(self._descriptor, self._end)

    def __contains__(self, unit: object) -> bool:
        return unit in self._rows

    def __getitem__(self, unit: str) -> Row:
        return self._rows[unit]

    def get(self, unit: str) -> Row | None:
        return self._rows.get(unit)

    def __iter__(self) -> Iterator[Row]:
        return iter(list(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """Rows in the order they were recorded."""
        return list(self._rows.values())

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


__all__ = ["KEY", "Journal", "Row", "read_journal"]
