"""From clusters and policies to a skill library: names, descriptions, checks as templates, success on fresh starts; and
which clusters are skills that an earlier cycle learned already.

Each cycle clusters everything grounded so far from the beginning, so a cluster's number differs from cycle to cycle. A
cluster is an earlier skill when they have most of their members in common and both take an argument or neither does.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sdg.deduction.library_skills import FLAGS, learn_needs
from sdg.envs.domain import Domain, Language
from sdg.induction.induce import Discovery, InduceSettings
from sdg.skills.checks.shape import is_tied_to_its_layout
from sdg.skills.checks.template import Unfit, mentioned_things, rewrite
from sdg.skills.learning.train import Point
from sdg.skills.library.library import CONDITIONS, USAGES, CheckTemplate, Skill, SkillLibrary, name_skill
from sdg.skills.policy.network import Policy
from sdg.skills.practice.fresh_starts import Member
from sdg.skills.search.skill_search import library_policy

MAX_TEMPLATES = 8
MAX_MEMBERS = 200
MAX_ARGUMENTS = 40


def build_library(
    discovery: Discovery,
    policies: Mapping[int, Policy],
    *,
    measured: Mapping[int, Mapping[str, Any]],
    reserved: Collection[str],
    provenance: Mapping[str, Any],
    domain: Domain,
    learner: str,
) -> SkillLibrary:
    """A skill for each cluster that has a policy and a check that applies to other arguments.

    `measured` has success_rate, low, high, episodes, environment_steps and horizon of each; `reserved` are names that
    programs use for something else.
    """
    entries: dict[int, Skill] = {}
    for label in sorted(policies):
        if checks := templates(discovery.members[label], domain.language):
            entries[label] = _entry(
                discovery,
                label,
                checks=checks,
                figures=measured[label],
                names={entry.name for entry in entries.values()} | set(reserved),
                learner=learner,
            )
    reasons = without_a_skill(discovery, policies, domain.language)
    needs = {
        entry.name: learn_needs(
            [(member, member.stage.argument) for member in discovery.members[label]],
            domain=domain,
            takes_argument=entry.takes_argument,
        )
        for label, entry in entries.items()
    }

    return SkillLibrary(
        domain=domain.name,
        skills=tuple(entries.values()),
        weights={entry.name: dict(policies[label].weights) for label, entry in entries.items()},
        provenance=dict(provenance)
        | {
            USAGES: {
                name: {key: getattr(usage, key) for key in ("takes_argument", *FLAGS)}
                for name, (usage, _) in needs.items()
            },
            CONDITIONS: {name: asdict(conditions) for name, (_, conditions) in needs.items()},
        }
        | ({LEFT_OUT: reasons} if reasons else {}),
    )


def _entry(
    discovery: Discovery,
    label: int,
    *,
    checks: tuple[CheckTemplate, ...],
    figures: Mapping[str, Any],
    names: set[str],
    learner: str,
) -> Skill:
    members = discovery.members[label]
    arguments = Counter(member.stage.argument for member in members)
    texts = Counter(member.description for member in members)
    return Skill(
        name=name_skill([call.api for call in discovery.calls[label]], taken=names),
        description=f"Learned from subgoals such as {', '.join(repr(text) for text, _ in texts.most_common(3))}.",
        takes_argument=bool(checks[0].argument),
        argument_examples=tuple(text for text, _ in arguments.most_common(MAX_ARGUMENTS) if text),
        members=tuple(text for text, _ in texts.most_common(MAX_MEMBERS)),
        checks=checks,
        horizon=figures["horizon"],
        success_rate=figures["success_rate"],
        success_interval=(figures["low"], figures["high"]),
        episodes=figures["episodes"],
        success_known=figures.get("success_known"),
        left_out=figures.get("left_out", 0),
        mean_steps=figures.get("mean_steps", 0.0),
        environment_steps=figures["environment_steps"],
        learner=learner,
    )


LEFT_OUT = "left out"
"""Key of a library's provenance: kind of subgoal -> why it is no skill."""


def without_a_skill(discovery: Discovery, learned: Collection[int], language: Language) -> dict[str, str]:
    """The kinds of subgoals that became no skill, and why; `learned` are the clusters that have a policy."""
    nothing_to_do = "its check was already true at every start for practice"
    tied = "each of its checks names other things of its own mission, so none applies to another thing"
    names = {call.api for label in learned for call in discovery.calls[label]}
    reasons = dict.fromkeys(
        sorted(discovery.rejected - names),
        "there were too few of its subgoals, or no other subgoals have similar checks",
    )
    for label in discovery.members:
        if label not in learned or not templates(discovery.members[label], language):
            reasons[discovery.name(label)] = nothing_to_do if label not in learned else tied
    return reasons


def templates(members: Sequence[Member], language: Language) -> tuple[CheckTemplate, ...]:
    """The members' checks, the most common first, without those that name anything of their mission but the argument.

    If all of them do ("still carrying A"), "any thing" replaces the other things, so that careful checks don't cost the
    skill.
    """
    stages = [member.stage for member in members if not is_tied_to_its_layout(member.stage.check.source)]
    candidates = [
        CheckTemplate(stage.check, stage.argument) for stage in stages or [member.stage for member in members]
    ]
    widened = [_widen(candidate, language) for candidate in candidates]
    wildcard = frozenset([language.parse(language.anything)]) if language.anything else frozenset()
    return _commonest(candidates, language) or _commonest(widened, language, beside=wildcard)


def _commonest(
    candidates: Sequence[CheckTemplate], language: Language, *, beside: frozenset[Any] = frozenset()
) -> tuple[CheckTemplate, ...]:
    """The most common checks, compared with the language's example as argument; they may also name `beside`."""
    counts: Counter[str] = Counter()
    examples: dict[str, CheckTemplate] = {}
    for template in candidates:
        with suppress(Unfit, ValueError):
            shape = rewrite(
                template.check, {template.argument: language.example} if template.argument else {}, language
            )
            if not template.argument or len(mentioned_things(shape, language) - beside) <= 1:
                body = shape.source.split("\n", 1)[-1]
                counts[body] += 1
                examples.setdefault(body, template)
    bodies = sorted(counts, key=lambda body: (-counts[body], len(body), body))
    return tuple(examples[body] for body in bodies[:MAX_TEMPLATES])


def _widen(template: CheckTemplate, language: Language) -> CheckTemplate:
    """The template with "any thing" in place of the things that it names beside its argument."""
    try:
        others = mentioned_things(template.check, language) - {language.parse(template.argument)}
        replacements = {language.text(thing): language.anything for thing in others if language.anything}
        return CheckTemplate(rewrite(template.check, replacements, language), template.argument)
    except (Unfit, ValueError, SyntaxError):
        return template


MIN_COMMON_SHARE = 0.5
"""Members that must be in both skill and cluster, as a share of the smaller of the two."""
MIN_INHERITED_SUCCESS = 0.9
"""Success below which an inherited skill is learned further in any case."""
PATIENCE = 3
"""Evaluations without a gain after which learning further ends: the earlier cycle was patient."""


@dataclass(frozen=True, eq=False)
class InheritedSkill:
    """An earlier skill that a cluster takes over."""

    skill: Skill
    policy: Policy

    def good_enough(self, enough: float) -> float:
        """Success that needs no more learning: the lower end of its old interval, at least MIN_INHERITED_SUCCESS."""
        return min(enough, max(self.skill.success_interval[0], MIN_INHERITED_SUCCESS))

    def point(self) -> Point:
        """The earlier cycle's measurement as a point of a curve (half its horizon as the steps of slow successes)."""
        skill = self.skill
        return Point(0, skill.success_rate, skill.success_rate, 0.0, skill.horizon / 2, skill.episodes, 0.0)


def with_short_patience(settings: InduceSettings) -> InduceSettings:
    """The settings for a skill that is learned further."""
    train = settings.train
    return replace(settings, train=replace(train, patience=min(PATIENCE, train.patience)))


def inherited_skills(discovery: Discovery, earlier: SkillLibrary | None) -> dict[int, InheritedSkill]:
    """Cluster number -> the earlier skill that it equals; new clusters are absent."""
    if earlier is None:
        return {}
    return {
        label: InheritedSkill(skill, library_policy(earlier, skill))
        for label in discovery.members
        if (skill := _match(discovery, label, earlier)) is not None
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
    return best if best is not None and shares[best] >= MIN_COMMON_SHARE else None
