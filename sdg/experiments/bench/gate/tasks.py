"""ResponsibleTA's Table 2 for BabyAI: tasks of many steps by a planner that errs, without a gate, with half, with all.

The planner is rule-based; one command in four is replaced by a mistake. Commands and mistakes follow from the run's
seed alone, so they were settled before any guard was asked. Some mistakes can be carried out from where the robot is,
and succeeded (`mistakes_that_came_about`): no feasibility guard could recognise those. Without a gate the planner
believes that each command was carried out. With feasibility the guards judge every command, right ones too: the planner
plans a refused one again and gives the intended one; if that is refused too, it gets the refusal. With completeness it
also plans a command again that didn't succeed. A task ends after `REPLANS` such plans, or at the level's limit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdg.deduction.program import EpisodeOver
from sdg.envs.instructions import seeds
from sdg.experiments.bench.gate.figures import arm_row, estimate
from sdg.experiments.bench.gate.rollouts import (
    MISTAKES,
    Recorder,
    Rollout,
)
from sdg.experiments.workers.workers import Workers
from sdg.gate.executor import Command, IllegalCommand, Outcome

ARMS = ("expert", "baseline", "feasibility", "feasibility + completeness")
GUARDS = ("rules", "learned")
TASKS, RATE, REPLANS, CALLS = 12, 0.25, 40, 400


@dataclass(frozen=True, slots=True)
class TaskTrial(Rollout):
    """One task with one set of mistakes, in one arm of the table."""

    guards: tuple[str, ...] = GUARDS
    draw: int = field(kw_only=True)
    arm: str = field(kw_only=True)

    def on_lost(self, reason: str) -> dict[str, Any]:
        """What is kept of a run whose process hung or died: a failure."""
        return {"success": False, "valid": 0, "executed": 0, "feasible": 0}


def play(draw: TaskTrial) -> dict[str, Any]:
    """Commands that succeeded as meant, commands that were executed, and whether the task was done."""
    erring = Erring(draw)
    erring.run()
    return {
        "success": erring.robot.ending.done,
        "valid": erring.valid,
        "executed": erring.executed,
        "feasible": erring.feasible,
    }


class Erring(Recorder):
    """Carries out a planner's commands, some of them mistaken, behind the part of the gate that the arm has."""

    def __init__(self, draw: TaskTrial) -> None:
        super().__init__(draw, np.random.default_rng(draw.draw))
        self._rng = np.random.default_rng(draw.draw)  # mistakes don't depend on what the robot draws
        self.valid = self.executed = self.feasible = 0
        self._arm, self._replans = draw.arm, 0

    def execute(self, command: Command) -> Outcome:
        """Carry out the command or a mistake in its place; plan again what the gate refuses. Raises EpisodeOver."""
        choice = command
        if self._arm != "expert" and self._rng.random() < RATE:
            choice = self._mistake(str(self._rng.choice(MISTAKES)), command) or command
        if not self._passes(choice):
            self._plan_again()
            if choice == command or not self._passes(command):
                return Outcome(command, False, error="the gate refuses it")
            choice = command
        outcome = self._do(choice, intention=command)
        if outcome is None:
            self._plan_again()
            outcome = self._do(command, intention=command)
        return outcome or Outcome(command, False)

    def _plan_again(self) -> None:
        self._replans += 1
        if self._replans > REPLANS:
            raise EpisodeOver

    def _passes(self, command: Command) -> bool:
        if self._arm in ("expert", "baseline"):
            return True
        now = self.robot.observe()
        return all(guard.feasible(command, now).passed for guard in self._guards.values())

    def _do(self, command: Command, *, intention: Command) -> Outcome | None:
        """The outcome for the planner; None if completeness finds that it isn't the intended one."""
        if self.robot.ending.over or self.executed >= CALLS:
            raise EpisodeOver
        before = self.robot.observe()
        self.executed += 1
        try:
            result = self.robot.perform(command)
        except IllegalCommand as error:
            return Outcome(command, False, error=str(error))
        self.valid += result.reached and command == intention
        self.feasible += result.reached and command != intention
        if command == intention:
            return Outcome(command, result.reached, result.steps)
        if self._arm.endswith("completeness") and not self.robot.ending.over:
            after = self.robot.observe()
            if not all(guard.complete(intention, before, after).passed for guard in self._guards.values()):
                return None
        return Outcome(intention, True, result.steps)


def rows(library: Path, *, draws: int, seed: int, processes: int) -> list[Mapping[str, Any]]:
    """A row for each arm over `draws` draws of mistakes on 12 tasks, with intervals over draws."""
    layouts = seeds("evaluation", count=TASKS, seed=seed)
    jobs = [
        TaskTrial(library, "BossLevel", layouts[number % TASKS], draw=number, arm=arm)
        for arm in ARMS
        for number in range(TASKS if arm == "expert" else draws)
    ]
    results = dict(Workers(processes)(play, jobs))
    return [_row(arm, [row for job, row in results.items() if job.arm == arm]) for arm in ARMS]


def _row(arm: str, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    invalid = np.concatenate([np.arange(row["executed"]) >= row["valid"] for row in trials]).astype(float)
    draws = np.repeat(np.arange(len(trials)), [row["executed"] for row in trials])
    return {
        **arm_row("babyai", arm, trials),
        "mistakes_that_came_about": sum(row["feasible"] for row in trials),
        **estimate(("invalid_share", "invalid_low", "invalid_high"), invalid, draws),
    }
