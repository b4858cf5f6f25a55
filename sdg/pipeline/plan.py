"""The plan of a run with its seeds, its layouts, progress callbacks and parallel jobs."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sdg.envs.batch import Layouts
from sdg.envs.domain import Domain
from sdg.envs.domains import domain
from sdg.envs.instructions import seeds
from sdg.induction.induce import InduceSettings
from sdg.induction.skill_requests import Rehearse
from sdg.llm.asking import in_order
from sdg.llm.model import LanguageModel, Sampling
from sdg.skills.practice.starts import Starts, restore
from sdg.skills.search.trial import Search
from sdg.storage import RunFolder
from sdg.verification.verify import VerifySettings

GroundingTask = tuple[str, int]
"""A grounding instruction: its level and the seed of its layout."""

Explorers = Callable[[Path, Search], Search]
"""Makes a search that uses a library's skills (a folder) in addition to the given search."""

ASKING = {"hypothesis": "hypothesize", "translate": "induce"}  # What the model is asked for -> the stage that asks.


class Stage(Protocol):
    """One stage under way."""

    def advance(self, count: int = 1, *, steps: int = 0) -> None:
        """`count` more units are finished, which took `steps` environment steps."""
        ...


class Progress(Protocol):
    """Progress callbacks of a run."""

    def stage(self, name: str, *, total: int | None, unit: str, done: int = 0) -> AbstractContextManager[Stage]:
        """A stage of `total` units, of which `done` were finished by an earlier run."""
        ...

    def note(self, text: str) -> None:
        """Something worth a line."""
        ...


Parallel = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[tuple[Any, Any]]]
"""Applies a module-level function to independent jobs, in any order: yields (job, result) as they finish."""


Ask = Callable[..., Iterator[Any]]
"""`sdg.llm.asking.in_order`, or one that asks about some of the items only and ends by an exception."""


def one_by_one(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Runs in this process, in order."""
    yield from ((job, function(job)) for job in jobs)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run: `instructions` grounding instructions a level, each with up to `retries` new hypotheses.

    Each later cycle (of `cycles`) retries what is not verified yet with the skills of the cycle before. The attempts at
    an instruction are numbered across cycles: those of cycle c begin at `first_attempt(c)`. `concurrency` questions to
    the model may be under way at once.
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
        """Sampling of a unit's completion."""
        return Sampling(self.temperature, self.seed_of(*names), self.max_tokens, stage=ASKING.get(str(names[0]), ""))


class Worlds:
    """Layouts by level and split; they are made when they are first needed."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.domain = plan, plan.domain
        self._layouts: dict[tuple[str, str], Layouts] = {}

    def tasks(self) -> list[GroundingTask]:
        """Every grounding instruction, level by level."""
        layout_seeds = seeds("grounding", count=self.plan.instructions, seed=self.plan.seed)
        return [(level, seed) for level in self.plan.levels for seed in layout_seeds]

    def layouts(self, level: str, split: str) -> Layouts:
        """The layouts of a split: "grounding", "training" to practise on, or "validation" to judge skills on."""
        if (level, split) not in self._layouts:
            plan = self.plan
            counts = {"training": plan.training_layouts, "validation": plan.validation_layouts}
            self._layouts[level, split] = self.domain.layouts(
                level,
                seeds(split, count=counts.get(split, plan.instructions), seed=plan.seed),
                workers=plan.processes,
            )
        return self._layouts[level, split]

    def mission(self, level: str, seed: int) -> str:
        """A grounding instruction in words."""
        layouts = self.layouts(level, "grounding")
        return layouts.mission(_row_of(layouts, seed))

    def start(self, level: str, seed: int) -> Starts:
        """One row: the world of a grounding instruction as `reset(seed)` leaves it."""
        layouts = self.layouts(level, "grounding")
        return Starts(
            restore(self.domain, layouts, [_row_of(layouts, seed)], actions=[()]),
            self.domain.language.row("")[None],
            (),
            np.zeros(1, np.int64),
        )


def _row_of(layouts: Layouts, seed: int) -> int:
    return int(np.flatnonzero(layouts.seeds == seed)[0])


@dataclass(frozen=True)
class Run:
    """A plan, the folder of its run, and the objects that the stages share; `ask` asks the model about instructions,
    `in_order` of them.
    """

    plan: Plan
    folder: RunFolder
    model: LanguageModel = field(kw_only=True)
    search: Search = field(kw_only=True)
    progress: Progress = field(kw_only=True)
    parallel: Parallel = field(kw_only=True, default=one_by_one)
    ask: Ask = field(kw_only=True, default=in_order)
    explorers: Explorers = field(kw_only=True, default=lambda library, search: search)
    rehearse: Rehearse | None = field(kw_only=True, default=None)

    @cached_property
    def worlds(self) -> Worlds:
        """The layouts of the plan."""
        return Worlds(self.plan)
