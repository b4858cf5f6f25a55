"""Dask clusters for measuring: a scheduler and nodes as processes here, each node in a network namespace if asked."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sdg.experiments.workers.cluster import DaskPool, connect

Process = subprocess.Popen[bytes]
BRIDGE, NETWORK = "sdgbench", "10.231.7"
SECRET = "a-key-that-no-worker-may-see"
"""Set in the environment of the parent and of every node while it is measured."""


@contextlib.contextmanager
def cluster(nodes: int, *, threads: int = 1, namespaces: bool = False) -> Iterator[tuple[DaskPool, list[Process]]]:
    """A cluster of `nodes` nodes (nannies with a worker), each with its own cache folder and `threads` units at a time.

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
        worker_nodes = []
        for name in (f"{BRIDGE}{number}" for number in range(nodes)):
            place = folder / name
            inside = ["ip", "netns", "exec", name] if namespaces else []
            worker = ["distributed.cli.dask_worker", f"tcp://{address}", "--nthreads", str(threads), "--no-dashboard"]
            worker += ["--local-directory", str(place / "dask")]
            cache = {"SDG_CACHE_DIR": str(place / "cache")}
            worker_nodes.append(stack.enter_context(_process(worker, place, inside=inside, environment=cache)))
        pool = connect(f"dask://{address}")
        stack.callback(pool.client.close)
        pool.client.wait_for_workers(nodes, timeout=120)
        yield pool, worker_nodes


def kill(process: Process) -> None:
    """Kill a process with all that it started, without notice, like a power cut."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _process(
    module: list[str], place: Path, *, inside: Sequence[str] = (), environment: Mapping[str, str] = {}
) -> Iterator[Process]:
    """Run `python -m MODULE` in a new session; at the end kill it with all processes that it started."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [*inside, sys.executable, "-W", "ignore", "-m", *module],
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
            kill(process)
            process.wait()


@contextlib.contextmanager
def _bridge(nodes: int) -> Iterator[None]:
    """Network namespaces `sdgbench0`, ... joined by a bridge that this process reaches."""
    commands = [f"link add {BRIDGE} type bridge", f"addr add {NETWORK}.1/24 dev {BRIDGE}", f"link set {BRIDGE} up"]
    names = [f"{BRIDGE}{number}" for number in range(nodes)]
    for number, name in enumerate(names):
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
        for command in [*(f"netns del {name}" for name in names), f"link del {BRIDGE}"]:
            subprocess.run(["ip", *command.split()], check=False, capture_output=True)
