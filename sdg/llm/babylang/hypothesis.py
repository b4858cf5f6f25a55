"""The hypothesis job: an instruction becomes goals with check functions, phrased in seeded paraphrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from sdg.llm.babylang import grammar, reading
from sdg.llm.babylang.checks import check
from sdg.llm.babylang.detours import Goal, replan
from sdg.llm.babylang.grammar import Clause
from sdg.llm.babylang.names import PERCEPTION, cast
from sdg.llm.babylang.phrases import meaning, phrase
from sdg.llm.babylang.skills import by_kind

EXPLORE_FIRST = 0.5
"""How often "open X" begins with another room when nothing is known of an earlier attempt."""


@dataclass(slots=True)
class _Plan:
    """Goals in the making, and what the robot holds after them."""

    goals: list[Goal] = field(default_factory=list)
    held: str = ""

    def add(self, *kinds: str, about: str = "", carried: str = "") -> None:
        self.goals += [Goal(kind, about, carried) for kind in kinds]


def answer(text: str, *, seed: int) -> str:
    """The reply to a hypothesis prompt. Raises NotBabyLanguage for instructions out of the grammar."""
    instruction = reading.block(reading.section(text, "Task to split"))
    names = cast(reading.functions(reading.section(text, "Perception functions")), PERCEPTION)
    tried = _tried(text)
    rng = Random(f"{seed}|{instruction}|{len(tried)}|{tried[-1:]}")
    explore_first = rng.random() < EXPLORE_FIRST
    skills = by_kind(reading.functions(reading.section(text, "Skills that the robot")))
    if skills and tried:
        goals = replan(plan(instruction), tried, skills=skills, rng=rng, can_look="unseen" in names)
    else:
        goals = plan(instruction, failed=tried, explore_first=explore_first, can_look="unseen" in names)
    return "\n".join(_written(goals, names, rng))


def plan(
    instruction: str, *, failed: tuple[str, ...] = (), explore_first: bool = False, can_look: bool = False
) -> list[Goal]:
    """The goals for an instruction; `failed` are the goals of an earlier attempt up to the one that wasn't reached."""
    stuck = meaning(failed[-1]) if failed else meaning("")
    rooms = _rooms_to_enter(failed, stuck.kind, explore_first)
    look = ("look",) if can_look and stuck.kind != "look" else ()
    made = _Plan()
    for clause in (clause for group in grammar.parse(instruction) for clause in group):
        if rooms and (clause.kind == "open" or failed):
            _enter_rooms(made, rooms, look)
            rooms = 0
        _GOALS[clause.kind](made, clause, stuck.kind == "open")
    return made.goals


def _rooms_to_enter(failed: tuple[str, ...], stuck: str, explore_first: bool) -> int:
    explored = sum(meaning(text).kind == "enter" for text in failed)
    if stuck == "discover":
        return explored + 1
    return 0 if failed else int(explore_first)


def _enter_rooms(made: _Plan, rooms: int, look: tuple[str, ...]) -> None:
    made.add(*look)
    for _ in range(rooms):
        made.add("find_exit", "goto_exit", "open_exit")
        made.add("enter", about="door")
        made.add(*look)


def _goto(made: _Plan, clause: Clause, _: bool) -> None:
    made.add("discover", "goto", about=clause.thing)


def _pick(made: _Plan, clause: Clause, _: bool) -> None:
    if made.held:
        made.add("drop", carried=made.held)
        made.held = ""
    made.add("discover", "goto", "pick", about=clause.thing)
    made.held = clause.thing


def _put(made: _Plan, clause: Clause, locked: bool) -> None:
    if made.held != clause.thing:
        _pick(made, clause, locked)
    made.add("discover", "face", "put", about=clause.goal, carried=clause.thing)
    made.held = ""


def _open(made: _Plan, clause: Clause, locked: bool) -> None:
    if locked and not made.held:
        key = " ".join((grammar.colour_of(clause.thing) + " key").split())
        _pick(made, Clause("pick", key), locked)
        made.add("discover", "goto", "unlock", about=clause.thing, carried=key)
    else:
        made.add("discover", "goto", "open", about=clause.thing)


_GOALS = {"goto": _goto, "pick": _pick, "put": _put, "open": _open}


def _tried(text: str) -> tuple[str, ...]:
    """The goals of the attempt that the prompt tells of, up to the one that the robot could not get past."""
    feedback = reading.section(text, "What was tried")
    lines = [line.partition(". ")[2] for line in reading.block(feedback).splitlines()]
    number = next((word.strip(":.,") for word in feedback.split("goal ")[1:2]), "").split(":")[0].strip()
    return tuple(lines[: int(number)]) if number.isdigit() else tuple(lines)


def _written(goals: list[Goal], names: Mapping[str, str], rng: Random) -> Iterator[str]:
    for number, goal in enumerate(goals, 1):
        x = f"the {goal.argument}" if goal.argument else ""
        carried = rng.choice(["it", f"the {goal.carried}"]) if goal.carried else "it"
        keeps = bool(goal.carried) and goal.kind not in {"put", "drop"}
        yield f"Goal {number}: {phrase(goal.kind, rng, x=x, carried=carried)}"
        yield "```python"
        yield check(number, goal.kind, names, argument=goal.argument, carrying=keeps)
        yield "```"
