"""What a cycle inherits: which clusters are skills that an earlier cycle learned already.

Each cycle clusters everything grounded so far from the beginning, so a cluster's number differs from cycle to cycle. A
cluster is an earlier skill when they have most of their members in common and both take an argument or neither does.
"""

from dataclasses import dataclass, replace

from sdg.induction.induce import Discovery, InduceSettings
from sdg.skills.learning.train import Point
from sdg.skills.library.library import Skill, SkillLibrary
from sdg.skills.policy.network import Policy
from sdg.skills.search.skill_calls import library_policy

IN_COMMON = 0.5
"""Members that must be in both skill and cluster, as a share of the smaller of the two."""
WEAK = 0.9
"""Success below which an inherited skill is learned further in any case."""
PATIENCE = 3
"""Learning further ends after so many evaluations without a gain: the earlier cycle was patient."""


@dataclass(frozen=True, eq=False)
class InheritedSkill:
    """An earlier skill that a cluster takes over."""

    skill: Skill
    policy: Policy

    def good_enough(self, enough: float) -> float:
        """Success that needs no more learning: as high as it was before (its interval's lower end), at least WEAK."""
        return min(enough, max(self.skill.success_interval[0], WEAK))

    def point(self) -> Point:
        """The earlier cycle's measurement as a point of a curve (half its horizon as the steps of slow successes)."""
        skill = self.skill
        return Point(0, skill.success_rate, skill.success_rate, 0.0, skill.horizon / 2, skill.episodes, 0.0)


def with_short_patience(settings: InduceSettings) -> InduceSettings:
    """The settings for a skill that is learned further."""
    train = settings.train
    return replace(settings, train=replace(train, patience=min(PATIENCE, train.patience)))


def inherited_skills(found: Discovery, earlier: SkillLibrary | None) -> dict[int, InheritedSkill]:
    """Cluster number -> the earlier skill that it equals; new clusters are absent."""
    if earlier is None:
        return {}
    return {
        label: InheritedSkill(skill, library_policy(earlier, skill))
        for label in found.members
        if (skill := _match(found, label, earlier)) is not None
    }


def _match(discovery: Discovery, label: int, earlier: SkillLibrary) -> Skill | None:
    texts = {member.description for member in discovery.members[label]}
    takes_argument = any(member.stage.argument for member in discovery.members[label])
    shares = {
        skill: len(texts & set(skill.members)) / max(1, min(len(texts), len(skill.members)))
        for skill in earlier.skills
        if skill.takes_argument == takes_argument
    }
    best = max(shares, key=lambda skill: (shares[skill], skill.name == discovery.name(label), skill.name), default=None)
    return best if best is not None and shares[best] >= IN_COMMON else None
