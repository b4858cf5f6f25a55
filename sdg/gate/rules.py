"""The plain guard: what can be refused for certain, in words that a model can act on.

It knows no kind of world. What commands there are and what each one needs is handed to it (`Usage`), and so
is what an argument can mean (`Resolver`); a skill library learns the first from where its members began and ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sdg.envs.perception import Element, Observation
from sdg.gate.verdict import Command, Verdict

_CLOCK = re.compile(r"\bstep \d+\b", re.IGNORECASE)
_PASSED = Verdict(True, "no rule speaks against it")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command is known to need.

    `needs_seen_target`: it can't begin before its argument was seen. `grasps`: it begins with an empty hand and ends
    with the argument in it. `releases`: it begins with something in the hand and ends with an empty one.
    """

    takes_argument: bool = True
    needs_seen_target: bool = False
    grasps: bool = False
    releases: bool = False


class Resolver(Protocol):
    """What an argument means in a world."""

    def __call__(self, argument: str, elements: Sequence[Element]) -> Sequence[Element]:
        """The elements that `argument` describes. ValueError with the grammar when it describes nothing at all."""
        ...


class RulesGuard:
    """Refuses unknown commands, wrong arguments, unseen objects, a full or empty hand; doubts what changed nothing."""

    source = "rules"
    kind = "rules"

    def __init__(self, usages: Mapping[str, Usage], *, resolve: Resolver) -> None:
        self.usages = dict(usages)
        self.resolve = resolve

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses what can't work on the observation, and says what to do instead."""
        usage = self.usages.get(command.name)
        if usage is None:
            return _refuse(f"there is no skill named {command.name!r:.60}; the skills are {', '.join(self.usages)}")
        if not usage.takes_argument:
            return _refuse(f"{command.name} takes no argument: call {command.name}()") if command.argument else _PASSED
        if not command.argument:
            return _refuse(f"{command.name} needs an argument: the description of a thing, or its record")
        try:
            found = self.resolve(command.argument, observation.elements)
        except ValueError as error:
            return _refuse(f"{command.name} has an argument that can't be used: {error}")
        return self._target(command, usage, found) or self._hand(command, usage, observation) or _PASSED

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """A command after which everything is as it was had no effect."""
        # Time always passes; a text that differs in its step count alone tells of no change.
        if before.elements == after.elements and without_clock(before.text) == without_clock(after.text):
            return _refuse(f"{command} changed nothing that can be seen")
        return Verdict(True, "something changed")

    def _target(self, command: Command, usage: Usage, found: Sequence[Element]) -> Verdict | None:
        if found or not usage.needs_seen_target:
            return None
        finders = [name for name, other in self.usages.items() if other.takes_argument and not other.needs_seen_target]
        advice = f"; first make it seen, for example with {Command(finders[0], command.argument)}" if finders else ""
        return _refuse(f"nothing that matches {command.argument!r:.80} has been seen so far{advice}")

    def _hand(self, command: Command, usage: Usage, observation: Observation) -> Verdict | None:
        held = next((thing for thing in observation.elements if thing.held), None)
        if usage.releases and held is None:
            return _refuse(f"{command} needs something in the hand, and nothing is carried: pick it up first")
        if not usage.grasps or held is None or held in self.resolve(command.argument, (held,)):
            return None
        return _refuse(f"{command} needs an empty hand, and the {held.name} is carried: put it down first")


def without_clock(text: str) -> str:
    """A description of a moment without its step count: equal before and after what changed nothing."""
    return _CLOCK.sub("", text)


def _refuse(reason: str) -> Verdict:
    return Verdict(False, reason)
