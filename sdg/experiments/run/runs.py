"""A run from its config: the objects are built here, the stages do the work, the tables come out as rows."""

import math
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sdg.agents.agents import Task
from sdg.deduction.episode import EpisodeResult
from sdg.envs.domains import domain
from sdg.envs.files import has_lines
from sdg.envs.instructions import seeds
from sdg.experiments.config.assembly import (
    LIBRARY,
    REHEARSAL,
    explorers_of,
    library_of,
    model_settings,
    plan_of,
    planner_of,
    reserved_names,
    search_of,
)
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.episodes import EpisodeJob, evaluation_tasks, run_jobs, with_bot_steps
from sdg.experiments.play.players import recipes
from sdg.experiments.results.rows import summarise
from sdg.experiments.workers import compiled
from sdg.experiments.workers.workers import BANNED, Workers, ask_own, require_own
from sdg.induction.skill_requests import calls_until
from sdg.llm.asking import in_order
from sdg.llm.model import token_count
from sdg.llm.registry import is_rule_based
from sdg.llm.transcript import entries
from sdg.pipeline.pipeline import Pipeline
from sdg.pipeline.plan import Progress
from sdg.pipeline.records import SkillRow, Verification, verifications
from sdg.privacy.protector import build_model
from sdg.sandbox.process.bans import Bans
from sdg.skills.library.card import skill_rows
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import load_library, save_library
from sdg.skills.practice.agreement import ROWS
from sdg.skills.search.trial import RandomSearch
from sdg.storage import RunError, RunFolder, of_file, read_description, read_rows

ACCOUNTS = "accounts"
"""Key of a library's costs (`library_costs`) in its provenance and in results.json."""

GROUNDING = ("hypothesize", "induce")
"""Stages that ask the model before a library exists; rehearsals belong to the second."""

PROCESSOR = "cpu_seconds"
"""Measured by a clock, so only in results.json, because the bytes of a library depend on no clock."""


def library_costs(run: Path, config: RunConfig, *, stages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Environment steps (`steps`, by stage), model calls and tokens, processor seconds, of the run's library so far.

    The compared random search and unseen instructions, which only tables need, aren't included. Processor seconds are
    NaN if a stage's are unknown.
    """
    steps = dict(_steps(run, config))
    # Each question counts once, because a killed run repeats those whose answers it had no time to use.
    transcript = run / "transcript.jsonl"
    names = ("prompt_tokens", "completion_tokens")
    exchanges = {
        entry["key"]: {name: token_count((entry.get("reply") or {}).get(name)) for name in names}
        for entry in (entries(transcript) if has_lines(transcript) else ())
        if entry.get("stage") in GROUNDING
    }
    tokens = {name: sum(counts[name] for counts in exchanges.values()) for name in names}
    seconds = [stage.get(PROCESSOR, math.nan) for name, stage in stages.items() if name.startswith(LEARNING_STAGES)]
    return {
        "steps": steps,
        "all_steps": sum(steps.values()),
        "model_calls": len(exchanges),
        **tokens,
        PROCESSOR: round(sum(seconds), 1),
    }


LEARNING_STAGES = ("hypothesize", "verify", "induce")
"""Stages of a run that work on its library."""


def _steps(run: Path, config: RunConfig) -> Counter[str]:
    steps: Counter[str] = Counter()
    for row in read_rows(run / "verifications.jsonl", Verification):
        steps["search"] += row.searched_steps
        steps["replays"] += row.replayed_steps
        steps["search"] += config.verify.judged_steps * ROWS if row.agreement is not None else 0
        # Each goal is replayed once more, because a skill's needs are read from the states that it began in.
        if row.verified or config.induce.use_unconfirmed:
            steps["replays"] += sum(
                len(goal.restore_actions) + len(goal.actions) for goal in row.subgoals if goal.reached
            )
    for skill in read_rows(run / "skills.jsonl", SkillRow):
        steps["practice"] += skill.environment_steps
        steps["validation"] += skill.validation_steps
        steps["roll-ins"] += skill.roll_in_steps
        steps["replays"] += skill.replayed_steps
    for episode in read_rows(run / "rehearsals.jsonl", EpisodeResult):
        steps["rehearsals"] += episode.steps
        steps["replays"] += calls_until(episode)
    return steps


def rehearse(
    config: RunConfig, folder: RunFolder, progress: Progress, library: SkillLibrary, cycle: int
) -> Sequence[Mapping[str, Any]]:
    """Play those of a run's rehearsals that `rehearsals.jsonl` lacks.

    Returns the rows of all episodes, in order. Raises the model's errors; finished episodes stay recorded.
    """
    journal = folder.journal("rehearsals")
    library_folder = folder.path / f"{LIBRARY}-rehearsed-{cycle}"
    if not (library_folder / "library.json").exists():
        save_library(library, library_folder)
    planner = planner_of(config, folder.path, library_folder, agent=f"{REHEARSAL}-{cycle}", stage="induce")
    first = config.induce.training_layouts
    layouts = seeds("training", count=first + config.induce.rehearsals, seed=config.seed)
    # The layouts before these are practised on, so requests on them couldn't be held out as unseen.
    jobs = [
        EpisodeJob(planner, Task(level, seed, domain_name=config.world))
        for level in config.levels
        for seed in layouts[first:]
    ]
    with progress.stage(
        "rehearsals", total=len(jobs), unit="episode", done=sum(job.unit in journal for job in jobs)
    ) as stage:
        run_jobs(jobs, journal=journal, processes=config.processes, done=lambda row: stage.advance(steps=row.steps))
    shutil.rmtree(library_folder)
    return [journal[job.unit] for job in jobs]


Row = Mapping[str, Any]
T = TypeVar("T")


def run(config: RunConfig, folder: RunFolder, *, until: str, progress: Progress) -> Iterable[Row]:
    """Do what the folder lacks up to and including a stage; returns the stage's table as rows."""
    return _StagedRun(config, folder, progress).run_until(until)


SHOWN = (
    *("level", "agent", "success_rate", "low", "high", "episodes"),
    *("median_steps", "steps_to_bot", "llm_calls", "tokens", "new_texts"),
)
"""Columns of the table that is printed; results.json has all."""


class _StagedRun:
    """One run on its way through the stages; seconds of each stage are added up over resumptions."""

    def __init__(self, config: RunConfig, folder: RunFolder, progress: Progress) -> None:
        self.config, self.folder, self.progress = config, folder, progress
        needs_kernels = domain(config.world).column_reader is not None
        if needs_kernels and not (compiled.in_this_process() or compiled.are_there()):
            progress.note("compiling kernels, once for this version and machine (about half a minute)")
            compiled.ensure()
        before = {"stages": (folder.read_json("results.json") or {}).get("stages", {})}
        self.stages = of_file(dict[str, dict[str, dict[str, float]]], before, path=folder.path / "results.json")[
            "stages"
        ]
        self.pipeline = Pipeline(
            plan_of(config),
            folder,
            model=build_model(model_settings(config, folder.path)),
            search=search_of(config),
            progress=progress,
            parallel=Workers(config.processes, folder=folder.path),
            ask=in_order if is_rule_based(config.model.kind) else ask_own,
            explorers=explorers_of(config),
            rehearse=partial(rehearse, config, folder, progress) if config.induce.rehearsals else None,
        )

    def run_until(self, stage: str) -> list[Row]:
        """The rows of the last stage."""
        hypotheses = self._time_stage("hypothesize", self.pipeline.attempts.hypothesize)
        if stage == "hypothesize":
            return [
                {
                    "unit": row.unit,
                    "instruction": row.instruction,
                    "subgoals": " | ".join(goal.description for goal in row.subgoals),
                    "error": row.error,
                }
                for row in hypotheses
            ]
        self._time_stage("verify", self.pipeline.ground)
        table = self._time_stage("random search", self._verify)
        if stage == "verify":
            return table
        rows = self._time_stage("induce", lambda: self._induce(1))
        for cycle in range(2, self.config.cycles + 1):
            self.pipeline.seed_cycle_with_library(
                library_of(self.folder.path, cycle=cycle - 1, cycles=self.config.cycles), cycle=cycle
            )
            self._time_stage(f"verify, cycle {cycle}", partial(self.pipeline.ground, cycle))
            rows = self._time_stage(f"induce, cycle {cycle}", partial(self._induce, cycle))
        return rows if stage == "induce" else self._time_stage("solve", lambda: self._solve(everyone=stage == "run"))

    def _verify(self, cycle: int = 1) -> list[Row]:
        """The table of verification as it stands after a cycle; first tries and their steps are the first cycle's."""
        rows = self.pipeline.ground(cycle)
        search = RandomSearch(self.config.verify.search)
        return list(
            verification_rows(
                rows,
                firsts=[row for row in verifications(self.folder) if row.unit.endswith("/0")],
                compared=self.pipeline.attempts.compare(search, "random_search") if self.config.verify.compared else [],
            )
        )

    def _time_stage(self, stage: str, work: Callable[[], T]) -> T:
        began, processor = time.monotonic(), _cpu_seconds()
        try:
            return work()
        finally:
            times = {"seconds": 0.0} | self.stages.get(stage, {PROCESSOR: 0.0})
            times["seconds"] = round(times["seconds"] + time.monotonic() - began, 2)
            spent = times.pop(PROCESSOR, math.nan) + _cpu_seconds() - processor
            self.stages[stage] = times | ({PROCESSOR: round(spent, 2)} if math.isfinite(spent) else {})
            self._write({})

    def _write(self, results: dict[str, Any]) -> None:
        before = self.folder.read_json("results.json") or {}
        description = read_description(self.folder.path)
        header = {key: description.get(key) for key in ("seed", "command", "git", "versions")}
        if bans := Bans(self.folder.path / BANNED).report():
            header = {"banned": bans} | header
        self.folder.write_json("results.json", before | header | {"stages": self.stages} | results)

    def _induce(self, cycle: int) -> list[Row]:
        library_folder = library_of(self.folder.path, cycle=cycle, cycles=self.config.cycles)
        if not (library_folder / "library.json").exists():
            if not (experiences := self.pipeline.experiences(cycle)):
                raise RunError(
                    "no subgoal was ever reached, so there is nothing to learn skills from; "
                    f"`sdg show {self.folder.path}` shows why. "
                    "A better model, more instructions or a larger verify.t_verify in a new run folder may help."
                )
            name = "induction.json" if cycle == self.config.cycles else f"induction-{cycle}.json"
            if not is_rule_based(self.config.model.kind) and not (self.folder.path / name).exists():
                require_own(name)  # one shard asks for the translations; its transcript answers the others
            learning = self.pipeline.learning(cycle)
            induction = learning.discover(experiences)
            self.folder.write_json(name, induction.to_json())
            began = _cpu_seconds()
            library = learning.learn(induction, reserved=reserved_names(self.config))
            stages = self.stages | {"induce now": {PROCESSOR: _cpu_seconds() - began}}
            costs = library_costs(self.folder.path, self.config, stages=stages)
            self._write({ACCOUNTS: costs})
            lasting = {name: value for name, value in costs.items() if name != PROCESSOR}
            save_library(replace(library, provenance={**library.provenance, ACCOUNTS: lasting}), library_folder)
        return list(skill_rows(load_library(library_folder)))

    def _solve(self, *, everyone: bool) -> list[Row]:
        config, journal = self.config, self.folder.journal("episodes")
        tasks = evaluation_tasks(
            config.evaluate.levels or config.levels,
            instructions=config.evaluate.instructions,
            repeats=config.evaluate.repeats,
            seed=config.seed,
            world=config.world,
        )
        episodes: list[EpisodeResult] = []
        ours = planner_of(config, self.folder.path, self.folder.path / LIBRARY, agent="sdg")
        for recipe in recipes(("sdg", *(config.evaluate.baselines if everyone else ())), ours):
            already = sum(task.unit(recipe.agent) in journal for task in tasks)
            with self.progress.stage(
                f"episodes of {recipe.agent}", total=len(tasks), unit="episode", done=already
            ) as stage:
                jobs = with_bot_steps(recipe, tasks, journal=journal, processes=config.processes)
                episodes += run_jobs(
                    jobs,
                    journal=journal,
                    processes=config.processes,
                    done=lambda row: stage.advance(steps=row.steps),
                )
        rows = summarise(episodes, known={row.instruction for row in self.pipeline.ground()})
        self._write({"rows": rows, "verification": self._verify(config.cycles)})
        return [{key: row[key] for key in SHOWN} for row in rows]


def verification_rows(
    rows: Sequence[Verification], *, firsts: Sequence[Verification], compared: Sequence[Verification]
) -> Iterator[Row]:
    """Per level: hypotheses verified at first (beside random search) and at last, steps, check precision and recall."""
    for level in dict.fromkeys(row.level for row in rows):
        last = [row for row in rows if row.level == level]
        first = [row for row in firsts if row.level == level]
        random = [row for row in compared if row.level == level]
        agreements = [row.agreement for row in last if row.agreement is not None]
        both = sum(agreement.both for agreement in agreements)
        check_count = both + sum(agreement.only_check for agreement in agreements)
        world_count = both + sum(agreement.only_world for agreement in agreements)
        yield {
            "level": level,
            "instructions": len(last),
            "verified": _verified_share(last),
            "first_try": _verified_share(first),
            "random_search": _verified_share(random),
            "searched_steps": sum(row.searched_steps for row in first),
            "replayed_steps": sum(row.replayed_steps for row in first),
            "random_search_steps": sum(row.searched_steps for row in random),
            "check_precision": both / check_count if check_count else None,
            "check_recall": both / world_count if world_count else None,
        }


def _verified_share(rows: Sequence[Verification]) -> float | None:
    return sum(row.verified for row in rows) / len(rows) if rows else None


def _cpu_seconds() -> float:
    """Processor seconds of this process and its workers, including those that live on for the next stage; NaN outside
    the main thread, where other runs share the process (`sdg sweep --at-once`)."""
    if threading.current_thread() is not threading.main_thread():
        return math.nan
    times = os.times()
    alive = 0
    children: list[str] = []
    for thread in Path("/proc/self/task").glob("*"):  # none on a system without them
        with suppress(OSError):  # the thread has just ended
            children += (thread / "children").read_text().split()
    for child in children:
        with suppress(OSError):  # the process has just ended
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            alive += int(fields[11]) + int(fields[12])
    return times.user + times.system + times.children_user + times.children_system + alive / os.sysconf("SC_CLK_TCK")
