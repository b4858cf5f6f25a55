"""Commands that scripts give beside clicking and filling in."""

from __future__ import annotations

from sdg.llm.webrules.rules import Written


def at(name: str, point: tuple[int, int]) -> Written:
    """A command at a point."""
    return {"name": name, "args": {"coords": list(point)}}


def write(text: str) -> Written:
    """Type a text."""
    return {"name": "TYPE_TEXT", "args": {"text": text}}


def press(key: str) -> Written:
    """Press a key."""
    return {"name": "PRESS_KEY", "args": {"key": key}}


def drag(start: tuple[int, int], end: tuple[int, int]) -> list[Written]:
    """Drag what lies at `start` to `end`."""
    return [at("MOUSEDOWN_COORDS", start), at("MOUSEUP_COORDS", end)]


def scroll(point: tuple[int, int], *, down: bool, times: int = 1) -> list[Written]:
    """Scroll what lies at a point."""
    return [at("SCROLL_DOWN_COORDS" if down else "SCROLL_UP_COORDS", point)] * times
