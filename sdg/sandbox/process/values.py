"""Messages between a pool and its workers: a length, then the message.

Messages to a worker are ours, and pickled. Messages from a worker can only be data, so that a worker taken over by
generated code can lie but can't run anything here: a tree of JSON in which a list begins with a word for its kind, and
after the tree the bytes of its arrays. `(1, np.zeros(2, np.float32))` is sent as

    ["tuple", 1, ["array", "<f4", [2], 0]]   and 8 bytes, which begin at 0

Our own dataclasses and exceptions are named by "module:class", and rebuilt where the receiver lists that name.
"""

import builtins
import importlib
import json
import math
import pickle
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from sdg.errors import SDGError

MAX_FRAME_BYTES = 1 << 28
"""Longest message to a worker."""
MAX_ANSWER_BYTES = 1 << 26
MAX_TREE_BYTES = 1 << 23
"""Longest message from a worker, and its longest tree: objects built from it stay below some 300 MB."""
MAX_AXES = 8
MAX_ERROR_CHARACTERS = 4000
MAX_KEYS = 256
"""Most keys of one dict to which a lying worker could give equal hashes: each is compared with all others."""

_HEADER = struct.Struct("<Q")
_SCALARS = (bool, int, float, str)
_DTYPES = frozenset(np.dtype(code).str for code in "?bBhHiIqQefd")


class BadFrame(SDGError, ValueError):
    """A message that is too long or holds something that no answer may hold."""


def frame(data: bytes, *, most: int = MAX_FRAME_BYTES) -> bytes:
    """One message with its length before it. Raises BadFrame for one that is too long."""
    if len(data) > most:
        raise BadFrame(f"a message of {len(data)} bytes; at most {most} are allowed")
    return _HEADER.pack(len(data)) + data


def frames(pending: bytearray) -> Iterator[bytes]:
    """Take every whole message of a worker out of the `pending` bytes. Raises BadFrame for one that is too long."""
    while len(pending) >= _HEADER.size:
        (size,) = _HEADER.unpack_from(pending)
        if size > MAX_ANSWER_BYTES:
            raise BadFrame(f"a message of {size} bytes; at most {MAX_ANSWER_BYTES} are allowed")
        if len(pending) < _HEADER.size + size:
            return
        data = bytes(pending[_HEADER.size : _HEADER.size + size])
        del pending[: _HEADER.size + size]
        yield data


def read(stream: Any) -> Any:
    """The next message from our own side, None at its end."""
    header = stream.read(_HEADER.size)
    return pickle.loads(stream.read(_HEADER.unpack(header)[0])) if len(header) == _HEADER.size else None


def encode(value: Any) -> bytes:
    """A worker's message. Raises BadFrame for a value that isn't data or is too long."""
    arrays: list[bytes] = []
    tree = json.dumps(_tree(value, arrays), separators=(",", ":")).encode()
    if len(tree) > MAX_TREE_BYTES:
        raise BadFrame(f"the answer has {len(tree)} bytes; at most {MAX_TREE_BYTES} are allowed")
    return frame(_HEADER.pack(len(tree)) + tree + b"".join(arrays), most=MAX_ANSWER_BYTES)


def class_name(kind: type) -> str:
    """The name under which a class is sent."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}:{kind.__qualname__}"


def _tree(value: Any, arrays: list[bytes]) -> Any:
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, list) or type(value) is tuple:
        return ["list" if isinstance(value, list) else "tuple", *(_tree(item, arrays) for item in value)]
    if isinstance(value, Mapping):
        return ["dict", *([_tree(key, arrays), _tree(item, arrays)] for key, item in value.items())]
    if isinstance(value, np.ndarray | np.generic) and value.dtype.str in _DTYPES:
        offset = sum(map(len, arrays))
        arrays.append(np.ascontiguousarray(value).tobytes())
        return ["array" if isinstance(value, np.ndarray) else "scalar", value.dtype.str, list(value.shape), offset]
    if is_dataclass(value) and not isinstance(value, type):
        return [
            "value",
            class_name(type(value)),
            {field.name: _tree(getattr(value, field.name), arrays) for field in fields(value) if field.init},
        ]
    raise BadFrame(f"the answer holds {type(value).__name__}, which is no data: {value!r:.80}")


class Reader:
    """Reads workers' messages. `classes` are the names of the dataclasses and exceptions allowed in them."""

    def __init__(self, classes: Collection[str] = ()) -> None:
        self._names = frozenset(classes)
        self._offset = 0

    def value(self, data: bytes) -> Any:
        """A message's value. Raises BadFrame for anything that isn't data, and for impossible values."""
        try:
            (size,) = _HEADER.unpack_from(data)
            if size > min(MAX_TREE_BYTES, len(data) - _HEADER.size):
                raise BadFrame("a message whose tree is too long")
            start = _HEADER.size + size
            self._offset = 0
            return self._rebuild(json.loads(data[_HEADER.size : start]), memoryview(data)[start:])
        except BadFrame:
            raise
        except Exception as error:  # whatever our class raises for fields that it doesn't have
            raise BadFrame(f"a message that can't be read: {type(error).__name__}") from None

    def error(self, name: str, text: str) -> Exception:
        """An exception that was sent by its name; RuntimeError for one that isn't listed."""
        is_listed = ":" in name and name in self._names
        kind = self._kind(name) if is_listed else getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                return kind(text)
            except TypeError:
                pass
        return RuntimeError(f"{name.rpartition(':')[2]}: {text}")

    def _rebuild(self, node: Any, arrays: memoryview) -> Any:
        if not isinstance(node, list):
            if node is None or type(node) in _SCALARS:
                return node
            raise BadFrame("a message with an object where none belongs")
        kind, *rest = node
        if kind == "value":
            name, content = rest
            return self._kind(name)(**{key: self._rebuild(item, arrays) for key, item in content.items()})
        if kind in ("array", "scalar"):
            array = _array(*rest, arrays=arrays)
            if rest[2] != self._offset:  # use each byte once: an array of 64 MB could be repeated 100,000 times
                raise BadFrame("a message whose arrays overlap")
            self._offset += array.nbytes
            return array if kind == "array" else array[()]
        if kind not in _BUILDERS:
            raise BadFrame(f"a message with {kind!r:.40}, which is no data")
        if kind == "dict" and sum(not _is_own_key(key) for key, _ in rest) > MAX_KEYS:
            raise BadFrame(f"a message with more than {MAX_KEYS} keys that may have equal hashes")
        return _BUILDERS[kind](self._rebuild(["pair", *item] if kind == "dict" else item, arrays) for item in rest)

    def _kind(self, name: str) -> type:
        if name not in self._names:
            raise BadFrame(f"a message that names {name!r:.80}, which is no result")
        module, _, attribute = name.partition(":")
        return cast(type, getattr(importlib.import_module(module), attribute))


def _is_own_key(key: Any) -> bool:
    """Whether its kind of key can't be made with many equal hashes."""
    return type(key) is str or (type(key) is int and -(1 << 60) < key < 1 << 60)


_BUILDERS: Mapping[str, Callable[[Iterator[Any]], Any]] = {"list": list, "tuple": tuple, "dict": dict, "pair": tuple}


def _array(code: str, shape: list[int], offset: int, *, arrays: memoryview) -> np.ndarray:
    """A copied array, so that it may be written to."""
    if code not in _DTYPES or len(shape) > MAX_AXES or not all(type(n) is int and n >= 0 for n in (*shape, offset)):
        raise BadFrame(f"a message with an array of {code!r:.20} {shape!r:.40}")
    dtype = np.dtype(code)
    end = offset + math.prod(shape) * dtype.itemsize
    if end > len(arrays):
        raise BadFrame(f"a message with an array that lacks {end - len(arrays)} bytes")
    return np.frombuffer(arrays[offset:end], dtype).reshape(shape).copy()
