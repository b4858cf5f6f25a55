"""Many machines: what an engine costs and a lost node loses.

Also measured: what a worker sees, and what leaves this machine.

    sdg bench scale --json                      everything, some ten minutes on two cores
    sdg bench scale --parts overhead,nodes      parts: overhead, nodes, busy, environment, deaths,
                                                sharing, accelerator

`overhead` is the wall-clock time beyond what the units alone take with every worker busy, as a share of the latter;
`lost_units` counts units that were begun again or given up; `equal` says whether results equal those of local processes
(or what the row's note says). `nodes` needs root for network namespaces.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.experiments.bench.options import list_option
from sdg.experiments.bench.scale.machines import SECRET, cluster, kill
from sdg.experiments.bench.scale.units import Nap, read_environment, sleep
from sdg.experiments.config.assembly import planner_of
from sdg.experiments.config.config import load, shipped_config
from sdg.experiments.play.episodes import EpisodeJob, evaluation_tasks, run_jobs
from sdg.experiments.results.comparison import SHIPPED
from sdg.experiments.workers.workers import Workers, use_workers
from sdg.storage import Journal, json_values

Row = dict[str, Any]
UNIT_SECONDS = 2.0


def rows(
    *,
    parts: Annotated[Sequence[str], list_option("what to measure")] = (
        "overhead",
        "nodes",
        "busy",
        "environment",
        "deaths",
        "sharing",
        "accelerator",
    ),
    units: Annotated[int, typer.Option(help="units of `deaths`; every tenth kills its worker")] = 1000,
    workers: Annotated[int, typer.Option(help="simulated workers of `busy`")] = 64,
) -> Iterator[Row]:
    """A row for each figure. Modules are imported only where asked for: not every machine has what they need."""
    measurements: dict[str, Callable[[], Iterator[Row]]] = {
        "overhead": _overhead,
        "nodes": _nodes,
        "busy": lambda: _busy(workers),
        "environment": _environment,
        "deaths": lambda: _deaths(units),
        # A library and 100 episodes, written in foreign formats and read back by those formats' loaders.
        "sharing": lambda: import_module("sdg.experiments.bench.scale.sharing").rows(),
        # The learner's updates on each device of this machine.
        "accelerator": lambda: import_module("sdg.experiments.bench.scale.accelerator").rows(),
    }
    columns = dict.fromkeys(("engine", "workers", "units", "overhead", "lost_units", "equal", "note"))
    for part in parts:
        yield from ({"part": part} | columns | {"lost_units": 0, "note": ""} | row for row in measurements[part]())


def _run_and_time(workers: Workers, jobs: Sequence[Any]) -> tuple[float, list[Any]]:
    began = time.monotonic()
    results = [result for _, result in sorted(workers(sleep, jobs), key=lambda pair: pair[0].number)]
    return time.monotonic() - began, results


def _overhead() -> Iterator[Row]:
    """Units of two seconds on two workers: local processes, then a cluster; both are warm."""
    jobs = [Nap(number, UNIT_SECONDS) for number in range(20)]
    ideal = UNIT_SECONDS * len(jobs) / 2
    with cluster(2) as (pool, _):
        timings = {}
        for engine in (None, pool):
            with use_workers(engine=engine):
                _run_and_time(Workers(2), [Nap(number) for number in range(4)])
                timings[engine] = _run_and_time(Workers(2), jobs)
    for name, engine in (("local", None), ("dask", pool)):
        seconds, results = timings[engine]
        yield {
            "engine": name,
            "workers": 2,
            "units": len(jobs),
            "overhead": round(seconds / ideal - 1, 4),
            "equal": results == timings[None][1],
            "note": "" if engine is None else f"{seconds / timings[None][0] - 1:.4f} of the local time more",
        }


def _nodes(episodes: int = 24) -> Iterator[Row]:
    """Episodes of the shipped library on two nodes, one of which is killed after a third of them."""
    config = load(shipped_config("tiny"))
    jobs = [
        EpisodeJob(planner_of(config, None, SHIPPED, agent="sdg"), task)
        for task in evaluation_tasks(["PutNextLocal"], instructions=episodes, repeats=1, seed=config.seed)
    ]
    with tempfile.TemporaryDirectory() as place:
        with Journal(Path(place, "local.jsonl")) as journal:
            local_results = [_result(row) for row in run_jobs(jobs, journal=journal, processes=2)]
        try:
            with cluster(2, namespaces=True) as (pool, nodes), use_workers(engine=pool):
                results: list[Any] = []

                def on_row(row: Any) -> None:
                    results.append(row)
                    if len(results) == episodes // 3:
                        kill(nodes[0])

                with Journal(Path(place, "dask.jsonl")) as journal:
                    rows_played = run_jobs(jobs, journal=journal, done=on_row)
        except OSError as error:
            yield {"engine": "dask", "workers": 2, "units": episodes, "note": str(error)}
            return
        yield {
            "engine": "dask",
            "workers": 2,
            "units": episodes,
            "lost_units": sum(pool.begun.values()) - episodes,
            "equal": [_result(row) for row in rows_played] == local_results,
            "note": "a node killed",
        }


def _result(row: Any) -> Row:
    """A row without its time."""
    return {name: value for name, value in json_values(row).items() if name != "seconds"}


def _busy(workers: int) -> Iterator[Row]:
    """Sleeping units on many workers: the share of time in which workers have a unit."""
    jobs = [Nap(number, UNIT_SECONDS) for number in range(workers * 6)]
    with cluster(1, threads=workers) as (pool, _), use_workers(engine=pool):
        _run_and_time(Workers(1), [Nap(number, UNIT_SECONDS) for number in range(workers * 2)])
        began = time.process_time()
        seconds, results = _run_and_time(Workers(1), jobs)
        parent_seconds = time.process_time() - began
    ideal = UNIT_SECONDS * len(jobs) / workers
    yield {
        "engine": "dask",
        "workers": workers,
        "units": len(jobs),
        "overhead": round(seconds / ideal - 1, 4),
        "equal": results == list(range(len(jobs))),
        "note": f"busy {ideal / seconds:.4f}; {parent_seconds:.2f} s of processor time of the parent",
    }


def _environment() -> Iterator[Row]:
    """Keys of the parent and the node that a worker finds in the environments it can read."""
    os.environ["SDG_BENCH_KEY"] = SECRET
    try:
        with cluster(1) as (pool, _):
            for name, engine in (("local", None), ("dask", pool)):
                with use_workers(engine=engine):
                    ((_, variables),) = Workers(1)(read_environment, [Nap(0)])
                keys = [text.partition("=")[0] for text in variables if SECRET in text]
                names = ", ".join(sorted({text.partition("=")[0] for text in variables if text}))
                yield {
                    "engine": name,
                    "workers": 1,
                    "units": 1,
                    "equal": not keys,
                    "note": f"keys {keys}; sees {names}",
                }
    finally:
        del os.environ["SDG_BENCH_KEY"]


def _deaths(units: int) -> Iterator[Row]:
    """Units, every tenth of which kills its worker each time it is begun; each is reported once."""
    jobs = [Nap(number, fatal=number % 10 == 9) for number in range(units)]
    with cluster(2) as (pool, _):
        for name, engine in (("local", None), ("dask", pool)):
            with use_workers(engine=engine):
                seconds, results = _run_and_time(Workers(2), jobs)
            is_lost = [str(result).startswith("lost:") for result in results]
            yield {
                "engine": name,
                "workers": 2,
                "units": units,
                "lost_units": sum(is_lost),
                "equal": all(
                    lost if job.fatal else result == job.number
                    for job, result, lost in zip(jobs, results, is_lost, strict=True)
                ),
                "note": f"{seconds:.0f} s",
            }
