"""A run from its config: the objects are built here, the stages do the work, the tables come out as rows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sdg.experiments.cli.errors import UserError
from sdg.experiments.cli.show import skills
from sdg.experiments.config.assembly import (
    LIBRARY,
    explorers_of,
    language_model,
    library_of,
    plan_of,
    recipes,
    reserved,
    search_of,
    settings_of,
)
from sdg.experiments.config.config import RunConfig, find_config, load
from sdg.experiments.play.episodes import Played, evaluation_tasks, run_jobs, with_bot_steps
from sdg.experiments.run import compiled
from sdg.experiments.run.accounts import ACCOUNTS, accounts, of_library
from sdg.experiments.run.rehearsals import Rehearsals
from sdg.experiments.run.workers import BANNED, Workers
from sdg.experiments.table.rows import summarise
from sdg.grounding.records import HypothesisRow, VerificationRow, verifications
from sdg.induction.induce import Discovery
from sdg.llm.registry import is_rule_based
from sdg.pipeline import Grounding, Progress
from sdg.run import RunError, RunFolder, plain
from sdg.skills.library.store import save_library
from sdg.skills.sandbox.process.bans import Bans
from sdg.skills.search.search import RandomSearch

Row = Mapping[str, Any]
T = TypeVar("T")


def run(config: RunConfig, folder: RunFolder, *, until: str, progress: Progress) -> Iterable[Row]:
    """Do what is missing in the folder up to and including a stage; the stage's table as rows."""
    return _Run(config, folder, progress).until(until)


def grounded_run(name: str, place: Path, *, progress: Progress, seed: int | None = None) -> Path:
    """Ground and learn by a config in a folder of its own, or go on with it; nothing where its library is there.

    Raises UserError when that library was trained with another config than it is now.
    """
    config = load(find_config(name), seed=seed)
    if (place / LIBRARY / "library.json").is_file():
        if load(place / "config.yaml") != config:
            raise UserError(f"{place} was trained with another config than {name} is now: name another --out")
        return place
    progress.note(f"{name}: {place}")
    with RunFolder.start(place, settings_of(config)) as folder:
        run(config, folder, until="induce", progress=progress)
    return place


SHOWN = (
    *("level", "agent", "success_rate", "low", "high", "episodes"),
    *("median_steps", "steps_to_bot", "llm_calls", "tokens", "new_texts"),
)
"""Columns of the table that is printed; results.json has all."""


class _Run:
    """One run on its way through the stages; seconds of each stage are added up over resumptions."""

    def __init__(self, config: RunConfig, folder: RunFolder, progress: Progress) -> None:
        self.config, self.folder, self.progress = config, folder, progress
        if not (compiled.in_this_process() or compiled.are_there()):
            progress.note("compiling kernels, once for this version and machine (about half a minute)")
            compiled.ensure()
        kept = folder.read_json("results.json") or {}
        self.stages: dict[str, dict[str, Any]] = dict(kept.get("stages", {}))
        self.model = language_model(config, folder.path)
        self.grounding = Grounding(
            plan_of(config),
            folder,
            model=self.model,
            search=search_of(config),
            progress=progress,
            parallel=Workers(config.processes, folder=folder.path),
            kind_of=_true_kinds if is_rule_based(config.model.kind) else None,
            explorers=explorers_of(config),
            rehearse=Rehearsals(config, folder, progress) if config.induce.rehearsals else None,
        )

    def until(self, stage: str) -> list[Row]:
        """The rows of the stage asked for."""
        if stage == "hypothesize":
            return self._timed("hypothesize", lambda: _hypothesis_rows(self.grounding.hypothesize()))
        self._timed("hypothesize", self.grounding.hypothesize)
        self._timed("verify", self.grounding.ground)
        verified = self._timed("random search", self._verify)
        if stage == "verify":
            return verified
        rows = self._timed("induce", lambda: self._induce(1))
        for cycle in range(2, self.config.cycles + 1):
            self.grounding.seed_cycle_with_library(self._library(cycle - 1), cycle=cycle)
            self._timed(f"verify, cycle {cycle}", partial(self.grounding.ground, cycle))
            rows = self._timed(f"induce, cycle {cycle}", partial(self._induce, cycle))
        if stage == "induce":
            return rows
        return self._timed("solve", lambda: self._solve(everyone=stage == "run"))

    def _verify(self, cycle: int = 1) -> list[Row]:
        """The table of verification as it stands after a cycle; first tries and their steps are the first cycle's."""
        grounded = self.grounding.ground(cycle)
        compared = self.grounding.compare(RandomSearch(self.config.verify.search), "random_search")
        firsts = [row for row in verifications(self.folder) if row.unit.endswith("/0")]
        return verification_rows(grounded, firsts=firsts, compared=compared)

    def _timed(self, stage: str, work: Callable[[], T]) -> T:
        began, spent = time.monotonic(), _cpu_seconds()
        try:
            return work()
        finally:
            kept = {"seconds": 0.0, "cpu_seconds": 0.0} | self.stages.get(stage, {})
            kept["seconds"] = round(kept["seconds"] + time.monotonic() - began, 2)
            kept["cpu_seconds"] = round(kept["cpu_seconds"] + _cpu_seconds() - spent, 2)
            self.stages[stage] = kept
            self._write({})

    def _write(self, results: dict[str, Any]) -> None:
        kept = self.folder.read_json("results.json") or {}
        description = self.folder.read_json("run.json") or {}
        banned = Bans(self.folder.path / BANNED).report()
        about: dict[str, Any] = {"banned": dict(banned)} if banned else {}
        about |= {key: description.get(key) for key in ("seed", "command", "git", "versions")}
        rest = {key: value for key, value in kept.items() if key != "schema"}
        self.folder.write_json("results.json", rest | about | {"stages": self.stages} | results)

    def _induce(self, cycle: int) -> list[Row]:
        place = self._library(cycle)
        if not (place / "library.json").exists():
            if not self.grounding.experiences(cycle):
                raise RunError(
                    "no subgoal was ever reached, so there is nothing to learn skills from; "
                    f"`sdg show {self.folder.path}` shows why. "
                    "A better model, more instructions or a larger verify.t_verify in a new run folder may help."
                )
            found = self.grounding.discover(cycle)
            self._record_clusters(found, cycle)
            began = _cpu_seconds()
            learned = self.grounding.learn(found, reserved=reserved(self.config), cycle=cycle)
            now = {"induce now": {"cpu_seconds": _cpu_seconds() - began}}
            spent = accounts(self.folder.path, self.config, stages=self.stages | now)
            self._write({ACCOUNTS: spent})
            save_library(replace(learned, provenance={**learned.provenance, ACCOUNTS: of_library(spent)}), place)
        return skills(place)

    def _library(self, cycle: int) -> Path:
        """Where a cycle's skills are; those of the last cycle are the run's."""
        return library_of(self.folder.path, cycle=cycle, cycles=self.config.cycles)

    def _record_clusters(self, found: Discovery, cycle: int) -> None:
        last = cycle == self.config.cycles
        self.folder.write_json("induction.json" if last else f"induction-{cycle}.json", found.to_json())

    def _solve(self, *, everyone: bool) -> list[Row]:
        evaluate = self.config.evaluate
        tasks = evaluation_tasks(
            self.config.levels,
            instructions=evaluate.instructions,
            repeats=evaluate.repeats,
            seed=self.config.seed,
            world=self.config.world,
        )
        journal, processes = self.folder.journal("episodes"), self.config.processes
        played: list[Played] = []
        for recipe in recipes(self.config, self.folder.path, everyone=everyone):
            done = sum(task.unit(recipe.agent) in journal for task in tasks)
            name = f"episodes of {recipe.agent}"
            with self.progress.stage(name, total=len(tasks), unit="episode", done=done) as stage:
                jobs = with_bot_steps(recipe, tasks, journal=journal, processes=processes)
                played += run_jobs(
                    jobs, journal=journal, processes=processes, done=lambda row: stage.advance(steps=row.steps)
                )
        known = {row.instruction for row in self.grounding.ground()}
        rows = [plain(row) for row in summarise(played, known=known)]
        self._write({"rows": rows, "verification": self._verify(self.config.cycles)})
        return [{key: row[key] for key in SHOWN} for row in rows]


def _true_kinds(item: Any) -> str:
    """What the rule-based stand-in means by a subgoal: scores the run's clustering, and decides nothing."""
    from sdg.experiments.bench.clusterings.measure import kind_of_stand_in

    return kind_of_stand_in(item)


def _hypothesis_rows(rows: Sequence[HypothesisRow]) -> list[Row]:
    return [
        {
            "unit": row.unit,
            "instruction": row.instruction,
            "subgoals": " | ".join(goal.description for goal in row.subgoals),
            "error": row.error,
        }
        for row in rows
    ]


def verification_rows(
    rows: Sequence[VerificationRow], *, firsts: Sequence[VerificationRow], compared: Sequence[VerificationRow]
) -> list[Row]:
    """Per level: hypotheses verified at the first try (beside random search) and at last, steps, the checks' worth."""
    table: list[Row] = []
    for level in dict.fromkeys(row.level for row in rows):
        last, first, other = ([row for row in part if row.level == level] for part in (rows, firsts, compared))
        judged = [row.agreement for row in last if row.agreement is not None]
        both = sum(each.both for each in judged)
        fired, done = both + sum(each.only_check for each in judged), both + sum(each.only_world for each in judged)
        table.append(
            {
                "level": level,
                "instructions": len(last),
                "verified": _share(last),
                "first_try": _share(first),
                "random_search": _share(other),
                "searched_steps": sum(row.searched_steps for row in first),
                "replayed_steps": sum(row.replayed_steps for row in first),
                "random_search_steps": sum(row.searched_steps for row in other),
                "check_precision": both / fired if fired else None,
                "check_recall": both / done if done else None,
            }
        )
    return table


def _cpu_seconds() -> float:
    """Processor seconds of this process and of its workers, those that live on for the next stage included."""
    spent, alive = os.times(), 0
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            with suppress(OSError):  # it has just ended
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                alive += int(fields[11]) + int(fields[12])
    return spent.user + spent.system + spent.children_user + spent.children_system + alive / os.sysconf("SC_CLK_TCK")


def _share(rows: Sequence[VerificationRow]) -> float | None:
    return sum(row.verified for row in rows) / len(rows) if rows else None
