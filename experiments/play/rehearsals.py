"""Rehearsals of a run: the planner plays on layouts of its own with the skills so far, an episode a journal row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdg.agents.agents import Task
from sdg.envs.instructions import seeds
from sdg.experiments.config.assembly import LIBRARY, planner_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.episodes import Job, run_jobs
from sdg.pipeline import Progress
from sdg.run import RunFolder
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import save_library

Row = dict[str, Any]


class Rehearsals:
    """Plays a run's rehearsals; its units are rows of `rehearsals.jsonl`, so what was played isn't played again."""

    def __init__(self, config: RunConfig, folder: RunFolder, progress: Progress) -> None:
        self.config, self.folder, self.progress = config, folder, progress

    def __call__(self, library: SkillLibrary, cycle: int) -> Sequence[Row]:
        """Rows of all episodes, in order. Raises what a model raises; finished episodes stay recorded."""
        place = self._kept(library, cycle)
        jobs = [
            Job(planner_of(self.config, self.folder.path, place, agent=f"rehearsal-{cycle}", stage="induce"), task)
            for task in self._tasks()
        ]
        journal = self.folder.journal("rehearsals")
        done = sum(job.unit in journal for job in jobs)
        with self.progress.stage("rehearsals", total=len(jobs), unit="episode", done=done) as stage:
            return run_jobs(
                jobs,
                journal=journal,
                processes=self.config.processes,
                done=lambda row: stage.advance(steps=row["steps"]),
            )

    def _tasks(self) -> list[Task]:
        induce = self.config.induce
        drawn = seeds("training", count=induce.training_layouts + induce.rehearsals, seed=self.config.seed)
        # Those before are practised on: what is asked on them, and held out, would have been seen.
        mine = drawn[induce.training_layouts :]
        return [Task(level, seed, domain_name=self.config.domain) for level in self.config.levels for seed in mine]

    def _kept(self, library: SkillLibrary, cycle: int) -> Path:
        """The folder of the library that is rehearsed with; it is the same however often it is made."""
        place = self.folder.path / f"{LIBRARY}-rehearsed-{cycle}"
        if not (place / "library.json").exists():
            save_library(library, place)
        return place


__all__ = ["Rehearsals"]
