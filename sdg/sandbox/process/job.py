"""The inside of a worker: one job at a time, its questions to the parent meanwhile, and a heartbeat.

Started by `sdg.sandbox.process.pool` in a fresh interpreter, with the limits and walls of
`sdg.sandbox.process.confine`. The parent trusts nothing that it says.
"""

import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from multiprocessing.spawn import prepare
from typing import Any

from sdg.sandbox.guard import HostFault
from sdg.sandbox.process.board import Board
from sdg.sandbox.process.confine import Limits, limit, seal
from sdg.sandbox.process.line import open_line
from sdg.sandbox.process.values import MAX_ERROR_CHARACTERS, BadFrame, class_name, encode, read

BEAT_SECONDS = 0.5


class _Channel:
    """The parent's requests and answers come in on one descriptor; messages go out on another, one at a time."""

    def __init__(self, incoming: Any, outgoing: int) -> None:
        self.incoming = incoming
        self._outgoing = outgoing
        self._turn = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message whole. Raises BadFrame for a value that can't be sent."""
        view = memoryview(encode(message))
        with self._turn:
            while view:
                view = view[os.write(self._outgoing, view) :]

    def ask(self, request: Any) -> Any:
        """The parent's answer. Raises the parent's exception."""
        self.send({"ask": request})
        answer = read(self.incoming)
        if answer is None:
            os._exit(1)
        if isinstance(answer.get("error"), Exception):
            raise answer["error"]
        return answer["value"]


def main(board: int) -> None:
    """Do one job after the other: send its result or its exception. `board` is the shared page's descriptor."""
    channel = _begin(board)
    while (request := read(channel.incoming)) is not None:
        number = request["id"]
        try:
            if request["main"]:
                prepare(request["main"])
            function, job = pickle.loads(request["call"])
            channel.send({"began": number})  # importing its modules doesn't count as the job's time
            channel.send({"id": number, "value": function(job)})
        except MemoryError:
            channel.send({"id": number, "full": True})
        except (Exception, HostFault) as error:  # what a host function returns is no reason to lose the worker
            name = "RuntimeError" if isinstance(error, BadFrame) else class_name(type(error))
            channel.send({"id": number, "error": name, "text": str(error)[:MAX_ERROR_CHARACTERS]})


def _begin(board: int) -> _Channel:
    """Walls, limits and heartbeat. Descriptors 0 and 1 are the channel; whatever is printed goes to stderr."""
    channel = _Channel(os.fdopen(os.dup(0), "rb"), os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a run that is interrupted ends its workers itself
    setup = read(channel.incoming)
    limits: Limits = setup["limits"]
    page = Board(board)
    # Every call of generated code, by any caller, is noted on the page before it begins.
    from sdg.sandbox.guard import GuardedFunction

    GuardedFunction.__call__ = page.watch(GuardedFunction.__call__)  # type: ignore[method-assign]
    # Torch asks for this folder when it is imported, and searching for a writable one fails behind the walls.
    tempfile.tempdir = tempfile.gettempdir()
    report = limit(limits) | seal(limits)
    if os.getppid() != setup["parent"]:  # the parent died before it could be watched
        os._exit(1)
    open_line(channel.ask)
    threading.Thread(target=_beat, args=(channel, setup["parent"], page), daemon=True).start()
    channel.send({"ready": report})
    return channel


def _beat(channel: _Channel, parent: int, page: Board) -> None:
    """Report twice a second that the interpreter runs, and how long it has been in the same call of generated code.

    While C code holds the interpreter's lock no report is possible: that silence shows such a hang.
    """
    calls, began_at = 0, time.process_time()
    while True:
        if page.calls != calls or not page.depth:
            calls, began_at = page.calls, time.process_time()
        if os.getppid() != parent:
            os._exit(1)
        try:
            channel.send({"beat": time.process_time() - began_at})
        except OSError:
            os._exit(1)
        time.sleep(BEAT_SECONDS)
