"""The inside of a worker: it answers one request at a time, a line of JSON each, and beats while it works.

Started by `sdg.skills.sandbox.process.supervisor` in a fresh interpreter. Nothing that it says is trusted on the
other side.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from sdg.skills.sandbox.process.confine import Limits, limit, seal

MAX_MESSAGE_BYTES = 1 << 20
"""Longest line either side reads."""
BEAT_SECONDS = 0.2

Handler = Callable[[Any], Any]


class _Channel:
    """Requests come on one descriptor, replies and beats go out on another; the two writers take turns."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = os.fdopen(incoming, "rb", buffering=MAX_MESSAGE_BYTES)
        self._outgoing = outgoing
        self._turn = threading.Lock()

    def receive(self) -> Any:
        """The next request. Raises EOFError when the parent is gone."""
        line = self._incoming.readline(MAX_MESSAGE_BYTES + 1)
        if not line.endswith(b"\n"):
            raise EOFError
        return json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; one that is too long or not JSON becomes an error message."""
        try:
            line = json.dumps(message, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            line = _encode({"id": message.get("id"), "error": f"the answer is not JSON: {error}"})
        if len(line) > MAX_MESSAGE_BYTES:
            what = f"the answer has {len(line)} bytes; at most {MAX_MESSAGE_BYTES} are allowed"
            line = _encode({"id": message.get("id"), "error": what})
        with self._turn:
            view = memoryview(line)
            while view:
                view = view[os.write(self._outgoing, view) :]


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def run(incoming: int, outgoing: int) -> None:
    """Wall this process in, import what it is to do, and answer until the parent hangs up."""
    channel = _Channel(incoming, outgoing)
    setup = channel.receive()
    limits = Limits(**setup["limits"])
    report = limit(limits)
    handler = _load(setup["target"])
    report |= seal(limits)
    threading.Thread(target=_beat, args=(channel,), daemon=True).start()
    channel.send({"ready": report})
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            _answer(channel, handler, channel.receive())


def _load(target: str) -> Handler:
    """`package.module:function`, given by the parent."""
    module, _, name = target.partition(":")
    handler: Handler = getattr(importlib.import_module(module), name)
    return handler


def _answer(channel: _Channel, handler: Handler, request: dict[str, Any]) -> None:
    try:
        reply = {"id": request["id"], "value": handler(request["value"])}
    except MemoryError:
        reply = {"id": request["id"], "error": "MemoryError: the worker's memory is full"}
    except Exception as error:
        reply = {"id": request["id"], "error": f"{type(error).__name__}: {error}"[:2000]}
    channel.send(reply)


def _beat(channel: _Channel) -> None:
    """Say that the interpreter still turns. It can't while C code holds its lock: that silence is what shows a hang."""
    pause = threading.Event()
    with contextlib.suppress(OSError):
        while not pause.wait(BEAT_SECONDS):
            channel.send({"beat": 1})


def main() -> None:
    """Descriptors 0 and 1 are the channel; whatever is printed goes to stderr."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    run(incoming, outgoing)


if __name__ == "__main__":
    main()
