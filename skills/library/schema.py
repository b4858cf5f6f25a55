"""The index of a stored library: its fields, and how bytes from anywhere become one or are refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sdg.skills.library.library import MAX_SKILLS, SCHEMA, Skill
from sdg.skills.strict_json import canonical, decode, loads

INDEX = "library.json"
CARD = "README.md"
MAX_INDEX_BYTES = 16 * 2**20
MAX_PROVENANCE_BYTES = 2**20

_FILE = re.compile(r"[a-z][a-z0-9_]{0,47}\.safetensors")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Size in bytes and checksum of one file beside the index."""

    size: int
    sha256: str

    def __post_init__(self) -> None:
        if self.size < 0 or not _SHA256.fullmatch(self.sha256):
            raise ValueError("a file is listed with an impossible size or checksum")


@dataclass(frozen=True, slots=True)
class Index:
    """What library.json says. `provenance` is plain JSON for people to read."""

    schema: int
    domain: str
    skills: tuple[Skill, ...]
    provenance: dict[str, Any]
    files: dict[str, StoredFile]
    sha256: str

    def __post_init__(self) -> None:
        if len(self.skills) > MAX_SKILLS or len(self.files) > MAX_SKILLS + 1:
            raise ValueError(f"more than {MAX_SKILLS} skills")
        for name in self.files:
            if not _FILE.fullmatch(name):
                raise ValueError(f"file name {name!r:.80} isn't the name of a weights file in the library's folder")
        if len(canonical(self.provenance)) > MAX_PROVENANCE_BYTES:
            raise ValueError("the provenance is too long")


def is_stored_name(name: str) -> bool:
    """Whether a file of this name belongs to a library."""
    return name in (INDEX, CARD) or _FILE.fullmatch(name) is not None


def seal(index: Mapping[str, Any]) -> bytes:
    """The index as bytes in its one canonical form, with the checksum of everything else in it."""
    body = {key: value for key, value in index.items() if key != "sha256"}
    return canonical({**body, "sha256": hashlib.sha256(canonical(body)).hexdigest()})


def read_index(data: bytes) -> Index:
    """Raises ValueError for anything but the canonical bytes of an index of this schema with a true checksum."""
    try:
        raw = loads(data)
    except ValueError as error:
        raise ValueError(f"library.json isn't JSON, so it is damaged or half-written: {error}") from error
    if not isinstance(raw, dict) or type(raw.get("schema")) is not int:
        raise ValueError("library.json has no schema version, so it isn't the index of a skill library")
    if raw["schema"] != SCHEMA:
        raise ValueError(f"it has schema version {raw['schema']}, this program reads {SCHEMA}; train the library again")
    if seal(raw) != data:
        raise ValueError("library.json was damaged or edited: its checksum doesn't agree with its content")
    return decode(Index, raw, place="library.json")
