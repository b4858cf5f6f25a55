"""Check functions behind the guard: compiled once, asked about snapshots, tested for health (SDG, section 4.2).

The paper tests only whether a generated check fires. Here a check that raises, or that answers the same question
differently, is found before anything is trained on it.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock

from sdg.envs.domain import Domain, Language, Perceivable
from sdg.envs.world import Perception
from sdg.sandbox.guard import Guard, GuardedFunction, GuardError
from sdg.sandbox.guard.syntax import parse
from sdg.skills.checks.template import Unfit, described_target, mentioned_things, parse_check, rewrite, written_check
from sdg.skills.library.library import Skill
from sdg.skills.subgoal import CheckFunction


@cache
def guard_of(domain: Domain) -> Guard:
    """The guard for check functions over a domain's perception functions."""
    return Guard(domain.perceivable.functions, records=domain.perceivable.records, returns=bool)


@dataclass(frozen=True, slots=True)
class GuardedCheck:
    """An accepted check function, ready to be asked. Threads, which share it, are answered one after the other."""

    check: CheckFunction
    guarded: GuardedFunction
    perceivable: Perceivable
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __call__(self, perception: Perception) -> bool:
        """Whether the subgoal is reached in a snapshot. Raises `BudgetSpent` and `GeneratedError`."""
        functions = self.perceivable.code_view(perception).functions()
        with self._turn:
            return self.guarded(functions)

    def fires(self, perception: Perception) -> bool:
        """Whether the check is true; false where it fails while it runs (on an empty list, say), as in training."""
        try:
            return self(perception)
        except GuardError:
            return False


@lru_cache(maxsize=20_000)
def compile_check(check: CheckFunction, domain: Domain) -> GuardedCheck:
    """The check behind the guard, over a domain's perception functions; loaded once a process. Raises `Refused`, also
    where it would be too long when written out again, as checks about other things are."""
    guarded = guard_of(domain).load(check.source, entry=check.name)
    parse(ast.unparse(parse(check.source)))
    return GuardedCheck(check, guarded, domain.perceivable)


def asked_about(skill: Skill, argument: str, domain: Domain) -> CheckFunction:
    """The first of a skill's checks that can be asked about an argument. Raises ValueError where none can.

    Where actions are real numbers, checks about its kind come first: how near is near depends on thing or pair.
    """
    problem: ValueError | None = None
    language, kind = domain.language, domain.language.kind(argument)
    measures = domain.inputs.bounds is not None
    for template in sorted(skill.checks, key=lambda check: measures and language.kind(check.argument) != kind):
        try:
            if not argument:
                return template.check
            check = about_one_thing(template.check, template.argument, language)
            return with_argument(check, template.argument, argument, language=language)
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError(f"{skill.name} has no check")


def about_one_thing(check: CheckFunction, argument: str, language: Language) -> CheckFunction:
    """The check with "any thing" in place of the other things that it names by more than their kind.

    A subgoal such as "face a free cell next to the grey key while carrying the red one" names two things; a skill takes
    one. Without this, the check would be false in any call of the skill that doesn't carry the red one.
    """
    if not language.anything or not is_description(argument, language):
        return check
    things = mentioned_things(check, language) - {language.parse(argument)}
    specific = [thing for thing in things if sum(language.part(thing, part) is not None for part in language.parts) > 1]
    try:
        return rewrite(check, {language.text(thing): language.anything for thing in specific}, language)
    except Unfit:
        return check


def fault_of(check: GuardedCheck, snapshots: Iterable[Perception]) -> str:
    """Why a check can't be trusted, "" where it can: it is asked twice about each snapshot.

    The test stops at the first state in which the check fails. Being true everywhere is no fault here.
    """
    states = changes = 0
    for snapshot in snapshots:
        states += 1
        try:
            if check(snapshot) is not check(snapshot):
                changes += 1
        except GuardError as error:
            return f"it failed in a visited state: {error}"
    return f"it changed its answer about {changes} of {states} states" if changes else ""


def with_argument(check: CheckFunction, old: str, new: str, *, language: Language) -> CheckFunction:
    """The check about something else: texts `old` in its source become `new`.

    Descriptions are compared by what they mean ("a red key" is "the red key") and their single words are replaced too,
    see `sdg.skills.checks.template`; other texts must be equal. Raises `sdg.skills.checks.template.Unfit` where that is
    impossible.
    """
    return rewrite(check, {old: new}, language) if is_description(old, language) else _with_literal(check, old, new)


def is_description(text: str, language: Language) -> bool:
    """Whether a text is a description in a domain's language."""
    return described_target(text, language) is not None


def _with_literal(check: CheckFunction, old: str, new: str) -> CheckFunction:
    tree = parse_check(check)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == old:
            node.value = new
    return written_check(check.name, tree)
