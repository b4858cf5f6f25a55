"""Messages between a pool and its workers: a length, then a pickle that may name nothing but values.

What goes to a worker is ours. What comes back is not believed: it is unpickled with a list of the classes that values
are made of, so that a worker that generated code has taken over can say untrue things and not run anything here.
"""

from __future__ import annotations

import builtins
import io
import pickle
import struct
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

MAX_FRAME_BYTES = 1 << 29
_HEADER = struct.Struct("<Q")
_OURS = frozenset({"envs", "skills", "sdg", "experiments"})
_BUILTINS = frozenset({"set", "frozenset", "complex", "bytearray", "slice", "range"})
_NUMPY = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"})


class BadFrame(ValueError):
    """A message that is too long or holds what no answer may hold."""


def frame(message: Any, *, dumps: Any = pickle.dumps) -> bytes:
    """One message as bytes. Raises what pickling raises, and BadFrame for one that is too long."""
    data: bytes = dumps(message, protocol=5)
    if len(data) > MAX_FRAME_BYTES:
        raise BadFrame(f"a message of {len(data)} bytes; at most {MAX_FRAME_BYTES} are allowed")
    return _HEADER.pack(len(data)) + data


def frames(pending: bytearray) -> Iterator[bytes]:
    """Take every whole message out of what was read so far. Raises BadFrame for one that is too long."""
    while len(pending) >= _HEADER.size:
        (size,) = _HEADER.unpack_from(pending)
        if size > MAX_FRAME_BYTES:
            raise BadFrame(f"a message of {size} bytes; at most {MAX_FRAME_BYTES} are allowed")
        if len(pending) < _HEADER.size + size:
            return
        data = bytes(pending[_HEADER.size : _HEADER.size + size])
        del pending[: _HEADER.size + size]
        yield data


def read(stream: Any) -> Any:
    """The next message from a stream of our own side, None at its end."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    return pickle.loads(stream.read(_HEADER.unpack(header)[0]))


def value_of(data: bytes) -> Any:
    """What a worker's message holds. Raises BadFrame for whatever is not made of values."""
    try:
        return _Values(io.BytesIO(data)).load()
    except BadFrame:
        raise
    except Exception as error:
        raise BadFrame(f"a message that can't be read: {type(error).__name__}") from None


class _Values(pickle.Unpickler):
    """Finds classes of values only: our own frozen data, arrays, and exceptions."""

    def find_class(self, module: str, name: str) -> Any:
        """The class under this name. Raises BadFrame for a function, a method or any other class."""
        top = module.partition(".")[0]
        if module == "builtins" and name in _BUILTINS:
            return getattr(builtins, name)
        if top == "numpy" and name in _NUMPY and module in sys.modules:
            return super().find_class(module, name)
        if module in sys.modules and (top in _OURS or module == "builtins"):
            found = super().find_class(module, name)
            if isinstance(found, type) and (_is_value(found) or issubclass(found, Exception)):
                return found
        raise BadFrame(f"a message that names {module}.{name}, which is no value")


def _is_value(kind: type) -> bool:
    return is_dataclass(kind) or issubclass(kind, Enum) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
