"""The narrow channel on which a worker asks its parent: plain data out, an answer back, one question at a time.

So the process that runs generated code needs no network and no key to ask a language model.
"""

from collections.abc import Callable
from typing import Any

_ask: Callable[[Any], Any] | None = None


def open_line(ask: Callable[[Any], Any]) -> None:
    """Let `ask` carry questions to the parent; a worker calls this once, before its first job."""
    global _ask
    _ask = ask


def is_open() -> bool:
    """Whether this process is a worker, and can ask its parent."""
    return _ask is not None


def ask(request: Any) -> Any:
    """The parent's answer to plain data. Raises the error raised in answering, RuntimeError outside of workers."""
    if _ask is None:
        raise RuntimeError("there is no parent to ask: this process is no worker")
    return _ask(request)
