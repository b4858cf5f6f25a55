"""Another hypothesis for a robot that has learned skills: the plan that failed, with a detour where it failed.

What was reached stays as it was planned. Before the goal that could not be reached comes another room to look for the
thing in, or the key that a door needs, as far as the prompt tells of skills that reach such goals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from sdg.llm.babylang import grammar
from sdg.llm.babylang.phrases import Meaning, meaning

ROOM, KEY = "room", "key"
"""Detours: through an unexplored door into the room behind it; for the key of a door."""
INTO_A_ROOM = ("find_exit", "goto_exit", "open_exit", "enter")
NEEDED: Mapping[str, frozenset[str]] = {
    ROOM: frozenset({"goto_exit", "open_exit", "enter"}),
    KEY: frozenset({"discover", "goto", "pick"}),
}
"""Kinds of skills without which a detour isn't proposed."""
ROUND_ABOUT = 0.5
"""How often another room is proposed for a thing that was found and could not be got to."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal before it is phrased; `carried` has to stay in the hand until it is put to use ("" for nothing)."""

    kind: str
    argument: str = ""
    carried: str = ""


@dataclass(slots=True)
class Tried:
    """An earlier plan as it is read: the detours before each goal of the straight plan, and where it failed."""

    detours: dict[int, list[str]] = field(default_factory=dict)
    failed: Meaning = field(default_factory=lambda: meaning(""))
    at: int = 0
    on_detour: str = ""

    def before(self, number: int) -> list[str]:
        """The detours before a goal of the straight plan, to be read and changed."""
        return self.detours.setdefault(number, [])


def replan(
    straight: Sequence[Goal], tried: Sequence[str], *, skills: Collection[str], rng: Random, can_look: bool
) -> list[Goal]:
    """The goals to try next; `tried` are the texts of the goals up to the one that failed, `skills` kinds of skills."""
    earlier = read(straight, tried)
    _mend(earlier, straight, skills=frozenset(skills), rng=rng)
    return _laid_out(straight, earlier, look=("look",) if can_look else ())


def read(straight: Sequence[Goal], tried: Sequence[str]) -> Tried:
    """Tell the goals of the straight plan and the detours between them apart."""
    found = Tried()
    for number, goal in enumerate(map(meaning, tried)):
        last = number == len(tried) - 1
        is_next = found.at < len(straight) and _same(goal, straight[found.at])
        found.on_detour = "" if is_next else _detour(goal)
        if goal.kind in {INTO_A_ROOM[0], "pick"} and found.on_detour:
            found.before(found.at).append(found.on_detour)
        if last:
            found.failed = goal
        elif is_next:
            found.at += 1
    return found


def _same(goal: Meaning, planned: Goal) -> bool:
    kind = "open" if goal.kind == "unlock" else goal.kind
    told = goal.kind in {"put", "face", "drop"} or goal.argument == planned.argument
    return kind == planned.kind and told


def _detour(goal: Meaning) -> str:
    if goal.kind in {"look", *INTO_A_ROOM}:
        return ROOM
    return KEY if grammar.type_of(goal.argument) == "key" else ""


def _mend(earlier: Tried, straight: Sequence[Goal], *, skills: frozenset[str], rng: Random) -> None:
    here, kind = earlier.before(earlier.at), earlier.failed.kind
    possible = {detour for detour, needed in NEEDED.items() if needed <= skills}
    if earlier.on_detour == ROOM:
        if ROOM in here:
            here.reverse()
            here.remove(ROOM)
            here.reverse()
    elif kind in {"open", "unlock"} and KEY in possible and not _has_key(earlier, straight):
        earlier.before(_beginning(straight, earlier.at)).append(KEY)
    elif ROOM in possible and (kind == "discover" or (kind == "goto" and rng.random() < ROUND_ABOUT)):
        # A key that was not found: the room comes before it. `read` noted the key only where it was picked up.
        here.append(ROOM)
        if earlier.on_detour == KEY:
            here.append(KEY)
    elif earlier.on_detour == KEY and KEY not in here:
        here.append(KEY)


def _has_key(earlier: Tried, straight: Sequence[Goal]) -> bool:
    return any(KEY in earlier.before(number) for number in range(_beginning(straight, earlier.at), earlier.at + 1))


def _beginning(straight: Sequence[Goal], at: int) -> int:
    """Where the goals about the same thing as goal `at` begin."""
    first = at
    while (
        first > 0
        and straight[first - 1].argument == straight[at].argument
        and straight[first - 1].kind
        in {
            "discover",
            "goto",
        }
    ):
        first -= 1
    return first


def _laid_out(straight: Sequence[Goal], earlier: Tried, *, look: tuple[str, ...]) -> list[Goal]:
    made: list[Goal] = []
    key = ""
    for number, goal in enumerate(straight):
        for detour in earlier.detours.get(number, []):
            if detour == ROOM:
                made += _into_a_room(made, held=goal.carried, look=look)
            elif not key:
                key = _key_of(straight, number)
                made += [Goal("drop", carried=held) for held in _held(made)]
                made += [Goal(kind, key) for kind in ("discover", "goto", "pick")]
        made.append(Goal("unlock" if key and goal.kind == "open" else goal.kind, goal.argument, key or goal.carried))
        if key and goal.kind == "open":
            later = any(each.kind == "pick" for each in straight[number:])
            made += [Goal("drop", carried=key)] if later else []
            key = ""
    return made


def _held(made: Sequence[Goal]) -> list[str]:
    """What is in the hand after these goals: one thing or nothing."""
    held: list[str] = []
    for goal in made:
        if goal.kind in {"pick", "put", "drop"}:
            held = [goal.argument] if goal.kind == "pick" else []
    return held


def _into_a_room(made: Sequence[Goal], *, held: str, look: tuple[str, ...]) -> list[Goal]:
    first = () if made and made[-1].kind == "look" else look
    return [Goal(kind, "door" * (kind == "enter"), held) for kind in (*first, *INTO_A_ROOM, *look)]


def _key_of(straight: Sequence[Goal], number: int) -> str:
    """The key for the next door that has to be opened."""
    door = next((goal.argument for goal in straight[number:] if goal.kind == "open"), "")
    return " ".join((grammar.colour_of(door) + " key").split())


__all__ = ["KEY", "ROOM", "Tried", "read", "replan"]
