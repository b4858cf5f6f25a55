"""Actions on a phone: AndroidLab's action space (Xu et al. 2024, section 3), checked argument by argument.

Actions come from a model: whatever isn't one of these, in these forms, is refused with the form that is right.
`Device` is the one protocol for phones; `carry_out` carries an action out on any of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from sdg.envs.phone.tree import UiTree
from sdg.envs.ui.commands import read_point
from sdg.envs.ui.parser.screen import picture_of
from sdg.errors import BrokenDesktop, IllegalCommand, refuse

FORMS: Mapping[str, str] = {
    "Tap": '{"element": 7} or {"coords": [x, y]}',
    "Long Press": '{"element": 7} or {"coords": [x, y]}',
    "Swipe": '{"direction": "up", "dist": "medium"}, with "element" or "coords" to begin there; '
    'or {"coords": [x, y], "to": [x, y]}',
    "Type": '{"text": "..."}',
    "Enter": "{}",
    "Home": "{}",
    "Back": "{}",
    "Wait": '{"seconds": 2}',
    "finish": '{"message": "..."}',
}
"""Each action, and its arguments as a model writes them."""

DIRECTIONS: Mapping[str, tuple[int, int]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Where the finger goes: a list's end is seen by swiping up."""
DISTANCES: Mapping[str, int] = {"short": 1, "medium": 2, "long": 10}
"""Tenths of the screen's width; twice as much up and down, as in AndroidLab's code."""
PRESSING = ("Tap", "Long Press")
"""Actions that press something."""
MAX_TEXT = 1000
MAX_ELEMENT = 9999
MAX_SECONDS = 60
LONG_PRESS_SECONDS = 1
Point = tuple[int, int]

_NAMES = {re.sub("[ _-]", "", name.lower()): name for name in FORMS}
_TARGET = r"(?:element (?P<element>\d{1,4})|(?P<at>\d{1,5},\d{1,5}))"
_ARGUMENTS: Mapping[str, re.Pattern[str]] = {
    "Tap": re.compile(_TARGET + r"(?: .*)?"),
    "Long Press": re.compile(_TARGET + r"(?: .*)?"),
    "Swipe": re.compile(
        rf"(?:{_TARGET} )?(?:(?P<direction>up|down|left|right) (?P<distance>short|medium|long)"
        r"|to (?P<to>\d{1,5},\d{1,5}))"
    ),
    "Wait": re.compile(r"(?P<seconds>\d{1,2}) s"),
}


@dataclass(frozen=True, slots=True)
class PhoneAction:
    """One action. `element` is an element's number, 0 for none; `at` and `to` are points (x, y) in pixels.

    `text` is what Type types and finish reports. Raises IllegalCommand for an action that there isn't, and for
    arguments that it doesn't take or lacks.
    """

    name: str
    element: int = 0
    at: Point | None = None
    to: Point | None = None
    direction: str = ""
    distance: str = "medium"
    text: str = ""
    seconds: int = 2

    def __post_init__(self) -> None:
        name, swipe = self.name, FORMS["Swipe"]
        faults = (
            (name not in FORMS, f"there is no action {name!r:.60}; there are {', '.join(FORMS)}"),
            (
                not 0 <= self.element <= MAX_ELEMENT,
                f"elements have numbers from 1 to {MAX_ELEMENT}, not {self.element}",
            ),
            (name in PRESSING and not self.element and self.at is None, f"{name} needs its place: {FORMS.get(name)}"),
            (
                name == "Swipe" and (self.to is None) == (self.direction not in DIRECTIONS),
                f"Swipe needs a direction ({', '.join(DIRECTIONS)}) or its two ends: {swipe}",
            ),
            (
                self.to is not None and self.at is None,
                f"a Swipe to {[*(self.to or ())]} needs where it begins: {swipe}",
            ),
            (self.distance not in DISTANCES, f'"dist" is {", ".join(DISTANCES)}, not {self.distance!r:.40}'),
            (
                name == "Type" and not 0 < len(self.text) <= MAX_TEXT,
                f"Type types 1 to {MAX_TEXT} characters, not {len(self.text)}",
            ),
            (not 1 <= self.seconds <= MAX_SECONDS, f"Wait waits 1 to {MAX_SECONDS} seconds, not {self.seconds}"),
        )
        refuse(IllegalCommand, faults)

    @property
    def argument(self) -> str:
        """The arguments as a text that `read_command` reads: what a gate is shown."""
        place = f"element {self.element}" if self.element else f"{self.at[0]},{self.at[1]}" if self.at else ""
        way = f"to {self.to[0]},{self.to[1]}" if self.to else f"{self.direction} {self.distance}"
        others = {
            "Type": self.text,
            "finish": self.text,
            "Wait": f"{self.seconds} s",
            "Swipe": f"{place} {way}".strip(),
        }
        return others.get(self.name, place)


def read_command(name: str, argument: str) -> PhoneAction:
    """The action of a gated command, as `PhoneAction.argument` writes it; words after a place are for people.

    Raises IllegalCommand for any other text.
    """
    pattern = _ARGUMENTS.get(name)
    if pattern is None:
        return PhoneAction(name, text=argument if name in ("Type", "finish") else "")
    match = pattern.fullmatch(argument)
    if match is None:
        raise IllegalCommand(f"{name} doesn't take {argument!r:.60}: {FORMS[name]}")
    arguments: dict[str, Any] = {
        key: _point(value.split(",")) if key in ("at", "to") else int(value) if value.isdigit() else value
        for key, value in match.groupdict().items()
        if value is not None
    }
    return PhoneAction(name, **arguments)


def read_action(written: object) -> PhoneAction:
    """An action as a model wrote it: {"name": "Tap", "args": {"element": 7}}. Raises IllegalCommand.

    Names are read with and without blanks, in any case; "mark" is another word for "element".
    """
    if not isinstance(written, Mapping) or not isinstance(written.get("name"), str):
        raise IllegalCommand(f'an action is {{"name": ..., "args": {{...}}}}, not {written!r:.80}')
    name = _NAMES.get(re.sub("[ _-]", "", written["name"].lower())) or str(written["name"])
    arguments = written.get("args") or {}
    if not isinstance(arguments, Mapping):
        raise IllegalCommand(f'{name} takes "args": {FORMS.get(name, "{...}")}, not {arguments!r:.80}')
    keys = {"mark": "element", "coords": "at", "dist": "distance", "message": "text"}
    values: dict[str, Any] = {
        keys.get(str(key), str(key)): value for key, value in arguments.items() if value is not None
    }
    takes = {
        "Tap": "element at",
        "Long Press": "element at",
        "Swipe": "element at to direction distance",
        "Type": "text",
        "finish": "text",
        "Wait": "seconds",
    }
    if name not in FORMS:
        return PhoneAction(name)  # which refuses it
    unknown = values.keys() - takes.get(name, "").split()
    if unknown:
        raise IllegalCommand(f"{name} takes no {sorted(unknown)[0]!r:.40}: {FORMS[name]}")
    values |= {key: _point(values[key]) for key in ("at", "to") if key in values}
    values |= {key: _whole(key, values[key]) for key in ("element", "seconds") if key in values}
    for key in values.keys() & {"direction", "distance", "text"}:
        if not isinstance(values[key], str):
            raise IllegalCommand(f'"{key}" is a text, not {values[key]!r:.60}')
    return PhoneAction(name, **values)


def swipe_ends(action: PhoneAction, start: Point, size: tuple[int, int]) -> tuple[Point, Point]:
    """Where a swipe begins and ends: from `start` for its distance, cut at the edge of a screen of `size` pixels."""
    if action.to is not None:
        return start, action.to
    across, down = DIRECTIONS[action.direction]
    length = DISTANCES[action.distance] * size[0] // 10
    end = start[0] + across * length, start[1] + 2 * down * length
    return start, (min(max(end[0], 1), size[0] - 2), min(max(end[1], 1), size[1] - 2))


def _point(value: object) -> Point:
    return read_point(value, IllegalCommand(f"a place is [x, y] in pixels, not {value!r:.60}"))


def _whole(key: str, value: object) -> int:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise IllegalCommand(f'"{key}" is a whole number, not {value!r:.60}') from None
    if number < 1:
        raise IllegalCommand(f'"{key}" is 1 or more, not {number}')
    return int(number)


Key = Literal["Enter", "Home", "Back"]


class DeviceLost(BrokenDesktop):
    """The phone doesn't answer any more: unplugged, crashed or hung. The episode is lost, the next may go well."""


def pixels_of(png: bytes) -> np.ndarray:
    """A phone's picture, RGB u8 (h, w, 3). Raises DeviceLost where it can't be read: torn, empty or too large."""
    try:
        return picture_of(png)
    except Exception as error:  # Pillow fails in many ways
        raise DeviceLost(f"the phone's picture can't be read: {type(error).__name__}: {error!s:.100}") from None


class Device(Protocol):
    """A phone. Every method raises DeviceLost when it is gone; points are (x, y) in pixels of the screenshot."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen as it is turned now, in pixels."""
        ...

    def screenshot(self) -> bytes:
        """What is to be seen, as PNG."""
        ...

    def dump(self) -> str:
        """The UI tree as uiautomator's XML, as it was written; "" where the phone gives none."""
        ...

    def activity(self) -> str:
        """What is in front, as package/activity; "" where the phone doesn't say."""
        ...

    def tap(self, point: Point) -> None:
        """Press and let go."""
        ...

    def long_press(self, point: Point) -> None:
        """Press for `LONG_PRESS_SECONDS`."""
        ...

    def swipe(self, start: Point, end: Point) -> None:
        """Drag from one point to the other."""
        ...

    def type_text(self, text: str) -> None:
        """Replace what is in the focused field. Raises IllegalCommand without one, and for letters that it lacks."""
        ...

    def press(self, key: Key) -> None:
        """Press a key of the phone's own."""
        ...

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        ...


def carry_out(device: Device, action: PhoneAction, tree: UiTree) -> None:
    """Do on a phone what an action says; its element is looked for in `tree`, the screen of now.

    Raises DeviceLost, and IllegalCommand when its place isn't there and for "finish": that is the agent's own.
    """
    match action.name:
        case "Tap":
            device.tap(place_of(action, tree, device.size))
        case "Long Press":
            device.long_press(place_of(action, tree, device.size))
        case "Swipe":
            device.swipe(*swipe_ends(action, place_of(action, tree, device.size), device.size))
        case "Type":
            device.type_text(action.text)
        case "Enter" | "Home" | "Back":
            device.press(action.name)
        case "Wait":
            device.wait(action.seconds)
        case _:
            raise IllegalCommand(f"{action.name} isn't carried out on a phone")


def place_of(action: PhoneAction, tree: UiTree, size: tuple[int, int]) -> Point:
    """The point of an action: its element's middle, its own, or the middle of the screen. Raises IllegalCommand."""
    for point in (action.at, action.to):
        if point is not None and not (0 <= point[0] < size[0] and 0 <= point[1] < size[1]):
            raise IllegalCommand(f"{list(point)} is outside the screen of {size[0]} x {size[1]} pixels")
    if action.at is not None:
        return action.at
    if not action.element:
        return size[0] // 2, size[1] // 2
    target = next((element for element in tree.elements if element.id == action.element), None)
    if target is None:
        raise IllegalCommand(f"there is no element {action.element} on the screen now: look at it again")
    x, y = target.middle
    return min(max(x, 0), size[0] - 1), min(max(y, 0), size[1] - 1)
