"""Answers of a server: bounded in size and time, never unpacked, and only from the address that was asked."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import httpcore2
import httpx2

from sdg.llm.model import ModelError

MAX_BODY_BYTES = 32 * 2**20
"""A streamed token takes some 300 bytes."""
MAX_ERROR_BYTES = 2**16
"""Bytes of a failure's body that are read at most."""
_PIECE_BYTES = 4096
"""Sent at a time: the kernel waits for space a few times at most for so many bytes."""
_HTTP_HEADERS = ("host", "user-agent", "accept", "content-type", "content-length", "transfer-encoding", "connection")
"""Headers of a request that are sent beside our own: the package adds more, from the environment, for other servers."""
T = TypeVar("T")


class BoundedTransport(httpx2.HTTPTransport):
    """HTTP whose answers end after `seconds`, their headers included, and whose bodies end after `MAX_BODY_BYTES`,
    because a client reads bodies of failures whole. `headers` are sent, and of others those alone that HTTP needs."""

    def __init__(self, seconds: float, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.seconds = seconds
        self._headers = {**headers, "Accept-Encoding": "identity"}
        self._pool._network_backend = _Backend(self._pool._network_backend)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        _CURRENT.until = time.monotonic() + self.seconds
        headers = {name: value for name, value in request.headers.items() if name in _HTTP_HEADERS} | self._headers
        response = super().handle_request(
            httpx2.Request(
                request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
            )
        )
        response.headers.pop("Content-Encoding", None)  # a small body could unpack to any size
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Body(response.stream, failed=response.status_code != 200, until=_CURRENT.until)
        return response


class _Current(threading.local):
    """Until when, on the monotonic clock, the answer that this thread is waiting for may take."""

    until = float("inf")


_CURRENT = _Current()


class _Backend(httpcore2.NetworkBackend):
    """Connections that are used until the deadline, because a server may send headers, hints or trailers without end,
    or read a question byte by byte, and the longest silence bounds none of them."""

    def __init__(self, backend: httpcore2.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(self, *place: Any, **how: Any) -> Any:
        return _Stream(self._backend.connect_tcp(*place, **how))


class _Stream:
    """A connection (`httpcore2.NetworkStream`) whose reads and writes end at the deadline; all else goes through."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return _in_time(partial(self._stream.read, max_bytes), timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE_BYTES):
            _in_time(partial(self._stream.write, buffer[start : start + _PIECE_BYTES]), timeout)

    def start_tls(self, *certificate: Any, **how: Any) -> "_Stream":
        return _Stream(self._stream.start_tls(*certificate, **how))


def _in_time(act: Callable[[float], T], timeout: float | None) -> T:
    """The result of `act(seconds)`, which ends by the deadline. Raises TimeoutError then, and what `act` raises."""
    seconds = _CURRENT.until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    try:
        return act(seconds if timeout is None else min(seconds, timeout))
    except (httpcore2.ReadTimeout, httpcore2.WriteTimeout):
        if time.monotonic() >= _CURRENT.until:
            raise TimeoutError from None
        raise


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, *, failed: bool, until: float) -> None:
        self._stream, self._failed, self._deadline = stream, failed, until

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        try:
            for chunk in self._stream:
                yield chunk
                size += len(chunk)
                if self._failed and size > MAX_ERROR_BYTES:
                    return
                if time.monotonic() > self._deadline:
                    raise TimeoutError
                if size > MAX_BODY_BYTES:
                    raise ModelError(
                        f"The server's answer is longer than {MAX_BODY_BYTES} bytes: this is no completion."
                    )
        except TimeoutError:
            if not self._failed:  # the message of a failure is read as far as it came
                raise

    def close(self) -> None:
        self._stream.close()
