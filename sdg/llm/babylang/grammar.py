"""Baby Language as rules read it: instructions of BabyAI's grammar become clauses in the order they are to be done.

The grammar is BabyAI's (Chevalier-Boisvert et al. 2019, section 3.2): go to, pick up, open, put next to; "and",
", then", "after you"; a or the; optional colour; door, key, ball, box or object; optional place words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
TYPES = ("door", "key", "ball", "box", "object")

_CLAUSE = (
    ("put", re.compile(r"^(?:put|place|set|drop)\s+(.+?)\s+(?:next to|beside)\s+(.+)$")),
    ("goto", re.compile(r"^(?:go|walk|move)\s+(?:next\s+)?to\s+(.+)$")),
    ("pick", re.compile(r"^(?:pick\s*up|take|grab|get)\s+(.+)$")),
    ("open", re.compile(r"^(?:open|unlock)\s+(.+)$")),
)
_DESCRIPTION = re.compile(r"[a-z]+(?: [a-z]+){0,8}(?: ?#\d+)?")
_ARTICLE = re.compile(r"^(?:the|an|a)\s+")


@dataclass(frozen=True, slots=True)
class Clause:
    """One act of an instruction: `kind` is goto, pick, open or put; `goal` is what `thing` is put next to."""

    kind: str
    thing: str
    goal: str = ""


class NotBabyLanguage(ValueError):
    """The instruction isn't in the grammar; the message says which part."""


def parse(instruction: str) -> tuple[tuple[Clause, ...], ...]:
    """Groups of clauses: groups are done one after the other, the clauses of one group in any order.

    Raises NotBabyLanguage.
    """
    text = " ".join(instruction.lower().replace(".", " ").split())
    return tuple(tuple(_clause(part) for part in re.split(r"\s+and\s+", group)) for group in _in_order(text))


def bare(description: str) -> str:
    """A description without its article."""
    return _ARTICLE.sub("", " ".join(description.split()))


def type_of(description: str) -> str:
    """Which of TYPES a description names, "object" where it names none."""
    return next((word for word in description.split() if word in TYPES), "object")


def colour_of(description: str) -> str:
    """Which of COLOURS a description names, "" where it names none."""
    return next((word for word in description.split() if word in COLOURS), "")


def _description(text: str) -> str:
    """A bare description; only plain words pass, because it becomes a string in source code."""
    plain = bare(text)
    if not _DESCRIPTION.fullmatch(plain):
        raise NotBabyLanguage(f"{plain!r} names nothing that I know.")
    return plain


def _in_order(text: str) -> list[str]:
    after = re.split(r"\s+after you\s+", text)
    groups = [part for half in reversed(after) for part in re.split(r",?\s+then\s+", half)]
    return [group.strip(" ,") for group in groups]


def _clause(text: str) -> Clause:
    for kind, pattern in _CLAUSE:
        if match := pattern.match(text.strip(" ,")):
            return Clause(kind, *(_description(part) for part in match.groups()))
    raise NotBabyLanguage(f"I know go to, pick up, open and put next to, but not {text!r}.")
