"""Which skill of a prompt does what, judged by the subgoals that it is said to reach, never by its name or place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from sdg.llm.babylang.grammar import type_of
from sdg.llm.babylang.phrases import meaning
from sdg.llm.babylang.reading import Function

ARITY: Mapping[str, int] = {
    "discover": 1,
    "goto": 1,
    "pick": 1,
    "face": 1,
    "put": 1,
    "open": 1,
    "unlock": 1,
    "drop": 0,
    "find_exit": 0,
    "goto_exit": 0,
    "open_exit": 0,
    "enter": 1,
    "look": 0,
}
"""Arguments that a skill of each kind takes."""

DOOR = " door"
ON_DOORS = frozenset({"discover", "goto"})
"""Kinds that a library may have learned apart for doors."""

PRIMITIVES: Mapping[str, str] = {
    "left": r"turn\w* left",
    "right": r"turn\w* right",
    "forward": r"(?:move|step|go|walk)\w* (?:one cell |one step )?(?:ahead|forward)",
    "grab": r"pick\w* up",
    "lay": r"put\w* .*down|drop",
    "toggle": r"open\w* or close|toggle",
}
"""How a primitive action is known by its description."""


def by_kind(functions: Iterable[Function]) -> dict[str, str]:
    """Kind of subgoal -> the skill that reaches it: the one with the largest share of such subgoals among its own.

    Kinds that are practised on doors apart are there a second time with DOOR behind them, such as "goto door".
    """
    best: dict[str, tuple[float, str]] = {}
    for function in functions:
        for kind, share in _shares(function).items():
            # Libraries of before 22 November 2026 have a skill that enters whatever lies ahead.
            fits = function.arity == ARITY[kind.removesuffix(DOOR)] or (kind == "enter" and function.arity == 0)
            if fits and (share, function.name) > best.get(kind, (0.0, "")):
                best[kind] = (share, function.name)
    chosen = {kind: name for kind, (_, name) in best.items()}
    for kind in ON_DOORS & {name.removesuffix(DOOR) for name in chosen if name.endswith(DOOR)}:
        chosen.setdefault(kind, chosen[kind + DOOR])
    return chosen


def primitives(functions: Iterable[Function]) -> dict[str, str]:
    """Primitive action -> the function without arguments whose description says that it does this."""
    said = [(function.name, function.description.lower()) for function in functions if function.arity == 0]
    found = {part: [name for name, text in said if re.search(cue, text)] for part, cue in PRIMITIVES.items()}
    return {part: names[0] for part, names in found.items() if names}


def _kind(text: str) -> str:
    read = meaning(text)
    return read.kind + DOOR if read.kind in ON_DOORS and type_of(read.argument) == "door" else read.kind


def _shares(function: Function) -> dict[str, float]:
    """Share of each kind among the quoted subgoals of a skill's description; rare ones, under a tenth, are left out."""
    texts = re.findall(r'"([^"\n]+)"', function.description)
    kinds = Counter(_kind(text) for text in texts)
    kinds.pop("", None)
    return {kind: count / len(texts) for kind, count in kinds.items() if 10 * count >= len(texts)}
