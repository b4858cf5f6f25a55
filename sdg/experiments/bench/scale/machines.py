"""Dask clusters for measuring: a scheduler and nodes as processes here, each node in a network namespace if asked."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from sdg.experiments.workers.cluster import DaskPool, connect

BRIDGE, NETWORK = "sdgbench", "10.231.7"
SECRET = "a-key-that-no-worker-may-see"
"""Set in the environment of the parent and of every node while it is measured."""


@contextlib.contextmanager
def cluster(nodes: int, *, threads: int = 1, namespaces: bool = False) -> Iterator[tuple[DaskPool, list[WorkerNode]]]:
    """A cluster of `nodes` nodes, each with its own cache folder and `threads` units at a time.

    With `namespaces` each node has a network and a mount table of its own; this needs root and `ip`. Raises OSError
    where they can't be made.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        host = f"{NETWORK}.1" if namespaces else "127.0.0.1"
        if namespaces:
            stack.enter_context(_bridge(nodes))
        with socket.socket() as free:
            free.bind((host, 0))
            address = f"{host}:{free.getsockname()[1]}"
        arguments = [
            "--host",
            host,
            "--port",
            address.rpartition(":")[2],
            "--no-dashboard",
            "--dashboard-address",
            ":0",
        ]
        stack.enter_context(_process(["distributed.cli.dask_scheduler", *arguments], folder / "scheduler"))
        worker_nodes = [stack.enter_context(WorkerNode(n, address, folder, threads, namespaces)) for n in range(nodes)]
        pool = connect(f"dask://{address}")
        stack.callback(pool.client.close)
        pool.client.wait_for_workers(nodes, timeout=120)
        yield pool, worker_nodes


class WorkerNode(contextlib.AbstractContextManager["WorkerNode"]):
    """One node: a nanny and its worker, which `kill` ends at once."""

    def __init__(self, number: int, address: str, folder: Path, threads: int, namespace: bool) -> None:
        self._stack, self._place = contextlib.ExitStack(), folder / f"node-{number}"
        inside = ["ip", "netns", "exec", f"{BRIDGE}{number}"] if namespace else []
        worker = ["distributed.cli.dask_worker", f"tcp://{address}", "--nthreads", str(threads), "--no-dashboard"]
        worker += ["--local-directory", str(self._place / "dask")]
        cache = {"SDG_CACHE_DIR": str(self._place / "cache")}
        self.process = self._stack.enter_context(_process(worker, self._place, inside=inside, environment=cache))

    def kill(self) -> None:
        """End the node as a power cut does, without notice."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def __exit__(self, *exception: object) -> None:
        self._stack.close()


@contextlib.contextmanager
def _process(
    module: list[str], place: Path, *, inside: list[str] | None = None, environment: Mapping[str, str] = {}
) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m MODULE` in a session of its own, ended with all that it started."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [*(inside or []), sys.executable, "-W", "ignore", "-m", *module],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment, "OPENAI_API_KEY": SECRET},
            start_new_session=True,
            cwd=place,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def _bridge(nodes: int) -> Iterator[None]:
    """Network namespaces `sdgbench0`, ... joined by a bridge that this process reaches."""
    commands = [f"link add {BRIDGE} type bridge", f"addr add {NETWORK}.1/24 dev {BRIDGE}", f"link set {BRIDGE} up"]
    for number in range(nodes):
        name = f"{BRIDGE}{number}"
        commands += [
            f"netns add {name}",
            f"link add {name} type veth peer name eth0 netns {name}",
            f"link set {name} master {BRIDGE} up",
            f"-n {name} addr add {NETWORK}.{number + 2}/24 dev eth0",
            f"-n {name} link set eth0 up",
            f"-n {name} link set lo up",
        ]
    try:
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True, capture_output=True)
        yield
    except subprocess.CalledProcessError as error:
        raise OSError(f"no network namespaces here: {error.stderr.decode(errors='replace').strip()}") from None
    finally:
        for command in [*(f"netns del {BRIDGE}{number}" for number in range(nodes)), f"link del {BRIDGE}"]:
            subprocess.run(["ip", *command.split()], check=False, capture_output=True)
