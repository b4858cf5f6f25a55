"""Rows of a run folder's journals, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domain import Domain
from sdg.hypothesis.hypothesis import Hypothesis
from sdg.run.files import atomic_write
from sdg.skills.experience import Experience
from sdg.skills.learning import policy_of
from sdg.skills.learning.train import Point
from sdg.skills.policy.network import Policy
from sdg.skills.subgoal import CheckFunction, Subgoal
from sdg.verification.verify import Verification

Row = dict[str, Any]


def subgoals(hypothesis: Hypothesis) -> list[Row]:
    """Subgoals of a hypothesis as plain values."""
    return [{"description": g.description, "name": g.check.name, "check": g.check.source} for g in hypothesis.subgoals]


def hypothesis(row: Row) -> Hypothesis:
    """The hypothesis of a row of `hypotheses.jsonl`."""
    return Hypothesis(row["instruction"], tuple(_subgoal(goal) for goal in row["subgoals"]))


def _subgoal(goal: Row) -> Subgoal:
    return Subgoal(goal["description"], CheckFunction(goal["name"], goal["check"]))


def verification(unit: str, result: Verification) -> Row:
    """A row of `verifications.jsonl`."""
    return {
        "unit": unit,
        "level": result.level,
        "seed": result.seed,
        "instruction": result.hypothesis.instruction,
        "verified": result.verified,
        "searched_steps": result.searched_steps,
        "replayed_steps": result.replayed_steps,
        "cause": result.cause,
        "agreement": None if result.agreement is None else asdict(result.agreement),
        "subgoals": [
            {
                "description": goal.subgoal.description,
                "name": goal.subgoal.check.name,
                "check": goal.subgoal.check.source,
                "reached": goal.reached,
                "restore_actions": list(goal.restore_actions),
                "actions": list(goal.actions),
                "searched_steps": goal.searched_steps,
                "path": goal.path,
                "inconsistent": goal.inconsistent,
            }
            for goal in result.results
        ],
    }


def unreadable(row: Row) -> Row:
    """The row of `verifications.jsonl` for a hypothesis that could not be read."""
    head = {key: row[key] for key in ("unit", "level", "seed", "instruction")}
    return head | {
        "verified": False,
        "searched_steps": 0,
        "replayed_steps": 0,
        "cause": f"no hypothesis: {row['error']}",
        "agreement": None,
        "subgoals": [],
    }


def experiences(row: Row) -> list[Experience]:
    """What a row of `verifications.jsonl` grounded."""
    return [
        Experience(
            instruction=row["instruction"],
            level=row["level"],
            seed=row["seed"],
            index=index,
            subgoal=_subgoal(goal),
            restore_actions=tuple(goal["restore_actions"]),
            actions=tuple(goal["actions"]),
            confirmed=row["verified"],
        )
        for index, goal in enumerate(row["subgoals"])
        if goal["reached"]
    ]


def point(value: Point) -> Row:
    """A point of a learning curve as plain values."""
    return asdict(value)


def policy_path(folder: Path, unit: str) -> Path:
    """Where the weights of a unit of `skills.jsonl` are."""
    return folder / "skills" / f"{unit.replace('/', '-')}.safetensors"


def save_policy(folder: Path, unit: str, weights: Mapping[str, np.ndarray]) -> None:
    """Write a policy's weights in one step."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in weights.items()}
    path = policy_path(folder, unit)
    path.parent.mkdir(exist_ok=True)
    atomic_write(path, save(arrays))


def load_policy(folder: Path, unit: str, domain: Domain, learner: str) -> Policy:
    """Read a policy that `save_policy` wrote. Raises ValueError when it is none of this learner's in this domain."""
    from safetensors.numpy import load_file

    return policy_of(load_file(policy_path(folder, unit)), domain, learner)
