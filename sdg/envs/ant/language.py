"""Descriptions for commands of the ant: a spot, a cell of the maze, or a direction."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from sdg.envs.domain import Language

COLOURS = ("red", "green", "blue", "yellow")
SPOTS = (*(f"{colour} spot" for colour in COLOURS), "goal")
COMPASS = ("east", "northeast", "north", "northwest", "west", "southwest", "south", "southeast")
"""Every 45 degrees, counted from the x axis counterclockwise."""
NOTHING, DIRECTION, CELL, SPOT = -1, 0, 1, 2

Target = tuple[int, int]
"""The kind of thing (DIRECTION, CELL, ...), and which one: degrees, 100 * row + column, or an index of SPOTS."""

_FORM = re.compile(
    rf"(?:the )?(?:(?P<spot>{'|'.join(SPOTS)})|cell (?P<row>\d\d?) (?P<column>\d\d?)"
    rf"|direction (?P<degrees>\d{{1,3}})|(?P<compass>{'|'.join(sorted(COMPASS, key=len, reverse=True))}))"
)


def parse(description: str) -> Target:
    """The target of a description. Raises ValueError for a text that describes nothing here."""
    match = _FORM.fullmatch(str(description).strip().lower())
    if match is None:
        raise ValueError(
            f"{description!r:.80} describes nothing: say {', '.join(SPOTS)}, cell ROW COLUMN, direction DEGREES, or "
            f"one of {', '.join(COMPASS)}"
        )
    if match["spot"]:
        return SPOT, SPOTS.index(match["spot"])
    if match["row"]:
        return CELL, 100 * int(match["row"]) + int(match["column"])
    return DIRECTION, int(match["degrees"]) % 360 if match["degrees"] else 45 * COMPASS.index(match["compass"])


class AntLanguage(Language):
    """Descriptions of the ant's worlds (`sdg.envs.domain.Language`)."""

    example = "red spot"
    nothing = (NOTHING, 0)
    parts: Mapping[str, tuple[str, ...]] = {"color": COLOURS}
    parse = staticmethod(parse)

    def text(self, target: Target) -> str:
        """The description of a target."""
        kind, which = target
        if kind == SPOT:
            return SPOTS[which]
        if kind == CELL:
            return f"cell {which // 100} {which % 100}"
        return COMPASS[which // 45] if which % 45 == 0 else f"direction {which}"

    def part(self, target: Target, part: str) -> str | None:
        """The colour of a spot."""
        return COLOURS[target[1]] if target[0] == SPOT and target[1] < len(COLOURS) else None

    def mentions(self, sentence: str) -> list[str]:
        """The spots in a sentence, in their order; "the green one" is one."""
        phrases = re.findall(rf"\b(?:(?:{'|'.join(COLOURS)}) (?:spot|one)|goal)\b", sentence.lower())
        return [phrase.replace(" one", " spot") for phrase in phrases]

    def resolve(self, argument: str, elements: Sequence[Any]) -> Sequence[Any]:
        """The spot of that name; cells and directions are there without being seen. ValueError when it is none."""
        return super().resolve(argument, elements) if parse(argument)[0] == SPOT else (argument,)

    def kind(self, argument: str) -> Hashable:
        """Spots, cells, directions and nothing: four kinds."""
        return int(self.row(argument)[0])
