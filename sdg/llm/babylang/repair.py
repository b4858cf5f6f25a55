"""The repair job: what is done already is left out, and skills are called with care."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdg.llm.babylang import grammar, reading
from sdg.llm.babylang.grammar import Clause
from sdg.llm.babylang.program import written
from sdg.llm.babylang.skills import DOOR, by_kind

_CALL = re.compile(r"(\w+)\((?:'([^'\n]*)'|\"([^\"\n]*)\")?\) -> (True|False|refused)")


def answer(text: str) -> str:
    """The reply to a debug prompt: a program for what remains, in which a skill's error ends only that call."""
    groups = grammar.parse(reading.block(reading.section(text, "Instruction to carry out")))
    calls = _CALL.findall(reading.section(text, "Calls it made"))
    kinds = {name: kind for kind, name in by_kind(reading.functions(reading.section(text, "Skills"))).items()}
    done = [
        (kinds.get(name, "").removesuffix(DOOR), one or other) for name, one, other, result in calls if result == "True"
    ]
    return written(text, _remaining(groups, done), careful=True)


def _remaining(groups: Sequence[Sequence[Clause]], done: Sequence[tuple[str, str]]) -> Sequence[Sequence[Clause]]:
    """The groups from the first unfinished one on; calls that finished a group aren't counted for the next."""
    position = 0
    for number, group in enumerate(groups):
        ends = [_end(clause, done, start=position) for clause in group]
        if None in ends:
            return groups[number:]
        position = max(end for end in ends if end is not None)
    return groups[-1:]


def _end(clause: Clause, done: Sequence[tuple[str, str]], *, start: int) -> int | None:
    """Where in `done` a clause was finished: its kind of call on something its description can mean."""
    wanted = clause.goal or clause.thing
    for number in range(start, len(done)):
        kind, argument = done[number]
        if kind == clause.kind and _may_mean(argument, wanted):
            return number + 1
    return None


def _may_mean(argument: str, description: str) -> bool:
    """Whether "red ball #3" may be what "a red ball on your left" means: nothing that both name differs."""
    types = {grammar.type_of(argument), grammar.type_of(description)} - {"object"}
    colours = {grammar.colour_of(argument), grammar.colour_of(description)} - {""}
    return len(types) < 2 and len(colours) < 2
