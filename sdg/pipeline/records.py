"""Rows of a run folder's journals, and the values that they stand for."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdg.envs.domain import Domain
from sdg.hypothesis.hypothesis import Hypothesis, SubgoalRow
from sdg.skills.learners import policy_of
from sdg.skills.learning.train import HELD_OUT, Point, SkillEvaluation
from sdg.skills.policy.network import Policy, pack
from sdg.storage import Rows, RunFolder, RunFolderError, atomic_write, explaining
from sdg.verification.verify import Verification

SEARCH = "search"
"""The unit under which the policy of a search that learns is kept."""


@dataclass(frozen=True, slots=True)
class HypothesisRow:
    """A row of `hypotheses.jsonl`: an attempt at an instruction. Without subgoals no reply was readable (`error`)."""

    unit: str
    level: str
    seed: int
    instruction: str
    subgoals: tuple[SubgoalRow, ...]
    error: str

    def hypothesis(self) -> Hypothesis:
        """The hypothesis of a row with subgoals."""
        return Hypothesis(self.instruction, tuple(goal.subgoal() for goal in self.subgoals))


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRow:
    """A row of `skills.jsonl`: a skill in one round. `skipped` says why it has no policy; `best` is None then.

    `inherited` is the skill of an earlier cycle that it took over as it was. `judged_on` says which starts chose the
    policy, `measured` how it does from others; None if there were too few. The last three are environment steps in
    addition to those of practice.
    """

    unit: str
    name: str
    skipped: str
    environment_steps: int
    best: Point | None = None
    inherited: str | None = None
    judged_on: str = HELD_OUT
    measured: SkillEvaluation | None = None
    validation_steps: int = 0
    roll_in_steps: int = 0
    replayed_steps: int = 0


def hypotheses(folder: RunFolder) -> Rows[HypothesisRow]:
    """The hypotheses of a run."""
    return Rows(folder.journal("hypotheses"), HypothesisRow)


def verifications(folder: RunFolder, name: str = "verifications") -> Rows[Verification]:
    """The verifications of a run, or what another search made of the same hypotheses (`NAME.jsonl`)."""
    return Rows(folder.journal(name), Verification)


def skills(folder: RunFolder) -> Rows[SkillRow]:
    """The skills of a run, round by round."""
    return Rows(folder.journal("skills"), SkillRow)


def policy_path(folder: Path, unit: str) -> Path:
    """Where the weights of a unit of `skills.jsonl` are."""
    return folder / "skills" / f"{unit.replace('/', '-')}.safetensors"


def save_policy(folder: Path, unit: str, weights: Mapping[str, np.ndarray]) -> None:
    """Write a policy's weights in one step."""
    from safetensors.numpy import save

    arrays = {name: pack(array) for name, array in weights.items()}
    path = policy_path(folder, unit)
    path.parent.mkdir(exist_ok=True)
    atomic_write(path, save(arrays, metadata={"sha256": _digest(arrays)}))


def settle_search(folder: Path, units: Iterable[str]) -> None:
    """Make what a search had learned after a unit, which was kept beside, its policy, once the unit's row stands."""
    for path in (policy_path(folder, f"{SEARCH}/{unit}") for unit in units):
        if path.is_file():
            with explaining(path):
                path.replace(policy_path(folder, SEARCH))


def load_policy(folder: Path, unit: str, domain: Domain, learner: str) -> Policy:
    """Read a policy that `save_policy` wrote.

    Raises RunFolderError when its file is missing or damaged, ValueError when it holds no policy of this learner in
    this domain.
    """
    from safetensors import SafetensorError, safe_open

    path = policy_path(folder, unit)
    try:
        with safe_open(path, "numpy") as file:
            arrays, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError, FileNotFoundError):
        arrays, metadata = {}, {}
    if not metadata or metadata.get("sha256") != _digest(arrays):
        raise RunFolderError(f"{path} is damaged: its checksum doesn't agree. Restore it from a copy, or run anew.")
    return policy_of({name: array.astype(np.float32) for name, array in arrays.items()}, domain, learner)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """What identifies weights: their names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()
