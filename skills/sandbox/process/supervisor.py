"""A supervised child process for what may hang or crash: limits inside, a heartbeat, and a kill from outside.

    with Worker("sdg.experiments.adversarial.hostile:run_snippet") as worker:
        value = worker.ask({"source": ...}, timeout_seconds=1.0)     # raises WorkerHung, WorkerCrashed, WorkerError

The guard (`skills/sandbox/guard`) bounds generated code; this bounds the process it runs in, should the guard have a
hole.
The two talk in lines of JSON of bounded length, never in pickles. A lost worker is started anew by the next request.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sdg.skills.sandbox.process.child import MAX_MESSAGE_BYTES
from sdg.skills.sandbox.process.confine import Limits

__all__ = ["Limits", "Worker", "WorkerCrashed", "WorkerError", "WorkerHung", "WorkerLost"]

START_SECONDS = 60.0
SILENCE_SECONDS = 5.0
"""Longest pause between two beats of a worker that is well."""
_ROOT = Path(__file__).resolve().parents[3]
_KEPT = ("LANG", "LC_ALL", "TZ", "NUMBA_CACHE_DIR", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that a worker's environment keeps: no keys, no tokens, no proxies."""


class WorkerError(RuntimeError):
    """The request failed inside the worker, which is well: the message says how."""


class WorkerLost(RuntimeError):
    """The worker had to be given up while it worked on a request."""


class WorkerHung(WorkerLost):
    """It did not answer in time, or stopped beating, and was killed."""


class WorkerCrashed(WorkerLost):
    """It ended, or said something that is not an answer."""


class Worker:
    """One child process that answers requests with `target` ("package.module:function", JSON value -> JSON value).

    It runs in `folder`, by default where this package lies. `report` says which walls stand, by name ("on", or
    "off: why"); it is empty until the process has started.
    """

    def __init__(
        self, target: str, *, limits: Limits = Limits(), environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        self.target = target
        self.limits = limits
        self.folder = folder
        self.report: dict[str, str] = {}
        self.starts = 0
        self._environment = {**_clean_environment(), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._pending = bytearray()
        self._number = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process is not None else None

    def ask(self, value: Any, *, timeout_seconds: float, silence_seconds: float = SILENCE_SECONDS) -> Any:
        """The target's answer to a JSON value.

        Raises `WorkerError` (the target raised), `WorkerHung` (later than `timeout_seconds`, or silent for
        `silence_seconds`) and `WorkerCrashed`; ValueError for a request that is too long.
        """
        self._number += 1
        line = json.dumps({"id": self._number, "value": value}, allow_nan=False).encode() + b"\n"
        if len(line) > MAX_MESSAGE_BYTES:
            raise ValueError(f"the request has {len(line)} bytes; at most {MAX_MESSAGE_BYTES} are allowed")
        self.start()
        self._send(line)
        deadline = time.monotonic() + timeout_seconds
        while True:
            message = self._receive(deadline, silence_seconds=silence_seconds)
            if message.get("id") == self._number:
                if "error" in message:
                    raise WorkerError(str(message["error"])[:2000])
                return message.get("value")
            if "beat" not in message:
                self._lose(WorkerCrashed, "said something that is not an answer")

    def start(self) -> None:
        """Start the process if there is none. Raises `WorkerCrashed` when it can't be."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._pending.clear()
        self.starts += 1
        paths = [str(_ROOT), *(os.path.abspath(path) for path in sys.path)]
        program = f"import sys; sys.path[:0] = {paths!r}; from sdg.skills.sandbox.process.child import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=self._environment,
            cwd=self.folder or _ROOT, start_new_session=True, bufsize=0,
        )  # fmt: skip
        self._send(json.dumps({"target": self.target, "limits": asdict(self.limits)}).encode() + b"\n")
        ready = self._receive(time.monotonic() + START_SECONDS, silence_seconds=START_SECONDS).get("ready")
        if not isinstance(ready, dict):
            self._lose(WorkerCrashed, "did not start")
        else:
            self.report = {str(name): str(state)[:200] for name, state in ready.items()}

    def close(self) -> None:
        """End the process, at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _send(self, line: bytes) -> None:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(line)
        except OSError:
            self._lose(WorkerCrashed, "ended before it could be asked")

    def _receive(self, deadline: float, *, silence_seconds: float) -> dict[str, Any]:
        """The next message; every one that comes is a sign of life."""
        heard = time.monotonic()
        while b"\n" not in self._pending:
            now = time.monotonic()
            if now >= deadline:
                self._lose(WorkerHung, "did not answer in time")
            if now - heard >= silence_seconds:
                self._lose(WorkerHung, f"was silent for {silence_seconds:g} s")
            heard = self._read(min(deadline, heard + silence_seconds) - now) or heard
        line, _, rest = bytes(self._pending).partition(b"\n")
        self._pending = bytearray(rest)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._lose(WorkerCrashed, "said something that is not JSON")
        return dict(message)

    def _read(self, seconds: float) -> float | None:
        """Wait for bytes; the time they came at, None when there were none."""
        stream = self._running().stdout
        assert stream is not None
        if not select.select([stream], [], [], max(0.0, seconds))[0]:
            return None
        data = os.read(stream.fileno(), 65536)
        if not data:
            self._lose(WorkerCrashed, "ended")
        self._pending += data
        if len(self._pending) > 2 * MAX_MESSAGE_BYTES:
            self._lose(WorkerCrashed, "said more than can be read")
        return time.monotonic()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise WorkerCrashed(f"worker {self.target} is not running")
        return self._process

    def _lose(self, kind: type[WorkerLost], what: str) -> None:
        code = self._process.poll() if self._process is not None else None
        tail = self._last_words()
        self.close()
        ended = f" (exit {code})" if code is not None else ""
        raise kind(f"worker {self.target} {what}{ended}{': ' + tail if tail else ''}")

    def _last_words(self) -> str:
        """The end of what it wrote to stderr, printable."""
        if self._errors is None:
            return ""
        with contextlib.suppress(OSError, ValueError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - 500))
            text = self._errors.read().decode("utf-8", "replace")
            return "".join(c if c.isprintable() else " " for c in text).strip()
        return ""


def _clean_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": os.defpath, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", **kept}
