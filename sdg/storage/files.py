"""Files of a run folder: values as JSON, and disk errors in plain words."""

import contextlib
import dataclasses
import errno
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sdg.envs import files
from sdg.envs.files import read_file
from sdg.errors import SDGError

MAX_JSON_BYTES = 1 << 26
"""Largest JSON file: objects built from it may take 26 times its size."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


class RunError(SDGError, RuntimeError):
    """A run can't go on. The message says what happened, to which file, and what to do; finished units are kept."""


class RunFolderError(RunError):
    """A run folder can't be used as asked (other schema, other config, in use, no run at all); nothing was changed."""

    exit_code = 2


def explain(error: OSError, path: Path) -> RunError:
    """What a user can do about an error of the operating system."""
    if error.errno in _FULL:
        advice = "The disk (or a quota or size limit) is full. Free some space and give the same command again"
    elif error.errno in _FORBIDDEN:
        advice = "This place can't be written to. Choose another folder or mend its permissions, then try again"
    else:
        advice = "Mend that and give the same command again"
    return RunError(f"can't write {path}: {error.strerror or error}. {advice}: what was finished is kept.")


@contextlib.contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn an operating-system error while writing a file into a RunError that says what a user can do."""
    try:
        yield
    except OSError as error:
        raise explain(error, path) from error


def atomic_write(path: Path, data: bytes | str) -> None:
    """`sdg.envs.files.atomic_write` for runs: raises `RunError`, which says what to do; the old file still stands."""
    with explaining(path):
        files.atomic_write(path, data)


def plain(value: Any) -> Any:
    """A value as JSON knows it: numpy to numbers and lists, dataclasses to objects, NaN and infinities to null."""
    if value is None or isinstance(value, str | bool | Path):
        return str(value) if isinstance(value, Path) else value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    raise TypeError(f"a run can't record {type(value).__name__}: {value!r:.80}")


def line(value: Any) -> str:
    """A value as one line of ASCII JSON, whatever text is in it."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises `RunFolderError` when it is missing or isn't JSON."""
    try:
        return json.loads(read_file(path, most=MAX_JSON_BYTES))
    except FileNotFoundError:
        raise RunFolderError(
            f"{path} doesn't exist: is {path.parent} a run folder, and did its run get that far?"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(
            f"can't read {path}: {error}. Restore it from a copy, or start a new run folder."
        ) from error
