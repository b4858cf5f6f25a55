"""The plain guard refuses only what certainly can't work, and says what is wrong.

It knows no kind of world. It gets the commands that exist, what each one needs (`Usage`), and the meanings of arguments
(`Resolver`); a skill library learns `Usage` from where its members began and ended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sdg.envs.domain import Affordances
from sdg.envs.world import Element, Observation, without_clock
from sdg.gate.executor import Command, Verdict

_PASSED = Verdict(True, "no rule speaks against it")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command is known to need, and the questions (`asks`) that decide whether its effect was observed.

    `needs_seen_target`: it can't begin before its argument was seen. `grasps`: it begins with an empty hand and ends
    with the argument in it. `releases`: it begins with something in the hand and ends with an empty one.
    """

    takes_argument: bool = True
    needs_seen_target: bool = False
    grasps: bool = False
    releases: bool = False
    asks: frozenset[str] = frozenset()


Resolver = Callable[[str, Sequence[Element]], Sequence[Element]]
"""What an argument means in a world: the elements that it describes. Raises ValueError with the grammar if it describes
nothing."""


class RulesGuard:
    """Refuses unknown commands, wrong arguments, unseen objects, a full or empty hand, and commands that the world's
    `affordances` rule out; judges a command incomplete if its effect wasn't observed."""

    source = "rules"
    kind = "rules"

    def __init__(
        self, usages: Mapping[str, Usage], *, resolve: Resolver, affordances: Affordances | None = None
    ) -> None:
        self.usages, self.resolve, self.affordances = dict(usages), resolve, affordances

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses what can't work on the observation; says what is wrong, but never suggests a plan."""
        usage = self.usages.get(command.name)
        if usage is None:
            return _refuse(f"there is no skill named {command.name!r:.60}; the skills are {', '.join(self.usages)}")
        if not usage.takes_argument:
            if command.argument:
                return _refuse(f"{command.name} takes no argument: call {command.name}()")
            return self._obstacle(command, usage, observation) or _PASSED
        if not command.argument:
            return _refuse(f"{command.name} needs an argument: the description of a thing, or its record")
        try:
            meant = self.resolve(command.argument, observation.elements)
        except ValueError as error:
            return _refuse(f"{command.name} has an argument that can't be used: {error}")
        if usage.needs_seen_target and not meant:
            return _refuse(f"nothing that matches {command.argument!r:.80} has been seen so far")
        return self._hand(command, usage, observation) or self._obstacle(command, usage, observation) or _PASSED

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """The command's effect must be observed; where the world can't tell, something must have changed."""
        usage = self.usages.get(command.name)
        if usage is not None and self.affordances and before.perception and after.perception:
            missing = self.affordances.shortfall(usage.asks, command.argument, before.perception, after.perception)
            if missing is not None:
                observed = Verdict(True, "the effect was observed")
                return _refuse(f"{command} isn't complete: {missing}") if missing else observed
        if after is before:
            return Verdict(True, "it was so already: no step was made")
        # Time always passes, so texts that differ only in the step count show no change.
        if before.elements == after.elements and without_clock(before.text) == without_clock(after.text):
            return _refuse(f"{command} changed nothing that can be seen")
        return Verdict(True, "something changed")

    def _obstacle(self, command: Command, usage: Usage, observation: Observation) -> Verdict | None:
        if self.affordances is None or observation.perception is None:
            return None
        reason = self.affordances.obstacle(usage.asks, command.argument, observation.perception)
        return _refuse(f"{command} can't succeed from here: {reason}") if reason else None

    def _hand(self, command: Command, usage: Usage, observation: Observation) -> Verdict | None:
        held = next((thing for thing in observation.elements if thing.held), None)
        if usage.releases and held is None:
            return _refuse(f"{command} needs something in the hand, and nothing is carried")
        if not usage.grasps or held is None or held in self.resolve(command.argument, (held,)):
            return None
        return _refuse(f"{command} needs an empty hand, and the {held.name} is carried")


_refuse = partial(Verdict, False)
