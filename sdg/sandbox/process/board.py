"""Which generated code a worker is running, on a page of memory that it shares with its parent.

A worker writes the digest of a source there before the source runs, and removes it afterwards. So the parent knows
which code ran when a process dies, hangs in C or fills its memory, without a message for each of thousands of checks a
second. A worker that was taken over can blame another source, but can't do more with the page.
"""

import fcntl
import hashlib
import mmap
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_DIGEST_BYTES = 32
MAX_DEPTH = 60
"""Deepest nesting of sources that is noted: when a program calls a function that runs another source, it is 2."""
SIZE = mmap.PAGESIZE


@lru_cache(maxsize=4096)
def digest(source: str) -> str:
    """The identifier of a source: its sha256 in hex."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


class Board:
    """One page: how many sources are running inside one another, then their digests, the outermost first."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._page = mmap.mmap(descriptor, SIZE)
        self.calls = 0
        """How many sources were begun; it tells one call of a check from the next."""

    @classmethod
    def new(cls) -> "Board":
        """A blank page, which no process can make shorter: to read it would kill the parent. Raises OSError where there
        is no space for it."""
        descriptor = os.memfd_create("board", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, SIZE)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(descriptor)

    @property
    def depth(self) -> int:
        """How many sources are running inside one another."""
        return self._page[0]

    def running(self) -> str:
        """The digest of the innermost source, "" when none is running."""
        depth = min(self.depth, MAX_DEPTH)
        return self._page[depth * _DIGEST_BYTES : (depth + 1) * _DIGEST_BYTES].hex() if depth else ""

    def clear(self) -> None:
        """Note that nothing is running."""
        self._page[0] = 0

    def close(self) -> None:
        """Give the page back."""
        self._page.close()
        os.close(self.descriptor)

    def watch(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method that runs its object's `source`, to note the source here meanwhile.

        A source that ran out of memory stays noted: it is to blame, and has ended by the time the parent looks.
        """

        def run_noted(owner: Any, *arguments: Any, **keywords: Any) -> Any:
            page = self._page
            before = page[0]
            depth = min(before + 1, MAX_DEPTH)
            page[depth * _DIGEST_BYTES : (depth + 1) * _DIGEST_BYTES] = bytes.fromhex(digest(owner.source))
            page[0] = depth
            self.calls += 1
            try:
                return call(owner, *arguments, **keywords)
            except MemoryError:
                before = page[0]
                raise
            finally:
                page[0] = before

        return run_noted
