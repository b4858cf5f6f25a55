"""The embedded phone as a device (`sdg.envs.phone.actions.Device`): a page in Chromium, one call to it an action."""

import base64
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdg.envs.phone.actions import LONG_PRESS_SECONDS, DeviceLost, IllegalCommand, Key, Point
from sdg.envs.ui.browser import SCALE, Browser

WIDTH, HEIGHT = 360, 720
"""In the page's pixels; a screenshot has twice as many."""
FOLDER = Path(__file__).parent


def initial_state(seed: int) -> dict[str, Any]:
    """The whole state under a seed (0 or more), as JSON: the hand-written `state.json` and more of its kind.

    Another seed has other people, songs, notes and entries beside those that tasks are about, a clock some minutes on,
    and another serial number.
    """
    if seed < 0:
        raise ValueError(f"a seed is 0 or more, not {seed}")
    rng = random.Random(seed)
    state = json.loads((FOLDER / "state.json").read_text("utf-8"))
    more: dict[str, Any] = state.pop("more")
    for place, items in more.items():
        app, _, name = place.partition(".")
        collection: list[dict[str, Any]] = state[app][name]
        for item in rng.sample(items, len(items) // 2):
            collection.append({"id": 1 + max(entry["id"] for entry in collection)} | item)
    state["os"]["now"] += 60 * rng.randrange(40)
    state["settings"]["serial"] = f"SDG{rng.randrange(10**8):08d}"
    return dict(state)


def phone_browser() -> Browser:
    """A Chromium at phone size that shows the embedded phone alone. Raises NoBrowser."""
    return Browser(folder=FOLDER, viewport={"width": WIDTH, "height": HEIGHT})


class EmbeddedPhone:
    """A phone in a page of a browser that `phone_browser` gave. Raises DeviceLost when the page goes away."""

    size = (SCALE * WIDTH, SCALE * HEIGHT)

    def __init__(self, browser: Browser) -> None:
        self._browser, self._page = browser, browser.page
        self._capture: Any = None
        self._scale = 1.0
        self._now: list[Any] = ["", "", False, "{}"]
        self._address = (FOLDER / "phone.html").as_uri()

    def reset(self, seed: int) -> None:
        """Begin with the state of a seed, on the home screen."""
        with self._answering():
            if self._page.url != self._address:
                self._page.goto(self._address)
        self._do("reset", json.dumps(initial_state(seed)))

    def state(self) -> dict[str, Any]:
        """Everything that is on the phone, as JSON: to check tasks by, never for an agent."""
        return dict(json.loads(self._now[3]))

    def screenshot(self) -> bytes:
        """What is to be seen, in `size`."""
        with self._answering():
            if self._capture is None:  # three times as fast as Playwright's own, and as exact
                self._capture = self._page.context.new_cdp_session(self._page)
            png = self._capture_png(self._scale)
            wide = int.from_bytes(png[16:20], "big")
            if wide != self.size[0]:  # Chromiums differ in whether a page's own scale counts
                self._scale *= self.size[0] / wide
                png = self._capture_png(self._scale)
            return png

    def _capture_png(self, scale: float) -> bytes:
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": scale}
        options = {"format": "png", "optimizeForSpeed": True, "clip": clip}
        return base64.b64decode(self._capture.send("Page.captureScreenshot", options)["data"])

    def dump(self) -> str:
        """The UI tree."""
        return str(self._now[0])

    def activity(self) -> str:
        """The app and page in front."""
        return str(self._now[1])

    def tap(self, point: Point) -> None:
        """Press and let go."""
        self._touch(point, point)

    def long_press(self, point: Point) -> None:
        """Press for a second of the phone's clock."""
        self._touch(point, point, held=LONG_PRESS_SECONDS)

    def swipe(self, start: Point, end: Point) -> None:
        """Drag."""
        self._touch(start, end)

    def _touch(self, start: Point, end: Point, *, held: int = 0) -> None:
        self._do("touch", *(edge / SCALE for edge in (*start, *end)), held)

    def type_text(self, text: str) -> None:
        """Replace what is in the focused field."""
        if not self._now[2]:
            raise IllegalCommand("no field has the focus: tap the field first, then Type")
        self._do("type", text)

    def press(self, key: Key) -> None:
        """Press Enter, Home or Back."""
        self._do(key.lower())

    def wait(self, seconds: int) -> None:
        """Let the phone's clock go on."""
        self._do("wait", seconds)

    def _do(self, name: str, *values: object) -> None:
        """One call to the page, which says what there is then: tree, activity, whether a field has the focus, state."""
        with self._answering():
            self._now = json.loads(self._page.evaluate(f"values => phone.{name}(...values)", values))

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._browser.error as error:
            raise DeviceLost(f"the embedded phone went away: {str(error).splitlines()[0]:.200}") from None
