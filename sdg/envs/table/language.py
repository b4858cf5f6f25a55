"""Descriptions for commands of the arm: a thing, or a pair of things, that is, which block goes where."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from sdg.envs.domain import Language

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
    """The target of a description. Raises ValueError for a text that describes nothing here."""
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


class TableLanguage(Language):
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
        phrases: dict[str, None] = {}
        for action in actions_of(sentence):
            pair = (FROM if action.verb == "away" else TO, action.block, action.other)
            targets = [pair, (ALONE, NOTHING, action.block), (ALONE, NOTHING, action.other)]
            phrases |= dict.fromkeys(map(self.text, targets if action.other != NOTHING else targets[1:2]))
        return list(phrases)

    def kind(self, argument: str) -> Hashable:
        """Blocks, spots, pairs (by their word and by whether the second is a block), and nothing."""
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
        return VERBS[self.verb].format(THINGS[self.block], THINGS[self.other])


VERBS = {
    "touch": "touch the {}",
    "to": "push the {} to the {}",
    "next": "push the {} next to the {}",
    "away": "push the {} away from the {}",
}
_BLOCK, _SPOT = f"({'|'.join(THINGS[:4])})", f"({'|'.join(THINGS[4:])})"
_FORMS = {verb: re.compile(form.format(_BLOCK, _SPOT if verb == "to" else _BLOCK)) for verb, form in VERBS.items()}


def actions_of(sentence: str) -> tuple[TableGoal, ...]:
    """The actions that an instruction asks for, in their order; () for words that aren't understood."""
    plain = sentence.strip().lower()
    first, after, rest = plain.partition(" after you ")
    actions = list(map(_action, [rest, first] if after else plain.split(", then ")))
    return tuple(action for action in actions if action is not None) if None not in actions else ()


def _action(clause: str) -> TableGoal | None:
    for verb, form in _FORMS.items():
        if match := form.fullmatch(clause):
            numbers = [THINGS.index(thing) for thing in match.groups()]
            return TableGoal(verb, *numbers) if len(set(numbers)) == len(numbers) else None
    return None


def is_held_out(action: TableGoal) -> bool:
    """Whether training instructions never combine these two things: a quarter of all pairs."""
    return action.other != NOTHING and (action.block + action.other) % 4 == 1
