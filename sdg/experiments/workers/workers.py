"""The one way to run jobs: in supervised local processes, or by an engine for many machines (`use_workers`).

A lost job is banned and reported, and the run goes on.
"""

import atexit
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sdg.envs.domains import DOMAINS
from sdg.errors import SDGError, UserError
from sdg.experiments.workers import compiled
from sdg.llm.asking import in_order
from sdg.sandbox.process.bans import Bans
from sdg.sandbox.process.board import digest
from sdg.sandbox.process.pool import POOL_LIMITS, LostJob, Patience, Pool
from sdg.skills.learners import LEARNERS

A = TypeVar("A")
B = TypeVar("B")

BANNED = "banned.json"

RESULTS = frozenset(
    {
        "sdg.deduction.composed:ComposedCall",
        "sdg.deduction.episode:Episode",
        "sdg.deduction.episode:Interaction",
        "sdg.deduction.program:Call",
        "sdg.gate.executor:Command",
        "sdg.gate.executor:Verdict",
        "sdg.hypothesis.hypothesis:Hypothesis",
        "sdg.skills.learning.train:SkillEvaluation",
        "sdg.skills.learning.train:Point",
        "sdg.skills.learning.train:TrainingResult",
        "sdg.skills.practice.agreement:Agreement",
        "sdg.skills.subgoal:CheckFunction",
        "sdg.skills.subgoal:Subgoal",
        "sdg.verification.verify:SearchedSubgoal",
        "sdg.verification.verify:Verification",
    }
)
"""Dataclasses that a job may return, rebuilt here from their fields."""

ERRORS = frozenset(
    {
        "sdg.envs.babyai.engine.bank:BankError",
        "sdg.envs.babyai.engine.layouts:LayoutError",
        "sdg.errors:UserError",
        "sdg.llm.model:BudgetExceeded",
        "sdg.llm.model:ModelError",
        "sdg.llm.model:NotRecorded",
        "sdg.storage.files:RunError",
        "sdg.storage.files:RunFolderError",
        "sdg.skills.library.library:LibraryError",
        "sdg.sandbox.guard.errors:Refused",
    }
)
"""Our exceptions that a job may raise here; others become RuntimeErrors with their names."""


class JobLost(SDGError, RuntimeError):
    """A job was given up, and nothing can replace its result."""


class ShardFinished(Exception):
    """This shard's part of a stage is done, and the next stage needs the other shards' parts."""


class Engine(Protocol):
    """Runs jobs on machines of its own."""

    def run(
        self,
        function: Callable[[Any], Any],
        jobs: Sequence[Any],
        *,
        answer: Callable[[Any, Any], Any],
        patience: Patience,
    ) -> Iterator[tuple[int, Any]]:
        """(number of the job, result, or `LostJob`) as they finish; `answer(job, request)` answers what a job asks."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Where jobs run (None: in local processes), and which shard of them: its number from 1, and how many there are."""

    engine: Engine | None = None
    shard: tuple[int, int] | None = None

    def has(self, unit: str) -> bool:
        """Whether a unit belongs to this shard: by a digest of its name, so that all shards agree."""
        number, of = self.shard or (1, 1)
        return int.from_bytes(hashlib.sha256(unit.encode()).digest()[:8], "big") % of == number - 1


_choice = Choice()


@contextlib.contextmanager
def use_workers(*, engine: Engine | None = None, shard: tuple[int, int] | None = None) -> Iterator[None]:
    """Choose where this process's jobs run, and which shard of them, while the context lasts."""
    global _choice
    before, _choice = _choice, Choice(engine, shard)
    try:
        yield
    finally:
        _choice = before


@dataclass(frozen=True, slots=True)
class Workers:
    """`processes` jobs at a time, one thread each: more would spin-wait on shared cores.

    With a run's `folder`, lost jobs and their code are kept in its `banned.json`. Workers write only below `writes`. A
    job's method `answer(request)` answers its questions (`sdg.sandbox.process.line`) in this process. Its
    `receive(result)` checks and returns the worker's result; if it raises, the job is lost.
    """

    processes: int
    folder: Path | None = None
    writes: tuple[Path, ...] = ()
    patience: Patience = field(default_factory=Patience)

    def __call__(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """(job, result) as they finish. An error of a job ends the others and is raised here.

        If a job loses its worker or holds banned code, its `on_lost(reason)` gives the result. Raises `JobLost` for a
        job without that method, BansError for an unreadable list of bans, UserError in a shard for jobs that are
        `in_turn`, and at the end ShardFinished if some jobs belong to other shards.
        """
        if compiled.in_this_process():
            yield from ((job, function(job)) for job in jobs)
            return
        if _choice.shard is not None and any(getattr(job, "in_turn", False) for job in jobs):
            raise UserError(
                "each unit of this stage begins with what the last one learned (verify.method): "
                "leave --shard out until it is done"
            )
        own_jobs = [job for job in jobs if _choice.shard is None or _choice.has(job.unit)]
        yield from self._run(function, own_jobs)
        _finish_shard(len(own_jobs), len(jobs))

    def _run(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        bans = Bans(self.folder / BANNED if self.folder else None)
        runnable = []
        for job in jobs:
            if reason := bans.reason(getattr(job, "sources", ())):
                yield job, _result_of_lost(job, f"its code is banned: {reason}")
            else:
                runnable.append(job)
        if not runnable:
            return
        if _choice.engine is not None and not self.writes:  # jobs that write use folders of this machine
            run: Callable[..., Iterator[tuple[int, Any]]] = partial(_choice.engine.run, patience=self.patience)
        else:
            if function.__module__.startswith("sdg."):
                compiled.ensure()
            run = partial(_run_in_pool, self)
        if function.__module__.startswith("sdg."):
            function = _Named(function, frozenset(DOMAINS.named), frozenset(LEARNERS.named))
        for number, result in run(function, runnable, answer=lambda job, request: job.answer(request)):
            job = runnable[number]
            if hasattr(job, "receive") and not isinstance(result, LostJob):
                try:
                    result = job.receive(result)
                except Exception as error:  # a worker can send anything
                    result = LostJob(f"its worker sent what is no result of it: {error}"[:300], hung=False)
            if isinstance(result, LostJob):
                bans.add(result.code or digest(f"job {getattr(job, 'unit', job)!r:.200}"), reason=result.reason)
                result = _result_of_lost(job, result.reason)
            yield job, result


def ask_own(function: Callable[[A], B], items: Sequence[A], *, at_once: int) -> Iterator[B]:
    """`in_order` for the items of this shard: a model that samples answers each shard's question differently.

    Raises ShardFinished at the end if some belong to other shards.
    """
    own_items = [item for item in items if _choice.has(str(item))]
    yield from in_order(function, own_items, at_once=at_once)
    _finish_shard(len(own_items), len(items))


def require_own(unit: str) -> None:
    """Raises ShardFinished for a unit that belongs to another shard."""
    _finish_shard(int(_choice.has(unit)), 1)


def _finish_shard(done: int, of: int) -> None:
    if done < of:
        raise ShardFinished(f"{done} of {of} units are of this shard")


@dataclass(frozen=True, slots=True)
class _Named:
    """A function that lets files in the worker name what they may name in this process (`Registry.allow`)."""

    function: Callable[[Any], Any]
    domains: frozenset[str]
    learners: frozenset[str]

    def __call__(self, job: Any) -> Any:
        DOMAINS.named |= self.domains
        LEARNERS.named |= self.learners
        return self.function(job)


def _result_of_lost(job: Any, reason: str) -> Any:
    if not hasattr(job, "on_lost"):
        raise JobLost(f"a job was given up: {reason}")
    return job.on_lost(reason)


def _run_in_pool(
    workers: Workers, function: Callable[[Any], Any], jobs: Sequence[Any], *, answer: Callable[[Any, Any], Any]
) -> Iterator[tuple[int, Any]]:
    """`Pool.run` in processes that are kept for the next stage, because importing and compiling takes seconds.

    Idle processes of another run, half a gigabyte each, are ended.
    """
    with _giving:
        if workers not in _pools:
            for idle_workers in [key for key, pool in _pools.items() if pool.idle]:
                _pools.pop(idle_workers).close()
            limits = replace(POOL_LIMITS, writes_below=tuple(str(folder.resolve()) for folder in workers.writes))
            _pools[workers] = Pool(
                workers.processes, results=RESULTS | ERRORS, limits=limits, patience=workers.patience
            )
        return _pools[workers].run(function, jobs, answer=answer)


_pools: dict[Workers, Pool] = {}
_giving = threading.Lock()
"""Held while a pool is given to a run: runs side by side (`sdg sweep --at-once`) are threads."""


@atexit.register
def _close() -> None:
    while _pools:
        _pools.popitem()[1].close()
