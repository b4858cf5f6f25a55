"""Composed skills in a program: the source that is linked behind it, and the host's answers to their calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sdg.deduction.robot import Robot, describe_argument
from sdg.gate.executor import IllegalCommand
from sdg.sandbox.guard import Refused, Signature
from sdg.skills.library.composed import (
    BEGIN,
    NUMBER,
    POSITION,
    REQUIRE,
    RESULT,
    THING,
    ComposedSkill,
    linked_source,
    reached_globals,
)

SIGNATURES: Mapping[str, Signature] = {
    name: Signature(name, count, count) for name, count in ((REQUIRE, 3), (BEGIN, 2), (RESULT, 3))
}
"""The host's functions as linked source calls them."""
MAX_LINKED_BYTES = 2**16
"""Most bytes of composed skills behind one program, because loading them takes seconds of processor time."""


@dataclass(frozen=True, slots=True)
class ComposedCall:
    """The result of one call of a composed skill: its check before and after, and what its own code returned."""

    name: str
    before: bool
    said: bool | None
    after: bool


class ComposedCalls:
    """The composed skills that a program may use, with the results of its calls."""

    def __init__(self, skills: Mapping[str, ComposedSkill], robot: Robot) -> None:
        self._log: list[ComposedCall] = []
        self._under_way: list[tuple[str, bool]] = []
        self._skills, self._robot = skills, robot

    @property
    def log(self) -> tuple[ComposedCall, ...]:
        """Finished calls, then those that the episode's end cut short: these succeeded if the instruction is done."""
        is_done = self._robot.ending.done
        return (*self._log, *(ComposedCall(name, before, None, is_done) for name, before in self._under_way))

    def link(self, source: str) -> str:
        """The source to put behind the program: the composed skills that it names.

        Raises Refused for a program that redefines a name they use, calls functions reserved for them, or names too
        many.
        """
        behind = linked_source(source, self._skills)
        if len(behind.encode()) > MAX_LINKED_BYTES:
            raise Refused(
                f"The composed skills that it names have more than {MAX_LINKED_BYTES} bytes of code: name fewer."
            )
        try:
            conflicts = reached_globals(source, behind, skills=self._skills) if self._skills else ()
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Refused(f"The composed skills can't be read: {error}.") from None
        if conflicts:
            raise Refused(f"{min(conflicts)} has a meaning for the composed skills: choose another name")
        return behind

    def signatures(self) -> Mapping[str, Signature]:
        """The host's functions that linked source calls; none without composed skills."""
        return SIGNATURES if self._skills else {}

    def functions(self, refused: Callable[[str], Exception]) -> Mapping[str, Callable[..., bool]]:
        """These functions by name; `refused` makes the error that a program gets for an invalid argument."""

        def require(value: object, name: object, kind: object) -> bool:
            if problem := self._fault(value, str(kind)):
                raise refused(f"{name}: {problem}")
            return True

        def note(name: object, returned: object, after: object) -> bool:
            """Log a call's result, and those of calls within it that ended without one."""
            answer = returned if isinstance(returned, bool) else None
            while self._under_way:
                inner, before = self._under_way.pop()
                is_own = inner == name
                self._log.append(ComposedCall(inner, before, answer if is_own else None, is_own and after is True))
                if is_own:
                    return after is True
            raise refused(f"{name} ends, but never began")

        return {REQUIRE: require, BEGIN: self._begin, RESULT: note} if self._skills else {}

    def _begin(self, name: object, before: object) -> bool:
        self._under_way.append((str(name), before is True))
        return True

    def _fault(self, value: object, kind: str) -> str:
        """Why a value is no valid argument of a kind; "" where it is."""
        if kind == NUMBER:
            return "" if _is_number(value) else "its argument is a number"
        if kind == POSITION:
            is_position = isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))
            return "" if is_position else "its argument is a position, such as (0, 1)"
        domain = self._robot.domain
        try:
            target = domain.language.parse(describe_argument(value, domain))
        except (IllegalCommand, ValueError) as error:
            return str(error)
        parts = {domain.language.part(target, part) for part in domain.language.parts}
        return f"its argument is a {kind}" if isinstance(value, str) and kind not in (THING, *parts) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
