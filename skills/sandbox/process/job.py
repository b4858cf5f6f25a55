"""The inside of a pool's worker: one job at a time, and a heartbeat that says which generated code is running.

Started by `sdg.skills.sandbox.process.pool` in a fresh interpreter, with the limits and walls of
`sdg.skills.sandbox.process.confine`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.spawn import prepare
from types import FrameType
from typing import Any

from sdg.skills.sandbox.guard.meter import FILENAME, SOURCE
from sdg.skills.sandbox.process.confine import Limits, limit, seal
from sdg.skills.sandbox.process.frames import frame, read

BEAT_SECONDS = 0.5


class _Channel:
    """Where answers and beats go; the two writers take turns."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message whole."""
        view = memoryview(frame(message))
        with self._turn:
            while view:
                view = view[os.write(self._descriptor, view) :]


def main() -> None:
    """Descriptors 0 and 1 are the channel; whatever is printed goes to stderr."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts a run ends its workers himself
    setup = read(incoming)
    limits: Limits = setup["limits"]
    report = limit(limits) | seal(limits)
    if os.getppid() != setup["parent"]:  # it died before it could be watched
        os._exit(1)
    channel = _Channel(outgoing)
    threading.Thread(target=_beat, args=(channel, setup["parent"]), daemon=True).start()
    channel.send({"ready": report})
    while (request := read(incoming)) is not None:
        channel.send(_answer(request, channel))


def _answer(request: dict[str, Any], channel: _Channel) -> dict[str, Any]:
    """The message with a job's result, or with what it raised. What its modules take to import is not its time."""
    try:
        if request["main"]:
            prepare(request["main"])
        function, job = pickle.loads(request["call"])
        channel.send({"began": request["id"]})
        message = {"id": request["id"], "value": function(job)}
        frame(message)  # what can't be sent is this job's error
        return message
    except MemoryError:
        return {"id": request["id"], "full": True}
    except Exception as error:
        return {"id": request["id"], "error": _sendable(error)}


def _sendable(error: Exception) -> Exception:
    """The exception, or a plain one that says the same where it can't travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}"[:2000])
    return error


def _beat(channel: _Channel, parent: int) -> None:
    """Say twice a second that the interpreter turns, and since when it has been in the same generated code.

    While C code holds the interpreter's lock it can't: that silence is what shows such a hang.
    """
    main_thread = threading.main_thread().ident or 0
    frame_seen: FrameType | None = None
    since = time.process_time()
    while True:
        running = _generated(sys._current_frames().get(main_thread))
        if running is not frame_seen:
            frame_seen, since = running, time.process_time()
        source = running.f_globals.get(SOURCE, "") if running is not None else ""
        beat: dict[str, Any] = {"beat": source, "seconds": time.process_time() - since if source else 0.0}
        running = None
        if os.getppid() != parent:
            os._exit(1)
        try:
            channel.send(beat)
        except OSError:
            os._exit(1)
        time.sleep(BEAT_SECONDS)


def _generated(running: FrameType | None) -> FrameType | None:
    """The innermost call of generated code on a stack: a check inside a program is the check."""
    while running is not None and running.f_code.co_filename != FILENAME:
        running = running.f_back
    return running


if __name__ == "__main__":
    main()
