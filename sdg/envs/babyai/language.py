"""Baby Language from text: a user's words become the verifier's own instruction objects.

    go to D | open D | pick up D | put D next to D
    joined by ' and ' (two clauses), then by ', then ' or ' after you '

with D a description as BabyAI writes it (BabyAI, section 3). Locations are those of BabyAI; ids are not part of it.
"""

import difflib
import json
import random
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from minigrid.envs.babyai.core import verifier

from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import ANY, parse as parse_description

BY_HAND = "said_by_hand.json"
"""Missions that people said in their own words; `BossLevel:by-hand` plays them."""

_LOCATIONS = (None, "left", "right", "front", "behind")
_MAX_LENGTH = 500
_WORDS = (
    *("go", "to", "open", "pick", "up", "put", "next", "and", "then", "after", "you", "a", "an", "the", "object"),
    *("in", "front", "of", "behind", "on", "your", "left", "right", *COLOURS, *("door", "key", "ball", "box")),
)

_verifier: Any = verifier  # untyped: its classes take and give anything


def parse(text: str) -> Any:
    """The verifier's `Instr` that a text asks for. ValueError, saying which part, when it is none."""
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        raise ValueError(f"an instruction is text of at most {_MAX_LENGTH} characters")
    words = re.sub(r"\s+", " ", text).strip().lower().rstrip(".")
    before = re.split(r",? then ", words)
    after = words.split(" after you ")
    if len(before) + len(after) > 3:
        raise ValueError(f"{text!r} has more than two parts; one 'then' or 'after you' joins at most two")
    if len(before) == 2:
        return _verifier.BeforeInstr(_conjunction(before[0]), _conjunction(before[1]))
    if len(after) == 2:
        return _verifier.AfterInstr(_conjunction(after[0]), _conjunction(after[1]))
    return _conjunction(words)


def nearest(text: str) -> str | None:
    """The instruction that a mistyped one was meant to be; None for one without fault, and for other words."""
    words = re.sub(r"\s+", " ", text).strip().lower().rstrip(".").split(" ")
    guess = " ".join((difflib.get_close_matches(word, _WORDS, n=1, cutoff=0.6) or [word])[0] for word in words)
    for candidate in (" ".join(words), guess):
        try:
            parse(candidate)
        except ValueError:
            continue
        return candidate if candidate != " ".join(words) else None
    return None


def _conjunction(words: str) -> Any:
    clauses = words.split(" and ")
    if len(clauses) > 2:
        raise ValueError(f"{words!r} has more than two clauses; 'and' joins at most two")
    first, *rest = [_clause(clause) for clause in clauses]
    return _verifier.AndInstr(first, rest[0]) if rest else first


def _clause(words: str) -> Any:
    match = re.fullmatch(r"(?:(go to|open|pick up) (.+)|put (.+?) next to (.+))", words)
    if match is None:
        raise ValueError(f"{words!r} is no instruction: say go to D, open D, pick up D or put D next to D")
    verb, thing, item, landmark = match.groups()
    if item:
        return _verifier.PutNextInstr(_describe(item, never="door"), _describe(landmark))
    kinds = {"go to": _verifier.GoToInstr, "open": _verifier.OpenInstr, "pick up": _verifier.PickupInstr}
    return kinds[verb](
        _describe(thing, only="door" if verb == "open" else "", never="door" if verb == "pick up" else "")
    )


def _describe(words: str, *, only: str = "", never: str = "") -> Any:
    target = parse_description(words)
    if target.id != ANY:
        raise ValueError(f"{words!r}: an instruction can't name a thing by its number")
    kind = TYPES[target.type] if target.type != ANY else None
    if (only and kind != only) or (never and kind == never):
        raise ValueError(
            f"{words!r} is nothing that can be done that to: open takes a door, pick up and put take no door"
        )
    color = COLOURS[target.color] if target.color != ANY else None
    return _verifier.ObjDesc(kind, color, _LOCATIONS[target.location])


_CLAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"go to (?P<a>.+)", (
        "walk up to {a}", "make your way over to {a}", "head for {a} and stop in front of it", "pay {a} a visit",
        "get yourself right up to {a}", "approach {a} until you face it", "find {a} and stand before it",
    )),
    (r"open (?P<a>.+)", (
        "get {a} open", "see that {a} no longer stays shut", "swing {a} open", "push {a} open",
        "make sure {a} gets opened", "unclose {a}",
    )),
    (r"pick up (?P<a>.+)", (
        "grab {a}", "take {a} into your hand", "get hold of {a}", "fetch yourself {a}", "lift {a} off the floor",
        "collect {a}", "see to it that you are carrying {a}",
    )),
    (r"put (?P<a>.+?) next to (?P<b>.+)", (
        "set {a} down right beside {b}", "leave {a} lying next to {b}", "carry {a} over and drop it beside {b}",
        "see to it that {a} ends up touching {b}", "move {a} so that it lies alongside {b}",
        "find {a} a place directly beside {b}",
    )),
)  # fmt: skip
_ANY_ORDER = (
    "{a}, and also {b}", "do two things, whichever you like first: {a}, and {b}", "{a}; apart from that, {b}",
    "there are two chores, in any order: {a}; {b}", "{a}; {b}; the order is up to you",
)  # fmt: skip
_FIRST_THEN = (
    "first {a}, and once that is done, {b}", "begin like this: {a}. After that, {b}", "{a}; only afterwards {b}",
    "start out with this: {a}. Finish with this: {b}", "the last thing to do is: {b}. What comes before it: {a}",
    "before anything else {a}. Next, {b}",
)  # fmt: skip
_NOUNS = {
    "box": ("box", "crate", "container"), "ball": ("ball", "sphere"), "key": ("key",), "door": ("door", "doorway"),
    "object": ("thing", "item", "object"),
}  # fmt: skip
_PLACES = {
    "on your left": ("to the left of where you began", "that lay on your left at the start", "off to your left"),
    "on your right": ("to the right of where you began", "that lay on your right at the start", "off to your right"),
    "in front of you": ("ahead of where you began", "that lay in front of you at the start", "straight ahead of you"),
    "behind you": ("at your back", "that was behind you at the start", "to the rear of where you began"),
}
_ARTICLES = {"a": ("some", "any", "a"), "an": ("some", "any", "an"), "the": ("the",)}
_DESCRIPTION = re.compile(
    rf"(?P<article>an?|the) (?:(?P<colour>\w+) )??(?P<noun>{'|'.join(_NOUNS)})(?: (?P<place>{'|'.join(_PLACES)}))?"
)


def said_by_hand(mission: str) -> str:
    """The mission in the words of a person who knew neither prompts nor skills. ValueError where there are none."""
    if mission not in (wordings := _wordings_by_hand()):
        raise ValueError(f"nobody has said {mission!r} in words of their own: {BY_HAND} holds {len(wordings)} missions")
    return wordings[mission]


@cache
def _wordings_by_hand() -> Mapping[str, str]:
    return json.loads((Path(__file__).parent / BY_HAND).read_text("utf-8"))


def paraphrase(mission: str, seed: int) -> str:
    """The mission in other words. One that isn't Baby Language stays as it is."""
    wording = _sequence(mission, random.Random(f"{seed} {mission}"))
    return wording[:1].upper() + wording[1:] + "." if wording else mission


def _sequence(mission: str, rng: random.Random) -> str:
    for joint, is_swapped in ((r",? then ", False), (r" after you ", True)):
        parts = re.split(joint, mission)
        if len(parts) == 2:
            first, second = (_reword_conjunction(part, rng) for part in parts)
            first, second = (second, first) if is_swapped else (first, second)
            return rng.choice(_FIRST_THEN).format(a=first, b=second) if first and second else ""
    return _reword_conjunction(mission, rng)


def _reword_conjunction(text: str, rng: random.Random) -> str:
    clauses = [_reword_clause(clause, rng) for clause in text.split(" and ")]
    if not all(clauses) or len(clauses) > 2:
        return ""
    return rng.choice(_ANY_ORDER).format(a=clauses[0], b=clauses[1]) if len(clauses) == 2 else clauses[0]


def _reword_clause(text: str, rng: random.Random) -> str:
    for pattern, forms in _CLAUSES:
        if match := re.fullmatch(pattern, text.strip()):
            things = {name: _thing(words, rng) for name, words in match.groupdict().items()}
            return rng.choice(forms).format(**things) if all(things.values()) else ""
    return ""


def _thing(words: str, rng: random.Random) -> str:
    match = _DESCRIPTION.fullmatch(words)
    if not match:
        return ""
    article, colour, noun, place = match.group("article", "colour", "noun", "place")
    word = rng.choice(_NOUNS[noun])
    shade = rng.choice(("grey", "gray") if colour == "grey" else (colour,)) if colour else ""
    parts = [_one_of(article, f"{shade} {word}".strip(), rng)]
    if shade and not place and rng.random() < 0.3:
        parts = [_one_of(article, word, rng), f"that is {shade}"]
    return " ".join([*parts, *([rng.choice(_PLACES[place])] if place else [])])


def _one_of(article: str, noun: str, rng: random.Random) -> str:
    word = rng.choice(_ARTICLES[article])
    if word in ("a", "an"):
        word = "an" if noun[0] in "aeiou" else "a"
    return f"{word} {noun}"
