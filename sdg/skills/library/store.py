"""Saving and loading a skill library: a folder of library.json, safetensors files and a model card.

Nothing is ever unpickled. A library from elsewhere is untrusted: sizes are bounded before anything is read, only files
that the index names are opened, their checksums must agree, and every value is checked before it is used. Checksums
find damage, not malice; to be safe against it nothing in a library is run here (checks are source for the guard).

A library is written beside its folder and then moved there, so that a kill at any time leaves the old or the new one.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domains import domain_of_data
from sdg.envs.files import read_file, sync_folder, write_new
from sdg.envs.registry import RegistryError, names_of_data
from sdg.skills.learners import LEARNERS
from sdg.skills.library.card import write_card
from sdg.skills.library.library import MAX_AXES, MAX_SKILLS, MAX_TENSORS, SCHEMA, LibraryError, Skill, SkillLibrary
from sdg.skills.policy.network import pack
from sdg.skills.strict_json import canonical, decode, loads

INDEX = "library.json"
CARD = "README.md"
MAX_INDEX_BYTES = 16 * 2**20
MAX_PROVENANCE_BYTES = 2**20

_FILE = re.compile(r"[a-z][a-z0-9_]{0,47}\.safetensors")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Size in bytes and checksum of one file beside the index."""

    size: int
    sha256: str

    def __post_init__(self) -> None:
        if self.size < 0 or not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError("a file is listed with an impossible size or checksum")


@dataclass(frozen=True, slots=True)
class Index:
    """The content of library.json. `provenance` is plain JSON for people to read."""

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


def seal(index: Mapping[str, Any]) -> bytes:
    """The index as bytes in its one canonical form, with the checksum of everything else in it."""
    body = {key: value for key, value in index.items() if key != "sha256"}
    return canonical({**body, "sha256": hashlib.sha256(canonical(body)).hexdigest()})


def read_index(data: bytes) -> Index:
    """Raises ValueError for anything but the canonical bytes of an index of this schema with a correct checksum."""
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


MAX_FILE_BYTES = 64 * 2**20
MAX_LIBRARY_BYTES = 256 * 2**20

_PICKLES = {b"\x80": "a pickle", b"PK": "a zip archive such as torch.save writes"}


def library_checksum(library: Path) -> str:
    """The checksum of the index of the library in a folder, which names those of its weights."""
    return hashlib.sha256(read_file(library / INDEX)).hexdigest()


def save_library(library: SkillLibrary, folder: Path, *, beside: Collection[str] = ()) -> None:
    """Write the library to `folder`, replacing an existing library as a whole or not at all.

    The bytes depend on the library alone. Raises LibraryError where the folder can't be written, and where it holds
    other things, which would be lost, than a library and those that the caller writes `beside` it each time.
    """
    temporary: Path | None = None
    try:
        _refuse_names_of_the_world(library)
        files = _files(library)
        if folder.exists() and (foreign := _foreign_file(folder, files, beside)):
            raise LibraryError(
                f"{folder} isn't a skill library alone, it holds {foreign}; choose another place or move that away"
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = folder.parent / f".{folder.name}.{secrets.token_hex(8)}.tmp"
        temporary.mkdir()
        for name, data in files.items():
            write_new(temporary / name, data)
        sync_folder(temporary)
        # Rename the old library aside and the new one in; `load_library` finds the old one if a kill comes between.
        aside = _aside(folder)
        if folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
            os.rename(folder, aside)
        try:
            os.rename(temporary, folder)
        except OSError:
            if aside.exists():
                os.rename(aside, folder)
            raise
        sync_folder(folder.parent)
        shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise LibraryError(
            f"could not write the skill library {folder}: {error}; what was there is unchanged"
        ) from error
    except LibraryError:
        raise
    except ValueError as error:
        raise LibraryError(f"this skill library can't be stored: {error}") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def load_library(folder: Path) -> SkillLibrary:
    """Read a library and check everything. Raises LibraryError, which says what is wrong, unless it is whole."""
    # The folder, or the previous library if a kill came between the two renames of a save.
    folder = _aside(folder) if not folder.exists() and _aside(folder).exists() else folder
    try:
        index = read_index(read_file(folder / INDEX, most=MAX_INDEX_BYTES))
        with names_of_data():
            for skill in index.skills:
                LEARNERS.allow(skill.learner)
        sizes = {name: entry.size for name, entry in index.files.items()}
        if sum(sizes.values()) > MAX_LIBRARY_BYTES:
            raise ValueError(f"its files have {sum(sizes.values())} bytes, at most {MAX_LIBRARY_BYTES} are allowed")
        arrays = {
            name: _arrays(folder / name, size=entry.size, sha256=entry.sha256) for name, entry in index.files.items()
        }
        weights = {skill.name: arrays.pop(skill.weights_file) for skill in index.skills}
        if arrays:
            raise ValueError(f"{INDEX} must list a weights file for each skill and nothing else")
        library = SkillLibrary(tuple(index.skills), weights, index.provenance, index.domain)
        _refuse_names_of_the_world(library)
        return library
    except FileNotFoundError as error:
        if not folder.exists():
            raise LibraryError(f"there is no skill library at {folder}; train one or name another folder") from error
        name = Path(error.filename).name
        raise LibraryError(
            f"the skill library {folder} is incomplete: {name} is missing; train or copy it again"
        ) from error
    except KeyError as error:
        raise LibraryError(f"{folder / INDEX} doesn't list the weights file {error}") from error
    except (OSError, ValueError) as error:
        raise LibraryError(f"the skill library {folder} can't be used: {error}") from error


# --- writing --------------------------------------------------------------------------------------------------------


def _files(library: SkillLibrary) -> dict[str, bytes]:
    from safetensors.numpy import save

    weights = {skill.weights_file: library.weights[skill.name] for skill in library.skills}
    files = {name: save({key: pack(arrays[key]) for key in sorted(arrays)}) for name, arrays in sorted(weights.items())}
    index = {
        "schema": SCHEMA,
        "domain": library.domain,
        "skills": [asdict(skill) for skill in library.skills],
        "provenance": dict(library.provenance),
        "files": {
            name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()
        },
    }
    files[INDEX] = seal(index)
    read_index(files[INDEX])  # don't write what can't be read back
    files[CARD] = write_card(library).encode(errors="replace")
    return files


def _refuse_names_of_the_world(library: SkillLibrary) -> None:
    """Raises ValueError for a skill that a program could not tell from a perception function of its world.

    A world that isn't known here is refused later, when something is to act in it.
    """
    try:
        world = domain_of_data(library.domain)
    except RegistryError:
        return
    for skill in library.skills:
        if skill.name in {*world.perceivable.functions, world.forgets}:
            raise ValueError(
                f"skill {skill.name} has the name of a function of {library.domain}: rename or learn it again"
            )


def _foreign_file(folder: Path, files: Mapping[str, bytes], beside: Collection[str]) -> str:
    """The name of a file in a folder that saving these files would delete although no library wrote it; "" for none."""
    if not folder.is_dir() or folder.is_symlink():
        return "what is no folder"
    inside = sorted(folder.iterdir())
    try:
        index = read_index(read_file(folder / INDEX, most=MAX_INDEX_BYTES))
        own_files = [path for path in inside if path.name in {INDEX, CARD, *index.files, *beside} and path.is_file()]
    except (OSError, ValueError):  # no library or a damaged one: only what would be written again isn't lost
        own_files = [
            path for path in inside if path.name in files and path.is_file() and path.read_bytes() == files[path.name]
        ]
    return next((path.name for path in inside if path not in own_files), "")


def _aside(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.previous"


# --- reading --------------------------------------------------------------------------------------------------------


def _arrays(path: Path, *, size: int, sha256: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if size > MAX_FILE_BYTES:
        raise ValueError(f"{path.name} would have {size} bytes, at most {MAX_FILE_BYTES} are allowed")
    data = read_file(path, most=MAX_FILE_BYTES)
    for magic, format_name in _PICKLES.items():
        if data.startswith(magic) and data[8:9] != b"{":
            raise ValueError(f"{path.name} is {format_name}; weights are safetensors and nothing else is ever loaded")
    if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(f"{path.name} is damaged: its checksum doesn't agree with {INDEX}")
    # Check number, type and rank of the arrays before making any.
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, 2**20):
        raise ValueError(f"{path.name} isn't a safetensors file")
    try:
        header = loads(data[8 : 8 + length])
    except ValueError as error:
        raise ValueError(f"{path.name} has no readable safetensors header") from error
    entries = (
        [entry for name, entry in header.items() if name != "__metadata__"] if isinstance(header, dict) else [None]
    )
    shapes = [
        entry.get("shape") if isinstance(entry, dict) and entry.get("dtype") in ("F16", "F32") else None
        for entry in entries
    ]
    if not all(isinstance(shape, list) and len(shape) <= MAX_AXES for shape in shapes):
        raise ValueError(f"{path.name} has an array that isn't float32 or float16 of at most {MAX_AXES} axes")
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"{path.name} has {len(entries)} arrays, at most {MAX_TENSORS} are allowed")
    try:
        return {key: array.astype(np.float32) for key, array in load(data).items()}
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path.name} isn't a safetensors file: {error}") from error
