"""Jobs on a Dask cluster, by the protocol of the local pool: `--workers dask://HOST:PORT`, or a Client from Python.

The parent keeps the language model, the keys and the journals. It hands out units, answers the nodes' questions, and
reads their results as data. A unit begun twice without a result is given up, because it may kill its workers.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sdg.errors import UserError, refuse
from sdg.experiments.workers import node
from sdg.experiments.workers.node import Packer
from sdg.experiments.workers.workers import ERRORS, RESULTS
from sdg.sandbox.process.pool import LostJob, Patience, make_sendable
from sdg.sandbox.process.values import BadFrame, Reader, frames
from sdg.storage import RunError

SCHEME = "dask://"
CONNECT_SECONDS = 15
JOIN_SECONDS = 120
"""How long to wait for the scheduler, and for its first worker."""
QUESTIONS_AT_ONCE, UNITS_AT_ONCE = 64, 256
"""Questions answered, and units sent to the scheduler, at a time."""
GO_ON = "What was finished is kept, and the same command goes on from there."


def connect(address: str, *, wait: float = JOIN_SECONDS) -> DaskPool:
    """The cluster whose scheduler is at `dask://HOST:PORT`. Raises UserError if none answers, or if it has no worker
    after `wait` seconds."""
    if not address.startswith(SCHEME):
        raise UserError(f"--workers takes local or {SCHEME}HOST:PORT, not {address!r}")
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise UserError("--workers dask:// needs Dask: pip install --constraint constraints.txt 'sdg[dask]'") from None
    host = address.removeprefix(SCHEME)
    try:
        client = Client(f"tcp://{host}", timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler answers at {host} ({type(error).__name__}): start one with `dask scheduler`, "
            "or correct the address; nothing was begun"
        ) from None
    try:
        client.wait_for_workers(1, timeout=wait)
    except TimeoutError:
        client.close()
        raise UserError(f"no worker has joined {host}: start some with `dask worker tcp://{host}`") from None
    return DaskPool(client)


@dataclass(eq=False)
class DaskPool:
    """Runs jobs on the cluster of a `distributed.Client`. `begun` counts how often each unit was begun, by job number
    of the latest run; that shows what a lost node cost."""

    client: Any
    begun: Counter[int] = field(default_factory=Counter)

    def run(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        answer: Callable[[Any, Any], Any],
        patience: Patience = Patience(),
    ) -> Iterator[tuple[int, Any]]:
        """(number of the job, result) as they finish; `LostJob` for jobs that were given up.

        An error of a job ends the others and is raised here. Raises UserError for nodes of other versions, before any
        work, and RunError when the cluster is gone.
        """
        from distributed import as_completed

        if function.__module__ == "__main__":
            raise UserError(f"a cluster can't import {function.__name__} from a script: move it to a module")
        self._check_nodes()
        packer = Packer()
        name = f"sdg-{uuid.uuid4().hex}"
        ticket = node.Ticket(name, node.facts(), patience)
        reader = Reader(RESULTS | ERRORS)
        with self._answer_questions(name, jobs=jobs, packer=packer, answer=answer):
            futures = self.client.map(
                node.run_unit,
                range(len(jobs)),
                [packer.pack((function, job)) for job in jobs],
                key=[f"{name}-{number}" for number in range(len(jobs))],
                ticket=ticket,
                pure=False,
                batch_size=UNITS_AT_ONCE,
            )
            numbers = dict(zip(futures, range(len(jobs)), strict=True))
            try:
                results = as_completed(futures, loop=self.client.loop, with_results=True, raise_errors=False)
                for future, result in results:  # fetched at once, because results on a node are lost with it
                    yield numbers[future], _read(future.status, result, reader)
                    future.release()
            finally:
                with contextlib.suppress(Exception):  # the cluster may be what is gone
                    marks_by_number = self.client.get_metadata([name], {})
                    self.begun = Counter({number: len(marks) for number, marks in marks_by_number.items()})
                    self.client.set_metadata([name], {})
                    self.client.cancel(futures)

    def _check_nodes(self) -> None:
        """Refuse nodes whose results could differ. Raises UserError that names a node and the differences."""
        try:
            by_node = self.client.run(node.differences, node.facts())
        except ModuleNotFoundError as error:
            raise UserError(f"a node lacks {error.name}: install the same sdg there; nothing was begun") from None
        advice = "install the versions of constraints.txt and the same sdg there; nothing was begun"
        refuse(UserError, ((text, f"the node {address} has {text}: {advice}") for address, text in by_node.items()))

    @contextlib.contextmanager
    def _answer_questions(
        self, name: str, *, jobs: Sequence[Any], packer: Packer, answer: Callable[[Any, Any], Any]
    ) -> Iterator[None]:
        """Answer the nodes' questions on the run's queue, each in a thread, because a model may take minutes."""
        from distributed import Queue

        requests, reader = Queue(name, client=self.client), Reader()
        answers: dict[str, Any] = {}

        def answer_one(request: Any) -> None:
            reply_queue, kind, payload = request
            try:
                if kind == node.CONTENT:
                    reply: dict[str, Any] = {"value": packer.contents[payload]}
                else:
                    number, question = payload
                    reply = {"value": answer(jobs[number], reader.value(next(frames(bytearray(question)))))}
            except Exception as error:
                reply = {"error": make_sendable(error)}
            if reply_queue not in answers:
                answers[reply_queue] = Queue(reply_queue, client=self.client)
            answers[reply_queue].put(pickle.dumps(reply))

        def listen() -> None:
            with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as threads, contextlib.suppress(Exception):
                while (request := requests.get()) is not None:
                    threads.submit(answer_one, request)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                requests.put(None)
                listener.join(CONNECT_SECONDS)
                for queue in (requests, *answers.values()):
                    queue.close()


def _read(status: str, reply: Any, reader: Reader) -> Any:
    """A unit's result; `LostJob` if it was lost with its node, or if its node sent something else."""
    from distributed.scheduler import KilledWorker

    if status not in ("finished", "error"):
        raise RunError(f"the Dask scheduler is gone. {GO_ON}")
    if status == "error":
        error = reply[1]
        if isinstance(error, KilledWorker):
            return LostJob(f"its nodes were gone: {error}"[:300], hung=False)
        raise RunError(f"a node failed: {error!r:.300}. {GO_ON}")
    try:
        message = dict(reader.value(next(frames(bytearray(reply)))))
    except (BadFrame, StopIteration, TypeError, ValueError) as error:
        return LostJob(f"its node said {error}"[:300])
    if "node" in message:
        raise RunError(f"the node {message['node']}. {GO_ON}")
    if "error" in message:
        raise reader.error(str(message["error"]), str(message.get("text")))
    if "lost" in message:
        return LostJob(str(message["lost"]), str(message.get("code")), message.get("hung") is True)
    return message.get("value")
