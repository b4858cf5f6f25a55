"""The hypothesis job: an instruction becomes goals with check functions, phrased in seeded paraphrases."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from textwrap import indent

from sdg.llm.babylang.grammar import colour_of, meaning, parse, phrase
from sdg.llm.babylang.reading import PERCEPTION, assign_parts, block, functions, section

EXPLORE_FIRST = 0.5
"""How often "open X" begins by exploring another room when no earlier attempt is known."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal before it is phrased; `carried` has to stay in the hand until it is used ("" for nothing)."""

    kind: str
    argument: str = ""
    carried: str = ""


def split_task(text: str, *, seed: int) -> str:
    """The reply to a hypothesis prompt. Raises NotBabyLanguage for instructions outside the grammar."""
    instruction = block(section(text, "Task to split"))
    names = assign_parts(functions(section(text, "Perception functions")), PERCEPTION)
    # The goals of the attempt that the prompt describes, up to the one that the robot could not reach.
    feedback = section(text, "What was tried")
    lines = [line.partition(". ")[2] for line in block(feedback).splitlines()]
    number = next((word.strip(":.,") for word in feedback.split("goal ")[1:2]), "").split(":")[0].strip()
    attempt = tuple(lines[: int(number)]) if number.isdigit() else tuple(lines)
    rng = Random(f"{seed}|{instruction}|{len(attempt)}|{attempt[-1:]}")
    goals = plan(instruction, failed=attempt, explore_first=rng.random() < EXPLORE_FIRST, can_look="unseen" in names)
    return "\n".join(_reply_lines(goals, names, rng))


def plan(
    instruction: str, *, failed: tuple[str, ...] = (), explore_first: bool = False, can_look: bool = False
) -> list[Goal]:
    """The goals for an instruction; `failed` are the goals of an earlier attempt up to the one that wasn't reached."""
    goals: list[Goal] = []
    in_hand = ""
    stuck = meaning(failed[-1] if failed else "").kind
    rooms = sum(meaning(text).kind == "enter" for text in failed) + 1 if stuck == "discover" else 0
    rooms = rooms if failed else int(explore_first)
    look = ("look",) if can_look and stuck != "look" else ()

    def add(*kinds: str, about: str = "", carried: str = "") -> None:
        goals.extend(Goal(kind, about, carried) for kind in kinds)

    for clause in (clause for group in parse(instruction) for clause in group):
        if rooms and (clause.kind == "open" or failed):
            add(*look)
            for _ in range(rooms):
                add("find_exit", "goto_exit", "open_exit")
                add("enter", about="door")
                add(*look)
            rooms = 0
        locked = clause.kind == "open" and stuck == "open" and not in_hand
        key = f"{colour_of(clause.thing)} key".strip() if locked else ""
        if key or clause.kind == "pick" or (clause.kind == "put" and in_hand != clause.thing):
            add(*(["drop"] if in_hand else []), carried=in_hand)
            in_hand = key or clause.thing
            add("discover", "goto", "pick", about=in_hand)
        if clause.kind in ("goto", "open"):
            add("discover", "goto", about=clause.thing, carried=key)
        if clause.kind == "open":
            add("unlock" if key else "open", about=clause.thing, carried=key)
        if clause.kind == "put":
            add("discover", "face", "put", about=clause.goal, carried=clause.thing)
            in_hand = ""
    return goals


def _reply_lines(goals: list[Goal], names: Mapping[str, str], rng: Random) -> Iterator[str]:
    for number, goal in enumerate(goals, 1):
        x = f"the {goal.argument}" if goal.argument else ""
        object_words = rng.choice(["it", f"the {goal.carried}"]) if goal.carried else "it"
        keeps = bool(goal.carried) and goal.kind not in {"put", "drop"}
        yield f"Goal {number}: {phrase(goal.kind, rng, x=x, carried=object_words)}"
        yield "```python"
        yield check(number, goal.kind, names, argument=goal.argument, carrying=keeps)
        yield "```"


_STILL_CARRYING = """\
carried = {carried}()
if carried is None or carried.picked_up_at > {start_steps}():
    return False
"""
_EMPTY_CELL_AHEAD_BESIDE = """\
x, y = {front_position}()
if {facing}() is not None or not {is_free}((x, y)):
    return False
for thing in {find}("{argument}"):
    a, b = thing.position
    if not thing.held and abs(x - a) + abs(y - b) == 1:
        return True
return False
"""
_PUT_DOWN_BESIDE = """\
for thing in {observed}():
    if thing.dropped_at > {start_steps}():
        x, y = thing.position
        for other in {find}("{argument}"):
            a, b = other.position
            if not other.held and abs(x - a) + abs(y - b) == 1:
                return True
return False
"""

BODIES: Mapping[str, str] = {
    "discover": 'return len({find}("{argument}")) > 0\n',
    "goto": 'return any(thing.facing for thing in {find}("{argument}"))\n',
    "pick": 'return any(thing.held and thing.picked_up_at > {start_steps}() for thing in {find}("{argument}"))\n',
    "face": _EMPTY_CELL_AHEAD_BESIDE,
    "put": _PUT_DOWN_BESIDE,
    "drop": "return {carried}() is None\n",
    "open": 'return any(door.opened_at > {start_steps}() for door in {find}("{argument}"))\n',
    "unlock": 'return any(door.opened_at > {start_steps}() for door in {find}("{argument}"))\n',
    "look": "return {unseen}() == 0\n",
    "find_exit": 'return any(not door.explored and door.status != "locked" for door in {find}("door"))\n',
    "goto_exit": 'return any(door.facing and not door.explored for door in {find}("door"))\n',
    "open_exit": (
        'return any(door.facing and not door.explored and door.status == "open" for door in {find}("door"))\n'
    ),
    "enter": 'return any(door.passed_at > {start_steps}() for door in {find}("{argument}"))\n',
}
"""Kind -> body of its check. An event belongs to this subgoal if its step comes after the subgoal's first."""


_IT = '"{argument}" in (it.name, it.type, it.name + " #" + str(it.id))'
_IT_IS_NEAR = f"""\
for it in {{in_view}}() + {{doors_in_view}}():
    x, y = it.position
    if {_IT} and abs(x) + abs(y - 1) == 1:
        return True
return False
"""
_IS_AHEAD = f"return any(it.position == (0, 1) and {_IT} for it in {{in_view}}() + {{doors_in_view}}())\n"
_IS_OPEN = f'return any(it.position == (0, 1) and it.status == "open" and {_IT} for it in {{doors_in_view}}())\n'
_NEW = "return any({where}not door.explored and door.status {status} for door in {{doors_in_view}}())\n"

RELATIVE: Mapping[str, str] = {
    "discover": f"return any({_IT} for it in {{in_view}}() + {{doors_in_view}}())\n",
    "goto": _IS_AHEAD,
    "pick": f"it = {{carried}}()\nreturn it is not None and {_IT}\n",
    "face": "if any(it.position == (0, 1) for it in {in_view}()):\n    return False\n" + _IT_IS_NEAR,
    "put": "if {carried}() is not None or all(it.position != (0, 1) for it in {in_view}()):\n    return False\n"
    + _IT_IS_NEAR,
    "drop": BODIES["drop"],
    "open": _IS_OPEN,
    "unlock": _IS_OPEN,
    "find_exit": _NEW.format(where="", status='!= "locked"'),
    "goto_exit": _NEW.format(where="door.position == (0, 1) and ", status='!= "locked"'),
    "open_exit": _NEW.format(where="door.position == (0, 1) and ", status='== "open"'),
    "enter": BODIES["enter"],
}
"""Kind -> body of its check where perception has neither a map nor a record of events, only the things in view."""


def check(number: int, kind: str, names: Mapping[str, str], *, argument: str = "", carrying: bool = False) -> str:
    """Source of `check_<number>`; with `carrying` it also demands that the thing carried at the beginning still is.

    Raises KeyError with the part for which the prompt has no function.
    """
    if "in_view" in names:
        body = ("if {carried}() is None:\n    return False\n" if carrying else "") + RELATIVE[kind]
    else:
        body = (_STILL_CARRYING if carrying else "") + BODIES[kind]
    return f"def check_{number}():\n" + indent(body.format(argument=argument, **names), "    ").rstrip()


def translate_subgoals(text: str) -> str:
    """The reply to a translation prompt: a line `N. api_name | argument` for each subgoal."""
    rows = block(section(text, "Subgoals to translate")).splitlines()
    pairs = [match.groups() for line in rows if (match := re.match(r"\s*(\d+)\.\s*(.*)", line))]
    meanings = [(number, meaning(subgoal)) for number, subgoal in pairs]
    return "\n".join(f"{number}. {subgoal.api} | {subgoal.argument}".rstrip() for number, subgoal in meanings)
