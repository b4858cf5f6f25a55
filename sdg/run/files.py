"""Writing files so that a reader sees the old one or the new one, never half; and disk errors said plainly."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TEMPORARY_SUFFIX = ".part"
"""Ends the name of a file that is being written; what a kill leaves behind under such a name is rubbish."""

MAX_FILE_BYTES = 1 << 30
"""Largest file of a run folder that is read."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


class RunError(RuntimeError):
    """A run can't go on. The message says what happened, to which file, and what to do; finished units are kept."""


class RunFolderError(RunError):
    """A run folder can't be used as asked (other schema, other config, in use, no run at all); nothing was changed."""


def explain(error: OSError, path: Path) -> RunError:
    """What a user can do about an error of the operating system."""
    if error.errno in _FULL:
        advice = "The disk (or a quota or size limit) is full. Free some space and give the same command again"
    elif error.errno in _FORBIDDEN:
        advice = "This place can't be written to. Choose another folder or mend its permissions, then try again"
    else:
        advice = "Mend that and give the same command again"
    return RunError(f"can't write {path}: {error.strerror or error}. {advice}: what was finished is kept.")


def sync_directory(path: Path) -> None:
    """Make names in a directory durable, where the system can (a rename is only safe once its directory is)."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # Some file systems refuse to sync directories; the rename is as durable there as it gets.
        pass
    finally:
        os.close(descriptor)


def atomic_write(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` (text as UTF-8) in one step; directories are made.

    Raises `RunError` when the disk is full or the place can't be written; the old content then still stands.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(TEMPORARY_SUFFIX, f".{path.name}.", path.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o644)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
        temporary = None
        sync_directory(path.parent)
    except OSError as error:
        raise explain(error, path) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def read_file(path: Path, *, most: int = MAX_FILE_BYTES) -> bytes:
    """The whole of a regular file that is no link and has at most `most` bytes.

    A run folder may come from a stranger: a link could lead anywhere, a pipe or a device would never end. Raises
    OSError as `open` does, and for what is no such file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, which is not followed: put the file itself there") from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if about.st_size > most:
            raise OSError(errno.EFBIG, f"it has {about.st_size} bytes; at most {most} are read")
        return file.read(most)


def plain(value: Any) -> Any:
    """A value as JSON knows it: numpy to numbers and lists, dataclasses to objects, NaN and infinities to null."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a run can't record {type(value).__name__}: {value!r:.80}")


def line(value: Any) -> str:
    """A value as one line of ASCII JSON, whatever text is in it."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises `RunFolderError` when it is missing or isn't JSON."""
    try:
        return json.loads(read_file(path))
    except FileNotFoundError:
        raise RunFolderError(
            f"{path} doesn't exist: is {path.parent} a run folder, and did its run get that far?"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(
            f"can't read {path}: {error}. Restore it from a copy, or start a new run folder."
        ) from error
