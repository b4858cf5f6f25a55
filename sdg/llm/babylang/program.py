"""The program job: the prompt's worked example is carried over to another instruction and other skill names.

What the example's program does for each clause of its own instruction is learned by laying the two side by side; its
helper functions are kept, its skills replaced by those that reach the same subgoals. What the stand-in knows of
searching rooms or clearing ways it has read in the example, as a language model would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sdg.llm.babylang import grammar, primitive, reading
from sdg.llm.babylang.grammar import Clause
from sdg.llm.babylang.skills import ARITY, DOOR, by_kind, primitives

_MAIN = re.compile(r"^def program\(\):\n((?:[ \t]+.*\n?)+)", re.MULTILINE)
_DEFINED = re.compile(r"^def (\w+)\(", re.MULTILINE)
MAX_BYTES = 7_500
"""Stay well under the length that the prompt allows."""
_THING, _GOAL = "\x01", "\x02"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the worked example teaches: helpers, how its program begins, a line for each kind of clause, its skills."""

    helpers: str
    opening: tuple[str, ...]
    lines: Mapping[str, str]
    skills: Mapping[str, str]


def answer(text: str) -> str:
    """The reply to a program prompt. Raises NotBabyLanguage for instructions out of the grammar."""
    instruction = reading.block(reading.section(text, "Instruction to carry out"))
    return written(text, grammar.parse(instruction))


def written(text: str, groups: Sequence[Sequence[Clause]], *, careful: bool = False, first: str = "") -> str:
    """A program for these clauses with the skills that `text` offers; `careful` catches the errors of skills.

    `first` is a statement that the program begins with.
    """
    offered = reading.functions(reading.section(text, "Skills"))
    clauses = [clause for group in groups for clause in group]
    kinds = by_kind(offered)
    if not kinds and (actions := primitives(offered)):
        return f"```python\n{primitive.source(clauses, actions)}\n```"
    lesson = learn(reading.section(text, "A worked example"))
    if lesson is not None and first:
        lesson = replace(lesson, opening=(f"    {first}", *lesson.opening))
    if lesson is None or not all(clause.kind in lesson.lines for clause in clauses):
        return f"```python\n{_straight(clauses, kinds)}\n```"
    known = (*offered, *reading.functions(reading.section(text, "Perception functions")))
    taken = {function.name for function in known}
    return f"```python\n{_carried_over(lesson, clauses, kinds=kinds, taken=taken, careful=careful)}\n```"


def learn(example: str) -> Lesson | None:
    """Read a worked example; None when its program can't be laid beside its instruction."""
    blocks = reading.blocks(example)
    main = _MAIN.search(blocks[-1] + "\n") if len(blocks) >= 2 else None
    if main is None:
        return None
    clauses = [clause for group in grammar.parse(blocks[0]) for clause in group]
    body = [line for line in main.group(1).splitlines() if line.strip()]
    lines, first = {}, len(body)
    for clause in clauses:
        found = next((n for n, line in enumerate(body) if f'"{clause.thing}"' in line), None)
        if found is None:
            return None
        first = min(first, found)
        line = body[found].replace(f'"{clause.thing}"', _THING)
        lines[clause.kind] = line.replace(f'"{clause.goal}"', _GOAL) if clause.goal else line
    helpers = blocks[-1][: main.start()]
    return Lesson(helpers, tuple(body[:first]), lines, by_kind(reading.functions(reading.prose(example))))


def _carried_over(
    lesson: Lesson, clauses: Iterable[Clause], *, kinds: Mapping[str, str], taken: set[str], careful: bool
) -> str:
    calls = [
        lesson.lines[clause.kind].replace(_THING, f'"{clause.thing}"').replace(_GOAL, f'"{clause.goal}"')
        for clause in clauses
    ]
    source = _without_comments(lesson.helpers) + "\n".join(["def program():", *lesson.opening, *calls])
    names = _own_names(source, taken)
    renamed, own = {}, []
    for kind, theirs in lesson.skills.items():
        ours = kinds.get(kind, "")
        doors = kinds.get(kind + DOOR, ours)
        if kind.endswith(DOOR):
            continue
        if not ours:
            own.append(_missing(theirs, kind))
        elif careful or doors != ours:
            renamed[theirs] = f"use_{theirs}"
            own.append(_use(theirs, kind, skills=(ours, doors), careful=careful))
        else:
            renamed[theirs] = ours
    return _fitted(_used("\n\n\n".join([*own, _renamed(source, names | renamed)])))


def _fitted(source: str) -> str:
    """The source, indented by single blanks where it would be too long otherwise."""
    if len(source.encode()) <= MAX_BYTES:
        return source
    return re.sub(r"^(?:    )+", lambda match: " " * (len(match.group()) // 4), source, flags=re.MULTILINE)


def _used(source: str) -> str:
    """The functions of `source` that `program` needs, in their order."""
    parts = re.split(r"(?m)^(?=def )", source)
    bodies = {match.group(1): part for part in parts if (match := _DEFINED.match(part))}
    needed, waiting = set(), ["program"]
    while waiting:
        name = waiting.pop()
        if name in bodies and name not in needed:
            needed.add(name)
            waiting += re.findall(r"\b(\w+)\(", bodies[name])
    return "\n\n\n".join(part.strip() for name, part in bodies.items() if name in needed)


def _own_names(source: str, taken: set[str]) -> dict[str, str]:
    """New names for helpers that are called as one of the prompt's functions is."""
    return {name: f"{name}_now" for name in _DEFINED.findall(source) if name in taken and name != "program"}


def _renamed(source: str, names: Mapping[str, str]) -> str:
    if not names:
        return source
    return re.sub(r"\b(" + "|".join(map(re.escape, names)) + r")\b(?=\()", lambda match: names[match.group()], source)


def _missing(name: str, kind: str) -> str:
    """What stands in for a skill that isn't offered: turning to a free cell is part of putting down, the rest fails."""
    parameter = "thing" if ARITY[kind] == 1 else ""
    return f"def {name}({parameter}):\n    return {kind == 'face'}"


def _use(name: str, kind: str, *, skills: tuple[str, str], careful: bool) -> str:
    """A function that calls a skill, or the one of two that was learned on doors; `careful` makes errors False."""
    ours, doors = skills
    argument = "thing" if ARITY[kind] == 1 else ""
    lines = [f"return {ours}({argument})"]
    if doors != ours:
        is_door = '"door" in thing' if kind == "discover" else 'thing.type == "door"'
        lines = [f"if {is_door}:", f"    return {doors}(thing)", *lines]
    if careful:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:", "    return False"]
    return "\n".join([f"def use_{name}({argument}):", *(f"    {line}" for line in lines)])


def _without_comments(source: str) -> str:
    return re.sub(r"^[ \t]*#.*\n", "", source, flags=re.MULTILINE)


def _straight(clauses: Iterable[Clause], kinds: Mapping[str, str]) -> str:
    """A program without a search: the goals of each clause one after the other, as far as there are skills for them."""
    steps = {
        "goto": ("discover", "goto"),
        "pick": ("discover", "goto", "pick"),
        "open": ("discover", "goto", "open"),
        "put": ("discover", "face", "put"),
    }
    lines = ["def program():"]
    for clause in clauses:
        parts = [(kind, clause.thing) for kind in (steps["pick"] if clause.kind == "put" else ())]
        parts += [(kind, clause.goal or clause.thing) for kind in steps[clause.kind]]
        lines += [f'    {kinds[kind]}("{thing}")' for kind, thing in parts if kind in kinds]
    return "\n".join(lines if len(lines) > 1 else [*lines, "    return False"])
