"""Jobs in local processes through joblib; another backend is chosen by joblib's own `parallel_config`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.pipeline import one_by_one


@dataclass(frozen=True, slots=True)
class Workers:
    """`processes` jobs at a time, one thread each: more would spin-wait on shared cores."""

    processes: int

    def __call__(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """(job, result) as they finish. What a job raises ends the others and is raised here."""
        if self.processes == 1 or len(jobs) < 2:
            yield from one_by_one(function, jobs)
            return
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", inner_max_num_threads=1):
            results = Parallel(n_jobs=self.processes, return_as="generator_unordered")(
                delayed(_numbered)(function, number, job) for number, job in enumerate(jobs)
            )
            for number, result in results:
                yield jobs[number], result


def _numbered(function: Callable[[Any], Any], number: int, job: Any) -> tuple[int, Any]:
    return number, function(job)
