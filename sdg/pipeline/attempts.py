"""Stages 1 and 2 over a run folder: attempts at instructions, each a hypothesis and its verification.

An instruction that isn't verified gets further attempts, whose prompts say where the last one failed: `Plan.retries`
more in a cycle, and new ones in the next cycle, which has skills for hypotheses and for the search (`CycleSkills`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from sdg.envs.world import ActionValue
from sdg.hypothesis.hypothesis import Feedback, Hypothesis, SubgoalRow
from sdg.hypothesis.hypothesize import HypothesisError, hypothesize
from sdg.llm.model import NotRecorded
from sdg.pipeline import records
from sdg.pipeline.plan import Run
from sdg.skills.practice.starts import Starts
from sdg.skills.search.trial import LearningSearch, ReplaySearch, Search
from sdg.skills.strict_json import decode
from sdg.skills.subgoal import CheckFunction
from sdg.storage import Rows, json_values
from sdg.verification.verify import Verification, VerifySettings, verify


@dataclass(frozen=True)
class CycleSkills:
    """The use of earlier skills in a cycle: a search for subgoals, and the prompt's text about the skills."""

    search: Search
    skills: str = ""


MIN_SHARE_LEFT = 0.2
"""Share of T_verify that has to be left for another attempt in the same cycle, after the first cycle."""


class Attempts:
    """Hypotheses and verifications of one run, in `hypotheses.jsonl` and `verifications.jsonl`."""

    def __init__(self, run: Run, *, skills_of_cycle: Callable[[int], CycleSkills]) -> None:
        self.run, self.plan, self.worlds, self.skills_of_cycle = run, run.plan, run.worlds, skills_of_cycle

    def hypothesize(self, attempt: int = 0) -> list[records.HypothesisRow]:
        """A hypothesis for every instruction that has none verified yet; rows of `hypotheses.jsonl`."""
        journal = records.hypotheses(self.run.folder)
        tasks = [(level, seed) for level, seed in self.worlds.tasks() if self._still_open(level, seed, attempt)]
        new_tasks = [task for task in tasks if f"{task[0]}/{task[1]}/{attempt}" not in journal]
        with self.run.progress.stage(
            self._title("hypotheses", attempt),
            total=len(tasks),
            unit="instruction",
            done=len(tasks) - len(new_tasks),
        ) as stage:
            for level, seed in new_tasks:
                self.worlds.mission(level, seed)  # Built here, because otherwise each thread would build the layouts.
            for row in self.run.ask(
                lambda task: self._hypothesis(task[0], task[1], attempt), new_tasks, at_once=self.plan.concurrency
            ):
                journal.append(row)
                stage.advance()
        return [journal[f"{level}/{seed}/{attempt}"] for level, seed in tasks]

    def verify(self, attempt: int = 0) -> list[Verification]:
        """Search the subgoals of every hypothesis of this attempt; rows of `verifications.jsonl`."""
        rows = [row for row in records.hypotheses(self.run.folder) if row.unit.endswith(f"/{attempt}")]
        journal = records.verifications(self.run.folder)
        records.settle_search(self.run.folder.path, (row.unit for row in journal))
        return self._search_missing(rows, journal, title=self._title("verification", attempt))

    def compare(self, search: Search, name: str) -> list[Verification]:
        """Verify every first hypothesis by another search with the same step limit; rows of `NAME.jsonl`."""
        rows = [row for row in records.hypotheses(self.run.folder) if row.unit.endswith("/0") and row.subgoals]
        journal = records.verifications(self.run.folder, name)
        return self._search_missing(rows, journal, title=name.replace("_", " "), search=search)

    def _search_missing(
        self,
        rows: Sequence[records.HypothesisRow],
        journal: Rows[Verification],
        *,
        title: str,
        search: Search | None = None,
    ) -> list[Verification]:
        """Verify the hypotheses that the journal lacks, by `search` or else their cycle's; returns the rows of all, in
        order."""
        new_rows = [row for row in rows if row.unit not in journal]
        jobs = [self._job(row, search) for row in new_rows if row.subgoals]
        outcomes = self._verify_in_turn(jobs) if any(job.in_turn for job in jobs) else self.run.parallel(_verify, jobs)
        with self.run.progress.stage(
            title, total=len(rows), unit="hypothesis", done=len(rows) - len(new_rows)
        ) as stage:
            for row in new_rows:
                if not row.subgoals:
                    journal.append(
                        _row_without_search(
                            row.unit, row.level, row.seed, row.instruction, cause=f"no hypothesis: {row.error}"
                        )
                    )
                    stage.advance()
            for _, (result, _) in outcomes:
                journal.append(result)
                stage.advance(steps=result.searched_steps)
        return [journal[row.unit] for row in rows]

    def _verify_in_turn(self, jobs: Sequence[_Job]) -> Iterator[tuple[_Job, _Outcome]]:
        """Verify each with what the search learned in those before of this round, and the policy of earlier rounds.

        The policy is kept in the run folder, beside the one before it until the row stands, which names the subgoals:
        so a killed run goes on with what was learned before the unit that it repeats.
        """
        search, folder = copy(jobs[0].search), self.run.folder.path
        assert isinstance(search, LearningSearch)
        if not search.learned[0] and records.policy_path(folder, records.SEARCH).is_file():  # from an earlier command
            policy = records.load_policy(folder, records.SEARCH, self.plan.domain, "sb3")
            round_end = "/" + jobs[0].unit.rpartition("/")[2]
            rows = [
                row for row in records.verifications(self.run.folder) if row.unit.endswith(round_end) and row.practised
            ]
            search.learned = dict(policy.weights), rows[-1].practised if rows else ()
        for job in jobs:
            for _, (result, learned) in self.run.parallel(_verify, [replace(job, search=search)]):
                search.learned = learned or search.learned
                if search.learned[0]:
                    records.save_policy(folder, f"{records.SEARCH}/{job.unit}", search.learned[0])
                yield job, (replace(result, practised=search.learned[1]), learned)
                records.settle_search(folder, [job.unit])

    def best(self, cycle: int) -> list[Verification]:
        """The result of every instruction after a cycle, in the order of the instructions, on which later stages
        depend; instructions that were never tried are left out.

        In the first cycle that is the last attempt with a hypothesis whose worker wasn't lost, or else the last. A
        later cycle replaces it if its own was verified or got at least as far.
        """
        results = []
        for level, seed in self.worlds.tasks():
            best: Verification | None = None
            for number in range(1, cycle + 1):
                rows = self._earlier(level, seed, range(self.plan.attempts_of(number).stop))[::-1]
                row = next((row for row in rows if row.subgoals), rows[0] if rows else None)
                if row is not None and (best is None or row.verified or row.reached_count >= best.reached_count):
                    best = row
            if best is not None:
                results.append(best)
        return results

    def _title(self, name: str, attempt: int) -> str:
        cycle = self.plan.cycle_of(attempt)
        number = attempt - self.plan.first_attempt(cycle) + 1
        return name + (f", cycle {cycle}" if cycle > 1 else "") + (f", round {number}" if number > 1 else "")

    def _hypothesis(self, level: str, seed: int, attempt: int) -> records.HypothesisRow:
        instruction = self.worlds.mission(level, seed)
        row = records.HypothesisRow(f"{level}/{seed}/{attempt}", level, seed, instruction, (), "")
        try:
            hypothesis = hypothesize(
                instruction,
                model=self.run.model,
                domain=self.plan.domain,
                sampling=self.plan.sampling("hypothesis", level, seed, attempt),
                feedback=self._feedback(level, seed, attempt),
                skills=self.skills_of_cycle(self.plan.cycle_of(attempt)).skills,
                repairs=self.plan.repairs,
                horizon=self.plan.induce.train.horizon,
            )
        except (HypothesisError, NotRecorded) as error:
            if isinstance(error, NotRecorded) and not attempt:
                raise
            return replace(row, error=str(error))
        goals = (SubgoalRow(goal.description, goal.check.name, goal.check.source) for goal in hypothesis.subgoals)
        return replace(row, subgoals=tuple(goals))

    def _feedback(self, level: str, seed: int, attempt: int) -> Feedback | None:
        """Feedback for the model on the last attempt or, after the first cycle, on the one that got furthest."""
        rows = self._earlier(level, seed, range(attempt))[::-1]
        earlier = rows[0] if rows else None
        if self.plan.cycle_of(attempt) > 1:
            earlier = max(rows, key=lambda row: row.reached_count, default=None)
        if earlier is None or earlier.failed_goal is None:
            return None  # There was no hypothesis, or a worker was lost, which is no goal's fault.
        goals = records.hypotheses(self.run.folder)[earlier.unit].subgoals
        return Feedback(
            tuple(goal.description for goal in goals),
            earlier.failed_goal,
            earlier.cause,
            goals[earlier.failed_goal].check,
            earlier.seen,
        )

    def _job(self, row: records.HypothesisRow, search: Search | None) -> _Job:
        """A job with this search or the cycle's; later cycles replay the actions that reached the same
        checks in earlier attempts."""
        level, seed, attempt = row.level, row.seed, int(row.unit.rpartition("/")[2])
        cycle, settings = self.plan.cycle_of(attempt), self.plan.verify
        search = self.skills_of_cycle(cycle).search if search is None else search
        return _Job(
            unit=row.unit,
            hypothesis=row.hypothesis(),
            start=self.worlds.start(level, seed),
            level=level,
            seed=seed,
            settings=replace(settings, t_verify=max(0, settings.t_verify - self._steps_spent(level, seed, attempt))),
            search=search if cycle == 1 else ReplaySearch(_replays(self._earlier(level, seed, range(attempt))), search),
            random_seed=self.plan.seed_of("verify", row.unit),
        )

    def _still_open(self, level: str, seed: int, attempt: int) -> bool:
        """Whether another attempt is worth it: the one before failed, and left enough of T_verify in its cycle."""
        cycle = self.plan.cycle_of(attempt)
        begins_cycle = attempt == self.plan.first_attempt(cycle)
        rows = self._earlier(level, seed, range(attempt) if begins_cycle else range(attempt - 1, attempt))
        if attempt == 0 or not rows or rows[-1].verified:
            return attempt == 0
        reserve = 0 if cycle == 1 else MIN_SHARE_LEFT * self.plan.verify.t_verify
        return begins_cycle or self._steps_spent(level, seed, attempt) + reserve < self.plan.verify.t_verify

    def _steps_spent(self, level: str, seed: int, attempt: int) -> int:
        """Steps searched for the earlier attempts of the same cycle: T_verify holds per instruction and cycle."""
        earlier = range(self.plan.first_attempt(self.plan.cycle_of(attempt)), attempt)
        return sum(row.searched_steps for row in self._earlier(level, seed, earlier))

    def _earlier(self, level: str, seed: int, attempts: range) -> list[Verification]:
        rows = (records.verifications(self.run.folder).get(f"{level}/{seed}/{number}") for number in attempts)
        return [row for row in rows if row is not None]


def _replays(rows: Sequence[Verification]) -> dict[CheckFunction, tuple[tuple[ActionValue, ...], ...]]:
    """Check -> the lists of actions that reached it in these attempts, the latest first."""
    by_check: dict[CheckFunction, dict[tuple[ActionValue, ...], None]] = {}
    for row in reversed(rows):
        for goal in row.subgoals:
            if goal.reached:
                by_check.setdefault(goal.subgoal().check, {})[goal.actions] = None
    return {check: tuple(lists) for check, lists in by_check.items()}


_Outcome = tuple[Verification, Any]
"""The verification of a hypothesis, and what its search has learned by then: None if it doesn't learn."""


@dataclass(frozen=True)
class _Job:
    """A verification as a job for any process: the arguments of `verify`."""

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
        """The generated code that it runs, because a banned check isn't run again."""
        return tuple(goal.check.source for goal in self.hypothesis.subgoals)

    @property
    def in_turn(self) -> bool:
        """Whether it begins with what the search learned in jobs before it."""
        return isinstance(self.search, LearningSearch)

    def receive(self, outcome: Any) -> _Outcome:
        """Its worker's outcome. Raises ValueError unless it is a row for this hypothesis."""
        result, learned = outcome
        row = decode(Verification, json_values(result))
        expected = (self.unit, self.level, self.seed, self.hypothesis.instruction)
        fits = isinstance(result, Verification) and isinstance(learned, tuple | None)
        if (row.unit, row.level, row.seed, row.instruction) != expected or not fits:
            raise ValueError(f"a row of {row.unit!r:.80}, not {self.unit!r:.80}")
        return result, learned

    def on_lost(self, reason: str) -> _Outcome:
        """The outcome if its worker hung or died."""
        cause = f"worker lost: {reason}"
        return _row_without_search(self.unit, self.level, self.seed, self.hypothesis.instruction, cause), None


def _row_without_search(unit: str, level: str, seed: int, instruction: str, cause: str) -> Verification:
    """The row of a hypothesis that was not searched, and why."""
    return Verification(
        unit=unit,
        level=level,
        seed=seed,
        instruction=instruction,
        verified=False,
        searched_steps=0,
        replayed_steps=0,
        cause=cause,
        agreement=None,
        subgoals=(),
    )


def _verify(job: _Job) -> _Outcome:
    search = copy(job.search)  # A copy, so that levels in one process don't share what it learns.
    return verify(**{**vars(job), "search": search}), getattr(search, "learned", None)
