"""Missions in free English: Baby Language said otherwise, by a small grammar with other verbs, nouns and syntax.

    put a grey box next to the ball on your left
    see to it that some grey crate ends up touching the sphere to the left of where you began

What is asked stays the same, so the level's own verifier judges. The same mission and seed give the same words.
"""

from __future__ import annotations

import random
import re

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
_COLOURS = {"grey": ("grey", "gray")}
_DESCRIPTION = re.compile(
    rf"(?P<article>an?|the) (?:(?P<colour>\w+) )??(?P<noun>{'|'.join(_NOUNS)})(?: (?P<place>{'|'.join(_PLACES)}))?"
)


def paraphrase(mission: str, seed: int) -> str:
    """The mission in other words. One that isn't Baby Language stays as it is."""
    rng = random.Random(f"{seed} {mission}")
    said = _sequence(mission, rng)
    return said[:1].upper() + said[1:] + "." if said else mission


def _sequence(mission: str, rng: random.Random) -> str:
    for joint, swapped in ((r",? then ", False), (r" after you ", True)):
        parts = re.split(joint, mission)
        if len(parts) == 2:
            first, second = (_conjunction(part, rng) for part in parts)
            first, second = (second, first) if swapped else (first, second)
            return rng.choice(_FIRST_THEN).format(a=first, b=second) if first and second else ""
    return _conjunction(mission, rng)


def _conjunction(text: str, rng: random.Random) -> str:
    said = [_clause(part, rng) for part in text.split(" and ")]
    if not all(said) or len(said) > 2:
        return ""
    return rng.choice(_ANY_ORDER).format(a=said[0], b=said[1]) if len(said) == 2 else said[0]


def _clause(text: str, rng: random.Random) -> str:
    for pattern, forms in _CLAUSES:
        if found := re.fullmatch(pattern, text.strip()):
            things = {name: _thing(words, rng) for name, words in found.groupdict().items()}
            return rng.choice(forms).format(**things) if all(things.values()) else ""
    return ""


def _thing(words: str, rng: random.Random) -> str:
    found = _DESCRIPTION.fullmatch(words)
    if not found:
        return ""
    article, colour, noun, place = found["article"], found["colour"], found["noun"], found["place"]
    said = rng.choice(_NOUNS[noun])
    shade = rng.choice(_COLOURS.get(colour, (colour,))) if colour else ""
    told = [_one_of(article, f"{shade} {said}".strip(), rng)]
    if shade and not place and rng.random() < 0.3:
        told = [_one_of(article, said, rng), f"that is {shade}"]
    return " ".join([*told, *([rng.choice(_PLACES[place])] if place else [])])


def _one_of(article: str, noun: str, rng: random.Random) -> str:
    word = rng.choice(_ARTICLES[article])
    if word in ("a", "an"):
        word = "an" if noun[0] in "aeiou" else "a"
    return f"{word} {noun}"
