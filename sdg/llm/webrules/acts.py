"""The commands of an answer, as the prompt asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdg.llm.webrules.situation import Seen

Written = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rule wants done, and what it wants to be reminded of at the next answer."""

    commands: Sequence[Written]
    note: str = ""


def at(name: str, point: tuple[int, int]) -> Written:
    """A command at a point."""
    return {"name": name, "args": {"coords": [max(0, min(319, value)) for value in point]}}


def click(thing: Seen) -> Written:
    """Click the middle of a thing."""
    return at("CLICK_COORDS", thing.middle)


def write(text: str) -> Written:
    """Type a text."""
    return {"name": "TYPE_TEXT", "args": {"text": text}}


def press(key: str) -> Written:
    """Press a key."""
    return {"name": "PRESS_KEY", "args": {"key": key}}


def fill(field: Seen, text: str) -> list[Written]:
    """Put a text in place of what a field holds."""
    emptied = [press("C-a"), press("<Backspace>")] if field.text else []
    return [click(field), *emptied, write(text)]


def drag(start: tuple[int, int], end: tuple[int, int]) -> list[Written]:
    """Drag what lies at `start` to `end`."""
    return [at("MOUSEDOWN_COORDS", start), at("MOUSEUP_COORDS", end)]


def scroll(point: tuple[int, int], *, down: bool, times: int = 1) -> list[Written]:
    """Scroll what lies at a point."""
    return [at("SCROLL_DOWN_COORDS" if down else "SCROLL_UP_COORDS", point)] * times
