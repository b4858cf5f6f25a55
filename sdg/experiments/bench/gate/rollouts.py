"""Data to train guards (`python -m training.skills`) and to measure them: commands as planners give them, with
mistakes, and their outcomes.

A program by babylang or by a real model is played, with mistakes between its calls: another thing, one that was never
seen, another skill, the wrong order, full hands. A command's outcome is what the robot perceived: whether the skill's
check fired within its attempts. Nothing here reads the hidden state.
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sdg.agents.agents import gate_by_names
from sdg.console import progress
from sdg.deduction.deduce import DeductionSettings, ProgramLimits
from sdg.deduction.library_skills import Option, options_of
from sdg.deduction.program import ENTRY, EpisodeOver, Scope, run_program
from sdg.deduction.robot import Robot
from sdg.envs.domain import Domain
from sdg.envs.domains import domain_of_data
from sdg.envs.instructions import seeds
from sdg.envs.world import Observation, Perception
from sdg.experiments.play.parent_model import answer, model_of
from sdg.experiments.play.players import PlannerRecipe
from sdg.experiments.workers.workers import Workers
from sdg.gate.executor import Command, GatedExecutor, IllegalCommand, Outcome, Verdict
from sdg.gate.learned import COMPLETENESS, FEASIBILITY
from sdg.gate.llm import question
from sdg.llm.provider import ModelSettings
from sdg.prompts.replies import extract_code
from sdg.prompts.sources import prune_source
from sdg.sandbox.guard import GuardError, Refused
from sdg.skills.checks.check import compile_check
from sdg.skills.library.store import load_library

PROGRAMS = Path(__file__).parent / "programs.jsonl.gz"
"""Programs of a real model over the shipped skills, as it wrote them; set S1 is learned from, P1 is held out."""
MAX_CALLS, BUDGET = 40, 400_000
"""Most commands of one rollout, and its program's budget."""
MISTAKES = ("elsewhere", "unknown", "order", "aimless")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One program to play on one layout; `reply` is a model's, "" for babylang's. `guards` judge as well."""

    library: Path
    level: str
    seed: int
    reply: str = ""
    mistakes: float = 0.6
    guards: tuple[str, ...] = ()
    texts: bool = False

    def answer(self, request: Any) -> Any:
        """Answer babylang's question, in the parent."""
        return answer(ModelSettings(), request)

    def on_lost(self, reason: str) -> Any:
        """A rollout whose process hung or died has no rows."""
        return []


def real_programs(name: str) -> list[dict[str, Any]]:
    """The kept programs of a set, with the `instruction` each was written for and its `reply`."""
    with gzip.open(PROGRAMS, "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["set"] == name]


def play(rollout: Rollout) -> list[dict[str, Any]]:
    """A row for each judgement: verb, skill, source, label, features, the chance that each guard gives, texts."""
    recorder = Recorder(rollout, np.random.default_rng(rollout.seed), lift_time_limit=True)
    try:
        recorder.run()
    except Refused:
        return []
    return recorder.rows


def stand_in_reply(rollout: Rollout, mission: str, skills: Mapping[str, Any]) -> str:
    """babylang's reply to a mission."""
    planner = PlannerRecipe("sdg", rollout.library).build().planner_of(rollout.seed)  # type: ignore[attr-defined]
    settings = DeductionSettings()
    limits = ProgramLimits(500, settings.interactions, BUDGET, settings.attempts)
    messages = planner.prompts.ask(mission, skills=tuple(skills.values()), limits=limits)
    return str(planner.model.complete(messages, sampling=planner.sampling).text)


@lru_cache(maxsize=2)
def skills_of(library: Path) -> tuple[Mapping[str, Option], Domain]:
    """A library's skills by name, and its domain; loaded once a process."""
    skill_library = load_library(library)
    return options_of(skill_library), domain_of_data(skill_library.domain)


class Recorder(GatedExecutor):
    """Carries out a rollout's commands and mistakes in between, without a gate, and records each outcome."""

    def __init__(self, rollout: Rollout, rng: np.random.Generator, *, lift_time_limit: bool = False) -> None:
        skills, domain = skills_of(rollout.library)
        world = domain.open(rollout.level, lift_time_limit=lift_time_limit)
        world.reset(rollout.seed)
        self.robot = Robot(world, skills, domain=domain, rng=rng)
        # A chain of its own for each guard.
        model = model_of(ModelSettings())
        self._guards = {name: gate_by_names([name], skills, domain, model=model) for name in rollout.guards}
        self.rows: list[dict[str, Any]] = []
        self._rollout, self._mission, self._rng = rollout, world.mission, rng
        self._source = "real program" if rollout.reply else "stand-in"
        self._call_count = 0

    def run(self) -> None:
        """Carry out the rollout's program. Raises Refused where a model's reply holds none."""
        reply = self._rollout.reply or stand_in_reply(self._rollout, self._mission, self.robot.skills)
        source = prune_source(extract_code(reply), ENTRY)
        run_program(source, Scope(self.robot, self), budget=BUDGET)

    def execute(self, command: Command) -> Outcome:
        """Carry out perhaps some mistakes, then the command. Raises EpisodeOver at the end or after MAX_CALLS."""
        while self._rng.random() < self._rollout.mistakes:
            kind = str(self._rng.choice(MISTAKES))
            if mistake := self._mistake(kind, command):
                self._carry_out(mistake, source=kind)
        return self._carry_out(command, source=self._source)

    def _carry_out(self, command: Command, *, source: str) -> Outcome:
        if self._call_count >= MAX_CALLS or self.robot.ending.over:
            raise EpisodeOver
        self._call_count += 1
        before = self.robot.observe()
        try:
            result = self.robot.perform(command)
        except IllegalCommand as error:
            return Outcome(command, False, error=str(error))
        if not result.reached and self.robot.ending.over:
            raise EpisodeOver
        if result.steps:
            after = self.robot.observe()
            self._keep(FEASIBILITY, command, source, result.reached, before, None)
            self.rows[-1]["steps"] = result.steps
            self._keep(COMPLETENESS, command, source, result.reached, before, after)
            for kind in ("elsewhere", "order"):  # the same skill about something else, and another skill
                swapped = self._mistake(kind, command, same_skill=kind == "elsewhere")
                if swapped and (came_about := self._holds(swapped, after.perception)) is not None:
                    self._keep(COMPLETENESS, swapped, "swapped", came_about, before, after)
        return Outcome(command, result.reached, result.steps)

    def _keep(
        self, verb: str, command: Command, source: str, label: bool, before: Observation, after: Observation | None
    ) -> None:
        usage = self.robot.skills[command.name].usage
        perception = after.perception if after is not None else None
        features = self.robot.domain.affordances.features(usage.asks, command.argument, before.perception, perception)
        chances = {
            name: chance(guard.complete(command, before, after) if after else guard.feasible(command, before))
            for name, guard in self._guards.items()
        }
        row = {"verb": verb, "skill": command.name, "source": source, "label": label, "features": features.tolist()}
        if self._rollout.texts:
            row["question"] = question(command, before, after)
        self.rows.append(row | {"chances": chances})

    def _holds(self, command: Command, perception: Perception | None) -> bool | None:
        try:
            check = self.robot.skills[command.name].check(command.argument)
            return None if check is None or perception is None else compile_check(check, self.robot.domain)(perception)
        except (ValueError, Refused, GuardError):
            return None

    def _mistake(self, kind: str, command: Command, *, same_skill: bool = False) -> Command | None:
        language, rng = self.robot.domain.language, self._rng
        takers = [name for name, skill in self.robot.skills.items() if skill.takes_argument]
        if kind == "aimless":
            return Command(str(rng.choice([name for name in self.robot.skills if name not in takers] or [""])))
        things = [thing for thing in self.robot.perception().elements() if not thing.held]
        if kind == "unknown":
            argument = " ".join(str(rng.choice(words)) for words in language.parts.values())
        elif kind == "order" and command.argument:
            argument = command.argument
        elif things:
            argument = language.name_of(things[rng.integers(len(things))])
        else:
            return None
        if same_skill:
            return Command(command.name, argument) if command.argument else None
        return Command(str(rng.choice([name for name in takers if self._suits(name, argument)] or takers)), argument)

    def _suits(self, name: str, argument: str) -> bool:
        """Whether a skill was learned about such things: a ball can't be opened."""
        kind, skill = self.robot.domain.language.kind, getattr(self.robot.skills[name], "stored", None)
        return skill is None or kind(argument) in {kind(example) for example in skill.argument_examples}


def chance(verdict: Verdict) -> float:
    """The chance that a guard gives to yes, in [0, 1]."""
    return verdict.confidence if verdict.passed else 1 - verdict.confidence


def balance(rows: Sequence[dict[str, Any]], *, seed: int) -> list[dict[str, Any]]:
    """Equally many rows of each label; the larger group is sampled."""
    rng = np.random.default_rng(seed)
    groups = [[row for row in rows if row["label"] is label] for label in (False, True)]
    count = min(map(len, groups))
    return [group[i] for group in groups for i in sorted(rng.permutation(len(group))[:count])]


LEVELS = ("BossLevel", "BossLevel", "SynthSeq", "GoTo", "UnlockLocal", "PutNextLocal")
"""Levels that the rule-based planner's programs are played on, in turn."""


def plan_rollouts(library: Path, count: int, *, split: str, seed: int, programs: str, **settings: Any) -> list[Rollout]:
    """`count` rollouts: three in four by babylang, the others from a set of a real model's programs."""
    replies = [row["reply"] for row in real_programs(programs)]
    plan = []
    for number, layout in enumerate(seeds(split, count=count, seed=seed)):
        reply = replies[number // 4 % len(replies)] if number % 4 == 3 else ""
        level = "BossLevel" if reply else LEVELS[number % len(LEVELS)]
        plan.append(Rollout(library, level, layout, reply, 0.3 if reply else 0.6, **settings))
    return plan


def rolled_out(rollouts: Sequence[Rollout], *, processes: int) -> list[list[dict[str, Any]]]:
    """The rows of each rollout; one whose process is lost has none."""
    by_rollout: dict[Rollout, list[dict[str, Any]]] = {}
    with progress().stage("rollouts", total=len(rollouts), unit="rollout") as stage:
        for rollout, rows in Workers(processes)(play, rollouts):
            by_rollout[rollout] = rows
            stage.advance()
    return [by_rollout[rollout] for rollout in rollouts]
