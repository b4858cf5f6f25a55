"""Rows of journals as frozen values: the fields of a dataclass are the keys of a row.

@dataclass(frozen=True, slots=True)
class Tried:
    unit: str
    steps: tuple[int, ...]
    note: str | None = None      # what has its default isn't written

to_json(Tried("a", (1, 2)))                         # {"unit": "a", "steps": (1, 2)}
from_json(Tried, {"unit": "a", "steps": [1, 2]})    # Tried("a", (1, 2))
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sdg.run.files import RunFolderError
from sdg.run.journal import Journal, read_journal

T = TypeVar("T")


def to_json(row: Any) -> dict[str, Any]:
    """The row as plain values, without the fields that have their default."""
    defaults = {field.name: field.default for field in fields(row)}
    return {name: value for name, value in asdict(row).items() if defaults[name] is MISSING or value != defaults[name]}


def from_json(kind: type[T], row: object) -> T:
    """The row that these plain values are; keys that it has no field for are left out.

    Raises ValueError for a field that is missing or of another type.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"{row!r:.60} is no {kind.__name__}")
    values = {}
    for name, wanted, default in _fields(cast(Hashable, kind)):
        if name in row:
            values[name] = _value(wanted, row[name], name=name)
        elif default is MISSING:
            raise ValueError(f"it has no {name!r}")
    return kind(**values)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, Any], ...]:
    """Name, type and default of each field."""
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name], field.default) for field in fields(kind))


def _value(wanted: Any, value: Any, *, name: str) -> Any:
    if get_origin(wanted) in (Union, UnionType):
        kinds = [kind for kind in get_args(wanted) if kind is not NoneType]
        return None if value is None and NoneType in get_args(wanted) else _value(kinds[0], value, name=name)
    if get_origin(wanted) is tuple and isinstance(value, list | tuple):
        return tuple(_value(get_args(wanted)[0], each, name=name) for each in value)
    if is_dataclass(wanted):
        return from_json(cast(type, wanted), value)
    if wanted is Any or (isinstance(wanted, type) and isinstance(value, wanted)):
        return value
    if wanted is float and isinstance(value, int):
        return float(value)
    raise ValueError(f"its {name!r} is {value!r:.60}")


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
        return from_json(kind, row)
    except ValueError as error:
        raise RunFolderError(
            f"{path} has a row of another version of this program (unit {row['unit']!r}: {error}). "
            "Begin this run anew in another folder."
        ) from None


__all__ = ["Rows", "from_json", "read_rows", "to_json"]
