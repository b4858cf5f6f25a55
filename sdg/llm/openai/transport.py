"""What a server may send: bounded in size and time, never unpacked, and only from the address that was asked."""

import time
from collections.abc import Iterator

import httpx2

from sdg.llm.model import ModelError

MAX_BODY_BYTES = 32 * 2**20
"""A streamed token takes some 300 bytes."""
MAX_ERROR_BYTES = 2**16
"""Most of a failure's body that is read."""


class BoundedTransport(httpx2.HTTPTransport):
    """HTTP whose bodies end after `seconds` or `MAX_BODY_BYTES`, because a client reads bodies of failures whole."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = super().handle_request(request)
        response.headers.pop("Content-Encoding", None)  # a small body could unpack to any size
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Body(response.stream, failed=response.status_code != 200, seconds=self.seconds)
        return response


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, *, failed: bool, seconds: float) -> None:
        self._stream, self._failed, self._deadline = stream, failed, time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            yield chunk
            size += len(chunk)
            late = time.monotonic() > self._deadline
            if self._failed and (late or size > MAX_ERROR_BYTES):
                return
            if late:
                raise TimeoutError
            if size > MAX_BODY_BYTES:
                raise ModelError(f"The server's answer is longer than {MAX_BODY_BYTES} bytes: this is no completion.")

    def close(self) -> None:
        self._stream.close()
