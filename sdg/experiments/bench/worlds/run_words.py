"""A model's checks and programs, measured like hand-written ones: a run's skills, and one program per instruction.

Programs come from the run's own evaluation; for each instruction without one the run's model is asked once. The same
program then plays every episode of its instruction, from any start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sdg.agents.agents import Task, open_world
from sdg.deduction.episode import EpisodeResult
from sdg.errors import UserError
from sdg.experiments.config.assembly import library_of, model_settings, planner_of
from sdg.experiments.config.config import RunConfig, load
from sdg.experiments.play.episodes import EpisodeJob, evaluation_tasks, run_jobs
from sdg.experiments.play.players import ProgramRecipe
from sdg.experiments.run.runs import library_costs
from sdg.llm.registry import parse_llm
from sdg.privacy.protector import build_model
from sdg.skills.library.store import library_checksum
from sdg.storage import Journal, json_values, line, of_file, read_journal

ASKED, PLAYED = "asked", "played"
"""Journals of the folder: the episodes in which the model was asked for a program, and those that are counted."""


@dataclass(frozen=True)
class RunWords:
    """A run folder's library and its model, and the folder that keeps questions and episodes."""

    run: Path
    config: RunConfig
    folder: Path

    @classmethod
    def open(
        cls, run: Path, folder: Path, *, llm: str = "", base_url: str = "", assignments: Iterable[str] = ()
    ) -> RunWords:
        """Open a finished run; `llm` is asked in place of its model. Raises UserError for a folder without a run."""
        if not (run / "config.yaml").is_file() or not (run / "library" / "library.json").is_file():
            raise UserError(f"{run} is no run folder with a library: `sdg run --out {run}` makes one")
        model_settings = {"base_url": base_url or "null", "transcript": "null"} | parse_llm(llm) if llm else {}
        overlay = [*(f"model.{key}={value}" for key, value in model_settings.items()), *assignments]
        return cls(run, load(run / "config.yaml", overlay=overlay), folder)

    @property
    def question(self) -> dict[str, Any]:
        """Everything that decides the figures beside the levels: the run's skills, its episodes and its config."""
        known = line(read_journal(self.run / "episodes.jsonl"))
        return {
            "library": library_checksum(self.library),
            "known": hashlib.sha256(known.encode()).hexdigest(),
            "config": {
                key: value for key, value in json_values(self.config).items() if key not in ("budget", "processes")
            },
        }

    @property
    def agent(self) -> str:
        """The model's name; in a replay, that of the recorded model."""
        return f"words-of-{self.config.model.name or build_model(model_settings(self.config, None)).name}"

    @property
    def library(self) -> Path:
        """Where the run's skills are."""
        return library_of(self.run, cycle=self.config.cycles, cycles=self.config.cycles)

    def steps(self) -> int:
        """All environment steps that the library took: search, replays, practice and validation."""
        return int(library_costs(self.run, self.config, stages={})["all_steps"])

    def success_of(self, level: str, *, episodes: int, seed: int) -> int:
        """How many of `episodes` unseen episodes of a level the programs solve. Raises ModelError as the model does."""
        tasks = evaluation_tasks([level], instructions=episodes, repeats=1, seed=seed, world=self.config.world)
        missions = [open_world(task)[1].mission for task in tasks]
        programs = self.programs(dict(zip(missions[::-1], tasks[::-1], strict=True)))
        deduce = replace(self.config.deduce, interactions=1)
        player = ProgramRecipe(
            self.agent, self.library, (), domain=self.config.world, guards=deduce.guards, settings=deduce
        )
        jobs = [
            EpisodeJob(replace(player, sources=(programs[mission],)), task)
            for mission, task in zip(missions, tasks, strict=True)
        ]
        with Journal(self.folder / f"{PLAYED}.jsonl") as journal:
            rows = run_jobs(jobs, journal=journal, processes=self.config.processes)
        return sum(bool(row.success) for row in rows)

    def programs(self, first_of: Mapping[str, Task]) -> dict[str, str]:
        """Instruction -> program, for these and others; the model is asked in the first task of each that lacks one.

        Raises RunFolderError for a run's row that is none.
        """
        episodes = self.run / "episodes.jsonl"
        rows = [row for row in read_journal(episodes) if row.get("agent") == "sdg"]
        by_instruction = programs_of(of_file(EpisodeResult, row, path=episodes) for row in rows)
        missing = [task for mission, task in first_of.items() if mission not in by_instruction]
        if missing:
            planner = planner_of(self.config, self.folder, self.library, agent=ASKED)
            once = replace(planner, settings=replace(planner.settings, interactions=1))
            with Journal(self.folder / f"{ASKED}.jsonl") as journal:
                jobs = [EpisodeJob(once, task) for task in missing]
                by_instruction |= programs_of(run_jobs(jobs, journal=journal, processes=self.config.processes))
        return by_instruction


def programs_of(rows: Iterable[EpisodeResult]) -> dict[str, str]:
    """Instruction -> the program of the earliest of these episodes that succeeded, or else the first program."""
    programs: dict[str, str] = {}
    solutions: dict[str, str] = {}
    for row in rows:
        programs.setdefault(row.instruction, str(row.trace[0].get("program", "")) if row.trace else "")
        if row.success:
            solutions.setdefault(row.instruction, row.program)
    return programs | solutions
