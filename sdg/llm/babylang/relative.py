"""Programs where perception has no map: look in this room, go through an unexplored door, look again, as the paper's.

Without a map nothing can be planned, cleared or fetched, so this planner is far behind the one over a map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdg.llm.babylang.grammar import Clause, type_of
from sdg.llm.babylang.skills import DOOR

_ROOMS = 12
_EXPLORE = ("find_exit", "goto_exit", "open_exit", "enter")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "goto": ("find", "goto"),
    "pick": ("find", "goto", "pick"),
    "open": ("find", "goto", "open"),
    "put": ("find", "face", "put"),
}


def source(clauses: Iterable[Clause], kinds: Mapping[str, str], *, door: str) -> str:
    """A program over the skills that are offered, by kind; KeyError for a kind that it can't do without.

    `door` is what the skill that enters is given: the nearest in view, or nothing.
    """
    given = {"enter": door}
    explore = " and ".join(f"{kinds[kind]}({given.get(kind, '')})" for kind in _EXPLORE if kind in kinds) or "False"
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
            lines.append(_call(Clause("pick", clause.thing), kinds))
        lines.append(_call(clause, kinds))
    return "\n".join(lines)


def _call(clause: Clause, kinds: Mapping[str, str]) -> str:
    thing = clause.goal or clause.thing
    named = {kind: kinds.get(kind + DOOR, name) if type_of(thing) == "door" else name for kind, name in kinds.items()}
    calls = [f'{"find" if part == "find" else named[part]}("{thing}")' for part in _PARTS[clause.kind]]
    return "    " + " and ".join(calls)
