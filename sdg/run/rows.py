"""Rows of journals as frozen values: the fields of a dataclass are the keys of a row.

@dataclass(frozen=True, slots=True)
class Tried:
    unit: str
    steps: tuple[int, ...]
    note: str | None = None      # what has its default isn't written

to_json(Tried("a", (1, 2)))    # {"unit": "a", "steps": (1, 2)}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from sdg.run.files import RunFolderError
from sdg.run.journal import Journal, read_journal
from sdg.skills.strict_json import decode

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
        """Record a finished unit durably. Raises what `Journal.append` raises."""
        self.journal.append(to_json(row))
        return row

    def get(self, unit: str) -> T | None:
        """The row of a unit, None where it isn't done. Raises RunFolderError for a row of another version."""
        row = self.journal.get(unit)
        return None if row is None else self._read(row)

    def __getitem__(self, unit: str) -> T:
        return self._read(self.journal[unit])

    def __contains__(self, unit: object) -> bool:
        return unit in self.journal

    def __iter__(self) -> Iterator[T]:
        return map(self._read, self.journal)

    def _read(self, row: Mapping[str, Any]) -> T:
        return _of_file(self.kind, row, path=self.journal.path)


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """The rows of a journal that someone may still be writing. Raises RunFolderError for what is none of this kind."""
    return [_of_file(kind, row, path=path) for row in read_journal(path)]


def _of_file(kind: type[T], row: Mapping[str, Any], *, path: Path) -> T:
    try:
        return decode(kind, row, place="row", extra="ignore")
    except ValueError as error:
        raise RunFolderError(
            f"{path} has a row of another version of this program (unit {row['unit']!r}: {error}). "
            "Begin this run anew in another folder."
        ) from None


__all__ = ["Rows", "read_rows", "to_json"]
