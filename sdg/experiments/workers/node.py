"""Code for the nodes of a cluster: each unit runs in a confined process; a channel takes its questions to the parent.

The process that Dask starts on a node holds the channel and runs no generated code. That runs in a child with a cleaned
environment, limits and walls (`sdg.sandbox.process`), whose answers are data.

Machines share no folder: large arrays and library folders are sent by content, once a node. A job is pickled with
digests in their place. A node that lacks a content asks for it, checks its digest and keeps it in its cache folder,
where all its workers find it.
"""

import fcntl
import hashlib
import io
import pickle
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.files import atomic_write, read_file
from sdg.envs.kernels import cache_folder
from sdg.errors import SDGError
from sdg.experiments.workers import compiled
from sdg.experiments.workers.workers import ERRORS, RESULTS
from sdg.sandbox.process.pool import TRIES, LostJob, Patience, Pool
from sdg.sandbox.process.values import class_name, encode
from sdg.storage import versions

LARGE_BYTES = 1 << 15
"""Arrays below this travel with their job."""
LIBRARY_FILES = ("library.json", "composed.json", "*.safetensors", "skills/*.safetensors", "README.md")
"""Files sent of a folder that a job names: no journal, transcript, ledger or config."""

Content = tuple[str, str]
"""A kind ("array", "records", "folder") and the sha256 of the bytes."""


class Packer:
    """Pickles jobs; `contents` has the bytes that they refer to, by digest, for nodes that ask."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._contents_by_key: dict[object, tuple[Content, Any]] = {}

    def pack(self, value: Any) -> bytes:
        """The value, with digests in place of large contents."""
        content_of, stream = self.content_of, io.BytesIO()

        class Pickler(pickle.Pickler):
            def persistent_id(self, value: Any) -> Content | None:
                return content_of(value)

        Pickler(stream, protocol=5).dump(value)
        return stream.getvalue()

    def content_of(self, value: Any) -> Content | None:
        """The content that replaces the value in a job; None if the value is sent as it is."""
        files = library_files(value) if isinstance(value, Path) and value.is_dir() else {}
        key: object = value if files else id(value)
        if type(value) in (np.ndarray, np.recarray) and value.nbytes >= LARGE_BYTES and not value.dtype.hasobject:
            kind = "array" if type(value) is np.ndarray else "records"
        elif files:
            kind = "folder"
        else:
            return None
        if key not in self._contents_by_key:
            data = pickle.dumps(files) if files else _array_bytes(value)
            digest = hashlib.sha256(data).hexdigest()
            self.contents[digest] = data
            self._contents_by_key[key] = (kind, digest), value  # the value is held, so that no other takes its id
        return self._contents_by_key[key][0]


def unpack(data: bytes, fetch: Callable[[str], bytes]) -> Any:
    """The value that `Packer.pack` packed; `fetch(digest)` gives contents that this node lacks. Raises OSError on a
    full disk."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, content: Content) -> Any:
            kind, digest = content
            folder = keep_content(digest, fetch)
            if kind == "folder":
                return folder
            array = np.load(folder / "array.npy", allow_pickle=False)
            return array if kind == "array" else array.view(np.recarray)

    return Unpickler(io.BytesIO(data)).load()


def keep_content(digest: str, fetch: Callable[[str], bytes]) -> Path:
    """The folder in which this node keeps a content; one of its workers fetches it, the others wait."""
    folder = cache_folder() / "content" / digest
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".whole").exists():
            data = fetch(digest)
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError(f"what came for the content {digest[:12]} is something else")
            files = {"array.npy": data} if data.startswith(b"\x93NUMPY") else pickle.loads(data)
            for name, content in files.items():
                atomic_write(folder / name, content)
            atomic_write(folder / ".whole", "")
    return folder


def library_files(folder: Path) -> dict[str, bytes]:
    """The files of a library in a folder by name; none for a folder that holds no weights."""
    paths = sorted({path for pattern in LIBRARY_FILES for path in folder.glob(pattern)})
    weights = any(path.suffix == ".safetensors" for path in paths)
    return {path.relative_to(folder).as_posix(): read_file(path) for path in paths} if weights else {}


def _array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array.view(np.ndarray), allow_pickle=False)
    return stream.getvalue()


CONTENT, QUESTION = "content", "question"
"""A node's requests to its parent: the bytes of a digest, a job's question."""
_MAX_ERROR = 4000
"""Letters of an error that a node sends."""
LOOK_SECONDS = 10
"""How long to wait for an answer before asking the scheduler whether the unit is still wanted."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """Sent with every unit of a run: the name of the run's channel, the parent's `facts`, and when a unit is hung."""

    line: str
    facts: dict[str, str]
    patience: Patience


class NodeError(SDGError, RuntimeError):
    """A node can't do its work; the message names it and says what to do."""


@cache
def facts() -> dict[str, str]:
    """The versions and the digest of sdg's source, on which results depend."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return versions() | {"source of sdg": digest.hexdigest()[:12]}


def differences(expected: dict[str, str]) -> str:
    """How this node differs from the parent, in words; "" if it doesn't."""
    here = facts()
    return ", ".join(
        f"{name} {here.get(name)} instead of {value}" for name, value in expected.items() if here.get(name) != value
    )


def run_unit(number: int, call: bytes, ticket: Ticket) -> bytes:
    """Do a unit of a run; returns the outcome as a message of `sdg.sandbox.process.values`."""
    try:
        if differing := differences(ticket.facts):
            raise NodeError(f"has {differing}: install the versions of constraints.txt and the same sdg there")
        if count_begun(ticket.line, number) > TRIES:
            return encode({"lost": f"its worker's node was gone {TRIES} times", "code": "", "hung": False})
        return encode(_outcome(number, call, ticket))
    except NodeError as error:
        return encode({"node": f"{socket.gethostname()} {error}"})


def count_begun(name: str, number: int) -> int:
    """How often a unit of the run `name` was begun, this time included.

    The scheduler keeps the count, because it outlives nodes and answers sooner than the parent.
    """
    from distributed import get_client

    client: Any = get_client()

    async def mark() -> int:
        await client.scheduler.set_metadata(keys=[name, number, uuid.uuid4().hex], value=1)
        return len(await client.scheduler.get_metadata(keys=[name, number]))

    return int(client.sync(mark))


def _outcome(number: int, call: bytes, ticket: Ticket) -> dict[str, Any]:
    def ask(kind: str, payload: Any) -> Any:
        return _channel(ticket.line, number)(kind, payload)  # opened by the first question

    try:
        function, job = unpack(call, lambda digest: ask(CONTENT, digest))
        if function.__module__.startswith("sdg."):
            _compile_once()
    except OSError as error:
        raise NodeError(f"can't keep what jobs need: {error}; mend that, or set SDG_CACHE_DIR there") from None
    try:
        ((_, result),) = _pool(ticket.patience).run(
            function, [job], answer=lambda _, request: ask(QUESTION, (number, encode(request)))
        )
    except Exception as error:
        return {"error": class_name(type(error)), "text": str(error)[:_MAX_ERROR]}
    if isinstance(result, LostJob):
        return {"lost": result.reason, "code": result.code, "hung": result.hung}
    return {"value": result}


_local = threading.local()


def _pool(patience: Patience) -> Pool:
    """One confined process for each thread of the node's Dask worker, kept for its next unit."""
    if getattr(_local, "patience", None) != patience:
        if hasattr(_local, "pool"):
            _local.pool.close()
        _local.pool = Pool(1, results=RESULTS | ERRORS, patience=patience)
        _local.patience = patience
    return _local.pool


@cache
def _compile_once() -> None:
    """Kernels are machine code, so each node makes its own, once: its other workers wait and read them."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "compile.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiled.ensure()


def _channel(name: str, number: int) -> Callable[[str, Any], Any]:
    """A function that sends the parent a request (its kind and plain data) and waits for the answer as long as the
    parent waits for the unit. When the parent is gone, the scheduler forgets the unit, and NodeError is raised.

    Each thread has its own queue for the answers of a run; the parent closes it when the run ends.
    """
    from distributed import Queue, get_client

    client: Any = get_client()
    if getattr(_local, "line", "") != name:
        _local.line = name
        _local.reply_queue = f"{name}-{uuid.uuid4().hex}"
        _local.requests = Queue(name, client=client)
        _local.answers = Queue(_local.reply_queue, client=client)
    requests, answers, reply_queue = _local.requests, _local.answers, _local.reply_queue

    def ask(kind: str, payload: Any) -> Any:
        requests.put([reply_queue, kind, payload])
        while True:
            try:
                reply = pickle.loads(answers.get(timeout=LOOK_SECONDS))
                break
            except TimeoutError:
                key = f"{name}-{number}"
                if client.sync(client.scheduler.get_task_status, keys=[key])[key] != "processing":
                    raise NodeError("waits for a parent that is gone") from None
        if "error" in reply:
            raise reply["error"]
        return reply["value"]

    return ask
