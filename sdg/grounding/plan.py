"""What a run does, and who works with it: the plan, its seeds, whoever is told of progress, whoever runs jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sdg.envs.domain import Domain
from sdg.envs.domains import domain
from sdg.induction.induce import InduceSettings
from sdg.llm.model import Sampling
from sdg.verification.verify import VerifySettings

ASKING = {"hypothesis": "hypothesize", "translate": "induce"}  # What is asked for -> the stage that asks.


class Stage(Protocol):
    """One stage under way."""

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        """`count` more units are finished, which took `steps` environment steps."""
        ...


class Progress(Protocol):
    """Whoever is told how far a run is."""

    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> AbstractContextManager[Stage]:
        """A stage of `total` units, of which `done` were finished by an earlier run."""
        ...

    def note(self, text: str) -> None:
        """Something worth a line."""
        ...


class Parallel(Protocol):
    """Whoever runs independent jobs, in any order: yields (job, result) as they finish."""

    def __call__(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Apply a module-level function to every job."""
        ...


def one_by_one(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """In this process, in order."""
    for job in jobs:
        yield job, function(job)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: `instructions` grounding instructions a level, each with up to `retries` new hypotheses.

    In each of `cycles` cycles what is not verified yet is tried again with the skills of the cycle before. The attempts
    at an instruction are numbered through: those of cycle c begin at `first_attempt(c)`. `concurrency` questions to the
    model may be under way at once.
    """

    levels: tuple[str, ...]
    instructions: int
    seed: int
    domain: Domain = field(default_factory=domain)
    retries: int = 1
    repairs: int = 2
    temperature: float = 0.0
    max_tokens: int = 16_000
    concurrency: int = 1
    training_layouts: int = 1000
    validation_layouts: int = 300
    verify: VerifySettings = field(default_factory=VerifySettings)
    induce: InduceSettings = field(default_factory=InduceSettings)
    processes: int = 1
    cycles: int = 1

    def first_attempt(self, cycle: int) -> int:
        """Number of the first attempt of a cycle (cycles count from 1, attempts from 0)."""
        return (cycle - 1) * (self.retries + 1)

    def attempts_of(self, cycle: int) -> range:
        """Numbers of all attempts that a cycle may make at one instruction."""
        return range(self.first_attempt(cycle), self.first_attempt(cycle + 1))

    def cycle_of(self, attempt: int) -> int:
        """The cycle that an attempt belongs to."""
        return attempt // (self.retries + 1) + 1

    def seed_of(self, *names: object) -> int:
        """A seed for a unit of work: a digest of the run's seed and the unit's name, below 2**31."""
        text = "/".join(map(str, (self.seed, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

    def sampling(self, *names: object) -> Sampling:
        """How a completion for a unit is drawn."""
        return Sampling(self.temperature, self.seed_of(*names), self.max_tokens, stage=ASKING.get(str(names[0]), ""))
