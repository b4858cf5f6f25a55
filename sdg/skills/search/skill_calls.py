"""The skills of a library as calls that a search can make, and what is known about their order."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sdg.envs.domains import domain_of_data
from sdg.skills.checks.check import asked_about
from sdg.skills.checks.reward import BatchReward
from sdg.skills.checks.shape import asked_by, similarity
from sdg.skills.learning import policy_of
from sdg.skills.library.library import Skill, SkillLibrary
from sdg.skills.library.store import load_library
from sdg.skills.policy.network import Policy
from sdg.skills.subgoal import CheckFunction

FOLLOWS, USAGES = "follows", "usages"
"""Keys of a library's provenance: skill -> skill -> how often it came next; skill -> what it is known to need."""

LEARNED = 0.7
"""Weight of the known order, against equal weights for all."""


@dataclass(frozen=True, eq=False)
class MarkedCall:
    """A skill with an argument: its policy, the target marked for it, and the check that ends it."""

    skill: Skill
    argument: str
    policy: Policy
    target: np.ndarray
    done: BatchReward


class SkillCalls:
    """The skills of a library as calls, and what is known about their order."""

    def __init__(self, library: SkillLibrary) -> None:
        self.skills, self.domain = library.skills, domain_of_data(library.domain)
        self._policies = {skill.name: library_policy(library, skill) for skill in library.skills}
        self._usages, self._follows = provenance_of(library, USAGES), provenance_of(library, FOLLOWS)
        kind = self.domain.language.kind
        self._types = {skill.name: {kind(example) for example in skill.argument_examples} for skill in self.skills}
        self.call = cache(self._call)

    def _call(self, skill: Skill, argument: str) -> MarkedCall | None:
        """A call, or None where none of the skill's checks can be asked about the argument."""
        try:
            check = asked_about(skill, argument, self.domain)
        except ValueError:
            return None
        target, reward = self.domain.language.row(argument), BatchReward((check,), self.domain)
        return MarkedCall(skill, argument, self._policies[skill.name], target, reward)

    def is_apt(self, skill: Skill, *, holding: bool) -> bool:
        """Whether the hands allow it: a skill that takes needs empty ones, one that lets go needs full ones."""
        return self._usages.get(skill.name, {}).get("grasps" if holding else "releases") is not True

    def suits(self, skill: Skill, argument: str) -> bool:
        """Whether the skill was learned on things of this type."""
        return self.domain.language.kind(argument) in self._types[skill.name]

    def likeness(self, check: CheckFunction, argument: str) -> np.ndarray:
        """How similar each skill's own checks are to a check, in [0, 1]; `argument` is what the check is about."""
        signature = asked_by(check, argument)
        return np.array(
            [
                max(similarity(signature, asked_by(own.check, own.argument)) for own in skill.checks)
                for skill in self.skills
            ]
        )

    def next_weights(self, last: str) -> np.ndarray:
        """How likely each skill is to come after another ("" at the beginning), summing to 1."""
        alike = np.full(len(self.skills), 1 / len(self.skills))
        found = [self._follows.get(last, {}).get(skill.name) for skill in self.skills]
        follow_counts = np.array([float(n) if isinstance(n, int | float) and 0 < n < 1e9 else 0.0 for n in found])
        return (
            alike if not follow_counts.sum() else (1 - LEARNED) * alike + LEARNED * follow_counts / follow_counts.sum()
        )


def provenance_of(library: SkillLibrary, key: str) -> dict[str, Mapping[str, Any]]:
    """A table of tables from a library's provenance, which may hold anything."""
    value = library.provenance.get(key)
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {str(key): inner for key, inner in pairs if isinstance(inner, Mapping)}


def library_policy(library: SkillLibrary, skill: Skill) -> Policy:
    """The policy of one of a library's skills. Raises ValueError for invalid weights."""
    return policy_of(library.weights[skill.name], domain_of_data(library.domain), skill.learner)


@lru_cache(maxsize=4)
def skill_calls_of(library: Path, changed: int) -> SkillCalls:
    """The calls of the library in a folder, last `changed` at (ns); loaded once a process. Raises LibraryError."""
    return SkillCalls(load_library(library))
