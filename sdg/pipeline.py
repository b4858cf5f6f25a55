"""The four stages over one run folder: what is finished is never done again, what a kill cut off begins again.

The unit of work is one hypothesis, one verification, one skill in one round. Every unit's randomness comes from the
run's seed and its own name, so a resumed run and an unbroken one agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from envs.babyai.bank import LevelBank
from envs.babyai.levels import seeds
from envs.babyai.perception import api_text
from sdg import records
from sdg.entries import library
from sdg.hypothesis import Feedback, Hypothesis
from sdg.hypothesize import HypothesisError, hypothesize
from sdg.induce import Discovery, InduceSettings, Practice, discover, practise
from sdg.llm.model import LanguageModel, Sampling
from sdg.runlog import RunFolder
from sdg.translate import translate
from sdg.verify import Verification, VerifySettings, verify
from skills.embedding import ClusterItem
from skills.experience import Experience
from skills.features import NO_TARGET
from skills.library import SkillLibrary
from skills.policy import Policy
from skills.rows import take_rows
from skills.search import Search
from skills.starts import Starts, restored
from skills.statistics import wilson_interval
from skills.training import Trained

Row = dict[str, Any]
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: `instructions` grounding instructions a level, each with up to `retries` new hypotheses."""

    levels: tuple[str, ...]
    instructions: int
    seed: int
    retries: int = 1
    repairs: int = 1
    temperature: float = 0.0
    max_tokens: int = 4000
    training_layouts: int = 1000
    validation_layouts: int = 300
    verify: VerifySettings = field(default_factory=VerifySettings)
    induce: InduceSettings = field(default_factory=InduceSettings)
    processes: int = 1

    def seed_of(self, *names: object) -> int:
        """A seed for a unit of work: a digest of the run's seed and the unit's name, below 2**31."""
        text = "/".join(map(str, (self.seed, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

    def sampling(self, *names: object) -> Sampling:
        """How a completion for a unit is drawn."""
        return Sampling(self.temperature, self.seed_of(*names), self.max_tokens, stage=ASKING.get(str(names[0]), ""))


class Parallel(Protocol):
    """Whoever runs independent jobs, in any order: yields (job, result) as they finish."""

    def __call__(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Apply a module-level function to every job."""
        ...


def one_by_one(function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """In this process, in order."""
    for job in jobs:
        yield job, function(job)


class Grounding:
    """Stages 1 to 3 of one run."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        *,
        model: LanguageModel,
        search: Search,
        progress: Progress,
        parallel: Parallel = one_by_one,
        kind_of: Callable[[ClusterItem], str] | None = None,
    ) -> None:
        self.plan, self.folder, self.model, self.search = plan, folder, model, search
        self.progress, self.parallel, self.kind_of = progress, parallel, kind_of
        self._banks: dict[tuple[str, str], LevelBank] = {}
        self._grounded: list[Row] = []

    # Stages 1 and 2 --------------------------------------------------------------------------------------------------

    def hypothesize(self, attempt: int = 0) -> list[Row]:
        """A hypothesis for every instruction that has none verified yet; rows of `hypotheses.jsonl`."""
        journal = self.folder.journal("hypotheses")
        wanted = [(level, seed) for level, seed in self._tasks() if self._still_open(level, seed, attempt)]
        missing = [task for task in wanted if f"{task[0]}/{task[1]}/{attempt}" not in journal]
        name = "hypotheses" if attempt == 0 else f"hypotheses, round {attempt + 1}"
        with self.progress.stage(name, total=len(wanted), unit="instruction", done=len(wanted) - len(missing)) as stage:
            for level, seed in missing:
                journal.append(self._hypothesis(level, seed, attempt))
                stage.advance()
        return [journal[f"{level}/{seed}/{attempt}"] for level, seed in wanted]

    def _hypothesis(self, level: str, seed: int, attempt: int) -> Row:
        instruction = self._mission(level, seed)
        head = {"unit": f"{level}/{seed}/{attempt}", "level": level, "seed": seed, "instruction": instruction}
        try:
            found = hypothesize(
                instruction,
                model=self.model,
                perception_api=api_text(),
                sampling=self.plan.sampling("hypothesis", level, seed, attempt),
                feedback=self._feedback(level, seed, attempt),
                repairs=self.plan.repairs,
            )
        except HypothesisError as error:
            return head | {"subgoals": [], "error": error.problem}
        return head | {"subgoals": records.subgoals(found), "error": ""}

    def _feedback(self, level: str, seed: int, attempt: int) -> Feedback | None:
        earlier = self.folder.journal("verifications").get(f"{level}/{seed}/{attempt - 1}")
        if earlier is None or not earlier["subgoals"]:
            return None
        failed = next((i for i, goal in enumerate(earlier["subgoals"]) if not goal["reached"]), 0)
        told = self.folder.journal("hypotheses")[earlier["unit"]]["subgoals"]
        return Feedback(tuple(goal["description"] for goal in told), failed, earlier["cause"])

    def verify(self, attempt: int = 0) -> list[Row]:
        """Search the subgoals of every hypothesis of this attempt; rows of `verifications.jsonl`."""
        journal = self.folder.journal("verifications")
        rows = [row for row in self.folder.journal("hypotheses") if row["unit"].endswith(f"/{attempt}")]
        missing = [row for row in rows if row["unit"] not in journal]
        jobs = [self._verification_job(row) for row in missing if row["subgoals"]]
        name = "verification" if attempt == 0 else f"verification, round {attempt + 1}"
        with self.progress.stage(name, total=len(rows), unit="hypothesis", done=len(rows) - len(missing)) as stage:
            for row in missing:
                if not row["subgoals"]:
                    journal.append(records.unreadable(row))
                    stage.advance()
            for job, result in self.parallel(_verify, jobs):
                journal.append(records.verification(job.unit, result))
                stage.advance(steps=result.searched_steps)
        return [journal[row["unit"]] for row in rows]

    def _verification_job(self, row: Row) -> _Verification:
        level, seed, attempt = row["level"], row["seed"], int(row["unit"].rpartition("/")[2])
        spent = sum(
            earlier["searched_steps"]
            for number in range(attempt)
            if (earlier := self.folder.journal("verifications").get(f"{level}/{seed}/{number}")) is not None
        )
        return _Verification(
            unit=row["unit"],
            hypothesis=records.hypothesis(row),
            start=self._start(level, seed),
            level=level,
            seed=seed,
            settings=self.plan.verify.less(spent),
            search=self.search,
            random_seed=self.plan.seed_of("verify", row["unit"]),
        )

    def compare(self, search: Search, name: str) -> list[Row]:
        """What another search makes of every first hypothesis, under the same count; rows of `NAME.jsonl`."""
        journal = self.folder.journal(name)
        rows = [row for row in self.folder.journal("hypotheses") if row["unit"].endswith("/0") and row["subgoals"]]
        missing = [row for row in rows if row["unit"] not in journal]
        jobs = [replace(self._verification_job(row), search=search) for row in missing]
        title = name.replace("_", " ")
        with self.progress.stage(title, total=len(rows), unit="hypothesis", done=len(rows) - len(missing)) as stage:
            for job, result in self.parallel(_verify, jobs):
                journal.append(records.verification(job.unit, result))
                stage.advance(steps=result.searched_steps)
        return [journal[row["unit"]] for row in rows]

    def ground(self) -> list[Row]:
        """Stages 1 and 2 with all their rounds; the last verification of every instruction."""
        if not self._grounded:
            self._grounded = self._all_rounds()
        return self._grounded

    def _all_rounds(self) -> list[Row]:
        for attempt in range(self.plan.retries + 1):
            self.hypothesize(attempt)
            self.verify(attempt)
        latest = {(row["level"], row["seed"]): row for row in self.folder.journal("verifications")}
        return [latest[task] for task in self._tasks()]  # not as jobs happened to finish: what follows depends on it

    def experiences(self) -> list[Experience]:
        """What the last verification of every instruction grounded."""
        return [experience for row in self.ground() for experience in records.experiences(row)]

    # Stage 3 ---------------------------------------------------------------------------------------------------------

    def discover(self) -> Discovery:
        """Translate and cluster everything grounded; recorded in `induction.json`."""
        experiences = self.experiences()
        with self.progress.stage("clustering", total=1, unit="clustering") as stage:
            calls = translate(
                [experience.subgoal.description for experience in experiences],
                model=self.model,
                sampling=self.plan.sampling("translate"),
            )
            found = discover(
                experiences, calls, self.plan.induce, seed=self.plan.seed_of("cluster"), kind_of=self.kind_of
            )
            stage.advance()
        return found

    def practise(self, found: Discovery) -> dict[int, Row]:
        """Both rounds of skill learning; rows of `skills.jsonl` of the last round, by cluster number."""
        rows: dict[int, Row] = {}
        for number in (1, 2):
            rows |= self._round(number, found, earlier=self.policies(rows))
        return rows

    def _round(self, number: int, found: Discovery, *, earlier: Mapping[int, Policy]) -> dict[int, Row]:
        journal = self.folder.journal("skills")
        units = {label: f"{number}/{label}" for label in found.members}
        missing = [label for label, unit in units.items() if unit not in journal]
        jobs = [self._practice(number, label, found=found, earlier=earlier) for label in missing]
        name = f"skills, round {number}"
        with self.progress.stage(name, total=len(units), unit="skill", done=len(units) - len(missing)) as stage:
            for job, trained in self.parallel(_practise, jobs):
                unit = units[job.label]
                journal.append(self._keep(unit, found.name(job.label), trained=trained))
                stage.advance(steps=trained.environment_steps if trained else 0)
        return {label: journal[unit] for label, unit in units.items() if not journal[unit]["skipped"]}

    def _practice(self, number: int, label: int, *, found: Discovery, earlier: Mapping[int, Policy]) -> Practice:
        levels = sorted({member.level for member in found.members[label]}) if number > 1 else []
        return Practice(
            label=label,
            members=found.members[label],
            settings=self.plan.induce.of_round(number),
            seed=self.plan.seed_of("skill", number, label),
            earlier=dict(earlier),
            training_banks={level: self._bank(level, "training", self.plan.training_layouts) for level in levels},
            validation_banks={level: self._bank(level, "validation", self.plan.validation_layouts) for level in levels},
        )

    def _keep(self, unit: str, name: str, *, trained: Trained | None) -> Row:
        """Weights first, then the row that says they are there."""
        if trained is None:
            return {
                "unit": unit,
                "name": name,
                "skipped": "no start leaves anything to be done",
                "environment_steps": 0,
            }
        records.save_policy(self.folder.path, unit, trained.policy)
        self.folder.metrics.begin(f"skill/{unit}")
        for point in trained.curve:
            self.folder.metrics.write({"skill": name} | records.point(point))
        self.folder.metrics.close()
        return {"unit": unit, "name": name, "skipped": "", "environment_steps": trained.environment_steps} | {
            "best": records.point(trained.best)
        }

    def learn(self, found: Discovery, *, reserved: Collection[str]) -> SkillLibrary:
        """Practise every cluster and put what was learned into a library. Raises ValueError when nothing was."""
        rows = self.practise(found)
        if not rows:
            raise ValueError("no skill could be learned: nothing that was grounded leaves anything to be done")
        measured = {label: self._measured(label, rows[label]) for label in rows}
        return library(
            found,
            self.policies(rows),
            measured=measured,
            reserved=reserved,
            provenance={
                "levels": list(self.plan.levels),
                "instructions_per_level": self.plan.instructions,
                "seed": self.plan.seed,
                "model": self.model.name,
                "searched_steps": sum(row["searched_steps"] for row in self.folder.journal("verifications")),
            },
        )

    def _measured(self, label: int, row: Row) -> dict[str, Any]:
        """Success on the held-out starts of the last round, and the steps of both rounds."""
        best = row["best"]
        sure = wilson_interval(round(best["validation_success"] * best["episodes"]), best["episodes"])
        spent = sum(
            earlier["environment_steps"]
            for number in (1, 2)
            if (earlier := self.folder.journal("skills").get(f"{number}/{label}")) is not None
        )
        return {
            "success_rate": best["validation_success"],
            "low": sure.low,
            "high": sure.high,
            "episodes": best["episodes"],
            "environment_steps": spent,
            "horizon": int(np.clip(2 * np.ceil(best["steps_99"]), 4, self.plan.induce.train.horizon)),
        }

    def policies(self, rows: Mapping[int, Row]) -> dict[int, Policy]:
        """The policies that rows of `skills.jsonl` speak of."""
        return {label: records.load_policy(self.folder.path, row["unit"]) for label, row in rows.items()}

    # Worlds ----------------------------------------------------------------------------------------------------------

    def _tasks(self) -> list[tuple[str, int]]:
        chosen = seeds("grounding", count=self.plan.instructions, seed=self.plan.seed)
        return [(level, seed) for level in self.plan.levels for seed in chosen]

    def _still_open(self, level: str, seed: int, attempt: int) -> bool:
        if attempt == 0:
            return True
        row = self.folder.journal("verifications").get(f"{level}/{seed}/{attempt - 1}")
        return row is not None and not row["verified"] and not self._spent(level, seed, attempt)

    def _spent(self, level: str, seed: int, attempt: int) -> bool:
        rows = (self.folder.journal("verifications").get(f"{level}/{seed}/{n}") for n in range(attempt))
        return sum(row["searched_steps"] for row in rows if row is not None) >= self.plan.verify.t_verify

    def _bank(self, level: str, split: str, count: int) -> LevelBank:
        if (level, split) not in self._banks:
            layouts = seeds(split, count=count, seed=self.plan.seed)
            self._banks[level, split] = LevelBank.build(level, layouts, workers=self.plan.processes)
        return self._banks[level, split]

    def _grounding(self, level: str, seed: int) -> tuple[LevelBank, int]:
        bank = self._bank(level, "grounding", self.plan.instructions)
        return bank, int(np.flatnonzero(bank.seeds == seed)[0])

    def _mission(self, level: str, seed: int) -> str:
        bank, layout = self._grounding(level, seed)
        return bank.mission(layout)

    def _start(self, level: str, seed: int) -> Starts:
        bank, layout = self._grounding(level, seed)
        state, memory = restored(bank, [layout], actions=[()])
        rows = np.arange(1)
        return Starts(take_rows(state, rows), take_rows(memory, rows), np.array([NO_TARGET], np.int16), (), rows)


@dataclass(frozen=True)
class _Verification:
    """A verification as a job for any process."""

    unit: str
    hypothesis: Hypothesis
    start: Starts
    level: str
    seed: int
    settings: VerifySettings
    search: Search
    random_seed: int


def _verify(job: _Verification) -> Verification:
    return verify(
        job.hypothesis,
        job.start,
        level=job.level,
        seed=job.seed,
        settings=job.settings,
        search=job.search,
        random_seed=job.random_seed,
    )


def _practise(job: Practice) -> Trained | None:
    return practise(job)
