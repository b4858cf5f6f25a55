"""Jobs for machines that share no folder: large arrays and library folders are sent by content, once a node.

A job is pickled with digests in their place. A node that lacks a content asks for it, checks its digest and keeps it in
its cache folder, where all its workers find it.
"""

import fcntl
import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.files import atomic_write, read_file
from sdg.envs.kernels import cache_folder

LARGE_BYTES = 1 << 15
"""Arrays below this travel with their job."""
LIBRARY_FILES = ("library.json", "composed.json", "*.safetensors", "skills/*.safetensors", "README.md")
"""Files sent of a folder that a job names: no journal, transcript, ledger or config."""

Content = tuple[str, str]
"""What something is (an array, records, a folder) and the sha256 of its bytes."""


class Packer:
    """Pickles jobs; `contents` has the bytes that they refer to, by digest, for nodes that ask."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._seen: dict[object, tuple[Content, Any]] = {}

    def pack(self, value: Any) -> bytes:
        """The value, with digests for what is large."""
        stream = io.BytesIO()
        _Pickler(stream, self).dump(value)
        return stream.getvalue()

    def content_of(self, value: Any) -> Content | None:
        """What replaces the value in a job; None if it is sent as it is."""
        if type(value) in (np.ndarray, np.recarray) and value.nbytes >= LARGE_BYTES and not value.dtype.hasobject:
            key: object = id(value)
            make = lambda: ("array" if type(value) is np.ndarray else "records", _array_bytes(value))  # noqa: E731
        elif isinstance(value, Path) and value.is_dir() and (files := library_files(value)):
            key, make = value, lambda: ("folder", pickle.dumps(files))
        else:
            return None
        if key not in self._seen:
            kind, data = make()
            digest = hashlib.sha256(data).hexdigest()
            self.contents[digest] = data
            self._seen[key] = (kind, digest), value  # the value is held, so that no other takes its id
        return self._seen[key][0]


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, packer: Packer) -> None:
        super().__init__(stream, protocol=5)
        self._packer = packer

    def persistent_id(self, value: Any) -> Content | None:
        return self._packer.content_of(value)


def unpack(data: bytes, fetch: Callable[[str], bytes]) -> Any:
    """What `Packer.pack` packed; `fetch(digest)` is asked for what this node lacks. Raises OSError on a full disk."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, content: Content) -> Any:
            kind, digest = content
            place = keep_content(digest, fetch)
            if kind == "folder":
                return place
            array = np.load(place / "array.npy", allow_pickle=False)
            return array if kind == "array" else array.view(np.recarray)

    return Unpickler(io.BytesIO(data)).load()


def keep_content(digest: str, fetch: Callable[[str], bytes]) -> Path:
    """The folder in which this node keeps a content; one of its workers fetches it, the others wait."""
    place = cache_folder() / "content" / digest
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / ".whole").exists():
            data = fetch(digest)
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError(f"what came for the content {digest[:12]} is something else")
            files = {"array.npy": data} if data.startswith(b"\x93NUMPY") else pickle.loads(data)
            for name, content in files.items():
                (place / name).parent.mkdir(exist_ok=True)
                atomic_write(place / name, content)
            atomic_write(place / ".whole", "")
    return place


def library_files(folder: Path) -> dict[str, bytes]:
    """The files of a library in a folder by name; none for a folder that holds no weights."""
    found = sorted({path for pattern in LIBRARY_FILES for path in folder.glob(pattern)})
    weights = any(path.suffix == ".safetensors" for path in found)
    return {path.relative_to(folder).as_posix(): read_file(path) for path in found} if weights else {}


def _array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array.view(np.ndarray), allow_pickle=False)
    return stream.getvalue()
