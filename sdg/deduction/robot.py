"""The body that carries out commands: a skill's policy, step by step, until its check fires (SDG, section 4.5).

A robot is never handed to generated code; programs reach it only through `sdg.gate.executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdg.deduction.protocols import Judge, Skill, World
from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import LOCATIONS, Target, parse
from sdg.envs.babyai.perception.snapshot import Object
from sdg.envs.babyai.practice.features import NO_TARGET
from sdg.envs.perception import Observation, Perception
from sdg.gate.executor import IllegalCommand, Performed
from sdg.gate.verdict import Command
from sdg.skills.sandbox.guard import GuardError

MAX_ARGUMENT_CHARS = 200
PATIENCE = 12
"""Steps without a newly seen cell after which an attempt at something that was never seen is given up."""

FRUITLESS_ATTEMPTS = 2
"""Attempts in a row, none of which showed a new cell, after which such a skill is given up."""

NOTHING_TO_SEE = "nothing like it was ever seen, and no new place comes into view from here"
ELSEWHERE = "it lies in another room and nothing new came into view: go through doors to that room first"
STRAYED = "it ended in another room than it began in"
NOTHING = Target(*NO_TARGET)
"""What skills that take no argument are shown: a target that marks nothing, as in training."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the episode ended: `done` is the task's own judgement; neither field true means that it goes on."""

    done: bool = False
    failed: bool = False
    out_of_time: bool = False

    @property
    def over(self) -> bool:
        """Whether no further step is possible."""
        return self.done or self.failed or self.out_of_time


class Robot:
    """Carries out skills in one world, several attempts each, and keeps the actions of the episode.

    `forgot` has the steps (since reset) at which the visited rooms were forgotten: with them and the actions, what the
    robot knew at any time can be made again.
    """

    def __init__(
        self, world: World, skills: Mapping[str, Skill], *, judge: Judge, rng: np.random.Generator, attempts: int = 5
    ) -> None:
        if attempts < 1:
            raise ValueError(f"a skill needs at least one attempt, got {attempts}")
        self.skills = dict(skills)
        self.attempts = attempts
        self.actions: list[int] = []
        self.forgot: list[int] = []
        self.ending = Ending()
        self._world, self._judge, self._rng = world, judge, rng
        self._checks: dict[Command, Callable[[Perception], bool]] = {}
        self._snapshot: Perception | None = None
        self._functions: Mapping[str, Callable[..., object]] | None = None

    def perception(self) -> Perception:
        """The snapshot of what is known now; the same object until something happens."""
        if self._snapshot is None:
            self._snapshot = self._world.perception()
        return self._snapshot

    def functions(self) -> Mapping[str, Callable[..., object]]:
        """The perception functions of that snapshot by name."""
        if self._functions is None:
            self._functions = self.perception().functions()
        return self._functions

    def observe(self) -> Observation:
        """What a guard is shown of this moment."""
        seen: object = self.functions()["get_observed_objects"]()
        elements = tuple(thing for thing in seen if isinstance(thing, Object)) if isinstance(seen, Sequence) else ()
        return Observation(text=self.perception().describe(), elements=elements)

    def forget_visited_rooms(self) -> None:
        """Forget which rooms were visited, but for the one the robot is in."""
        self._world.forget_visited_rooms()
        self.forgot.append(len(self.actions))
        self._snapshot = self._functions = None

    def perform(self, command: Command) -> Performed:
        """Run a skill until its check fires, its attempts are spent or the episode ends.

        What was never seen isn't looked for longer than new places come into view: it must be elsewhere; nor is what
        is known to lie in another room. An attempt that ends in another room is the last: skills are practised within
        a room, and there are ways back.
        Raises IllegalCommand for a skill or an argument that doesn't exist.
        """
        skill = self._skill(command)
        self._target(command)
        self._world.begin_subgoal()
        self._snapshot = self._functions = None
        fires = self._check(skill, command)
        began, room = len(self.actions), self._room()
        if fires(self.perception()):
            return Performed(True, 0, 0)
        fruitless = 0
        for attempt in range(1, self.attempts + 1):
            seen = self._cells_seen()
            if self._attempt(skill, command, fires=fires):
                return Performed(True, len(self.actions) - began, attempt)
            if self.ending.over:
                break
            if self._room() != room:
                return Performed(False, len(self.actions) - began, attempt, STRAYED)
            fruitless = fruitless + 1 if self._cells_seen() == seen else 0
            if fruitless == FRUITLESS_ATTEMPTS and not self._knows(command):
                return Performed(False, len(self.actions) - began, attempt, NOTHING_TO_SEE)
            if fruitless and self._lies_elsewhere(command):
                return Performed(False, len(self.actions) - began, attempt, ELSEWHERE)
        return Performed(False, len(self.actions) - began, attempt)

    def _attempt(self, skill: Skill, command: Command, *, fires: Callable[[Perception], bool]) -> bool:
        """One try of at most the skill's horizon; it ends early where there is nothing left to look for."""
        target, seen, idle = self._target(command).row(), self._cells_seen(), 0
        for _ in range(skill.horizon):
            if self.ending.over:
                return False
            self._step(skill.policy.act(self._world.memory, 0, target, self._rng))
            if fires(self.perception()):
                return True
            seen, idle = self._cells_seen(), idle + 1 if self._cells_seen() == seen else 0
            if idle >= PATIENCE and not self._knows(command):
                return False
        return False

    def _room(self) -> object:
        return self.functions()["get_current_room"]()

    def _cells_seen(self) -> int:
        return int(np.count_nonzero(self._world.memory.cells[0]))

    def _knows(self, command: Command) -> bool:
        """Whether anything seen so far is what the command is about; commands about nothing know all they need."""
        return not command.argument or bool(self.functions()["find_objects"](command.argument))

    def _lies_elsewhere(self, command: Command) -> bool:
        """Whether what the command is about was seen, in other rooms only. Doors are of two rooms at once."""
        seen = self.functions()["find_objects"](command.argument) if command.argument else ()
        found = [thing for thing in seen if isinstance(thing, Object)] if isinstance(seen, Sequence) else []
        return bool(found) and all(
            thing.type != "door" and not thing.held and thing.room != self._room() for thing in found
        )

    def _step(self, action: int) -> None:
        result = self._world.step(action)
        self.actions.append(int(action))
        self._snapshot = self._functions = None
        done = result.terminated and result.reward > 0
        self.ending = Ending(done, result.terminated and not done, result.truncated and not result.terminated)

    def _skill(self, command: Command) -> Skill:
        skill = self.skills.get(command.name)
        if skill is None:
            raise IllegalCommand(
                f"there is no skill named {command.name!r:.60}; the skills are {', '.join(self.skills)}"
            )
        if skill.takes_argument != bool(command.argument):
            raise IllegalCommand(f"{command.name} takes {'one argument' if skill.takes_argument else 'no argument'}")
        return skill

    def _target(self, command: Command) -> Target:
        try:
            return parse(command.argument) if command.argument else NOTHING
        except ValueError as error:
            raise IllegalCommand(str(error)) from error

    def _check(self, skill: Skill, command: Command) -> Callable[[Perception], bool]:
        if command not in self._checks:
            try:
                check = skill.check(command.argument)
            except ValueError as error:
                advice = "name one color and type, or give a record"
                raise IllegalCommand(f"{command.name} can't take {command.argument!r} ({error}): {advice}") from error
            self._checks[command] = _false_on_error(self._judge(check))
        return self._checks[command]


def _false_on_error(fires: Callable[[Perception], bool]) -> Callable[[Perception], bool]:
    """A generated check that fails on what it sees (an empty list, say) has not fired, as in training."""

    def judge(perception: Perception) -> bool:
        try:
            return fires(perception)
        except GuardError:
            return False

    return judge


def describe_argument(argument: object) -> str:
    """What a program handed to a skill, as text: a description as it stands, or a record as 'name #id'.

    Raises IllegalCommand for anything else; never calls str() on what generated code made.
    """
    if isinstance(argument, Object):
        return f"{argument.name} #{argument.id}"
    if isinstance(argument, str) and len(argument) > MAX_ARGUMENT_CHARS:
        raise IllegalCommand(f"an argument has at most {MAX_ARGUMENT_CHARS} characters, not {len(argument)}")
    if isinstance(argument, str) and argument.strip():
        return argument.strip()
    given = "None (was the list empty?)" if argument is None else f"a {type(argument).__name__}"
    raise IllegalCommand(f"an argument is a description such as 'the red ball' or an object record, not {given}")


def resolve_records(argument: str, elements: Sequence[Object]) -> Sequence[Object]:
    """The records that a description fits, for guards; ValueError with the grammar when it is none.

    Location words are judged by the side alone: a record doesn't say in which room the mission began, and a guard must
    not refuse what may be right.
    """
    target = parse(argument)
    return [thing for thing in elements if _fits(thing, target)]


def _fits(thing: Object, target: Target) -> bool:
    x, y = thing.start_position
    side = {"": True, "on your left": x < 0, "on your right": x > 0, "in front of you": y > 0, "behind you": y < 0}
    return (
        target.type in (-1, TYPES.index(thing.type))
        and target.color in (-1, COLOURS.index(thing.color))
        and target.id in (-1, thing.id)
        and side[LOCATIONS[target.location]]
    )
