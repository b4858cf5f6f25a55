"""The body that carries out commands: a skill's policy, step by step, until its check fires (SDG, section 4.5).

A robot is never handed to generated code; programs reach it only through `sdg.gate.executor`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from sdg.deduction.protocols import CalledSkill
from sdg.envs.domain import Domain
from sdg.envs.world import CodeView, Element, Observation, Perception, PlainObservation, World, without_clock
from sdg.gate.executor import Command, IllegalCommand, SkillResult
from sdg.skills.checks.check import compile_check

MAX_ARGUMENT_CHARS = 200
PATIENCE = 12
"""Steps without anything new after which an attempt at something that was never seen is given up."""

MAX_FRUITLESS_ATTEMPTS = 2
"""Attempts in a row without anything new after which such a skill is given up."""

MAX_SAME_MOMENTS = 3
"""Visits to the same moment after which an attempt at something elsewhere counts as going in circles."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the episode ended; `done` is the task's own judgement. While no field is true, it goes on."""

    done: bool = False
    failed: bool = False
    out_of_time: bool = False

    @property
    def over(self) -> bool:
        """Whether no further step is possible."""
        return self.done or self.failed or self.out_of_time


class Robot:
    """Carries out skills in one world, several attempts each, and keeps the actions of the episode.

    `forgot` lists the steps (since reset) at which it forgot where it had been: they and the actions are enough to
    compute again what the robot knew at any time.
    """

    def __init__(
        self,
        world: World,
        skills: Mapping[str, CalledSkill],
        *,
        domain: Domain,
        rng: np.random.Generator,
        attempts: int = 5,
        draws: int = 16,
    ) -> None:

        self.skills, self.domain = dict(skills), domain
        self.attempts, self._draws = attempts, draws
        self.actions: list[Any] = []
        self.forgot: list[int] = []
        self.ending = Ending()
        self._world = world
        self._persistence = domain.persistence
        self._rng = rng
        self._checks: dict[Command, Callable[[Perception], bool]] = {}
        self._snapshot: Perception | None = None
        self._functions: Mapping[str, Callable[..., object]] | None = None

    def perception(self) -> Perception:
        """The snapshot of current knowledge; the same object until something happens."""
        if self._snapshot is None:
            self._snapshot = self._world.perception()
        return self._snapshot

    def code_view(self) -> CodeView:
        """The view of that snapshot for programs and prompts."""
        return self.domain.perceivable.code_view(self.perception())

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions of that snapshot by name, except those about a current subgoal."""
        if self._functions is None:
            functions = self.code_view().functions().items()
            self._functions = {name: ask for name, ask in functions if name not in self.domain.perceivable.for_checks}
        return self._functions

    def observe(self) -> Observation:
        """This moment, as a guard is shown it."""
        snapshot = self.perception()
        return PlainObservation(
            text=self.code_view().describe(), elements=tuple(snapshot.elements()), perception=snapshot
        )

    def forget(self) -> None:
        """Forget where it has been."""
        self._world.forget()
        self.forgot.append(len(self.actions))
        self._snapshot = self._functions = None

    def perform(self, command: Command) -> SkillResult:
        """Run a skill until its check fires, its attempts are spent or the episode ends.

        The domain's `Persistence` says when it is given up earlier: the robot looks for a thing that was never seen, or
        that is elsewhere, only while something new comes into view. An attempt that ends in another place is the last,
        because skills are practised within one place.
        Raises IllegalCommand for a skill or an argument that doesn't exist.
        """
        skill = self._skill(command)
        try:
            if command.argument:
                self.domain.language.parse(command.argument)
        except ValueError as error:
            raise IllegalCommand(str(error)) from error
        self._world.begin_subgoal()
        self._snapshot = self._functions = None
        fires = self._check(skill, command)
        first_step = len(self.actions)
        distance_before = self._gauge(command)
        first_place = self._persistence.place(self.perception())
        if fires(self.perception()):
            return SkillResult(True, 0, 0)
        fruitless, counts = 0, defaultdict[Hashable, Counter[bytes]](Counter)
        for attempt in range(1, self.attempts + 1):
            before = self.knowledge()
            for action in self._attempt(skill, command, counts=counts):
                result = self._world.step(action)
                self.actions.append(np.asarray(action).tolist())
                self._snapshot = self._functions = None
                self.ending = Ending(
                    done=result.success,
                    failed=result.terminated and not result.success,
                    out_of_time=result.truncated and not result.terminated,
                )
                if fires(self.perception()):
                    return SkillResult(True, len(self.actions) - first_step, attempt)
            if self.ending.over:
                break
            fruitless = fruitless + 1 if self.knowledge() == before else 0
            if reason := self._reason_to_stop(command, place=first_place, fruitless=fruitless):
                return SkillResult(False, len(self.actions) - first_step, attempt, self._persistence.reasons[reason])
        distance = self._gauge(command)
        note = (
            f"{self.domain.perceivable.gauge} was {distance_before:.2f} and is {distance:.2f}"
            if distance_before is not None and distance is not None
            else ""
        )
        return SkillResult(False, len(self.actions) - first_step, attempt, note)

    def _gauge(self, command: Command) -> float | None:
        """How far a command is from done, by the domain's gauge; None where it can't tell."""
        measure = self.functions().get(self.domain.perceivable.gauge)
        try:
            return float(cast(float, measure(command.argument))) if measure else None
        except ValueError:
            return None

    def _attempt(
        self, skill: CalledSkill, command: Command, *, counts: defaultdict[Hashable, Counter[bytes]]
    ) -> Iterator[Any]:
        """The actions of one attempt, at most the skill's horizon; it ends early where nothing is left to look for.

        Each is chosen after the one before it was carried out. `counts` has the actions of all attempts by the moment
        at which they were taken: what a program would see then, without the clock.
        """
        target = self.domain.language.row(command.argument)
        knowledge = self.knowledge()
        idle = 0
        patience = self._persistence.patience(self.perception(), command.argument)
        for _ in range(skill.horizon if patience is None else min(skill.horizon, patience)):
            if self.ending.over:
                return
            counts_here = counts[without_clock(self.code_view().describe())]
            if patience is not None and counts_here.total() == MAX_SAME_MOMENTS - 1:
                return
            yield self._action(skill, target, counts_here)
            before, knowledge = knowledge, self.knowledge()
            idle = idle + 1 if knowledge == before else 0
            if idle >= PATIENCE and not self._is_seen(command):
                return

    def _action(self, skill: CalledSkill, target: np.ndarray, counts: Counter[bytes]) -> Any:
        """Of several sampled actions the one that was taken least often in this state; of equals, the one sampled most
        often. So the robot doesn't repeat actions that led back to this state."""
        count = self._draws if self.domain.inputs.bounds is None else 1  # no two actions of real numbers are the same
        draws = [skill.policy.act(self._world.memory, 0, target, self._rng) for _ in range(count)]
        codes = [np.asarray(action).tobytes() for action in draws]
        best = min(codes, key=lambda action: (counts[action], -codes.count(action)))
        counts[best] += 1
        return draws[codes.index(best)]

    def _reason_to_stop(self, command: Command, *, place: Hashable, fruitless: int) -> str:
        """Why no further attempt is made, as a key of `Persistence.reasons`; "" to go on."""
        if self._persistence.place(self.perception()) != place:
            return "strayed"
        if fruitless == MAX_FRUITLESS_ATTEMPTS and not (command.argument and self._is_seen(command)):
            return "unseen"
        elsewhere = (
            fruitless and command.argument and self._persistence.is_elsewhere(self.perception(), command.argument)
        )
        return "elsewhere" if elsewhere else ""

    def knowledge(self) -> int:
        """How much of the world is known, see `Persistence`: while it is equal, nothing new was seen."""
        return self._persistence.knowledge(self._world.memory)

    def _is_seen(self, command: Command) -> bool:
        """Whether the command's argument fits anything seen so far; a command without one needs nothing."""
        return not command.argument or self._persistence.is_known(self.perception(), command.argument)

    def _skill(self, command: Command) -> CalledSkill:
        skill = self.skills.get(command.name)
        if skill is None:
            raise IllegalCommand(
                f"there is no skill named {command.name!r:.60}; the skills are {', '.join(self.skills)}"
            )
        if skill.takes_argument != bool(command.argument):
            raise IllegalCommand(f"{command.name} takes {'one argument' if skill.takes_argument else 'no argument'}")
        return skill

    def _check(self, skill: CalledSkill, command: Command) -> Callable[[Perception], bool]:
        if command not in self._checks:
            try:
                check = skill.check(command.argument)
            except ValueError as error:
                raise IllegalCommand(
                    f"{command.name} can't take {command.argument!r} ({error}): name it like "
                    f"{self.domain.language.example!r}, or give a record"
                ) from error
            if check is None:
                last_step = len(self.actions) + skill.horizon
                return lambda perception: len(self.actions) >= last_step
            # A library's checks ask what its own domain perceives, whatever preset programs are written for.
            self._checks[command] = compile_check(check, getattr(skill, "domain", self.domain)).fires
        return self._checks[command]


def describe_argument(argument: object, domain: Domain) -> str:
    """A program's argument for a skill, as text: a description as it is, or the name of a record.

    Raises IllegalCommand for anything else; never calls str() on objects of generated code.
    """
    if isinstance(argument, domain.perceivable.records):
        return domain.language.name_of(cast(Element, argument))
    if isinstance(argument, str) and len(argument) > MAX_ARGUMENT_CHARS:
        raise IllegalCommand(f"an argument has at most {MAX_ARGUMENT_CHARS} characters, not {len(argument)}")
    if isinstance(argument, str) and argument.strip():
        return argument.strip()
    argument_text = "None (was the list empty?)" if argument is None else f"a {type(argument).__name__}"
    raise IllegalCommand(
        f"an argument is a description such as {domain.language.example!r} or an object record, not {argument_text}"
    )
