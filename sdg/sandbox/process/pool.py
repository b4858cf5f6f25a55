"""Supervised processes for jobs that run generated code: limits, walls, a heartbeat, and a kill from outside.

    with Pool(2) as pool:
        for number, result in pool.run(function, jobs):       # in any order; result may be a `LostJob`

The parent knows which job each worker is doing and, from a page that they share, which generated code it is running. A
worker that hangs is killed and its job given up; when one dies or fills its memory, its job is tried once more first.
Questions of a job to its parent (`line.ask`) are answered here, in a thread beside the supervising one.
"""

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.spawn import get_preparation_data
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any

from sdg.sandbox.process.board import Board
from sdg.sandbox.process.confine import MEGABYTE, Limits, hide_memory
from sdg.sandbox.process.values import MAX_ERROR_CHARACTERS, BadFrame, Reader, frame, frames

POOL_LIMITS = Limits(memory_bytes=8192 * MEGABYTE, open_files=256)
TRIES = 2
"""How often a job is begun when its workers die, because a machine short of memory isn't the job's fault."""
MIN_SLEEP = 5.0
"""If two looks at the workers, meant to be 0.2 s apart, are this many seconds apart, the machine stood still."""
READ_ONLY = "SDG_READ_ONLY"
"""Set for workers: code compiled there isn't kept (`sdg.envs.kernels`)."""
_VARIABLES = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "PYTHONWARNINGS"),
    *("XDG_CACHE_HOME", "SDG_CACHE_DIR", "SDG_DEBUG", "LD_LIBRARY_PATH"),
)
_VARIABLE_FAMILIES = ("NUMBA_", "OMP_", "MKL_", "OPENBLAS_")
"""Variables that a worker's environment keeps: no keys, no tokens, no proxies."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When a worker counts as hung, in seconds.

    `silence`: no heartbeat, because C code holds the interpreter's lock (the first beat may take `start`); `code`:
    processor time inside one call of generated code; `job`: one whole job. Time during which the machine stood still
    doesn't count.
    """

    start: float = 120.0
    silence: float = 180.0
    code: float = 60.0
    job: float = 4 * 3600.0


@dataclass(frozen=True, slots=True)
class LostJob:
    """A job that was given up: why, the digest of the generated code that was running ("" when none was), and whether
    its worker was killed because it hung or had ended by itself."""

    reason: str
    code: str = ""
    hung: bool = True


@dataclass(eq=False)
class _Member:
    """One process and its current job."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    board: Board
    pending: bytearray = field(default_factory=bytearray)
    job: int | None = None
    began_at: float = 0.0
    has_begun: bool = False
    outbox: SimpleQueue[bytes] = field(default_factory=SimpleQueue)
    heard_at: float = field(default_factory=time.monotonic)
    code_seconds: float = 0.0
    has_full_memory: bool = False
    is_asking: bool = False
    report: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _JobQueue:
    """The jobs of one `run`: their function, the one that answers questions, those that wait, the tries of each."""

    function: Callable[[Any], Any]
    jobs: Sequence[Any]
    answer: Callable[[Any, Any], Any] | None
    waiting: deque[int]
    tries: list[int]


class Pool(contextlib.AbstractContextManager["Pool"]):
    """Up to `processes` workers, started when there are jobs for them and kept until `close`.

    `results` names the dataclasses and exceptions that jobs may return ("module:class"), `environment` is added to the
    cleaned one, `folder` is where workers run, `tries` is how often a job is begun when its workers die. `reports` says
    which walls each worker has. From its first worker on, other processes can't read this one's memory and environment.
    """

    def __init__(
        self, processes: int, *, results: Collection[str] = (), limits: Limits = POOL_LIMITS,
        patience: Patience = Patience(), environment: Mapping[str, str] = {}, folder: Path | None = None,
        tries: int = TRIES,
    ) -> None:  # fmt: skip
        self.processes, self.limits = processes, limits
        self.patience, self.tries = patience, tries
        self._environment = {**clean_environment(), **environment}
        self._folder = folder
        self._reader = Reader(results)
        self._members: list[_Member] = []
        self._runs = 0
        self._last_look = 0.0
        self._replies: deque[tuple[_Member, dict[str, Any]]] = deque()
        self._wake_reader, self._wake_writer = ends = os.pipe()
        for end in ends:
            weakref.finalize(self, os.close, end).atexit = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def reports(self) -> list[Mapping[str, str]]:
        """Which walls stand around each worker."""
        return [member.report for member in self._members]

    @property
    def idle(self) -> bool:
        """Whether no `run` is under way."""
        return not self._runs

    def close(self) -> None:
        """End every worker, at once."""
        while self._members:
            self._end(self._members[0])

    def run(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], *, answer: Callable[[Any, Any], Any] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """(number of the job, result) as they finish; `LostJob` for jobs that were given up.

        `answer(job, request)` answers a job's question, in a separate thread. An exception of a job ends the others and
        is raised here. The pool isn't idle from this call on, although jobs begin only with the first step.
        """
        self._runs += 1
        return self._run(_JobQueue(function, jobs, answer, deque(range(len(jobs))), [0] * len(jobs)))

    def _run(self, queue: _JobQueue) -> Iterator[tuple[int, Any]]:
        self._last_look = time.monotonic()
        try:
            while queue.waiting or any(member.job is not None for member in self._members):
                self._hand_out(queue)
                yield from self._look(queue)
        finally:
            for member in [member for member in self._members if member.job is not None]:
                self._end(member)
            self._runs -= 1  # last, because another thread closes an idle pool

    def _hand_out(self, queue: _JobQueue) -> None:
        while queue.waiting:
            free = next((member for member in self._members if member.job is None), None)
            if free is None and len(self._members) >= self.processes:
                return
            member = free or self._start()
            number = queue.waiting.popleft()
            queue.tries[number] += 1
            member.job = number
            member.code_seconds = 0.0
            member.has_full_memory = member.has_begun = False
            member.board.clear()
            member.began_at = member.heard_at = time.monotonic()
            call = pickle.dumps((queue.function, queue.jobs[number]))
            self._send(member, {"id": number, "main": _script_of(queue.function), "call": call})

    def _look(self, queue: _JobQueue) -> Iterator[tuple[int, Any]]:
        """Read the workers' messages for a moment, and judge workers that are silent."""
        streams = {self._stream(member): member for member in self._members}
        for stream in select.select([*streams, self._wake_reader], [], [], 0.2)[0]:
            if stream == self._wake_reader:
                self._reply()
            else:
                yield from self._hear(streams[stream], queue)
        self._leave_out_sleep()
        for member in list(self._members):
            if reason := self._reason_if_hung(member):
                yield from self._lose(member, reason)

    def _leave_out_sleep(self) -> None:
        """Don't count time against the workers during which the machine, and so this process, stood still."""
        now = time.monotonic()
        slept = now - self._last_look
        self._last_look = now
        for member in self._members if slept > MIN_SLEEP else ():
            member.heard_at += slept
            member.began_at += slept

    def _hear(self, member: _Member, queue: _JobQueue) -> Iterator[tuple[int, Any]]:
        data = os.read(self._stream(member), 1 << 20)
        member.heard_at = time.monotonic()
        member.pending += data
        try:
            messages = [dict(self._reader.value(message)) for message in frames(member.pending)]
            answers = [answer for message in messages if (answer := self._take(member, message, queue)) is not None]
        except Exception as error:  # whatever a worker can make a message do
            yield from self._lose(member, f"its message was invalid: {error}")
            return
        for number, result in answers:
            if isinstance(result, Exception):
                result.add_note(f" in {getattr(queue.jobs[number], 'unit', f'job {number}')}")
                raise result
            yield number, result
        if not data or member.has_full_memory:
            yield from self._handle_death(member, queue)

    def _take(self, member: _Member, message: dict[str, Any], queue: _JobQueue) -> tuple[int, Any] | None:
        """Handle a message. Returns a job's number with its result or its exception, if the message holds one."""
        if "ready" in message:
            member.report = {str(name): str(state)[:200] for name, state in dict(message["ready"]).items()}
        elif "began" in message:
            if member.has_begun:
                raise BadFrame("that its job began twice")
            member.began_at = time.monotonic()
            member.has_begun = True
        elif "beat" in message:
            member.code_seconds = float(message["beat"])
        elif member.job is None:
            return None
        elif "ask" in message:
            self._ask(member, message["ask"], queue)
        elif message["id"] == member.job:
            member.has_full_memory = message.get("full") is True
            if not member.has_full_memory:
                number, member.job = member.job, None
                if (error := message.get("error")) is None:
                    return number, message["value"]
                return number, self._reader.error(str(error), str(message.get("text"))[:MAX_ERROR_CHARACTERS])
        return None

    def _ask(self, member: _Member, request: Any, queue: _JobQueue) -> None:
        """Let a thread answer a question and wake the pool then, because a model may take minutes."""
        if member.is_asking or queue.answer is None or member.job is None:
            raise BadFrame("a question that nobody asked for")
        answer = queue.answer
        job = queue.jobs[member.job]
        member.is_asking = True

        def work() -> None:
            try:
                reply: dict[str, Any] = {"value": answer(job, request)}
            except Exception as error:
                reply = {"error": make_sendable(error)}
            self._replies.append((member, reply))
            os.write(self._wake_writer, b".")

        threading.Thread(target=work, daemon=True).start()

    def _reply(self) -> None:
        os.read(self._wake_reader, 4096)
        while self._replies:
            member, reply = self._replies.popleft()
            member.is_asking = False
            if member in self._members:
                self._send(member, reply)

    def _reason_if_hung(self, member: _Member) -> str:
        """Why a worker counts as hung; "" when it doesn't."""
        if member.job is None:
            return ""
        now = time.monotonic()
        silent = now - member.heard_at
        worked = now - member.began_at
        if silent > (self.patience.silence if member.report else self.patience.start):
            return f"it gave no sign of life for {silent:.0f} s"
        if member.code_seconds > self.patience.code:
            return f"one call of generated code ran for {member.code_seconds:.0f} s"
        if worked > self.patience.job:
            return f"it was not done after {worked:.0f} s"
        return ""

    def _handle_death(self, member: _Member, queue: _JobQueue) -> Iterator[tuple[int, Any]]:
        with contextlib.suppress(subprocess.TimeoutExpired):
            member.process.wait(5.0)
        tries = 0 if member.job is None else queue.tries[member.job]
        if member.job is not None and tries < self.tries:
            queue.waiting.append(member.job)
            self._end(member)
        else:
            reason = "it ran out of memory" if member.has_full_memory else _describe_exit(member.process.poll())
            yield from self._lose(member, f"{reason}{f', {tries} times' if tries > 1 else ''}", hung=False)

    def _lose(self, member: _Member, reason: str, *, hung: bool = True) -> Iterator[tuple[int, Any]]:
        number = member.job
        code = member.board.running()
        words = _last_words(member.errors)
        self._end(member)
        if number is not None:
            yield number, LostJob(f"{reason}{': ' + words if words else ''}", code, hung)

    def _start(self) -> _Member:
        hide_memory()
        errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the member
        board = Board.new()
        paths = [os.path.abspath(path) for path in sys.path]
        start = f"from sdg.sandbox.process.job import main; main({board.descriptor})"
        process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {paths!r}; {start}"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, env=self._environment, cwd=self._folder, start_new_session=True,
            bufsize=0, pass_fds=(board.descriptor,),
        )  # fmt: skip
        member = _Member(process, errors, board)
        threading.Thread(target=_write_out, args=(process.stdin, member.outbox), daemon=True).start()
        self._members.append(member)
        self._send(member, {"limits": self.limits, "parent": os.getpid()})
        return member

    def _send(self, member: _Member, message: dict[str, Any]) -> None:
        member.outbox.put(frame(pickle.dumps(message, protocol=5)))

    def _stream(self, member: _Member) -> int:
        assert member.process.stdout is not None
        return member.process.stdout.fileno()

    def _end(self, member: _Member) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(member.process.pid, signal.SIGKILL)
        member.process.kill()
        member.process.wait()
        member.outbox.put(b"")
        for stream in filter(None, (member.process.stdin, member.process.stdout, member.errors)):
            with contextlib.suppress(OSError):
                stream.close()
        member.board.close()
        self._members.remove(member)


def _write_out(pipe: IO[bytes], outbox: SimpleQueue[bytes]) -> None:
    """Write messages to a worker, in a separate thread, because a worker that doesn't read would block the pool."""
    with contextlib.suppress(OSError, ValueError):  # its end shows on the other pipe
        while view := memoryview(outbox.get()):
            while view:
                view = view[pipe.write(view) or 0 :]


def _script_of(function: Callable[[Any], Any]) -> dict[str, Any]:
    """Where the worker finds a function of the script that is being run."""
    preparation = get_preparation_data("worker") if function.__module__ == "__main__" else {}
    return {name: value for name, value in preparation.items() if name.startswith("init_main")}


def clean_environment() -> dict[str, str]:
    """The variables that a worker needs: one thread each, and the same hashes of texts in all workers, because the
    order of a set depends on them."""
    inherited = {
        name: text for name, text in os.environ.items() if name in _VARIABLES or name.startswith(_VARIABLE_FAMILIES)
    }
    return inherited | {
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "PYTHONDONTWRITEBYTECODE": "1", READ_ONLY: "1", "PYTHONHASHSEED": "0",
        "TORCHINDUCTOR_CACHE_DIR": os.curdir,  # torch would make one
    }  # fmt: skip


def make_sendable(error: Exception) -> Exception:
    """The exception, or a plain one with the same text where it can't be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS])
    return error


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with status {code}"


def _last_words(errors: IO[bytes]) -> str:
    """The end of what a worker wrote to stderr, in one printable line."""
    with contextlib.suppress(OSError, ValueError):
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 300))
        text = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "".join(sign if sign.isprintable() else " " for sign in text)
    return ""
