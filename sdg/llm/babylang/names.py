"""Which function of a prompt plays which part, judged by what its description says, never by its name or place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sdg.llm.babylang.reading import Function


@dataclass(frozen=True, slots=True)
class Part:
    """A part to be played: how many arguments, and cues (pattern -> weight) that its description gives."""

    arity: int
    cues: Mapping[str, float]


PERCEPTION: Mapping[str, Part] = {
    "observed": Part(
        0, {r"\b(?:all|every)\b": 2, r"objects?\b": 1, r"\blist\b": 1, r"seen so far|observed": 2, r"\broom": -1}
    ),
    "find": Part(1, {r"match": 3, r"descri": 2, r"nearest": 2, r"\blist\b": 1}),
    "carried": Part(0, {r"\bcarr|\bholds?\b|in (?:its|the) hand": 4, r"\bNone\b": 1, r"\brecord": 1}),
    "facing": Part(
        0,
        {
            r"\bahead\b|in front|\bfac(?:es|ing)\b": 3,
            r"\bNone\b": 2,
            r"\brecord|\bobject or door": 1,
            r"\(x, y\)|coordinates": -4,
            r"\bcarr|\bholds?\b": -3,
        },
    ),
    "position": Part(
        0,
        {
            r"\(x, y\)|coordinates|position": 3,
            r"robot (?:is|stands)|of the robot|robot's": 2,
            r"\bahead\b|in front": -4,
            r"\broom": -1,
        },
    ),
    "front_position": Part(0, {r"\(x, y\)|coordinates|position": 3, r"\bahead\b|in front|\bfac": 3, r"\bNone\b": -2}),
    "is_free": Part(1, {r"\bTrue\b|whether": 2, r"\bfree\b|\bempty\b": 3, r"\bcell\b|position": 2, r"match": -3}),
    "room": Part(0, {r"number of the room": 5, r"\bcurrent\b|robot is in": 1, r"visited": -2, r"\bcells?\b": -4}),
    "visited": Part(
        0, {r"\brooms\b": 2, r"visited": 3, r"numbers": 1, r"subgoal began|before": -2, r"^\W*(?:Forget|Clear)": -6}
    ),
    "visited_before": Part(
        0, {r"\brooms\b": 2, r"visited": 2, r"subgoal began|when this": 4, r"^\W*(?:Forget|Clear)": -6}
    ),
    "unseen": Part(0, {r"not seen|unseen|never (?:seen|in view)": 4, r"\bcells?\b": 2, r"\brobot is\b": -2}),
    "steps": Part(0, {r"\bsteps?\b": 3, r"so far|since|until now": 2, r"subgoal began|when this": -3, r"\broom": -3}),
    "start_steps": Part(0, {r"\bsteps?\b": 3, r"subgoal began|when this": 4, r"\brooms?\b": -3}),
    "in_view": Part(0, {r"\bsees now\b|\bin view\b": 3, r"\bballs?\b|\bthings\b": 2, r"\bcells?\b|seen so far": -4}),
    "doors_in_view": Part(
        0, {r"\bsees now\b|\bin view\b": 3, r"\bdoors\b": 2, r"\bballs?\b|\bcells?\b|seen so far": -4}
    ),
}


def cast(functions: Iterable[Function], parts: Mapping[str, Part]) -> dict[str, str]:
    """Part -> function name: best fits first, a function in one part at most. Parts that nobody fits are absent."""
    offers = _referred(list(functions))
    fits = sorted(
        (
            (_fit(function, part), role, number)
            for role, part in parts.items()
            for number, function in enumerate(offers)
        ),
        key=lambda fit: (-fit[0], fit[1], offers[fit[2]].description),
    )
    chosen: dict[str, str] = {}
    taken: set[int] = set()
    for fit, role, number in fits:
        if fit >= _ENOUGH and role not in chosen and number not in taken:
            chosen[role] = offers[number].name
            taken.add(number)
    return chosen


_ENOUGH = 3.0


def _referred(functions: list[Function]) -> list[Function]:
    """Descriptions that begin "What other() gave ..." get the other's description too."""
    said = {function.name: function.description for function in functions}
    spoken = ((function, re.match(r"\W*What (\w+)\(\)", function.description)) for function in functions)
    return [
        replace(function, description=f"{function.description} {said.get(match.group(1), '')}") if match else function
        for function, match in spoken
    ]


def _fit(function: Function, part: Part) -> float:
    if function.arity != part.arity:
        return float("-inf")
    said = function.description
    return sum(weight for cue, weight in part.cues.items() if re.search(cue, said))
