"""Baby Language, read by rules: instructions of BabyAI's grammar become clauses in the order of their execution.

The grammar is BabyAI's (Chevalier-Boisvert et al. 2019, section 3.2): go to, pick up, open, put next to; "and",
", then", "after you"; a or the; optional colour; door, key, ball, box or object; optional place words.
"""

import re
from dataclasses import dataclass
from random import Random

from sdg.errors import SDGError

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
TYPES = ("door", "key", "ball", "box", "object")

_CLAUSE = (
    ("put", re.compile(r"^(?:put|place|set|drop)\s+(.+?)\s+(?:next to|beside)\s+(.+)$")),
    ("goto", re.compile(r"^(?:go|walk|move)\s+(?:next\s+)?to\s+(.+)$")),
    ("pick", re.compile(r"^(?:pick\s*up|take|grab|get)\s+(.+)$")),
    ("open", re.compile(r"^(?:open|unlock)\s+(.+)$")),
)
_DESCRIPTION = re.compile(r"[a-z]+(?: [a-z]+){0,8}(?: ?#\d+)?")


@dataclass(frozen=True, slots=True)
class Clause:
    """One act of an instruction: `kind` is goto, pick, open or put; `goal` is what `thing` is put next to."""

    kind: str
    thing: str
    goal: str = ""


class NotBabyLanguage(SDGError, ValueError):
    """The instruction isn't in the grammar; the message says which part."""


def parse(instruction: str) -> tuple[tuple[Clause, ...], ...]:
    """Groups of clauses: groups are done one after the other, the clauses of one group in any order.

    Raises NotBabyLanguage.
    """
    after = re.split(r"\s+after you\s+", " ".join(instruction.lower().replace(".", " ").split()))
    groups = [group.strip(" ,") for half in reversed(after) for group in re.split(r",?\s+then\s+", half)]
    return tuple(tuple(map(_clause, re.split(r"\s+and\s+", group))) for group in groups)


def bare(description: str) -> str:
    """A description without its article."""
    return re.sub(r"^(?:the|an|a)\s+", "", " ".join(description.split()))


def type_of(description: str) -> str:
    """Which of TYPES a description names, "object" where it names none."""
    return next((word for word in description.split() if word in TYPES), "object")


def colour_of(description: str) -> str:
    """Which of COLOURS a description names, "" where it names none."""
    return next((word for word in description.split() if word in COLOURS), "")


def _description(text: str) -> str:
    """A bare description; only plain words pass, because it becomes a string in source code."""
    description = bare(text)
    if not _DESCRIPTION.fullmatch(description):
        raise NotBabyLanguage(f"{description!r} names nothing that I know.")
    return description


def _clause(text: str) -> Clause:
    for kind, pattern in _CLAUSE:
        if match := pattern.match(text.strip(" ,")):
            return Clause(kind, *map(_description, match.groups()))
    raise NotBabyLanguage(f"I know go to, pick up, open and put next to, but not {text!r}.")


PHRASES: dict[str, tuple[str, ...]] = {
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
    "unlock": ("unlock {x}", "unlock {x} with its key", "use the key on {x}"),
    "face": (
        "face a free cell next to {x}",
        "face an empty cell beside {x}",
        "turn to a free spot next to {x}",
        "look at an empty spot beside {x}",
        "stand before a free cell next to {x}",
    ),
    "put": ("put {c} next to {x}", "place {c} next to {x}", "set {c} down next to {x}", "drop {c} beside {x}"),
    "drop": ("put down {c}", "lay down {c}", "let go of {c}", "release {c}"),
    "discover": ("discover {x}", "find {x}", "locate {x}", "spot {x}", "look for {x}", "search for {x}"),
    "goto": ("go next to {x}", "go to {x}", "approach {x}", "walk up to {x}", "reach {x}", "move next to {x}"),
    "pick": ("pick up {x}", "grab {x}", "take {x}", "lift {x}", "collect {x}"),
    "open": ("open {x}", "push open {x}", "swing open {x}", "unlatch {x}"),
}
"""The phrases of each kind of subgoal, in the order in which kinds are tried."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The content of a subgoal text: its kind, the verb phrase as API name, and the thing it is about ("" for none)."""

    kind: str
    api: str
    argument: str


def phrase(kind: str, rng: Random, *, x: str = "", carried: str = "it") -> str:
    """A text for a subgoal of this kind, drawn from its phrases; `x` comes with its article."""
    return rng.choice(PHRASES[kind]).format(x=x, c=carried)


def meaning(text: str) -> Meaning:
    """Read a subgoal text; where no phrase matches, the kind is "" and the words make the API name."""
    words = " ".join(re.sub(r"[^a-z0-9#' ]", " ", text.lower()).split())
    exits = {"discover": "find_exit", "goto": "goto_exit", "open": "open_exit"}
    for kind, verb, pattern in _patterns():
        if match := pattern.fullmatch(words):
            thing = bare(match.groupdict().get("x") or "")
            if kind in exits and "unexplored" in thing.split():
                return Meaning(exits[kind], f"{verb}_unexplored_door", "")
            names_door = kind in {"discover", "goto", "open", "unlock", "enter"} and type_of(thing) == "door"
            return Meaning(kind, f"{verb}_door" if names_door else verb, thing)
    parts = re.fullmatch(r"(.+?) (?:the|an|a) (.+)", words)
    verb, thing = parts.groups() if parts else (words, "")
    return Meaning("", "_".join(verb.split()[:6]) or "do_nothing", thing)


def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(kind, API name, pattern) of each phrase, in the order in which they are tried."""
    parts = {"{x}": r"(?P<x>(?:the |an? )?.+)", "{c}": r"(?P<c>.+?)"}
    filler = {*parts, "a", "an", "the", "that", "is"}
    phrases = [
        (kind, words.split()) for kind, texts in PHRASES.items() for words in sorted(texts, key=len, reverse=True)
    ]
    return tuple(
        (
            kind,
            "_".join(word for word in words if word not in filler),
            re.compile(" ".join(parts.get(word, re.escape(word)) for word in words)),
        )
        for kind, words in phrases
    )
