"""Baby Language from text: what a user types becomes the verifier's own instruction objects.

    go to D | open D | pick up D | put D next to D
    joined by ' and ' (two clauses), then by ', then ' or ' after you '

with D a description as BabyAI writes it (BabyAI, section 3). Locations are those of BabyAI; ids are not part of it.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

from minigrid.envs.babyai.core import verifier

from sdg.envs.babyai.cells import COLOURS, TYPES
from sdg.envs.babyai.perception.description import ANY
from sdg.envs.babyai.perception.description import parse as parse_description

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
    before, after = re.split(r",? then ", words), words.split(" after you ")
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
    guessed = " ".join((difflib.get_close_matches(word, _WORDS, n=1, cutoff=0.6) or [word])[0] for word in words)
    for candidate in (" ".join(words), guessed):
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
    if words.startswith("go to "):
        return _verifier.GoToInstr(_describe(words.removeprefix("go to ")))
    if words.startswith("open "):
        return _verifier.OpenInstr(_describe(words.removeprefix("open "), only=("door",)))
    if words.startswith("pick up "):
        return _verifier.PickupInstr(_describe(words.removeprefix("pick up "), never="door"))
    found = re.fullmatch(r"put (.+?) next to (.+)", words)
    if found:
        return _verifier.PutNextInstr(_describe(found[1], never="door"), _describe(found[2]))
    raise ValueError(f"{words!r} is no instruction: say go to D, open D, pick up D or put D next to D")


def _describe(words: str, *, only: tuple[str, ...] = (), never: str = "") -> Any:
    target = parse_description(words)
    if target.id != ANY:
        raise ValueError(f"{words!r}: an instruction can't name a thing by its number")
    kind = TYPES[target.type] if target.type != ANY else None
    if (only and kind not in only) or (never and kind == never):
        raise ValueError(
            f"{words!r} is nothing that can be done that to: open takes a door, pick up and put take no door"
        )
    color = COLOURS[target.color] if target.color != ANY else None
    return _verifier.ObjDesc(kind, color, _LOCATIONS[target.location])
