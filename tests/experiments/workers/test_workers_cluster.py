"""Jobs on a real Dask cluster: the same results, what is lost is told once, and the parent stays private."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdg.errors import UserError
from sdg.experiments.bench.scale.machines import SECRET, cluster
from sdg.experiments.bench.scale.units import Nap, read_environment, sleep
from sdg.experiments.workers import node
from sdg.experiments.workers.cluster import DaskPool, connect
from sdg.experiments.workers.node import Packer, keep_content, unpack
from sdg.experiments.workers.workers import Workers, use_workers
from sdg.sandbox.process.pool import LostJob, Patience
from sdg.storage.files import RunError
from tests.experiments.workers import content_target
from tests.shared import pool_target

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "sdg" / "skills" / "shipped"


@pytest.fixture(scope="module")
def pool() -> Iterator[DaskPool]:
    pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(ROOT))
        with cluster(2) as (dask_pool, _):
            yield dask_pool


def run_on(pool: DaskPool, *jobs: str, **rest: Any) -> dict[int, Any]:
    return dict(pool.run(pool_target.do, jobs, answer=rest.pop("answer", lambda job, request: None), **rest))


def test_results_are_those_of_local_processes(pool: DaskPool) -> None:
    jobs = [Nap(number, fatal=number % 4 == 3) for number in range(12)]
    local = dict(Workers(2)(sleep, jobs))
    with use_workers(engine=pool):
        assert dict(Workers(2)(sleep, jobs)) == local
    assert [job.number for job in jobs if "lost" in str(local[job])] == [3, 7, 11]
    assert set(pool.begun.values()) == {1}, "a worker that dies is replaced on its node"


def test_a_question_is_answered_by_the_parent(pool: DaskPool) -> None:
    assert run_on(pool, "ask", answer=lambda job, request: [os.getpid(), job, request]) == {
        0: [os.getpid(), "ask", {"n": [1, 2]}]
    }


def test_a_parent_that_is_killed_holds_no_node_up(pool: DaskPool) -> None:
    """Its units wait for a model's answers, which never come."""
    parent = (
        "import sys, time\n"
        "from sdg.experiments.workers.cluster import connect\n"
        "from tests.shared.pool_target import do\n"
        "answer = lambda job, request: (print('asked', flush=True), time.sleep(600))\n"
        "list(connect(sys.argv[1]).run(do, ['ask'] * 4, answer=answer))\n"
    )
    address = f"dask://{pool.client.scheduler.address.removeprefix('tcp://')}"
    command = [sys.executable, "-c", parent, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["asked\n"] * 2
        process.kill()
    assert run_on(pool, "a", "b") == {0: "did a", 1: "did b"}


def test_what_answering_raises_is_raised_in_the_job_and_here(pool: DaskPool) -> None:
    def refuse(job: Any, request: Any) -> Any:
        raise LookupError("nobody knows")

    with pytest.raises(LookupError, match="nobody knows"):
        run_on(pool, "ask", answer=refuse)


def test_a_liar_loses_its_unit_alone(pool: DaskPool) -> None:
    results = run_on(pool, "say:" + "ff" * 40, "a", "die", "b")
    assert isinstance(results[0], LostJob)
    assert isinstance(results[2], LostJob)
    assert (results[1], results[3]) == ("did a", "did b")


def test_a_unit_that_comes_back_late_is_lost_alone(pool: DaskPool) -> None:
    results = run_on(pool, "sleep", "a", patience=Patience(job=6.0))
    assert isinstance(results[0], LostJob)
    assert "not done after" in results[0].reason
    assert results[1] == "did a"


def test_walls_stand_around_a_node_s_worker(pool: DaskPool) -> None:
    with pytest.raises(PermissionError):
        run_on(pool, "socket")
    with pytest.raises((PermissionError, OSError)):
        run_on(pool, "write:/tmp")


def test_no_worker_sees_a_key(pool: DaskPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_TEST_KEY", SECRET)
    with use_workers(engine=pool):
        ((_, environment),) = Workers(1)(read_environment, [Nap(0)])
    assert environment
    assert not [text for text in environment if SECRET in text]


def test_arrays_and_libraries_travel_by_content_once_a_node(pool: DaskPool) -> None:
    records = np.zeros(9000, [("f0", "f8")]).view(np.recarray)
    records.f0 = np.arange(9000)
    questions: list[int] = []
    jobs = [content_target.Parcel(records, LIBRARY) for _ in range(6)]
    descriptions = dict(pool.run(content_target.describe, jobs, answer=lambda job, request: questions.append(1)))
    kinds, sums, names, places = zip(*descriptions.values(), strict=True)
    assert (set(kinds), set(sums)) == ({"recarray"}, {float(np.arange(9000).sum())})
    assert all({"library.json", "composed.json", "collect.safetensors"} <= set(file_names) for file_names in names)
    assert LIBRARY not in map(Path, places)
    assert len(set(places)) <= 2, "each node has one copy of its own"


def test_a_content_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDG_CACHE_DIR", str(tmp_path))
    packer, fetched = Packer(), []
    array = np.arange(9000.0)
    data = packer.pack((array, array, tmp_path))

    def fetch(digest: str) -> bytes:
        fetched.append(digest)
        return packer.contents[digest]

    first, second, folder = unpack(data, fetch)
    assert np.array_equal(first, array)
    assert np.array_equal(second, array)
    assert folder == tmp_path
    unpack(data, fetch)
    assert len(fetched) == 1
    assert len(data) < 1000
    with pytest.raises(ValueError, match="something else"):
        keep_content("0" * 64, lambda digest: b"other bytes")


def test_a_run_folder_s_journals_and_ledgers_do_not_travel(tmp_path: Path) -> None:
    (tmp_path / "transcript.jsonl").write_text(SECRET)
    (tmp_path / "collect.safetensors").write_bytes(b"weights")
    packer = Packer()
    packed = packer.pack([tmp_path, tmp_path / "transcript.jsonl"])
    assert not any(SECRET.encode() in data for data in (packed, *packer.contents.values()))


def test_nodes_of_another_version_are_refused_by_name(pool: DaskPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "facts", lambda: {"numpy": "9.9"})
    with pytest.raises(UserError, match=r"the node tcp://\S+ has numpy .* instead of 9.9: install"):
        run_on(pool, "a")


def test_a_node_that_can_not_write_is_named(pool: DaskPool) -> None:
    def fill(dask_worker: Any) -> None:
        os.environ["SDG_CACHE_DIR"] = "/proc/nothing"

    def mend(dask_worker: Any, place: str) -> None:
        os.environ["SDG_CACHE_DIR"] = place

    places = pool.client.run(os.getenv, "SDG_CACHE_DIR")
    pool.client.run(fill)
    try:
        job = content_target.Parcel(np.zeros(9001, [("f0", "f8")]), LIBRARY)
        with pytest.raises(RunError, match="set SDG_CACHE_DIR there"):
            list(pool.run(content_target.describe, [job], answer=lambda job, request: None))
    finally:
        for address, place in places.items():
            pool.client.run(mend, place=place, workers=[address])
    assert run_on(pool, "a") == {0: "did a"}


def test_a_clock_that_is_off_changes_nothing(pool: DaskPool) -> None:
    def shift(dask_worker: Any, by: float) -> None:
        import time

        time.time = (lambda real: lambda: real() + by)(time.time)

    pool.client.run(shift, by=86400.0)
    try:
        assert run_on(pool, "a", "b") == {0: "did a", 1: "did b"}
    finally:
        pool.client.run(shift, by=-86400.0)


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdg.experiments.workers.cluster.CONNECT_SECONDS", 1)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"dask://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UserError, match="start one with `dask scheduler`") as raised:
        connect(address)
    assert "\n" not in str(raised.value)
    with pytest.raises(UserError, match="local or dask://HOST:PORT"):
        connect("ray://somewhere")


def test_a_unit_begun_too_often_is_left_out(pool: DaskPool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Name:
        hex = "known"

    monkeypatch.setattr("sdg.experiments.workers.cluster.uuid.uuid4", Name)
    for mark in ("first", "second"):
        pool.client.set_metadata(["sdg-known", 1, mark], 1)
    results = run_on(pool, "a", "b")
    assert results[0] == "did a"
    assert isinstance(results[1], LostJob)
    assert "gone 2 times" in results[1].reason
    assert pool.begun == {0: 1, 1: 3}
    assert not pool.client.get_metadata(["sdg-known"]), "the scheduler keeps no marks of a run that has ended"
