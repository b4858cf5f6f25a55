"""A headless Chromium that shows the pages of one folder and nothing else; the one door to Playwright.

The pages are MiniWoB++'s own, files of the package `miniwob`, or the embedded phone's. Every request for anything else
is refused, so a page, or a model that types an address, reaches nothing. A browser ends with the process that started
it.
"""

import contextlib
import copy
import importlib.util
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from sdg.envs.ui.commands import KEYS, SCREEN, ScreenCommand
from sdg.envs.ui.tasks import task_name
from sdg.errors import BrokenDesktop, UserError

SCALE = 2
STRIP = 50
"""Height of the yellow strip with the instruction, in the page's pixels: cut off every screenshot."""
VIEWPORT = {"width": 500, "height": 320}
PATIENCE = 10_000
"""Pages end an episode after 7 to 60 s; a model takes longer to think, at times half an hour an answer (the paper lifts
the limit a hundredfold)."""
LOAD_TIMEOUT_MS = 20_000
SETTLE_MS = 600
"""The longest wait for an animation to end."""
SCROLL = 50
"""Pixels of the page that one command scrolls by."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--hide-scrollbars=0",
]

_BEGIN = """([seed, patience]) => {
    core.endEpisode(0);
    Math.seedrandom(seed);
    if (!core.ownLimit) core.ownLimit = core.EPISODE_MAX_TIME;
    core.EPISODE_MAX_TIME = core.ownLimit * patience;
    core.startEpisodeReal();
}"""
_PRELOAD = """async () => {
    const found = new Set();
    for (const sheet of document.styleSheets) {
        let rules = [];
        try { rules = sheet.cssRules; } catch { continue; }
        for (const rule of rules) for (const match of rule.cssText.matchAll(/url\\("([^"]+)"\\)/g))
            found.add(new URL(match[1], sheet.href || document.baseURI).href);
    }
    window.keptImages = [...found].map(place => Object.assign(new Image(), {src: place}));
    await Promise.allSettled(window.keptImages.map(image => image.decode()));
}"""
"""An icon that changes its picture under the mouse vanishes while that loads, and a click on it goes elsewhere."""
_SETTLED = """() => WOB_TASK_READY && document.getAnimations().every(each => each.playState !== 'running')
    && !(window.jQuery && jQuery.timers && jQuery.timers.length)"""
_COMPLETES = "() => !!document.querySelector('.ui-autocomplete-input:focus')"
COMPLETION_MS = 350
"""How long a list of completions waits for the next letter before it opens."""
_STATE = """() => {
    const said = core.getUtterance();
    return {done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, words: said.utterance || said};
}"""


class NoBrowser(UserError):
    """There is no browser, or no pages, to work with; the message says how to install them."""


class PageError(BrokenDesktop):
    """A page that never loaded, raised or went away."""


def what_is_missing(*needed: str) -> str:
    """What has to be installed before pages can be shown, one line; "" when nothing is. MiniWoB++'s unless named."""
    packages = [name for name in (needed or ("playwright", "miniwob")) if importlib.util.find_spec(name) is None]
    if packages:
        return f"{' and '.join(packages)}: pip install 'sdg[ui]'"
    if not chromium():
        return "Chromium: apt-get install chromium fonts-liberation fonts-dejavu-core (or set SDG_CHROMIUM to its path)"
    return ""


def require_browser(what: str, *needed: str) -> None:
    """Raises NoBrowser where something has to be installed before this can show pages."""
    if missing := what_is_missing(*needed):
        raise NoBrowser(f"{what} {missing}")


def chromium() -> str | None:
    """The path of the browser that is used; None where there is none."""
    return os.environ.get("SDG_CHROMIUM") or next((path for name in BROWSERS if (path := shutil.which(name))), None)


class _Driver(threading.local):
    """Playwright for the browsers of a thread: it is one for all of them, and ends with the last."""

    users = 0
    playwright: Any = None

    def begin(self) -> Any:
        """Another browser begins."""
        from playwright.sync_api import sync_playwright

        if not self.users:
            self.playwright = sync_playwright().start()
        self.users += 1
        return self.playwright

    def end(self) -> None:
        """A browser has ended."""
        self.users -= 1
        if not self.users:
            self.playwright.stop()


_DRIVER = _Driver()


def page_error() -> type[Exception]:
    """The error that Playwright raises when a page, or its browser, fails."""
    from playwright.sync_api import Error

    return Error


def timeout_error() -> type[Exception]:
    """The `page_error` of what took too long."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeout

    return PlaywrightTimeout


def _begin(running: contextlib.ExitStack, *flags: str, address: str = "") -> Any:
    """A Chromium as `open_browser` gives it, until `running` is closed. Raises NoBrowser."""
    chrome = _DRIVER.begin().chromium
    running.callback(_DRIVER.end)
    try:
        if address:
            browser = chrome.connect_over_cdp(address, timeout=LOAD_TIMEOUT_MS)
        else:
            browser = chrome.launch(
                executable_path=chromium(),
                args=[*FLAGS, *flags],
                chromium_sandbox=os.geteuid() != 0,  # its own sandbox refuses root
                timeout=LOAD_TIMEOUT_MS,
            )
    except page_error() as error:
        raise NoBrowser(f"Chromium doesn't answer: {str(error).splitlines()[0]:.200}") from None
    running.callback(_close, browser)
    return browser


def _close(browser: Any) -> None:
    with contextlib.suppress(Exception):  # it, or its driver, may be gone already
        browser.close()


@contextlib.contextmanager
def open_browser(*flags: str, address: str = "") -> Iterator[Any]:
    """A Chromium of its own with more flags, or the running one at a debugging address, which goes on afterwards.

    Raises NoBrowser where there is none.
    """
    require_browser("a page needs")
    with contextlib.ExitStack() as running:
        yield _begin(running, *flags, address=address)


def front_page(browser: Any, address: str) -> Any:
    """The page that was in front last in the running browser at a debugging address, which tells the order of its tabs.

    Raises NoBrowser where there is none, or where one of several can't be told.
    """
    pages = [page for context in browser.contexts for page in context.pages]
    if len(pages) == 1:
        return pages[0]
    at = urlsplit(address)
    with contextlib.suppress(page_error(), ValueError):
        request = _DRIVER.playwright.request.new_context()
        listed = request.get(f"{at.scheme.replace('ws', 'http')}://{at.netloc}/json/list", timeout=LOAD_TIMEOUT_MS)
        order = [tab["id"] for tab in listed.json()]
        request.dispose()
        by_name = {_target(page): page for page in pages}
        pages = [by_name[name] for name in order if name in by_name][:1] or pages
    if len(pages) != 1:
        said = "shows no page" if not pages else f"doesn't tell which of its {len(pages)} pages is in front: use --url"
        raise NoBrowser(f"the browser at {address:.80} {said}")
    return pages[0]


def _target(page: Any) -> str:
    """The browser's own name of a page."""
    session = page.context.new_cdp_session(page)
    name = session.send("Target.getTargetInfo")["targetInfo"]["targetId"]
    session.detach()
    return str(name)


class Browser(contextlib.AbstractContextManager["Browser"]):
    """A browser with one page. Close it, or use it as a context manager. Raises NoBrowser where there is none.

    `folder` has the only files that it shows, MiniWoB++'s by default; `viewport` is in the page's pixels.
    """

    def __init__(self, *, folder: Path | None = None, viewport: Mapping[str, int] = VIEWPORT) -> None:
        require_browser("the UI needs", *(("playwright",) if folder else ()))
        self.error = page_error()
        own = importlib.util.find_spec("miniwob")
        self._pages = (folder or Path(own.origin).parent / "html").resolve()  # type: ignore[union-attr, arg-type]
        self._viewport = viewport
        self.pages = tuple(sorted(page.stem for page in (self._pages / "miniwob").glob("*.html")))
        with contextlib.ExitStack() as running, self._reporting("Chromium doesn't start"):
            self._chromium = _begin(running)
            self._open_page()
            self._running = running.pop_all()

    def _open_page(self) -> None:
        context = self._chromium.new_context(
            viewport=dict(self._viewport),  # type: ignore[arg-type]
            device_scale_factor=SCALE,
            accept_downloads=False,
            service_workers="block",
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.route("**/*", self._allow)
        self.page = context.new_page()
        self.page.set_default_timeout(LOAD_TIMEOUT_MS)
        self.page.on("dialog", lambda dialog: dialog.dismiss())
        self.page.on("popup", lambda popup: popup.close())
        self._task = self._clipboard = ""

    def another(self) -> Self:
        """A page of its own in the same Chromium, for an episode beside others; it ends with the first."""
        other = copy.copy(self)
        other._running = contextlib.ExitStack()  # closing it is the first one's business
        other._open_page()
        return other

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser; doing it twice does no harm."""
        self._running.close()

    def _allow(self, route: Any) -> None:
        address = urlsplit(route.request.url)
        own = address.scheme == "file" and Path(unquote(address.path)).resolve().is_relative_to(self._pages)
        if own or address.scheme in ("data", "blob"):
            route.continue_()
        else:
            route.abort()

    @contextlib.contextmanager
    def _reporting(self, what: str) -> Iterator[None]:
        """Playwright's errors as a PageError, which says what went wrong."""
        try:
            yield
        except self.error as error:
            raise PageError(f"{what}: {str(error).splitlines()[0]:.200}") from None

    def begin(self, task: str, seed: int) -> None:
        """Show a task's page as it is under a seed. Raises PageError when it doesn't come up."""
        shown_task = self._task
        self._task = self._clipboard = ""
        with self._reporting(f"the page of {task!r:.60} doesn't come up"):
            if shown_task != task:
                name = task if task in self.pages else task_name(task)
                self.page.goto((self._pages / "miniwob" / f"{name}.html").as_uri())
                self.page.wait_for_selector("#sync-task-cover", state="visible")
                self.page.evaluate(_PRELOAD)
            self.page.mouse.move(self._viewport["width"] - 1, self._viewport["height"] - 1)
            self.page.evaluate(_BEGIN, [seed, PATIENCE])
            self.settle()
            self._task = task

    def show(self, html: str) -> None:
        """Show a page of the caller's, for a parser to train on; it has no task."""
        self._task = ""
        self.page.set_content(html)

    def settle(self) -> None:
        """Wait until nothing moves any more, at most `SETTLE_MS`: a page that never rests is shown as it is."""
        with contextlib.suppress(timeout_error()):
            self.page.wait_for_function(_SETTLED, timeout=SETTLE_MS, polling=20)

    def state(self) -> Mapping[str, Any]:
        """`done` (bool), `reward` (float, raw: without the share for speed) and the instruction's `words`."""
        with self._reporting("the page went away"):
            return dict(self.page.evaluate(_STATE))

    def screenshot(self) -> bytes:
        """The task's area as PNG, `SCREEN` by `SCREEN` pixels, the strip with the instruction cut off."""
        side = SCREEN // SCALE
        with self._reporting("the page can't be seen"):
            return bytes(self.page.screenshot(clip={"x": 0, "y": STRIP, "width": side, "height": side}))

    def perform(self, command: ScreenCommand) -> None:
        """Move, press and type as a hand would. Raises PageError when the page breaks under it."""
        with self._reporting(f"{command.name} broke the page"):
            self._perform(command)
            if command.name == "TYPE_TEXT" and self.page.evaluate(_COMPLETES):
                self.page.wait_for_timeout(COMPLETION_MS)
            self.settle()

    def _perform(self, command: ScreenCommand) -> None:
        mouse = self.page.mouse
        if isinstance(command.argument, str):
            act = self._press if command.name == "PRESS_KEY" else self.page.keyboard.type
            act(command.argument)
            return
        x, y = command.argument[0] / SCALE, command.argument[1] / SCALE + STRIP
        # A drag is seen as one only when it passes through places.
        mouse.move(x, y, steps=5 if command.name == "MOUSEUP_COORDS" else 1)
        acts: Mapping[str, Callable[[], object]] = {
            "MOUSEUP_COORDS": mouse.up,
            "CLICK_COORDS": lambda: mouse.click(x, y),
            "DBLCLICK_COORDS": lambda: mouse.dblclick(x, y),
            "MOUSEDOWN_COORDS": mouse.down,
            "SCROLL_DOWN_COORDS": lambda: mouse.wheel(0, SCROLL),
            "SCROLL_UP_COORDS": lambda: mouse.wheel(0, -SCROLL),
        }
        acts.get(command.name, lambda: None)()

    def _press(self, key: str) -> None:
        """Press a key; pages of one Chromium share its clipboard, so each puts its own into it."""
        if key == "C-v":
            self.page.evaluate("text => navigator.clipboard.writeText(text)", self._clipboard)
        self.page.keyboard.press(KEYS[key])
        if key in ("C-c", "C-x"):
            self._clipboard = str(self.page.evaluate("() => navigator.clipboard.readText()"))
