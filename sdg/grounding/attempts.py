"""Stages 1 and 2 over a run folder: attempts at instructions, each a hypothesis and its verification.

An instruction that isn't verified gets another attempt, told where the last one failed: `Plan.retries` more in a cycle,
and new ones in the next cycle, when there are skills to make hypotheses with and to search with (`Help`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce

from sdg.grounding import records
from sdg.grounding.layouts import Task, Worlds
from sdg.grounding.plan import Parallel, Plan, Progress
from sdg.grounding.records import HypothesisRow, VerificationRow, hypotheses, verifications
from sdg.hypothesis.hypothesis import Feedback, Hypothesis
from sdg.hypothesis.hypothesize import HypothesisError, hypothesize
from sdg.llm.asking import in_order
from sdg.llm.model import LanguageModel
from sdg.run import RunFolder
from sdg.skills.practice.starts import Starts
from sdg.skills.search.replay_search import ReplaySearch
from sdg.skills.search.search import Search
from sdg.skills.subgoal import CheckFunction
from sdg.verification.verify import Verification, VerifySettings, verify


@dataclass(frozen=True)
class Help:
    """What a cycle begins with: how subgoals are searched, and what the prompt says of the skills there are."""

    search: Search
    skills: str = ""


WORTH_AN_ATTEMPT = 0.2
"""Share of T_verify that has to be left for another attempt in the same cycle, after the first cycle."""


_GOAL = re.compile(r"goal (\d+)")
"""Where a verification's cause names the goal that it is about."""


class Attempts:
    """Hypotheses and verifications of one run, in `hypotheses.jsonl` and `verifications.jsonl`."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        worlds: Worlds,
        *,
        model: LanguageModel,
        progress: Progress,
        parallel: Parallel,
        help_of: Callable[[int], Help],
    ) -> None:
        self.plan, self.folder, self.worlds, self.model = plan, folder, worlds, model
        self.progress, self.parallel, self.help_of = progress, parallel, help_of

    def hypothesize(self, attempt: int = 0) -> list[HypothesisRow]:
        """A hypothesis for every instruction that has none verified yet; rows of `hypotheses.jsonl`."""
        journal = hypotheses(self.folder)
        wanted = [(level, seed) for level, seed in self.worlds.tasks() if self._still_open(level, seed, attempt)]
        missing = [task for task in wanted if f"{task[0]}/{task[1]}/{attempt}" not in journal]
        name = self._title("hypotheses", attempt)
        with self.progress.stage(name, total=len(wanted), unit="instruction", done=len(wanted) - len(missing)) as stage:
            for level, seed in missing:
                self.worlds.mission(level, seed)  # Layouts are built here: each of several threads would build them.
            ask = lambda task: self._hypothesis(task[0], task[1], attempt)  # noqa: E731
            for row in in_order(ask, missing, at_once=self.plan.concurrency):
                journal.append(row)
                stage.advance()
        return [journal[f"{level}/{seed}/{attempt}"] for level, seed in wanted]

    def verify(self, attempt: int = 0) -> list[VerificationRow]:
        """Search the subgoals of every hypothesis of this attempt; rows of `verifications.jsonl`."""
        rows = [row for row in hypotheses(self.folder) if row.unit.endswith(f"/{attempt}")]
        return self._searched(rows, "verifications", title=self._title("verification", attempt), job_of=self._job)

    def compare(self, search: Search, name: str, *, learns: bool = False) -> list[VerificationRow]:
        """What another search makes of every first hypothesis, under the same count; rows of `NAME.jsonl`.

        One that `learns` searches the hypotheses of a level one after the other, and all again when one is missing.
        """
        rows = [row for row in hypotheses(self.folder) if row.unit.endswith("/0") and row.subgoals]
        title, job_of = name.replace("_", " "), lambda row: replace(self._job(row), search=search)
        if not learns:
            return self._searched(rows, name, title=title, job_of=job_of)
        journal = verifications(self.folder, name)
        levels = dict.fromkeys(row.level for row in rows if row.unit not in journal)
        chains = [_Chain(tuple(job_of(row) for row in rows if row.level == level)) for level in levels]
        done = sum(row.unit in journal for row in rows)
        with self.progress.stage(title, total=len(rows), unit="hypothesis", done=done) as stage:
            for chain, results in self.parallel(_verify_in_order, chains):
                for job, result in zip(chain.jobs, results, strict=True):
                    if job.unit not in journal:
                        journal.append(records.verification_row(job.unit, result))
                        stage.advance(steps=result.searched_steps)
        return [journal[row.unit] for row in rows]

    def _searched(
        self, rows: Sequence[HypothesisRow], name: str, *, title: str, job_of: Callable[[HypothesisRow], _Job]
    ) -> list[VerificationRow]:
        """Verify the hypotheses that the journal `name` lacks; its rows of all of them, in their order."""
        journal = verifications(self.folder, name)
        missing = [row for row in rows if row.unit not in journal]
        jobs = [job_of(row) for row in missing if row.subgoals]
        with self.progress.stage(title, total=len(rows), unit="hypothesis", done=len(rows) - len(missing)) as stage:
            for row in missing:
                if not row.subgoals:
                    journal.append(records.unreadable(row))
                    stage.advance()
            for job, result in self.parallel(_verify, jobs):
                journal.append(records.verification_row(job.unit, result))
                stage.advance(steps=result.searched_steps)
        return [journal[row.unit] for row in rows]

    def best(self, cycle: int) -> list[VerificationRow]:
        """What every instruction comes to after a cycle, in the order of the instructions (`best_of`)."""
        return best_of(verifications(self.folder).get, self.worlds.tasks(), plan=self.plan, cycle=cycle)

    def _title(self, name: str, attempt: int) -> str:
        cycle = self.plan.cycle_of(attempt)
        number = attempt - self.plan.first_attempt(cycle) + 1
        parts = [name, *([f"cycle {cycle}"] if cycle > 1 else []), *([f"round {number}"] if number > 1 else [])]
        return ", ".join(parts)

    def _hypothesis(self, level: str, seed: int, attempt: int) -> HypothesisRow:
        instruction = self.worlds.mission(level, seed)
        row = HypothesisRow(f"{level}/{seed}/{attempt}", level, seed, instruction, (), "")
        try:
            found = hypothesize(
                instruction,
                model=self.model,
                domain=self.plan.domain,
                sampling=self.plan.sampling("hypothesis", level, seed, attempt),
                feedback=self._feedback(level, seed, attempt),
                skills=self.help_of(self.plan.cycle_of(attempt)).skills,
                repairs=self.plan.repairs,
            )
        except HypothesisError as error:
            return replace(row, error=error.problem)
        return replace(row, subgoals=records.subgoal_rows(found))

    def _feedback(self, level: str, seed: int, attempt: int) -> Feedback | None:
        earlier = self._told(level, seed, attempt)
        told = hypotheses(self.folder)[earlier.unit].subgoals if earlier else ()
        named = _GOAL.search(earlier.cause) if earlier else None
        if earlier is None or named is None or not told:
            return None  # a lost worker is no goal's fault
        failed = int(named[1]) - 1
        check = told[failed].check if failed < len(told) else ""
        return Feedback(tuple(goal.description for goal in told), failed, earlier.cause, check, earlier.seen)

    def _told(self, level: str, seed: int, attempt: int) -> VerificationRow | None:
        """The attempt that the model is told of: the last one; after the first cycle the one that got furthest."""
        if self.plan.cycle_of(attempt) == 1:
            return self._latest(level, seed, attempt)
        rows = (self._row(level, seed, number) for number in reversed(range(attempt)))
        return max((row for row in rows if row is not None), key=lambda row: row.reached, default=None)

    def _job(self, row: HypothesisRow) -> _Job:
        level, seed, attempt = row.level, row.seed, int(row.unit.rpartition("/")[2])
        return _Job(
            unit=row.unit,
            hypothesis=row.hypothesis(),
            start=self.worlds.start(level, seed),
            level=level,
            seed=seed,
            settings=self.plan.verify.less(self._spent(level, seed, attempt)),
            search=self._search(level, seed, attempt),
            random_seed=self.plan.seed_of("verify", row.unit),
        )

    def _search(self, level: str, seed: int, attempt: int) -> Search:
        """The cycle's search; after the first cycle it plays again what reached the same checks in earlier attempts."""
        cycle = self.plan.cycle_of(attempt)
        search = self.help_of(cycle).search
        rows = (self._row(level, seed, number) for number in range(attempt))
        return search if cycle == 1 else ReplaySearch(_known([row for row in rows if row is not None]), search)

    def _still_open(self, level: str, seed: int, attempt: int) -> bool:
        if attempt == 0:
            return True
        if attempt == self.plan.first_attempt(self.plan.cycle_of(attempt)):
            row = self._latest(level, seed, attempt)
            return row is not None and not row.verified
        row = self._row(level, seed, attempt - 1)
        return row is not None and not row.verified and not self._is_spent(level, seed, attempt)

    def _is_spent(self, level: str, seed: int, attempt: int) -> bool:
        needed = 0 if self.plan.cycle_of(attempt) == 1 else WORTH_AN_ATTEMPT * self.plan.verify.t_verify
        return self._spent(level, seed, attempt) + needed >= self.plan.verify.t_verify

    def _spent(self, level: str, seed: int, attempt: int) -> int:
        """Steps searched for the earlier attempts of the same cycle: T_verify is for an instruction and a cycle."""
        earlier = range(self.plan.first_attempt(self.plan.cycle_of(attempt)), attempt)
        rows = (self._row(level, seed, number) for number in earlier)
        return sum(row.searched_steps for row in rows if row is not None)

    def _row(self, level: str, seed: int, attempt: int) -> VerificationRow | None:
        return verifications(self.folder).get(f"{level}/{seed}/{attempt}")

    def _latest(self, level: str, seed: int, before: int) -> VerificationRow | None:
        return latest(verifications(self.folder).get, (level, seed), before=before)


def best_of(
    row_of: Callable[[str], VerificationRow | None], tasks: Sequence[Task], *, plan: Plan, cycle: int
) -> list[VerificationRow]:
    """What every task comes to after a cycle, in the order of the tasks: what follows depends on it.

    In the first cycle that is the last attempt. A later cycle replaces it where its own last attempt was verified or
    got at least as far. `row_of` gives the verification of a unit, None for one that there isn't; tasks that were never
    tried are left out.
    """
    found = []
    for task in tasks:
        tries = [latest(row_of, task, before=plan.attempts_of(number).stop) for number in range(1, cycle + 1)]
        rows = [row for row in tries if row is not None]
        found += [reduce(_further, rows)] if rows else []
    return found


def latest(row_of: Callable[[str], VerificationRow | None], task: Task, *, before: int) -> VerificationRow | None:
    """The verification of the last attempt at a task among those numbered below `before`."""
    rows = (row_of(f"{task[0]}/{task[1]}/{attempt}") for attempt in reversed(range(before)))
    return next((row for row in rows if row is not None), None)


def _known(rows: Sequence[VerificationRow]) -> dict[CheckFunction, tuple[tuple[int, ...], ...]]:
    """Check -> the lists of actions that reached it in these attempts, the latest first."""
    known: dict[CheckFunction, dict[tuple[int, ...], None]] = {}
    for row in reversed(rows):
        for goal in row.subgoals:
            if goal.reached:
                known.setdefault(goal.subgoal().check, {})[goal.actions] = None
    return {check: tuple(lists) for check, lists in known.items()}


def _further(row: VerificationRow, last: VerificationRow) -> VerificationRow:
    return last if last.verified or last.reached >= row.reached else row


@dataclass(frozen=True)
class _Job:
    """A verification as a job for any process."""

    unit: str
    hypothesis: Hypothesis
    start: Starts
    level: str
    seed: int
    settings: VerifySettings
    search: Search
    random_seed: int

    @property
    def sources(self) -> tuple[str, ...]:
        """The generated code that it runs: a banned check isn't asked again."""
        return tuple(goal.check.source for goal in self.hypothesis.subgoals)

    def lost(self, reason: str) -> Verification:
        """What became of a hypothesis whose worker hung or died."""
        return Verification(self.hypothesis, self.level, self.seed, False, (), 0, 0, f"worker lost: {reason}")


def _verify(job: _Job) -> Verification:
    return verify(
        job.hypothesis,
        job.start,
        level=job.level,
        seed=job.seed,
        settings=job.settings,
        search=job.search,
        random_seed=job.random_seed,
    )


@dataclass(frozen=True)
class _Chain:
    """The verifications of a level, one after the other with one search, which may learn from one to the next."""

    jobs: tuple[_Job, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The generated code that they run."""
        return tuple(source for job in self.jobs for source in job.sources)

    def lost(self, reason: str) -> list[Verification]:
        """What became of the hypotheses when their worker hung or died."""
        return [job.lost(reason) for job in self.jobs]


def _verify_in_order(chain: _Chain) -> list[Verification]:
    search = copy(chain.jobs[0].search)  # What it learns in another level of this process stays there.
    return [_verify(replace(job, search=search)) for job in chain.jobs]
