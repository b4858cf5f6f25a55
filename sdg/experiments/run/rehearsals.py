"""Rehearsals of a run: the planner plays on layouts of its own with the skills so far, an episode a journal row."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sdg.agents.agents import Task
from sdg.envs.instructions import seeds
from sdg.experiments.config.assembly import LIBRARY, planner_of
from sdg.experiments.config.config import RunConfig
from sdg.experiments.play.episodes import Job, run_jobs
from sdg.pipeline.plan import Progress
from sdg.skills.library.library import SkillLibrary
from sdg.skills.library.store import save_library
from sdg.storage import RunFolder


class Rehearsals:
    """Plays a run's rehearsals; its units are rows of `rehearsals.jsonl`, so what was played isn't played again."""

    def __init__(self, config: RunConfig, folder: RunFolder, progress: Progress) -> None:
        self.config, self.folder, self.progress = config, folder, progress

    def __call__(self, library: SkillLibrary, cycle: int) -> Sequence[Mapping[str, Any]]:
        """Rows of all episodes, in order. Raises what a model raises; finished episodes stay recorded."""
        config, journal = self.config, self.folder.journal("rehearsals")
        place = self._store(library, cycle)
        planner = planner_of(config, self.folder.path, place, agent=f"rehearsal-{cycle}", stage="induce")
        practised = config.induce.training_layouts
        drawn = seeds("training", count=practised + config.induce.rehearsals, seed=config.seed)
        # The layouts before these are practised on, so requests on them couldn't be held out as unseen.
        tasks = [Task(level, seed, domain_name=config.world) for level in config.levels for seed in drawn[practised:]]
        jobs = [Job(planner, task) for task in tasks]
        done = sum(job.unit in journal for job in jobs)
        with self.progress.stage("rehearsals", total=len(jobs), unit="episode", done=done) as stage:
            run_jobs(
                jobs,
                journal=journal,
                processes=config.processes,
                done=lambda row: stage.advance(steps=row.steps),
            )
        shutil.rmtree(place)
        return [journal[job.unit] for job in jobs]

    def _store(self, library: SkillLibrary, cycle: int) -> Path:
        """The folder that holds the library during rehearsals; it is the same however often it is made."""
        place = self.folder.path / f"{LIBRARY}-rehearsed-{cycle}"
        if not (place / "library.json").exists():
            save_library(library, place)
        return place
