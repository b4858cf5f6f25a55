"""A phone that is all script, and what its screens are made of."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

from sdg.envs.phone.actions import DeviceLost, Point
from tests.envs.phone.test_phone_tree import node


class ScriptedPhone:
    """A device with a list of dumps: each action leads to the next, the last stays."""

    size = (400, 800)

    def __init__(self, *dumps: str, lost_after: int = 99) -> None:
        self.dumps, self.at, self.done, self.lost_after = dumps, 0, [], lost_after  # type: ignore[var-annotated]

    def dump(self) -> str:
        if len(self.done) >= self.lost_after:
            raise DeviceLost("unplugged")
        return self.dumps[min(self.at, len(self.dumps) - 1)]

    def screenshot(self) -> bytes:
        out = io.BytesIO()
        Image.new("RGB", self.size, (10 * self.at, 200, 30)).save(out, "PNG")
        return out.getvalue()

    def activity(self) -> str:
        return "a.b/.Main"

    def _do(self, *what: Any) -> None:
        self.done.append(what)
        self.at += 1

    def tap(self, point: Point) -> None:
        self._do("tap", point)

    def long_press(self, point: Point) -> None:
        self._do("hold", point)

    def swipe(self, start: Point, end: Point) -> None:
        self._do("swipe", start, end)

    def type_text(self, text: str) -> None:
        self._do("type", text)

    def press(self, key: str) -> None:
        self._do("press", key)

    def wait(self, seconds: int) -> None:
        self._do("wait", seconds)


def button(text: str, y: int = 0, flags: str = "clickable") -> str:
    return node("Button", f"[0,{y}][100,{y + 50}]", text=text, flags=flags)


FIELD = node("EditText", "[0,100][400,150]", text="secret", desc="Phone", res="phone", flags="clickable focused")


def act(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments}
