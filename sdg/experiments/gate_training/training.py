"""Rollouts that guards are learned from (`python -m tests.shipping.skills`) and measured on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdg.console import progress
from sdg.envs.instructions import seeds
from sdg.experiments.gate_training.rollouts import Rollout, play, real_programs
from sdg.experiments.workers.workers import Workers

LEVELS = ("BossLevel", "BossLevel", "SynthSeq", "GoTo", "UnlockLocal", "PutNextLocal")
"""Levels that the rule-based planner's programs are played on, in turn."""


def plan_rollouts(library: Path, count: int, *, split: str, seed: int, programs: str, **settings: Any) -> list[Rollout]:
    """`count` rollouts: three in four by babylang, the others from a set of a real model's programs."""
    replies = [row["reply"] for row in real_programs(programs)]
    found = []
    for number, layout in enumerate(seeds(split, count=count, seed=seed)):
        reply = replies[number // 4 % len(replies)] if number % 4 == 3 else ""
        level = "BossLevel" if reply else LEVELS[number % len(LEVELS)]
        found.append(Rollout(library, level, layout, reply, 0.3 if reply else 0.6, **settings))
    return found


def rolled_out(rollouts: Sequence[Rollout], *, processes: int) -> list[list[dict[str, Any]]]:
    """The rows of each rollout; one whose process is lost has none."""
    found: dict[Rollout, list[dict[str, Any]]] = {}
    with progress().stage("rollouts", total=len(rollouts), unit="rollout") as stage:
        for rollout, rows in Workers(processes)(play, rollouts):
            found[rollout] = rows
            stage.advance()
    return [found[rollout] for rollout in rollouts]
