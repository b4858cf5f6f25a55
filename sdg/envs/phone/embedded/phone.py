"""The embedded phone as a device (`sdg.envs.phone.device.Device`): Chromium's mouse touches it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sdg.envs.phone.actions import LONG_PRESS_SECONDS, ActionError, Point
from sdg.envs.phone.device import DeviceLost, Key
from sdg.envs.phone.embedded.state import FOLDER, initial_state
from sdg.envs.ui.browser import SCALE, Browser

WIDTH, HEIGHT = 360, 720
"""In the page's pixels; a screenshot has twice as many."""
ACTION_SECONDS = 1
"""How long an action takes by the phone's own clock."""


def phone_browser() -> Browser:
    """A Chromium at phone size that shows the embedded phone alone. Raises NoBrowser."""
    return Browser(folder=FOLDER, viewport={"width": WIDTH, "height": HEIGHT})


class EmbeddedPhone:
    """A phone in a page of a browser that `phone_browser` gave. Raises DeviceLost when the page goes away."""

    size = (SCALE * WIDTH, SCALE * HEIGHT)

    def __init__(self, browser: Browser) -> None:
        self._browser, self._page = browser, browser.page
        self._capture: Any = None
        self._address = (FOLDER / "phone.html").as_uri()

    def reset(self, seed: int) -> None:
        """Begin with the state of a seed, on the home screen."""
        self.restore(initial_state(seed))

    def restore(self, state: dict[str, Any]) -> None:
        """Begin with a state that `state` gave."""
        with self._answering():
            if self._page.url != self._address:
                self._page.goto(self._address)
            self._page.evaluate("state => phone.reset(state)", state)

    def state(self) -> dict[str, Any]:
        """Everything that is on the phone, as JSON: to check tasks by, never for an agent."""
        with self._answering():
            return dict(self._page.evaluate("() => phone.state()"))

    def screenshot(self) -> bytes:
        """What is to be seen."""
        with self._answering():
            if self._capture is None:  # three times as fast as Playwright's own, and as exact
                self._capture = self._page.context.new_cdp_session(self._page)
            found = self._capture.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
            return base64.b64decode(found["data"])

    def dump(self) -> str:
        """The UI tree."""
        with self._answering():
            return str(self._page.evaluate("scale => phone.dump(scale)", SCALE))

    def activity(self) -> str:
        """The app and page in front."""
        with self._answering():
            return str(self._page.evaluate("() => phone.activity()"))

    def tap(self, point: Point) -> None:
        """Press and let go."""
        self.swipe(point, point)

    def long_press(self, point: Point) -> None:
        """Press for a second of the phone's clock."""
        with self._answering():
            self._page.mouse.move(point[0] / SCALE, point[1] / SCALE)
            self._page.mouse.down()
            self._page.evaluate("seconds => phone.hold(seconds)", LONG_PRESS_SECONDS)
            self._page.mouse.up()
            self._pass()

    def swipe(self, start: Point, end: Point) -> None:
        """Drag."""
        with self._answering():
            self._page.mouse.move(start[0] / SCALE, start[1] / SCALE)
            self._page.mouse.down()
            if end != start:
                self._page.mouse.move(end[0] / SCALE, end[1] / SCALE)
            self._page.mouse.up()
            self._pass()

    def type_text(self, text: str) -> None:
        """Replace what is in the focused field."""
        with self._answering():
            if not self._page.evaluate("() => phone.focused()"):
                raise ActionError("no field has the focus: tap the field first, then Type")
            self._page.evaluate("() => phone.select()")
            self._page.keyboard.insert_text(text)
            self._pass()

    def press(self, key: Key) -> None:
        """Press Enter, Home or Back."""
        with self._answering():
            if key == "Enter":
                self._page.keyboard.press("Enter")
            else:
                self._page.evaluate(f"() => phone.{key.lower()}()")
            self._pass()

    def wait(self, seconds: int) -> None:
        """Let the phone's clock go on."""
        with self._answering():
            self._pass(seconds)

    def _pass(self, seconds: int = ACTION_SECONDS) -> None:
        self._page.evaluate("seconds => phone.pass(seconds)", seconds)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._browser.error as error:
            raise DeviceLost(f"the embedded phone went away: {str(error).splitlines()[0]:.200}") from None
