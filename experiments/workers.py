"""Jobs in local processes through joblib; another backend is chosen by joblib's own `parallel_config`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sdg.pipeline import one_by_one

SECONDS_BETWEEN_LOOKS = 1.0


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
                delayed(_numbered)(function, number, job, home=os.getpid()) for number, job in enumerate(jobs)
            )
            for number, result in results:
                yield jobs[number], result


def _numbered(function: Callable[[Any], Any], number: int, job: Any, *, home: int) -> tuple[int, Any]:
    if os.getppid() == home:
        _end_with(home)
    return number, function(job)


@cache
def _end_with(parent: int) -> None:
    """A worker of a run that was killed ends as well, instead of idling for loky's five minutes with its pipes open."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
