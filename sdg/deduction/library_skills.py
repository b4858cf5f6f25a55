"""A stored library's skills as options that a robot can run, and what each is known to need.

What a skill needs is learned, not declared: where its members began and how they ended decides what the rules may
refuse (`learn_needs`). Induction keeps this in the library's provenance under "usages".
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdg.envs.domain import Domain
from sdg.envs.domains import domain_of_data
from sdg.errors import UserError
from sdg.gate.rules import Usage
from sdg.skills.checks.check import asked_about, is_description
from sdg.skills.checks.shape import asked_by
from sdg.skills.library.library import CONDITIONS, USAGES, Skill as StoredSkill, SkillLibrary
from sdg.skills.policy.network import Policy, random_weights
from sdg.skills.search.skill_search import library_policy, provenance_of
from sdg.skills.strict_json import decode
from sdg.skills.subgoal import CheckFunction, Experience

FLAGS = ("needs_seen_target", "grasps", "releases")
"""Flags of a skill's usage in a library's provenance, beside whether it takes an argument."""
MAX_WITNESSES = 200
MIN_FACT_SHARE = 0.95
MAX_ALREADY_SHARE = 0.5
"""A fact that was true before a larger share of members doesn't count as an effect."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """A domain's facts about a skill: true `before` nearly all members, and true `after` them but not before."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Option:
    """A skill of a library with its policy, in the form of `sdg.deduction.protocols.CalledSkill`."""

    stored: StoredSkill
    policy: Policy
    usage: Usage
    domain: Domain
    conditions: Conditions = Conditions()

    @property
    def name(self) -> str:
        """The name programs call it by."""
        return self.stored.name

    @property
    def description(self) -> str:
        """Its arguments, needs, effects and cost, in sentences for the prompt, from its members and measurements."""
        facts = self.conditions
        it = f"the {self.parameters[0]}" if self.takes_argument else "it"
        kinds = f"Practised with {', '.join(self.kinds)}." if self.takes_argument and len(self.kinds) > 1 else ""
        needs = f"{it.capitalize()} has to be seen before." if self.usage.needs_seen_target else ""
        needs = f"Practised where {_clause(facts.before, it)}." if facts.before else needs
        leaves = f"Afterwards {_clause(facts.after, it)}." if facts.after else ""
        cost = f"A try takes at most {self.horizon} steps."
        if self.stored.mean_steps and (rate := self.stored.success_rate):
            # The mean is one of all trials, and one that fails takes all its steps.
            steps = max(1.0, (self.stored.mean_steps - (1 - rate) * self.horizon) / rate)
            cost = f"A try that succeeds takes about {steps:.0f} steps, one that fails {self.horizon}."
        return " ".join(filter(None, (kinds, needs, leaves, cost)))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of things that its members were about, the commonest first; () where an argument names no kind."""
        language = self.domain.language
        if "type" not in language.parts:
            return ()
        kinds = [language.part(language.parse(example), "type") for example in self.stored.argument_examples]
        return tuple(dict.fromkeys(kind for kind in kinds if kind))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The name of its one parameter: the kind of thing that it takes, if there is only one."""
        if not self.takes_argument:
            return ()
        return self.kinds if len(self.kinds) == 1 else ("thing",)

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

    @property
    def ends_when(self) -> str:
        """Where actions are real numbers, the check that ends a call, for an argument of each kind: a planner can't
        guess which distance counts as near."""
        if self.domain.inputs.bounds is None:
            return ""
        examples = self.stored.argument_examples if self.takes_argument else ("",)
        first_of_kind = {self.domain.language.kind(example): example for example in reversed(examples)}
        return "\n".join(_body(self.check(example), example) for example in first_of_kind.values())

    def check(self, argument: str) -> CheckFunction:
        """The first of the members' checks that can be asked about the argument. ValueError where none can."""
        return asked_about(self.stored, argument, self.domain)


def _body(check: CheckFunction, argument: str) -> str:
    """A check's body without comments, below a line that names its argument."""
    [own] = [node for node in ast.parse(check.source).body if getattr(node, "name", "") == check.name]
    about = f"With {argument!r} it" if argument else "It"
    return "\n    ".join([f"    {about} acts until:", *ast.unparse(own).splitlines()[1:]])


def options_of(library: SkillLibrary, world: Domain | None = None) -> dict[str, Option]:
    """Every skill of a library, ready to run, by name. Raises ValueError for weights that are no policy, UserError
    where policies see something else in the `world` that they are for."""
    usages, domain = provenance_of(library, USAGES), domain_of_data(library.domain)
    if len(library) and world not in (None, domain) and world.inputs is not domain.inputs:
        raise UserError(f"the skills are of {library.domain}, not of {world.name}")
    try:  # Conditions in the provenance that can't be read count as absent.
        conditions = {
            str(name): decode(Conditions, value, place=CONDITIONS)
            for name, value in dict(library.provenance.get(CONDITIONS, {})).items()
        }
    except (TypeError, ValueError):
        conditions = {}
    return {
        skill.name: Option(
            skill,
            library_policy(library, skill),
            # Where the provenance has nothing that can be read, the rules have no reason to refuse a skill.
            Usage(
                skill.takes_argument,
                **{flag: usages.get(skill.name, {}).get(flag) is True for flag in FLAGS},
                # What all of its checks ask of the world, see `sdg.skills.checks.shape.signature`.
                asks=frozenset.intersection(*(asked_by(own.check, own.argument) for own in skill.checks)),
            ),
            domain,
            conditions.get(skill.name, Conditions()),
        )
        for skill in library.skills
    }


def random_options_of(library: SkillLibrary, *, seed: int) -> dict[str, Option]:
    """A library's skills with random weights: the row of Table 1 that shows the contribution of learning."""
    rng = np.random.default_rng(seed)
    weights = {skill.name: random_weights(library.weights[skill.name], rng) for skill in library.skills}
    return options_of(replace(library, weights=weights))


def _clause(facts: Sequence[str], it: str) -> str:
    """Facts as one clause, with "it" replaced."""
    instead = {"it": it, "its": f"{it}'s"}
    clauses = [" ".join(instead.get(word, word) for word in fact.split(" ")) for fact in facts]
    return " and ".join(filter(None, [", ".join(clauses[:-1]), clauses[-1]]))


def learn_needs(
    members: Iterable[tuple[Experience, str]], *, domain: Domain, takes_argument: bool
) -> tuple[Usage, Conditions]:
    """The usage that all members (with their arguments) have in common, and the facts that up to MAX_WITNESSES of them
    share at their beginning and their end.

    Each is replayed in its own world. Members that were true already don't count, and fewer than three prove nothing,
    because a rule that refuses needs more than one witness.
    """
    witnesses = [_witness(member, argument, domain) for member, argument in members if member.actions]
    if len(witnesses) < 3:
        return Usage(takes_argument), Conditions()
    before = _shares([witness.facts_before for witness in witnesses[:MAX_WITNESSES]])
    after = _shares([witness.facts_after for witness in witnesses[:MAX_WITNESSES]])
    usage = Usage(
        takes_argument=takes_argument,
        needs_seen_target=takes_argument and all(witness.is_target_seen for witness in witnesses),
        grasps=all(witness.held_after and not witness.held_before for witness in witnesses),
        releases=all(witness.held_before and not witness.held_after for witness in witnesses),
    )
    return usage, Conditions(
        tuple(fact for fact in before if before[fact] >= MIN_FACT_SHARE),
        tuple(fact for fact in after if after[fact] >= MIN_FACT_SHARE and before[fact] <= MAX_ALREADY_SHARE),
    )


def _shares(rows: Sequence[Mapping[str, bool]]) -> dict[str, float]:
    """The share of rows in which each fact is true."""
    return {fact: sum(facts[fact] for facts in rows) / len(rows) for fact in rows[0]}


@dataclass(frozen=True, slots=True)
class _Witness:
    is_target_seen: bool
    held_before: bool
    held_after: bool
    facts_before: Mapping[str, bool]
    facts_after: Mapping[str, bool]


def _witness(member: Experience, argument: str, domain: Domain) -> _Witness:
    world = domain.open(member.level, lift_time_limit=True)
    world.reset(member.seed)
    for action in member.restore_actions:
        world.step(action)
    world.begin_subgoal()
    before = world.perception()
    for action in member.actions:
        world.step(action)
    after = world.perception()
    hands = [any(thing.held for thing in moment.elements()) for moment in (before, after)]
    name = argument if is_description(argument, domain.language) else ""
    is_target_seen = bool(name and domain.language.resolve(name, before.elements()))
    return _Witness(is_target_seen, hands[0], hands[1], domain.facts(before, name), domain.facts(after, name))
