"""The program job: a clause becomes a call of the hand-written planner, whose source goes with the program.

How to search, clear the way and fetch is written in Python in `sdg.llm.babylang.by_hand`. The prompt gives the
instruction, and by the descriptions of its functions which one plays which part.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from sdg.llm.babylang.grammar import Clause, colour_of, parse, type_of
from sdg.llm.babylang.reading import (
    ARITY,
    DOOR,
    PERCEPTION,
    assign_parts,
    block,
    by_kind,
    functions,
    primitives,
    section,
)

MAX_BYTES = 7_900
"""Longest program; a longer one is indented by single blanks and, if need be, loses the blanks after commas."""

SKILLS = {
    "discover": "look_for",
    "goto": "walk_to",
    "pick": "lift",
    "face": "turn_beside",
    "put": "set_beside",
    "open": "unlatch",
    "look": "look_round",
    "enter": "step_through",
}
"""Kind of subgoal -> the planner's name for the skill that reaches it."""

NEEDED = frozenset({"find", "carried", "facing", "position", "front_position", "is_free", "room"})
"""Parts of a prompt's perception (PERCEPTION) without which the planner can't work."""

BESIDE_SKILLS = ("right", "lay")
"""Parts of PRIMITIVES that the planner calls besides skills, where they are offered."""

ACTIONS = frozenset({"left", "right", "forward", "grab", "lay", "toggle"})
"""Parts that primitive actions play."""

_OPENING = 'notes = {"known": {}, "stuck": [], "looked": [], "tried": []}'
_CALLS: Mapping[str, str] = {"goto": "reach", "pick": "take", "open": "open_up", "put": "bring"}


def write_program(text: str) -> str:
    """The reply to a program prompt. Raises NotBabyLanguage for instructions outside the grammar."""
    return code_program(text, parse(block(section(text, "Instruction to carry out"))))


def code_program(text: str, groups: Sequence[Sequence[Clause]], *, careful: bool = False) -> str:
    """A program for these clauses with the skills that `text` offers; `careful` catches the errors of skills."""
    skills = functions(section(text, "Skills")) or functions(section(text, "Actions"))
    perception = functions(section(text, "Perception functions"))
    clauses = [clause for group in groups for clause in group]
    names = assign_parts(perception, PERCEPTION)
    kinds = by_kind(skills)
    if not kinds and (actions := primitives(skills)):
        _require((NEEDED | {"unseen"}) - set(names), ACTIONS - set(actions))
        return _block(_fit_size(_over_steps(clauses, names | actions)))
    if "in_view" in names:
        return _block(relative_source(clauses, kinds, door=f"{names['doors_in_view']}()[0]"))
    _require(NEEDED - set(names))
    api_names = {function.name for function in (*skills, *perception)}
    lines = [_OPENING, *(_call(clause) for clause in clauses)]
    source = planner("rooms") + "\n\n\n" + "\n".join(["def program():", *(f"    {line}" for line in lines)])
    names |= primitives(skills)
    return _block(_fit_size(_over_skills(source, kinds, names=names, api_names=api_names, careful=careful)))


def _require(*missing: Collection[str]) -> None:
    """Raises KeyError where a part is missing that no program can do without."""
    if parts := sorted(set().union(*missing)):
        raise KeyError(parts[0])


def _block(source: str) -> str:
    return f"```python\n{source}\n```"


@cache
def planner(name: str) -> str:
    """The functions of a file of the hand-written planner, without docstrings, to put into a program."""
    text = (files("sdg.llm.babylang") / "by_hand" / f"{name}.py").read_text(encoding="utf-8")
    definitions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for node in definitions:
        node.body = node.body[ast.get_docstring(node) is not None :]
    return "\n\n\n".join(map(ast.unparse, definitions))


def _call(clause: Clause) -> str:
    things = f'"{clause.thing}", "{clause.goal}"' if clause.goal else f'"{clause.thing}"'
    return f"{_CALLS[clause.kind]}({things}, notes)"


def _over_skills(
    source: str, kinds: Mapping[str, str], *, names: Mapping[str, str], api_names: set[str], careful: bool
) -> str:
    """The planner's source with a prompt's skills and perception, and functions for missing or doubled skills."""
    new_names = {part: names[part] for part in NEEDED}
    own = []
    for kind, theirs in SKILLS.items():
        ours = kinds.get(kind, "")
        doors = kinds.get(kind + DOOR, ours)
        argument = "thing" if ARITY[kind] == 1 else ""
        if not ours:  # turning to a free cell is part of putting down, the rest fails
            own.append(f"def {theirs}({argument}):\n    return {kind == 'face'}")
        elif careful or doors != ours:
            new_names[theirs] = f"use_{theirs}"
            own.append(_use(theirs, kind, argument, skills=(ours, doors), careful=careful))
        else:
            new_names[theirs] = ours
    for part in BESIDE_SKILLS:
        if part in names:
            new_names[part] = names[part]
        else:
            own.append(f"def {part}():\n    return None")
    clashing = {name: f"{name}_now" for name in _DEFINITION.findall(source) if name in api_names and name != "program"}
    return _select_functions("\n\n\n".join([*own, _rename(source, clashing | new_names)]))


_DEFINITION = re.compile(r"^def (\w+)\(", re.MULTILINE)


def _fit_size(source: str) -> str:
    """The source, with blanks removed as far as it would be too long."""
    if len(source.encode()) > MAX_BYTES:
        source = re.sub(r"^(?:    )+", lambda match: " " * (len(match.group()) // 4), source, flags=re.MULTILINE)
    return source if len(source.encode()) <= MAX_BYTES else source.replace(", ", ",")


def _select_functions(source: str) -> str:
    """The functions of `source` that `program` needs, in their order."""
    bodies = {match[1]: text for text in re.split(r"(?m)^(?=def )", source) if (match := _DEFINITION.match(text))}
    names = ["program"]
    for name in names:  # grows as it is walked
        names += set(re.findall(r"\b(\w+)\(", bodies[name])).intersection(bodies).difference(names)
    return "\n\n".join(body.strip() for name, body in bodies.items() if name in names)


def _rename(source: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b(" + "|".join(map(re.escape, names)) + r")\b(?=\()", lambda match: names[match.group()], source)


def _use(name: str, kind: str, argument: str, *, skills: tuple[str, str], careful: bool) -> str:
    """A function that calls a skill, or for doors the one learned on doors; with `careful` an error returns False."""
    ours, doors = skills
    lines = [f"return {ours}({argument})"]
    if doors != ours:
        is_door = '"door" in thing' if kind == "discover" else 'thing.type == "door"'
        lines = [f"if {is_door}:", f"    return {doors}(thing)", *lines]
    if careful:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:", "    return False"]
    return "\n".join([f"def use_{name}({argument}):", *(f"    {line}" for line in lines)])


def _over_steps(clauses: Iterable[Clause], names: Mapping[str, str]) -> str:
    """The planner that works over skills, with its parts carried out action by action."""
    # Nothing needs forgetting where no skill asks which rooms are new.
    own = "" if "forget" in names else "def forget():\n    return None"
    main = "\n".join(["def program():", f"    {_OPENING}", *(f"    {_call(clause)}" for clause in clauses)])
    return _select_functions(_rename("\n\n\n".join([own, planner("steps"), planner("rooms"), main]), names))


_ROOMS = 12
_EXPLORE = ("find_exit", "goto_exit", "open_exit", "enter")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "goto": ("find", "goto"),
    "pick": ("find", "goto", "pick"),
    "open": ("find", "goto", "open"),
    "put": ("find", "face", "put"),
}


def relative_source(clauses: Iterable[Clause], kinds: Mapping[str, str], *, door: str) -> str:
    """A program over the offered skills, by kind. Raises KeyError for a missing kind that it needs.

    `door` is the argument of the skill that enters: the nearest door in view.
    """
    arguments = {"enter": door}
    explore = " and ".join(f"{kinds[kind]}({arguments.get(kind, '')})" for kind in _EXPLORE if kind in kinds) or "False"
    lines = [
        "def find(what):",
        f"    for room in range({_ROOMS}):",
        f'        if ({kinds["discover" + DOOR]}(what) if "door" in what else {kinds["discover"]}(what)):'
        if "discover" + DOOR in kinds
        else f"        if {kinds['discover']}(what):",
        "            return True",
        f"        if not ({explore}):",
        "            forget_visited_rooms()",
        "    return False",
        "\n\ndef program():",
    ]
    for clause in clauses:
        if clause.kind == "put":
            lines.append(_relative_call(Clause("pick", clause.thing), kinds))
        lines.append(_relative_call(clause, kinds))
    return "\n".join(lines)


def _relative_call(clause: Clause, kinds: Mapping[str, str]) -> str:
    thing = clause.goal or clause.thing
    skills = {kind: kinds.get(kind + DOOR, name) if type_of(thing) == "door" else name for kind, name in kinds.items()}
    calls = [f'{"find" if part == "find" else skills[part]}("{thing}")' for part in _PARTS[clause.kind]]
    return "    " + " and ".join(calls)


_CALL_MADE = re.compile(r"(\w+)\((?:'([^'\n]*)'|\"([^\"\n]*)\")?\) -> (True|False|refused)")


def repair_program(text: str) -> str:
    """The reply to a debug prompt: a program for what remains, in which an error of a skill ends only that call."""
    groups = parse(block(section(text, "Instruction to carry out")))
    calls = _CALL_MADE.findall(section(text, "Calls it made"))
    kinds = {name: kind for kind, name in by_kind(functions(section(text, "Skills"))).items()}
    successes = [
        (kinds.get(name, "").removesuffix(DOOR), quoted or double_quoted)
        for name, quoted, double_quoted, result in calls
        if result == "True"
    ]
    return code_program(text, _remaining(groups, successes), careful=True)


def _remaining(groups: Sequence[Sequence[Clause]], successes: Sequence[tuple[str, str]]) -> Sequence[Sequence[Clause]]:
    """The groups from the first unfinished one on; calls that finished a group aren't counted for the next."""
    position = 0
    for number, group in enumerate(groups):
        ends = [_end(clause, successes, start=position) for clause in group]
        if None in ends:
            return groups[number:]
        position = max(end for end in ends if end is not None)
    return groups[-1:]


def _end(clause: Clause, successes: Sequence[tuple[str, str]], *, start: int) -> int | None:
    """Where in `successes` a clause was finished: by a call of its kind on something that fits its description."""
    target = clause.goal or clause.thing
    rest = enumerate(successes[start:], start + 1)
    return next((n for n, (kind, argument) in rest if kind == clause.kind and _may_mean(argument, target)), None)


def _may_mean(argument: str, description: str) -> bool:
    """Whether "red ball #3" may be what "a red ball on your left" means: no property that both name differs."""
    types = {type_of(argument), type_of(description)} - {"object"}
    return len(types) < 2 and len({colour_of(argument), colour_of(description)} - {""}) < 2
