"""What can be done on a screen: the nine commands of "computer tasks from screenshots alone" (its appendix B).

Coordinates are pixels of the screenshot, (0, 0) at its upper left. A drag is MOUSEDOWN_COORDS, then MOUSEUP_COORDS.
Commands come from a model: whatever isn't one of these, in these forms, is refused with what there is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sdg.errors import IllegalCommand, refuse

SCREEN = 320
"""Width and height of a screenshot in pixels: the task's area of 160 by 160 at twice its size."""
MAX_TEXT = 1000
"""Characters that one TYPE_TEXT may type."""

KEYS: Mapping[str, str] = {
    "<Enter>": "Enter",
    "<Backspace>": "Backspace",
    "C-a": "Control+a",
    "C-c": "Control+c",
    "C-x": "Control+x",
    "C-v": "Control+v",
}
"""The keys that PRESS_KEY knows, and what the browser calls them."""

ARGUMENTS: Mapping[str, str] = {
    "MOVE_COORDS": "coords",
    "CLICK_COORDS": "coords",
    "DBLCLICK_COORDS": "coords",
    "MOUSEDOWN_COORDS": "coords",
    "MOUSEUP_COORDS": "coords",
    "SCROLL_UP_COORDS": "coords",
    "SCROLL_DOWN_COORDS": "coords",
    "PRESS_KEY": "key",
    "TYPE_TEXT": "text",
}
"""Each command and the one argument that it takes."""
AT_POINTS = ("CLICK_COORDS", "DBLCLICK_COORDS", "MOUSEDOWN_COORDS", "MOUSEUP_COORDS")
"""Those that press at a point, a drag's two ends among them."""


@dataclass(frozen=True, slots=True)
class ScreenCommand:
    """One command: its name, and a point (x, y) in pixels, a key or a text. Raises IllegalCommand otherwise."""

    name: str
    argument: tuple[int, int] | str
    size: tuple[int, int] = (SCREEN, SCREEN)
    """Of the screenshot that a point is in."""
    takes: ClassVar[Mapping[str, str]] = ARGUMENTS
    keys: ClassVar[Mapping[str, str]] = KEYS

    def __post_init__(self) -> None:
        kind, argument = self.takes.get(self.name), self.argument
        point = argument if isinstance(argument, tuple) and all(type(value) is int for value in argument) else ()
        text = argument if isinstance(argument, str) else ""
        faults = (
            (kind is None, f"there is no command {self.name!r:.60}; there are {', '.join(self.takes)}"),
            (
                kind == "coords" and len(point) != 2,
                f"{self.name} takes a point [x, y] of whole pixels, not {argument!r:.60}",
            ),
            (
                kind == "coords" and not all(0 <= value < most for value, most in zip(point, self.size, strict=False)),
                f"{self.name} {list(point)!r:.60} is outside the screenshot of {self.size[0]} by {self.size[1]} pixels",
            ),
            (kind != "coords" and not isinstance(argument, str), f"{self.name} takes a {kind}, not {argument!r:.60}"),
            (
                kind == "key" and text not in self.keys,
                f"there is no key {argument!r:.40}; there are {', '.join(self.keys)}",
            ),
            (len(text) > MAX_TEXT, f"{self.name} takes at most {MAX_TEXT} characters, not {len(text)}"),
        )
        refuse(IllegalCommand, faults)


def command_from_json(
    value: object, *, of: type[ScreenCommand] = ScreenCommand, size: tuple[int, int] = (SCREEN, SCREEN)
) -> ScreenCommand:
    """A command as a model wrote it. Raises IllegalCommand; fractions are rounded, digits in text read."""
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise IllegalCommand(f'a command is {{"name": ..., "args": {{...}}}}, not {value!r:.80}')
    name = value["name"].strip()
    arguments = value.get("args")
    kind = of.takes.get(name)
    argument = arguments.get(kind, "") if isinstance(arguments, Mapping) and kind else ""
    if name in ARGUMENTS and not (isinstance(arguments, Mapping) and kind in arguments):
        raise IllegalCommand(f'{name} needs "args": {{"{kind}": ...}}, not {arguments!r:.80}')
    refusal = IllegalCommand(f"{name} takes a point [x, y] in pixels, not {argument!r:.60}")
    return of(name, read_point(argument, refusal) if kind == "coords" else argument, size)


def read_point(value: object, refusal: Exception) -> tuple[int, int]:
    """A point [x, y] as a model wrote it, in whole pixels. Raises `refusal` for anything else."""
    try:
        x, y = (round(float(side)) for side in (value if isinstance(value, list | tuple) else ()))
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    return x, y
