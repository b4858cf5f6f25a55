"""A stored library's skills as options that a robot can run, and what each is known to need.

What a skill needs is learned, not told: where its members began and how they ended decides what the rules may refuse
(`learn_usage`). Induction keeps it in the library's provenance under "usages".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sdg.envs.domain import Domain, Language
from sdg.envs.domains import domain_of_data
from sdg.envs.perception import Element
from sdg.gate.rules import Usage
from sdg.skills.checks.check import asked_about
from sdg.skills.experience import Experience
from sdg.skills.library.library import Skill as StoredSkill
from sdg.skills.library.library import SkillLibrary
from sdg.skills.policy.network import Policy, random_policy
from sdg.skills.search.skill_calls import USAGES, library_policy
from sdg.skills.subgoal import CheckFunction


@dataclass(frozen=True, eq=False)
class Option:
    """A skill of a library with its policy, as `sdg.deduction.protocols.Skill` wants it."""

    stored: StoredSkill
    policy: Policy
    usage: Usage
    domain: Domain

    @property
    def name(self) -> str:
        """The name programs call it by."""
        return self.stored.name

    @property
    def description(self) -> str:
        """What it does, for the prompt."""
        return self.stored.description

    @property
    def examples(self) -> tuple[str, ...]:
        """Subgoals it was learned from, in words."""
        return self.stored.members

    @property
    def takes_argument(self) -> bool:
        """Whether it acts on something that the call names."""
        return self.stored.takes_argument

    @property
    def horizon(self) -> int:
        """Steps one attempt may take."""
        return self.stored.horizon

    @property
    def success_rate(self) -> float:
        """Share of fresh trials in which one attempt reached its subgoal."""
        return self.stored.success_rate

    def check(self, argument: str) -> CheckFunction:
        """The first of the members' checks that can be asked about the argument. ValueError where none can."""
        return asked_about(self.stored, argument, self.domain.language)


def options_of(library: SkillLibrary) -> dict[str, Option]:
    """Every skill of a library, ready to run, by name. Raises ValueError for weights that are no policy."""
    return _options(library, lambda skill: library_policy(library, skill))


def random_options_of(library: SkillLibrary, *, seed: int) -> dict[str, Option]:
    """The same skills with random weights: the row of Table 1 that shows what is owed to learning."""
    rng, inputs = np.random.default_rng(seed), domain_of_data(library.domain).inputs
    return _options(library, lambda skill: random_policy(inputs, rng))


def _options(library: SkillLibrary, policy_of: Callable[[StoredSkill], Policy]) -> dict[str, Option]:
    usages, domain = _stored_usages(library), domain_of_data(library.domain)
    return {skill.name: Option(skill, policy_of(skill), usages[skill.name], domain) for skill in library.skills}


def _stored_usages(library: SkillLibrary) -> dict[str, Usage]:
    """What the provenance says of usage; a library that says nothing usable has skills that nothing is held against."""
    stored = library.provenance.get(USAGES, {})
    fields = {"needs_seen_target", "grasps", "releases"}
    usages = {}
    for skill in library.skills:
        known = stored.get(skill.name, {}) if isinstance(stored, Mapping) else {}
        flags = {name: known.get(name) is True for name in fields} if isinstance(known, Mapping) else {}
        usages[skill.name] = Usage(skill.takes_argument, **flags)
    return usages


def learn_usage(members: Iterable[tuple[Experience, str]], *, domain: Domain, takes_argument: bool) -> Usage:
    """What all members (with their arguments) have in common at their beginning and their end.

    Each is replayed in its own world. Nothing is claimed of members that were true already or of fewer than three: a
    rule that refuses needs more than one witness.
    """
    witnesses = [_witness(experience, argument, domain) for experience, argument in members if experience.actions]
    if len(witnesses) < 3:
        return Usage(takes_argument)
    return Usage(
        takes_argument=takes_argument,
        needs_seen_target=takes_argument and all(each.seen for each in witnesses),
        grasps=all(each.held_after and not each.held_before for each in witnesses),
        releases=all(each.held_before and not each.held_after for each in witnesses),
    )


def stored_form(usages: Mapping[str, Usage]) -> dict[str, dict[str, bool]]:
    """Usages as plain values, for `provenance[USAGES]`."""
    return {name: asdict(usage) for name, usage in usages.items()}


@dataclass(frozen=True, slots=True)
class _Witness:
    seen: bool
    held_before: bool
    held_after: bool


def _witness(experience: Experience, argument: str, domain: Domain) -> _Witness:
    world = domain.open(experience.level, lift_time_limit=True)
    world.reset(experience.seed)
    for action in experience.restore_actions:
        world.step(action)
    before = world.perception().elements()
    for action in experience.actions:
        world.step(action)
    after = world.perception().elements()
    return _Witness(_is_seen(argument, before, domain.language), _is_holding(before), _is_holding(after))


def _is_seen(argument: str, things: Sequence[Element], language: Language) -> bool:
    try:
        return bool(language.resolve(argument, things)) if argument else False
    except ValueError:
        return False


def _is_holding(things: Sequence[Element]) -> bool:
    return any(thing.held for thing in things)
