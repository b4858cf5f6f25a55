"""What a command of the arm may be about: a thing, or a pair of things: which block goes where."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.envs.defaults import Descriptions

COLOURS = ("red", "green", "blue", "yellow")
THINGS = tuple(f"{colour} {kind}" for kind in ("block", "spot") for colour in COLOURS)
BLOCKS = range(len(COLOURS))
"""Indices of THINGS that are blocks; the others are spots."""
NOTHING, ALONE, TO, FROM = -1, 0, 1, 2
WORDS = {TO: " to ", FROM: " from "}

Target = tuple[int, int, int]
"""How two things are meant (ALONE: the fingertip and the second one), the first (NOTHING where alone), the second."""

_THING = "|".join(THINGS)
_FORM = re.compile(rf"(?:the )?(?:(?P<first>{_THING}) (?P<word>to|from) (?:the )?)?(?P<second>{_THING})")


def parse(description: str) -> Target:
    """What a description means. Raises ValueError for anything that describes nothing here."""
    match = _FORM.fullmatch(str(description).strip().lower())
    if match is None or match["first"] == match["second"]:
        raise ValueError(
            f"{description!r:.80} describes nothing: say a thing ({', '.join(THINGS)}) or a pair such as `red block to "
            "blue spot` or `red block from green block`"
        )
    second = THINGS.index(match["second"])
    if match["first"] is None:
        return ALONE, NOTHING, second
    return TO if match["word"] == "to" else FROM, THINGS.index(match["first"]), second


class TableLanguage(Descriptions):
    """Descriptions of the table (`sdg.envs.domain.Language`)."""

    example = "red block"
    nothing = (NOTHING, NOTHING, NOTHING)
    parse = staticmethod(parse)

    def text(self, target: Target) -> str:
        """The description of a target."""
        how, first, second = target
        return THINGS[second] if how == ALONE else f"{THINGS[first]}{WORDS[how]}{THINGS[second]}"

    def mentions(self, sentence: str) -> list[str]:
        """The pairs that a sentence speaks of, and the things, in their order."""
        phrases: list[str] = []
        for action in actions_of(sentence):
            things = [THINGS[action.block], *([THINGS[action.other]] if action.other != NOTHING else [])]
            pair = [f" {'from' if action.verb == 'away' else 'to'} ".join(things)] if len(things) > 1 else []
            phrases += [*pair, *things]
        return list(dict.fromkeys(phrases))

    def kind(self, argument: str) -> Hashable:
        """Blocks, spots, pairs by their word and by what the second is, and nothing."""
        how, _, second = self.row(argument).tolist()
        return how, second in BLOCKS

    def relation(self, argument: str) -> Hashable:
        """Whether it is a pair, because to move a block is another skill than to go to a thing."""
        return bool(self.row(argument)[0] in WORDS)

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The things that are named, where all of them are there. Raises ValueError for what describes nothing."""
        _, *numbers = parse(argument)
        names = [THINGS[number] for number in numbers if number != NOTHING]
        things = [element for element in elements if element.name in names]
        return things if len(things) == len(names) else []


@dataclass(frozen=True, slots=True)
class TableGoal:
    """One thing to do: touch a block, or push it `to` a spot, `next` to a block or `away` from one."""

    verb: str
    block: int
    other: int = NOTHING

    @property
    def text(self) -> str:
        """In words."""
        if self.verb == "touch":
            return f"touch the {THINGS[self.block]}"
        words = {"to": "to", "next": "next to", "away": "away from"}[self.verb]
        return f"push the {THINGS[self.block]} {words} the {THINGS[self.other]}"


_BLOCK, _SPOT = (rf"({'|'.join(COLOURS)}) {kind}" for kind in ("block", "spot"))
_VERBS = {
    "touch": re.compile(rf"touch the {_BLOCK}"),
    "to": re.compile(rf"push the {_BLOCK} to the {_SPOT}"),
    "next": re.compile(rf"push the {_BLOCK} next to the {_BLOCK}"),
    "away": re.compile(rf"push the {_BLOCK} away from the {_BLOCK}"),
}


def actions_of(sentence: str) -> tuple[TableGoal, ...]:
    """What an instruction asks for, in the order in which it is to be done; () for words that aren't understood."""
    plain = sentence.strip().lower()
    first, after, rest = plain.partition(" after you ")
    actions = [_action(part) for part in ([rest, first] if after else plain.split(", then "))]
    return tuple(each for each in actions if each is not None) if None not in actions else ()


def _action(part: str) -> TableGoal | None:
    for verb, form in _VERBS.items():
        if match := form.fullmatch(part):
            block, *other = (COLOURS.index(colour) for colour in match.groups())
            if other == [block] and verb != "to":
                return None
            return TableGoal(verb, block, *(number + (len(COLOURS) if verb == "to" else 0) for number in other))
    return None


def is_held_out(action: TableGoal) -> bool:
    """Whether training instructions never combine these two things: a quarter of all pairs."""
    return action.other != NOTHING and (action.block + action.other) % 4 == 1
