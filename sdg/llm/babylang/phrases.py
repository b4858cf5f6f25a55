"""The words of the rule-based stand-in: several English phrases for each kind of subgoal, and how to know them again.

`{x}` stands for what the phrase is about, `{c}` for what is carried. Where a kind has no `{x}` its phrases name no
particular thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random

from sdg.llm.babylang.grammar import bare, type_of

PHRASES: dict[str, tuple[str, ...]] = {
    "discover": ("discover {x}", "find {x}", "locate {x}", "spot {x}", "look for {x}", "search for {x}"),
    "goto": ("go next to {x}", "go to {x}", "approach {x}", "walk up to {x}", "reach {x}", "move next to {x}"),
    "pick": ("pick up {x}", "grab {x}", "take {x}", "lift {x}", "collect {x}"),
    "face": (
        "face a free cell next to {x}",
        "face an empty cell beside {x}",
        "turn to a free spot next to {x}",
        "look at an empty spot beside {x}",
        "stand before a free cell next to {x}",
    ),
    "put": ("put {c} next to {x}", "place {c} next to {x}", "set {c} down next to {x}", "drop {c} beside {x}"),
    "drop": ("put down {c}", "lay down {c}", "let go of {c}", "release {c}"),
    "open": ("open {x}", "push open {x}", "swing open {x}", "unlatch {x}"),
    "unlock": ("unlock {x}", "unlock {x} with its key", "use the key on {x}"),
    "look": ("look around the room", "look around", "survey the room", "scan the room", "look over the whole room"),
    "find_exit": (
        "find an unexplored door",
        "discover an unexplored door",
        "look for an unexplored door",
        "spot a door that is unexplored",
    ),
    "goto_exit": (
        "go to an unexplored door",
        "approach an unexplored door",
        "walk up to the unexplored door",
        "reach the unexplored door",
    ),
    "open_exit": ("open the unexplored door", "push open the unexplored door", "swing open the unexplored door"),
    "enter": (
        "enter the room behind {x}",
        "go into the room behind {x}",
        "go through {x}",
        "step into the room behind {x}",
        "pass through {x}",
    ),
}
_ORDER = (
    "look", "find_exit", "goto_exit", "open_exit", "enter", "unlock", "face", "put", "drop", "discover", "goto", "pick",
    "open",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a subgoal text says: its kind, the verb phrase as API name, and the thing it is about ("" for none)."""

    kind: str
    api: str
    argument: str


def phrase(kind: str, rng: Random, *, x: str = "", carried: str = "it") -> str:
    """A text for a subgoal of this kind, drawn from its phrases; `x` comes with its article."""
    return rng.choice(PHRASES[kind]).format(x=x, c=carried)


def meaning(text: str) -> Meaning:
    """Read a subgoal text; words that no phrase knows make the kind "" and an API name of their own."""
    plain = " ".join(re.sub(r"[^a-z0-9#' ]", " ", text.lower()).split())
    for kind, api, pattern in _patterns():
        if match := pattern.fullmatch(plain):
            return _about(kind, api, bare(match.groupdict().get("x") or ""))
    return _unknown(plain)


def _about(kind: str, verb: str, thing: str) -> Meaning:
    exits = {"discover": "find_exit", "goto": "goto_exit", "open": "open_exit"}
    if kind in exits and "unexplored" in thing.split():
        return Meaning(exits[kind], f"{verb}_unexplored_door", "")
    named = kind in {"discover", "goto", "open", "unlock", "enter"} and type_of(thing) == "door"
    return Meaning(kind, f"{verb}_door" if named else verb, thing)


def _unknown(plain: str) -> Meaning:
    match = re.fullmatch(r"(.+?) (?:the|an|a) (.+)", plain)
    verb, thing = match.groups() if match else (plain, "")
    return Meaning("", "_".join(verb.split()[:6]) or "do_nothing", thing)


@cache
def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (kind, _snake(kind, words), _pattern(words))
        for kind in _ORDER
        for words in sorted(PHRASES[kind], key=len, reverse=True)
    )


def _snake(kind: str, words: str) -> str:
    dropped = {"{x}", "{c}", "a", "an", "the", "that", "is"}
    return "_".join(word for word in words.split() if word not in dropped)


def _pattern(words: str) -> re.Pattern[str]:
    parts = {"{x}": r"(?P<x>(?:the |an? )?.+)", "{c}": r"(?P<c>.+?)"}
    return re.compile(" ".join(parts.get(word, re.escape(word)) for word in words.split()))
